"""The one checker of operations: values on every library, layouts of memory, transformations, gradients.

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

__all__ = ["TRANSFORMATIONS", "Case", "Check", "as_tuple", "check_values", "checked", "reversed_in_memory", "strided"]


# Transformations: each a function of a case that asserts


@compiling
def jax_jit(case: Case) -> None:
    """The compiled function gives what the eager one gives."""
    import jax

    library = library_of_name("jax")
    arrays = [library.asarray(x) for x in case.arrays]
    assert_close(library, jax.jit(case.function)(*arrays), eager(library, case), case)


@mapping
def jax_vmap(case: Case) -> None:
    """The mapped function gives what a loop gives; one program compiles quicker than many."""
    import jax

    _vmap(case, library_of_name("jax"), lambda function: jax.jit(jax.vmap(function)))


@mapping
def torch_vmap(case: Case) -> None:
    """The mapped function gives what a loop gives."""
    import torch

    _vmap(case, library_of_name("torch"), torch.func.vmap)


def _vmap(case: Case, library: Library, vmap: Callable[..., Any]) -> None:
    lanes_of = batches(case)
    lanes = [as_tuple(case.function(*(library.asarray(x[i]) for x in lanes_of))) for i in range(2)]
    expected = [np.stack([np.asarray(library.to_numpy(x)) for x in results]) for results in zip(*lanes)]
    assert_close(library, vmap(case.function)(*(library.asarray(x) for x in lanes_of)), expected, case)


@compiling
def torch_compile(case: Case) -> None:
    """PyTorch's compiler takes the function as one graph, which gives what the eager function gives."""
    import torch

    library = library_of_name("torch")
    torch.compiler.reset()
    compiled = torch.compile(case.function, fullgraph=True, backend="eager")
    assert_close(library, compiled(*(library.asarray(x) for x in case.arrays)), eager(library, case), case)


@differentiating
def jax_grad(case: Case) -> None:
    """Gradients agree with central differences."""
    import jax

    library = library_of_name("jax")
    arrays = [library.asarray(x) for x in case.arrays]
    weighted = weighted_sum(library, case)
    chosen = [arrays[i] for i in case.differentiable]
    # The other arrays have values, as in a call that isn't compiled; one program compiles quicker than many.
    of_chosen = of_chosen_arrays(weighted, arrays, case.differentiable)
    gradients = jax.grad(of_chosen, tuple(range(len(chosen))))
    expected = differences(library_of_name("numpy"), case)
    found = (jax.jit(gradients) if case.compiles else gradients)(*chosen)
    assert_close(library, found, expected, case, case.gradient_rtol)


@differentiating
def torch_grad(case: Case) -> None:
    """Gradients agree with central differences: those of torch.func, also mapped, and those of `backward`."""
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
"""Every check of a transformation."""


def checked(
    cases: Mapping[str, Case],
    checks: Sequence[Check] = TRANSFORMATIONS,
    only: Callable[[str, Check], bool] = lambda name, check: True,
) -> pytest.MarkDecorator:
    """Parametrise a test with `case` and `transformation`: the cases, each with the checks that apply to it.

    `only` chooses among them, by the name of the case and the check.
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
