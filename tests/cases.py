"""An operation on certain arrays, what its results are compared with, and in which layouts of memory."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import xpand
from tests.libraries import LIBRARIES, Library


@dataclass(frozen=True)
class Case:
    """An operation on certain arrays."""

    function: Callable[..., Any]
    """Takes arrays of one library, and nothing else: options are bound. Returns an array, or a tuple of arrays."""
    arrays: tuple[np.ndarray, ...]
    reference: Callable[..., Any] | None = None
    """The same of NumPy's arrays, by independent means: returns NumPy arrays of the data type to be expected."""
    differentiable: tuple[int, ...] = ()
    """Which of the arrays the function is differentiable in, at their values. They are of float64."""
    rtol: float = 1e-12
    atol: float = 0.0
    gradient_rtol: float = 1e-6
    """How near the gradients are to central differences, which are not exact themselves."""
    compiles: bool = True
    """Whether the function works under jit: its shapes do not depend on values."""
    maps: bool = True
    """The same for vmap."""
    as_one_program: bool = True
    """Whether JAX compiles its derivatives whole: not where that takes minutes, or where XLA simplifies NaN away."""

    def __str__(self) -> str:
        """Name the case where no id is given."""
        return getattr(self.function, "__name__", "case")


def check_values(library: Library, case: Case) -> None:
    """Check the result on a library against the reference, on arrays laid out in several ways; inputs stay the same."""
    assert case.reference is not None, "the case has no reference"
    with np.errstate(all="ignore"):
        expected = as_tuple(case.reference(*case.arrays))
    for lay_out in (Library.asarray, reversed_in_memory, strided):
        arrays = [lay_out(library, x) for x in case.arrays]
        with np.errstate(all="ignore"):  # 0-dimensional results of NumPy warn where arrays are silent
            actual = as_tuple(case.function(*arrays))
        assert len(actual) == len(expected)
        for result, wanted in zip(actual, expected):
            library.assert_equal(result, wanted, rtol=case.rtol, atol=case.atol)
        for x, before in zip(arrays, case.arrays):
            library.assert_equal(x, before)


def strided(library: Library, values: np.ndarray) -> Any:
    """Make an array of every other element of a larger one, where there is an axis."""
    values = np.asarray(values)
    if not values.ndim:
        return library.asarray(values)
    return library.asarray(np.repeat(values, 2, axis=-1))[..., ::2]


def reversed_in_memory(library: Library, values: np.ndarray) -> Any:
    """Make an array whose axes lie in memory in the reverse order."""
    values = np.asarray(values)
    if values.ndim < 2:
        return library.asarray(values)
    x = library.asarray(values.T)
    return library.xp.permute_dims(x, tuple(range(values.ndim))[::-1])


def as_tuple(result: Any) -> tuple[Any, ...]:
    """Write the result of a function as a tuple of arrays."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


# Shared code of the checks of transformations


Check: TypeAlias = Callable[[Case], None]


def applies_to(condition: Callable[[Case], bool]) -> Callable[[Check], Check]:
    """Decorate a check that certain cases are for; it fails for others."""

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
    """Two lanes for each array: itself, and itself with its first axis reversed, which keeps what it means."""
    return tuple(np.stack([x, x[::-1] if x.ndim else x]) for x in case.arrays)


def weights_of(shape: tuple[int, ...]) -> np.ndarray:
    """Weights that make a number of a result without favouring any element; no two are equal."""
    return np.cos(1.0 + np.arange(np.prod(shape, dtype=int), dtype=np.float64)).reshape(shape)


def weighted_sum(library: Library, case: Case) -> Callable[..., Any]:
    """Make a real number of the floating-point results."""

    def weighted(*arrays: Any) -> Any:
        total = None
        for result in as_tuple(case.function(*arrays)):
            xp = xpand.array_namespace(result)  # of traced arrays not the library's
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
    """Central differences of the weighted result, of fourth order, by the eager function."""
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
