"""Checks of properties that every elementwise special function has. Test files run them over their tables."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.laziness import nothing_computed
from tests.libraries import Library


def check_shapes(library: Library, function: Callable[..., Any], point: float, operands: int = 1) -> None:
    """Check that empty arrays and arrays without axes keep their shape and data type."""
    for dtype in ("float32", "float64"):
        for shape in ((), (0,), (2, 0), (2, 1, 3)):
            x = library.asarray(np.full(shape, point, dtype=dtype))
            result = library.to_numpy(function(*[x] * operands))
            assert np.asarray(result).shape == shape
            assert str(np.asarray(result).dtype) == dtype


def check_narrow_types(function: Callable[..., Any], point: float, operands: int = 1) -> None:
    """Check that float16 and bfloat16, if a library has them, return the rounded results of float32."""
    import jax.numpy as jnp
    import torch

    exact = float(function(*[np.asarray([point], dtype=np.float32)] * operands)[0])
    for x in (
        np.asarray([point], dtype=np.float16),
        torch.asarray([point], dtype=torch.float16),
        torch.asarray([point], dtype=torch.bfloat16),
        jnp.asarray([point], dtype=jnp.float16),
        jnp.asarray([point], dtype=jnp.bfloat16),
    ):
        result = function(*[x] * operands)
        assert result.dtype == x.dtype
        assert float(result[0]) == pytest.approx(exact, rel=2**-7 if "bfloat16" in str(x.dtype) else 2**-10)


COMPLEX = ("rsqrt", "exp2", "sigmoid", "expit")  # these also accept complex numbers: tests/test_special_complex.py


def check_bad_input(library: Library, name: str, function: Callable[..., Any]) -> None:
    """Check the errors for arguments other than arrays of a floating-point data type, which mostly must be real."""
    real = "" if name in COMPLEX else "real "
    for dtype in ("bool", "int32", "uint64", *(() if name in COMPLEX else ("complex128",))):
        with pytest.raises(TypeError, match=rf"^{name}: x must have a {real}floating-point data type, got .*{dtype}"):
            function(library.asarray(np.ones(2), dtype=dtype))
    for value in ([1.0], "1", None, 1.0):
        with pytest.raises(TypeError, match=rf"^{name}: x must be an array, got"):
            function(value)


def check_bad_operands(library: Library, name: str, function: Callable[..., Any]) -> None:
    """Check the same for a function of two operands, which must also fit together."""
    x = library.asarray(np.ones(3))
    for dtype in ("bool", "int32", "uint64", "complex128"):
        for operands in ((library.asarray(np.ones(3), dtype=dtype), x), (x, library.asarray(np.ones(3), dtype=dtype))):
            with pytest.raises(
                TypeError, match=rf"^{name}: [xy] must have a real floating-point data type, got .*{dtype}"
            ):
                function(*operands)
    for value in ([1.0], "1", None):
        with pytest.raises(TypeError, match=rf"^{name}: y must be an array, got"):
            function(x, value)
    for number in (True, 1j):
        with pytest.raises(
            TypeError, match=rf"^{name}: y is the {type(number).__name__} .*, which does not promote to"
        ):
            function(x, number)
    with pytest.raises(TypeError, match=rf"^{name}: takes at least one array, got x \(float\), y \(int\)"):
        function(1.0, 2)
    with pytest.raises(ValueError, match=rf"^{name}: takes arrays that broadcast together, got x of shape \(3,\)"):
        function(x, library.asarray(np.ones(2)))
    other = Library("", lambda: xpand.namespace("torch" if library.id == "numpy" else "numpy"))
    with pytest.raises(TypeError, match=rf"^{name}: takes arrays of one library"):
        function(x, other.asarray(np.ones(3)))


def check_lazy(function: Callable[..., Any], points: np.ndarray, operands: int = 1) -> None:
    """Check that Dask's arrays are not computed until their values are requested."""
    import dask.array as da

    x = da.from_array(points, chunks=2)
    with nothing_computed():
        result = function(*[x] * operands)
    np.testing.assert_allclose(np.asarray(result), function(*[points] * operands), rtol=1e-12)
