"""The checker of operations finds what is wrong, and passes what is right."""

import numpy as np
import pytest

import xpand
from tests.libraries import Library
from tests.operations import TRANSFORMATIONS, Case, Check, check_values, checked
from xpand_extensions.autodiff import stop_gradient

VALUES = np.asarray([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]])


def cube(x, y):
    return x**3 + y


GOOD = Case(cube, (VALUES, VALUES[0]), reference=lambda x, y: x * x * x + y, differentiable=(0, 1))


def test_values(library: Library) -> None:
    check_values(library, GOOD)


@checked({"": GOOD})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_a_wrong_value_is_found(library: Library) -> None:
    with pytest.raises(AssertionError):
        check_values(library, Case(lambda x: x * 1.0000001, (VALUES,), reference=lambda x: x))


def test_a_result_on_another_library_or_of_another_type_is_found(library: Library) -> None:
    for function in (
        lambda x: library.to_numpy(x).tolist(),
        lambda x: xpand.array_namespace(x).astype(x, xpand.array_namespace(x).float32),
    ):
        with pytest.raises((AssertionError, TypeError)):
            check_values(library, Case(function, (VALUES,), reference=lambda x: x))


def test_a_changed_input_is_found() -> None:
    from tests.libraries import LIBRARIES

    def change(x):
        x += 1.0
        return x

    torch = next(library for library in LIBRARIES if library.id == "torch")
    with pytest.raises(AssertionError):
        check_values(torch, Case(change, (VALUES,), reference=lambda x: x + 1.0))


def detached(x):
    return stop_gradient(x) * x


def detached_by_tracing(x):
    """Traced operations are compared with JAX's derivatives, so those must be right."""
    is_of_jax = xpand.library_name(xpand.array_namespace(x)) == "jax"
    return x * x if is_of_jax else detached(x)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS, ids=lambda check: check.__name__)
def test_a_wrong_gradient_is_found(transformation) -> None:
    name = transformation.__name__
    function = detached_by_tracing if name.startswith("traced") else detached
    case = Case(function, (VALUES,), differentiable=(0,))
    if name.endswith(("grad", "forward", "second")):
        with pytest.raises(AssertionError):
            transformation(case)
    else:
        transformation(case)
