"""The shared checks of operations: values on every library, memory layouts, transformations, gradients.

A test file lists its operations as cases and runs each check over them:

    CASES = {"double": Case(lambda x: double(x), (VALUES,), reference=lambda x: 2 * x, differentiable=(0,))}

    @pytest.mark.parametrize("case", CASES.values(), ids=CASES)
    def test_values(library, case):
        check_values(library, case)

    @checked(CASES)
    def test_transformations(case, transformation):
        transformation(case)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.cases import (
    Case,
    Check,
    as_tuple,
    assert_close,
    batches,
    check_values,
    compiling,
    differences,
    differentiating,
    eager,
    library_of_name,
    mapping,
    reversed_in_memory,
    strided,
    weighted_sum,
)
from tests.libraries import Library
from tests.traced import (
    of_chosen_arrays,
    torch_orders,
    traced_forward,
    traced_grad,
    traced_second,
    traced_stage,
    traced_vmap,
)

__all__ = [
    "TRANSFORMATIONS",
    "Case",
    "Check",
    "as_tuple",
    "check_values",
    "checked",
    "elements",
    "reversed_in_memory",
    "strided",
]


# Checks of transformations: each is a function of a case that asserts


@compiling
def jax_jit(case: Case) -> None:
    """Check that the compiled function returns the same as the eager function."""
    import jax

    library = library_of_name("jax")
    arrays = [library.asarray(x) for x in case.arrays]
    assert_close(library, jax.jit(case.function)(*arrays), eager(library, case), case)


@mapping
def jax_vmap(case: Case) -> None:
    """Check that the mapped function returns the same as a loop. One program compiles faster than many."""
    import jax

    _vmap(case, library_of_name("jax"), lambda function: jax.jit(jax.vmap(function)))


@mapping
def torch_vmap(case: Case) -> None:
    """Check that the mapped function returns the same as a loop."""
    import torch

    _vmap(case, library_of_name("torch"), torch.func.vmap)


def _vmap(case: Case, library: Library, vmap: Callable[..., Any]) -> None:
    lanes_of = batches(case)
    lanes = [as_tuple(case.function(*(library.asarray(x[i]) for x in lanes_of))) for i in range(2)]
    expected = [np.stack([np.asarray(library.to_numpy(x)) for x in results]) for results in zip(*lanes)]
    assert_close(library, vmap(case.function)(*(library.asarray(x) for x in lanes_of)), expected, case)


@compiling
def torch_compile(case: Case) -> None:
    """Check that PyTorch compiles the function as one graph, which returns the same as the eager function."""
    import torch

    library = library_of_name("torch")
    torch.compiler.reset()
    compiled = torch.compile(case.function, fullgraph=True, backend="eager")
    assert_close(library, compiled(*(library.asarray(x) for x in case.arrays)), eager(library, case), case)


@differentiating
def jax_grad(case: Case) -> None:
    """Check gradients against central differences."""
    import jax

    library = library_of_name("jax")
    arrays = [library.asarray(x) for x in case.arrays]
    weighted = weighted_sum(library, case)
    chosen = [arrays[i] for i in case.differentiable]
    # The other arrays are concrete, as in a call without compilation. One program compiles faster than many.
    of_chosen = of_chosen_arrays(weighted, arrays, case.differentiable)
    gradients = jax.grad(of_chosen, tuple(range(len(chosen))))
    expected = differences(library_of_name("numpy"), case)
    found = (jax.jit(gradients) if case.compiles else gradients)(*chosen)
    assert_close(library, found, expected, case, case.gradient_rtol)


@differentiating
def torch_grad(case: Case) -> None:
    """Check gradients against central differences: by torch.func, also mapped, and by `backward`."""
    import torch

    library = library_of_name("torch")
    arrays = [library.asarray(x) for x in case.arrays]
    weighted = weighted_sum(library, case)
    gradients = torch.func.grad(weighted, case.differentiable)
    expected = differences(library_of_name("numpy"), case)
    assert_close(library, gradients(*arrays), expected, case, case.gradient_rtol)
    if case.maps:
        mapped = torch.func.vmap(gradients)(*(torch.stack([x, x]) for x in arrays))
        assert_close(library, [x[1] for x in mapped], expected, case, case.gradient_rtol)
    for position in case.differentiable:
        arrays[position].requires_grad_()
    weighted(*arrays).backward()
    results = [arrays[position].grad for position in case.differentiable]
    assert_close(library, results, expected, case, case.gradient_rtol)


TRANSFORMATIONS: list[Check] = [
    jax_jit,
    jax_vmap,
    jax_grad,
    torch_vmap,
    torch_grad,
    torch_compile,
    traced_stage,
    traced_vmap,
    traced_forward,
    traced_grad,
    traced_second,
    torch_orders,
]
"""All checks of transformations."""


def checked(
    cases: Mapping[str, Case],
    checks: Sequence[Check] = TRANSFORMATIONS,
    only: Callable[[str, Check], bool] = lambda name, check: True,
) -> pytest.MarkDecorator:
    """Parametrize a test with `case` and `transformation`: each case with the checks that apply to it.

    `only` selects pairs by the name of the case and the check.
    """
    return pytest.mark.parametrize(
        ("case", "transformation"),
        [
            pytest.param(case, check, id=f"{name}-{check.__name__}" if name else check.__name__)
            for name, case in cases.items()
            for check in checks
            if check.applies(case) and only(name, check)
        ],
    )


def elements(dtype: str) -> st.SearchStrategy[Any]:
    """Draw elements of a data type, with NaN, infinities and signed zeros among the real ones."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        info = np.iinfo(dtype)
        return st.integers(int(info.min), int(info.max))
    ordinary = st.floats(-3, 3, width=16)
    special = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0])
    # Products and complex numbers meet infinities in an order that is each library's own: NaN or not differs.
    return ordinary | special if kind == "f" else st.builds(complex, ordinary, ordinary)
