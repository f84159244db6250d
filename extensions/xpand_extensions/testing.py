"""Tests of packages that are written for the array API: one list of libraries, comparisons, and transformations.

`libraries` returns the installed libraries, to parametrise tests over, `assert_close` compares arrays of any library,
and `check_transforms` checks that a function works under `grad`, `jit` and `vmap`:

    import pytest
    from xpand_extensions.testing import assert_close, check_transforms, libraries

    @pytest.mark.parametrize("library", libraries(), ids=str)
    def test_softmax(library):
        x = library.asarray([0.5, -1.0, 2.0])
        assert_close(library.call(softmax, x), [0.17529, 0.03911, 0.7856], rtol=1e-4)
        check_transforms(softmax, x)

Nothing here needs pytest.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final, Literal, TypeVar

import numpy as np

from xpand import array_namespace, namespace, trees
from xpand.extend import Array, Device, Namespace, checks, describe

from . import convert
from ._transforms import is_floating
from .autodiff import check_grads, jvp
from .devices import device_count, devices
from .jit import jit
from .vmap import vmap

__all__ = ["ArrayLibrary", "Transform", "assert_close", "check_transforms", "libraries"]
__dir__ = __all__.copy

Transform = Literal["grad", "jit", "vmap"]
T = TypeVar("T")

_NAMES: Final = ("numpy", "torch", "jax", "dask", "array_api_strict")
_TRANSFORMS: Final = ("grad", "jit", "vmap")
_DEFAULTS: Final = {"f": "real floating", "c": "complex floating", "i": "integral"}


@dataclass(frozen=True)
class ArrayLibrary:
    """A library on which a test runs, with a data type and a device. `str` gives the id of a test."""

    name: str
    """The name of the library, as `xpand.namespace` takes it."""
    dtype: str | None = None
    """The name of the data type of floating-point arrays. None: the library's default."""
    device: Device = None
    """The device of arrays. None: the library's default."""
    is_traced: bool = False
    """Whether `call` passes traced arrays to functions, as a gradient does."""

    @cached_property
    def xp(self) -> Namespace:
        """The namespace. The library is imported when a test first asks for it."""
        return namespace(self.name)

    def asarray(self, values: Any, dtype: str | None = None) -> Array:
        """Make an array of this library from numbers, on this device. NumPy's arrays are read-only.

        Args:
            values: A number, a nested list or a NumPy array.
            dtype: The name of a data type. None: for floating-point values that of this entry, for others the default
                of the library.

        >>> libraries(["numpy"], dtypes=["float32"])[0].asarray([1.0, 2.0]).dtype
        dtype('float32')
        """
        source = np.array(values)
        if dtype is None and source.dtype.kind == "f":
            dtype = self.dtype
        xp = self.xp
        wanted = getattr(xp, dtype or str(source.dtype))
        if dtype is None and source.dtype.kind in _DEFAULTS:
            wanted = xp.__array_namespace_info__().default_dtypes()[_DEFAULTS[source.dtype.kind]]
        x: Any = xp.asarray(source, dtype=wanted, device=self.device)
        if self.name == "numpy":
            x.flags.writeable = False
        return x

    def call(self, function: Callable[..., T], /, *args: Any) -> T:
        """Call a function with arrays of this library. If this entry is traced, a transformation traces them.

        The traced arrays have values, so that a function may use `if`. The result is not traced.
        """
        if not self.is_traced:
            return function(*args)
        leaves, structure = trees.flatten(args)
        floating = [i for i, x in enumerate(leaves) if checks.is_array(x) and is_floating(self.xp, x)]

        def of_floating(*values: Array) -> T:
            traced = dict(zip(floating, values))
            return function(*trees.unflatten(structure, [traced.get(i, x) for i, x in enumerate(leaves)]))

        values = tuple(leaves[i] for i in floating)
        result: T = jvp(of_floating, values, values)[0] if floating else function(*args)
        return result

    def __str__(self) -> str:
        """Write the id of a test, such as "numpy-traced-float32"."""
        # array-api-strict writes "array_api_strict.Device('device1')".
        device = None if self.device is None else re.sub(r".*\('(.*)'\)", r"\1", str(self.device))
        return "-".join(filter(None, (self.name, "traced" if self.is_traced else None, self.dtype, device)))


def libraries(
    names: Iterable[str] | None = None,
    *,
    dtypes: Sequence[str | None] = (None,),
    all_devices: bool = False,
    traced: bool = True,
) -> list[ArrayLibrary]:
    """List the installed libraries, to parametrise tests over.

    NumPy has a second entry, whose arrays a transformation traces: code that converts them to NumPy's own fails there.
    No library is imported before a test uses it, unless all devices are wanted.

    Args:
        names: The names of libraries. None: NumPy, PyTorch, JAX, Dask and array-api-strict, if they are installed.
        dtypes: Names of floating-point data types, one entry for each. JAX has float64 only if `jax_enable_x64` is set.
        all_devices: Whether to add an entry for each further kind of device: GPUs of PyTorch and JAX, and the second
            device of array-api-strict, on which arrays whose `device=` was forgotten raise an error.
        traced: Whether to add traced NumPy.

    Raises:
        ValueError: A library is unknown or not installed.

    >>> [str(library) for library in libraries(["numpy", "torch"], dtypes=["float32"])]
    ['numpy-float32', 'numpy-traced-float32', 'torch-float32']
    """
    if names is None:
        names = [name for name in _NAMES if find_spec(name) is not None]
    found = []
    for name in names:
        if find_spec(name) is None:
            raise ValueError(f"libraries: {name!r} is not installed")
        for dtype in dtypes:
            found.append(ArrayLibrary(name, dtype))
            if traced and name == "numpy":
                found.append(ArrayLibrary(name, dtype, is_traced=True))
            if all_devices:
                found += [ArrayLibrary(name, dtype, device) for device in _further_devices(name)]
    return found


