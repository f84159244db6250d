"""Checks of operations that `tracing` transforms on NumPy's arrays: staging, batches, derivatives in both modes.

The derivatives on PyTorch are compared with those on NumPy.
"""

from typing import Any

import numpy as np

import xpand
from tests.cases import (
    Case,
    as_tuple,
    assert_close,
    batches,
    compiling,
    differentiating,
    eager,
    library_of_name,
    mapping,
    weighted_sum,
)
from tests.libraries import Library
from tests.references import stored
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.plugins.numpy.jit.blocks import BACKEND
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.tracing._compile import compiled
from xpand_extensions.tracing._core import aval_of
from xpand_extensions.tracing._simplify import simplified
from xpand_extensions.tracing._staging import stage
from xpand_extensions.vmap import vmap

TO_JAX = 1e-10
"""The tolerance for derivatives compared with JAX's."""


@compiling
def traced_stage(case: Case) -> None:
    """Check that the graph predicts shapes and data types, and returns the same as the function."""
    library = library_of_name("numpy")
    arrays = [library.asarray(x) for x in case.arrays]
    function = lambda *given: (as_tuple(case.function(*given)), ())
    graph, _ = stage(traced_namespace(library.xp), "jit", function, [aval_of(x) for x in arrays])
    expected = eager(library, case)
    for variable, wanted in zip(graph.outputs, expected, strict=True):
        assert variable.shape == wanted.shape, f"{variable.shape} was predicted, it is {wanted.shape}"
        assert variable.dtype == wanted.dtype, f"{variable.dtype} was predicted, it is {wanted.dtype}"
    assert_close(library, graph.run(*arrays), expected, case)
    graph.check()
    simplified(graph).check()
    assert_close(library, compiled(graph, BACKEND)(*arrays), expected, case)


@mapping
def traced_vmap(case: Case) -> None:
    """Check that the mapped function returns the same as a loop, also if only one array is mapped."""
    library = library_of_name("numpy")
    lanes_of = [library.asarray(x) for x in batches(case)]
    mapped = vmap(lambda *arrays: as_tuple(case.function(*arrays)))
    assert_close(library, mapped(*lanes_of), _loop(library, case, lanes_of), case)
    for i in range(len(lanes_of) if len(lanes_of) > 1 else 0):
        axes = tuple(0 if j == i else None for j in range(len(lanes_of)))
        given = [x if j == i else x[0] for j, x in enumerate(lanes_of)]
        one = vmap(lambda *arrays: as_tuple(case.function(*arrays)), in_axes=axes)
        assert_close(library, one(*given), _loop(library, case, given, axes), case)


def _loop(library: Library, case: Case, arrays: Any, axes: Any = None) -> list[np.ndarray]:
    axes = (0,) * len(arrays) if axes is None else axes
    lanes = [as_tuple(case.function(*(x if axis is None else x[i] for x, axis in zip(arrays, axes)))) for i in range(2)]
    return [np.stack([np.asarray(library.to_numpy(x)) for x in results]) for results in zip(*lanes)]


def _of_jax(case: Case, transform: Any) -> tuple[np.ndarray, ...]:
    """Transform the case's weighted sum by JAX, and call it. The result may be stored."""

    def compute() -> tuple[np.ndarray, ...]:
        import jax

        library = library_of_name("jax")
        transformed = transform(weighted_sum(library, case))
        arrays = [library.asarray(x) for x in case.arrays]
        # One program compiles faster than all its operations, except a very large one, which is not compiled.
        if case.compiles and case.as_one_program:
            return as_tuple(jax.jit(transformed)(*arrays))
        with jax.disable_jit():
            return as_tuple(transformed(*arrays))

    return stored(case, compute)


def _directions(case: Case) -> tuple[np.ndarray, ...]:
    return tuple(
        np.asarray(np.sin(1.0 + np.arange(case.arrays[i].size))).reshape(case.arrays[i].shape)
        for i in case.differentiable
    )


def of_chosen_arrays(function: Any, arrays: Any, places: tuple[int, ...]) -> Any:
    """Make a function of some of the arrays; the others are fixed."""

    def of_chosen(*chosen: Any) -> Any:
        given = list(arrays)
        for place, x in zip(places, chosen):
            given[place] = x
        return function(*given)

    return of_chosen


@differentiating
def traced_forward(case: Case) -> None:
    """Check the derivative along a direction against JAX."""
    library = library_of_name("numpy")
    arrays = [library.asarray(x) for x in case.arrays]
    chosen = tuple(arrays[i] for i in case.differentiable)
    function = of_chosen_arrays(weighted_sum(library, case), arrays, case.differentiable)
    found = jvp(function, chosen, _directions(case))[1]

    def theirs(weighted: Any) -> Any:
        import jax

        def derivative(*given: Any) -> Any:
            of_chosen = of_chosen_arrays(weighted, given, case.differentiable)
            primals = tuple(given[i] for i in case.differentiable)
            return jax.jvp(of_chosen, primals, tuple(jax.numpy.asarray(x) for x in _directions(case)))[1]

        return derivative

    assert_close(library, found, _of_jax(case, theirs), case, TO_JAX)


