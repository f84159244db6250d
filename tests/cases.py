"""Test cases: operations on given arrays, with references, checked in several memory layouts."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import xpand
from tests.libraries import LIBRARIES, Library


@dataclass(frozen=True)
class Case:
    """An operation on given arrays."""

    function: Callable[..., Any]
    """Takes only arrays of one library; options are bound. Returns an array, or a tuple of arrays."""
    arrays: tuple[np.ndarray, ...]
    reference: Callable[..., Any] | None = None
    """The same function for NumPy's arrays, computed independently. Returns NumPy arrays of the expected data types."""
    differentiable: tuple[int, ...] = ()
    """The numbers of the arrays in which the function is differentiable at these values. They have float64."""
    rtol: float = 1e-12
    atol: float = 0.0
    gradient_rtol: float = 1e-6
    """The tolerance for gradients compared with central differences, which are not exact."""
    compiles: bool = True
    """Whether the function works under jit, because its shapes do not depend on values."""
    maps: bool = True
    """Whether the function works under vmap."""
    as_one_program: bool = True
    """Whether JAX compiles the derivatives as one program. That may take minutes, or XLA may remove NaN."""

    def __str__(self) -> str:
        """Name the case if no id is given."""
        return getattr(self.function, "__name__", "case")


def check_values(library: Library, case: Case) -> None:
    """Check the result on a library against the reference, for several memory layouts. Inputs must not change."""
    assert case.reference is not None, "the case has no reference"
    with np.errstate(all="ignore"):
        expected = as_tuple(case.reference(*case.arrays))
    for lay_out in (Library.asarray, reversed_in_memory, strided):
        arrays = [lay_out(library, x) for x in case.arrays]
        with np.errstate(all="ignore"):  # NumPy warns for 0-dimensional results, but not for arrays
            actual = as_tuple(case.function(*arrays))
        assert len(actual) == len(expected)
        for result, wanted in zip(actual, expected):
            library.assert_equal(result, wanted, rtol=case.rtol, atol=case.atol)
        for x, before in zip(arrays, case.arrays):
            library.assert_equal(x, before)


def strided(library: Library, values: np.ndarray) -> Any:
    """Make an array that is every other element of a larger one, if there is an axis."""
    values = np.asarray(values)
    if not values.ndim:
        return library.asarray(values)
    return library.asarray(np.repeat(values, 2, axis=-1))[..., ::2]


def reversed_in_memory(library: Library, values: np.ndarray) -> Any:
    """Make an array with the reverse order of axes in memory."""
    values = np.asarray(values)
    if values.ndim < 2:
        return library.asarray(values)
    x = library.asarray(values.T)
    return library.xp.permute_dims(x, tuple(range(values.ndim))[::-1])


def as_tuple(result: Any) -> tuple[Any, ...]:
    """Convert the result of a function to a tuple of arrays."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


# Shared code of the checks of transformations


Check: TypeAlias = Callable[[Case], None]


def applies_to(condition: Callable[[Case], bool]) -> Callable[[Check], Check]:
    """Decorate a check that applies to some cases. It fails for others."""

    def decorate(check: Check) -> Check:
        @functools.wraps(check)
        def checked(case: Case) -> None:
            assert condition(case), f"{check.__name__} does not apply to this case"
            check(case)

        checked.applies = condition
        return checked

    return decorate


compiling = applies_to(lambda case: case.compiles)
mapping = applies_to(lambda case: case.maps)
differentiating = applies_to(lambda case: bool(case.differentiable))


def library_of_name(name: str) -> Library:
    return next(library for library in LIBRARIES if library.id == name)


def assert_close(library: Library, actual: Any, expected: Sequence[np.ndarray], case: Case, rtol: float = 0.0) -> None:
    actual = as_tuple(actual)
    assert len(actual) == len(expected)
    for result, wanted in zip(actual, expected):
        found = library.to_numpy(result)
        assert found.dtype == wanted.dtype, f"{found.dtype} is not {wanted.dtype}"
        assert found.shape == wanted.shape, f"{found.shape} is not {wanted.shape}"
        rtol = max(rtol, case.rtol, 1e-12 if wanted.dtype in (np.float64, np.complex128) else 2e-6)
        scale = float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)) if wanted.dtype.kind in "fc" else 0.0
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=max(case.atol, rtol * scale), equal_nan=True)


def eager(library: Library, case: Case) -> tuple[np.ndarray, ...]:
    result = case.function(*(library.asarray(x) for x in case.arrays))
    return tuple(np.asarray(library.to_numpy(x)) for x in as_tuple(result))


def batches(case: Case) -> tuple[np.ndarray, ...]:
    """Make two lanes of each array: the array, and the array with its first axis reversed, which is as valid."""
    return tuple(np.stack([x, x[::-1] if x.ndim else x]) for x in case.arrays)


def weights_of(shape: tuple[int, ...]) -> np.ndarray:
    """Make weights to sum a result to one number: all different, and of similar size."""
    return np.cos(1.0 + np.arange(np.prod(shape, dtype=int), dtype=np.float64)).reshape(shape)


def weighted_sum(library: Library, case: Case) -> Callable[..., Any]:
    """Return a function that sums the floating-point results to a real number."""

    def weighted(*arrays: Any) -> Any:
        total = None
        for result in as_tuple(case.function(*arrays)):
            xp = xpand.array_namespace(result)  # the namespace of traced arrays is not the library's
            if xp.isdtype(result.dtype, "real floating"):
                part = xp.sum(result * library.asarray(weights_of(tuple(result.shape))))
                total = part if total is None else total + part
            elif xp.isdtype(result.dtype, "complex floating"):
                weights = library.asarray(weights_of(tuple(result.shape)))
                part = xp.sum(xp.real(result) * weights) + 2.0 * xp.sum(xp.imag(result) * weights)
                total = part if total is None else total + part
        assert total is not None, "no result is floating-point: nothing to differentiate"
        return total

    return weighted


def differences(library: Library, case: Case) -> tuple[np.ndarray, ...]:
    """Compute central differences of fourth order of the weighted result, by the eager function."""
    weighted = weighted_sum(library, case)

    def value(position: int, index: tuple[int, ...], step: float) -> float:
        arrays = [np.array(x) for x in case.arrays]
        arrays[position][index] += step
        return float(library.to_numpy(weighted(*(library.asarray(x) for x in arrays))))

    gradients = []
    for position in case.differentiable:
        x = case.arrays[position]
        assert x.dtype == np.float64, "gradients are checked for float64"
        gradient = np.zeros(x.shape)
        for index in np.ndindex(x.shape):
            h = 1e-3 * max(1.0, abs(float(x[index])))
            near = value(position, index, h) - value(position, index, -h)
            far = value(position, index, 2 * h) - value(position, index, -2 * h)
            gradient[index] = (8 * near - far) / (12 * h)
        gradients.append(gradient)
    return tuple(gradients)