def _further_devices(name: str) -> list[Device]:
    if name == "array_api_strict":
        strict: Any = namespace(name)
        return [strict.Device("device1")]
    return [devices(name, "gpu")[0].device] if name in ("torch", "jax") and device_count(name, "gpu") else []


def assert_close(
    result: trees.Tree,
    reference: trees.Tree,
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    check_dtype: bool = False,
) -> None:
    """Assert that arrays are close, of any libraries and on any devices.

    Shapes must be equal, also those of scalars. NaN equals NaN. Integers and booleans must be equal.

    Args:
        result: An array, a number, or a tree of these.
        reference: The expected values: a tree of the same structure. A list of numbers is the reference of an array.
        rtol: The relative tolerance. None: four times the square root of the precision of the less precise data type.
        atol: The absolute tolerance.
        check_dtype: Whether data types must have the same name.

    Raises:
        AssertionError: They differ. The message has both values.

    >>> import torch
    >>> assert_close(torch.asarray([1.0, 2.0]), np.asarray([1.0, 2.0 + 1e-7]))
    """
    if checks.is_array(result) and not checks.is_array(reference):
        reference = np.asarray(reference)
    results, structure = trees.flatten(result)
    references, expected = trees.flatten(reference)
    if structure != expected:
        raise AssertionError(f"assert_close: the result has the structure {structure}, not {expected}")
    for position, x, y in zip(structure.accessors(), map(_to_numpy, results), map(_to_numpy, references)):
        where = f"assert_close: {position.codify('result')}"
        if check_dtype and x.dtype != y.dtype:
            raise AssertionError(f"{where} has data type {x.dtype}, not {y.dtype}")
        if x.shape != y.shape:
            raise AssertionError(f"{where} has shape {x.shape}, not {y.shape}")
        tolerance = _tolerance(x.dtype, y.dtype) if rtol is None else rtol
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=atol, equal_nan=True, err_msg=where, strict=False)


def _to_numpy(x: Any) -> np.ndarray:
    if not checks.is_array(x):
        return np.asarray(x)
    return np.asarray(convert.to_numpy(x))


def _tolerance(*dtypes: Any) -> float:
    precisions = [float(np.finfo(dtype).eps) for dtype in dtypes if dtype.kind in "fc"]
    # A comparison of integers with floating-point numbers is one of floating-point numbers.
    return 4.0 * math.sqrt(max(precisions)) if precisions else 0.0


def check_transforms(
    function: Callable[..., trees.Tree],
    /,
    *args: trees.Tree,
    transforms: Sequence[Transform] = _TRANSFORMS,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Check that a function works under transformations.

    - "grad": `autodiff.check_grads` compares derivatives in both modes with differences of values, with respect to all
      floating-point arrays.
    - "jit": the compiled function gives the same as the function, also in a second call with other values.
    - "vmap": the function over a batch of two gives the same as two calls.

    Args:
        function: Takes arrays and trees of arrays, and returns one. It should be smooth near the arguments.
        args: The arguments at which to check.
        transforms: Those to check.
        rtol: The relative tolerance. None: the default of `check_grads` and of `assert_close`.
        atol: The absolute tolerance. None: as `rtol`, of values about 1.

    Raises:
        AssertionError: A transformation gives another result.
        Exception: An error of the function, with a note that names the transformation.

    >>> check_transforms(lambda x: np.sum(x * x), np.asarray([1.0, 2.0]))
    """
    checks.function("check_transforms", function)
    for name in transforms:
        checks.choice("check_transforms", "transforms", name, _TRANSFORMS)
    leaves, structure = trees.flatten(args)
    if not any(checks.is_array(x) for x in leaves):
        raise TypeError(f"check_transforms: takes at least one array, got {describe(args)}")
    nearby = trees.unflatten(structure, [_nearby(x) for x in leaves])
    for name in transforms:
        with _named(name):
            if name == "grad":
                _check_grads(function, leaves, structure, rtol, atol)
            else:
                _check_values(name, function, (args, nearby), rtol, atol)


@contextmanager
def _named(transform: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"check_transforms: under `{transform}`")
        raise


def _check_grads(function: Callable[..., Any], leaves: list[Any], structure: Any, rtol: Any, atol: Any) -> None:
    floating = [i for i, x in enumerate(leaves) if checks.is_array(x) and is_floating(array_namespace(x), x)]
    if not floating:
        return

    def of_floating(*values: Array) -> Any:
        replaced = dict(zip(floating, values))
        return function(*trees.unflatten(structure, [replaced.get(i, x) for i, x in enumerate(leaves)]))

    check_grads(of_floating, tuple(leaves[i] for i in floating), rtol=rtol, atol=atol)


def _check_values(name: str, function: Callable[..., Any], points: Sequence[Any], rtol: Any, atol: Any) -> None:
    expected = [function(*args) for args in points]
    if name == "jit":
        compiled = jit(function)
        results = [compiled(*args) for args in points]
    else:
        results = trees.unstack(vmap(function)(*trees.stack(points)))
    for result, reference in zip(results, expected):
        tolerance = max((_tolerance(_to_numpy(x).dtype) for x in trees.leaves(reference)), default=0.0)
        assert_close(result, reference, rtol=rtol, atol=tolerance if atol is None else atol)


def _nearby(x: Any) -> Any:
    """Change floating-point numbers by a percent, so that a result that ignores an argument differs."""
    is_changed = checks.is_array(x) and is_floating(array_namespace(x), x)
    return x * 1.01 if is_changed else x