@differentiating
def traced_grad(case: Case) -> None:
    """Check gradients against JAX, on NumPy and on the strict library, and those of a batch and of the graph."""
    library = library_of_name("numpy")
    arrays = [library.asarray(x) for x in case.arrays]
    gradients = grad(weighted_sum(library, case), case.differentiable)

    def theirs(weighted: Any) -> Any:
        import jax

        return jax.grad(weighted, case.differentiable)

    expected = _of_jax(case, theirs)
    assert_close(library, gradients(*arrays), expected, case, TO_JAX)
    strict = library_of_name("strict")  # it has only the standard's functions
    of_strict = grad(weighted_sum(strict, case), case.differentiable)(*(strict.asarray(x) for x in case.arrays))
    assert_close(strict, of_strict, expected, case, TO_JAX)
    if case.maps:
        mapped = vmap(gradients)(*(np.stack([x, x]) for x in arrays))
        assert_close(library, [x[1] for x in mapped], expected, case, TO_JAX)
    if case.compiles:
        function = lambda *given: (as_tuple(gradients(*given)), ())
        graph, _ = stage(traced_namespace(library.xp), "jit", function, [aval_of(x) for x in arrays])
        assert_close(library, graph.run(*arrays), expected, case, TO_JAX)
        graph.check()
        simplified(graph).check()
        assert_close(library, compiled(graph, BACKEND)(*arrays), expected, case, TO_JAX)


@differentiating
def traced_second(case: Case) -> None:
    """Check the gradient's derivative along a direction against JAX: forward over reverse, and reverse over reverse."""
    library = library_of_name("numpy")
    arrays = [library.asarray(x) for x in case.arrays]
    directions = _directions(case)

    def along(transform: Any, weighted: Any, given: Any, directions: Any) -> Any:
        gradients = transform(weighted, case.differentiable)
        dot = lambda *chosen: sum(
            _sum(x * t) for x, t in zip(of_chosen_arrays(gradients, given, case.differentiable)(*chosen), directions)
        )
        return transform(dot, tuple(range(len(directions))))(*(given[i] for i in case.differentiable))

    def theirs(weighted: Any) -> Any:
        import jax

        return lambda *given: along(jax.grad, weighted, given, [jax.numpy.asarray(x) for x in directions])

    expected = _of_jax(case, theirs)
    weighted = weighted_sum(library, case)
    assert_close(library, along(grad, weighted, arrays, directions), expected, case, TO_JAX)
    of_chosen = of_chosen_arrays(grad(weighted, case.differentiable), arrays, case.differentiable)
    forward = jvp(of_chosen, tuple(arrays[i] for i in case.differentiable), directions)[1]
    assert_close(library, forward, expected, case, TO_JAX)


@differentiating
def torch_orders(case: Case) -> None:
    """Check PyTorch's first derivatives, and second ones by each nesting of modes, against those traced on NumPy."""
    check_orders("torch", case)


def check_orders(name: str, case: Case) -> None:
    """Check first derivatives, and second ones by each nesting of modes, against those traced on NumPy."""
    expected, found = (_orders(library_of_name(each), case) for each in ("numpy", name))
    scale = max(float(np.max(np.abs(x[np.isfinite(x)]), initial=0.0)) for xs in expected.values() for x in xs)
    rtol = max(case.rtol, TO_JAX)
    for modes, wanted in expected.items():
        for x, y in zip(found[modes], wanted, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype), modes
            # In proportion to the largest one, because some are zero except for rounding.
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * scale, err_msg=modes)


def _orders(library: Library, case: Case) -> dict[str, list[np.ndarray]]:
    """Compute derivatives along directions, gradients, and derivatives of both in both modes."""
    arrays = [library.asarray(x) for x in case.arrays]
    chosen = tuple(arrays[i] for i in case.differentiable)
    directions = tuple(library.asarray(x) for x in _directions(case))
    weighted = of_chosen_arrays(weighted_sum(library, case), arrays, case.differentiable)
    along = lambda f: lambda *xs: jvp(f, xs, directions)[1]
    gradients = lambda f: grad(f, tuple(range(len(chosen))))
    product = lambda *xs: sum(_sum(g * t) for g, t in zip(gradients(weighted)(*xs), directions))
    found = {
        "fwd": along(weighted)(*chosen),
        "rev": gradients(weighted)(*chosen),
        "fwd > fwd": along(along(weighted))(*chosen),
        "fwd > rev": along(gradients(weighted))(*chosen),
        "rev > fwd": gradients(along(weighted))(*chosen),
        "rev > rev": gradients(product)(*chosen),
    }
    return {modes: [np.asarray(library.to_numpy(x)) for x in as_tuple(each)] for modes, each in found.items()}


def _sum(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x)
