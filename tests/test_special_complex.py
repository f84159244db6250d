"""rsqrt, exp2 and sigmoid of complex numbers: values, edges, transformations and gradients on every library."""

import cmath
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from tests.libraries import Library
from xpand_extensions import special
from xpand_extensions.autodiff import grad
from xpand_extensions.vmap import vmap

Z = np.asarray([0.5 + 2.0j, -1.5 + 0.25j, -0.75 - 3.0j, 2.0 - 0.5j, 1e-3 + 0.0j])
LN2 = float(np.log(2.0))

# The function, the same by Python's own `cmath`, its derivative, and JAX's.
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "rsqrt": (special.rsqrt, lambda z: 1.0 / cmath.sqrt(z), lambda z: -0.5 / z / cmath.sqrt(z), jax.lax.rsqrt),
    "exp2": (special.exp2, lambda z: 2.0**z, lambda z: LN2 * 2.0**z, jax.numpy.exp2),
    "sigmoid": (
        special.sigmoid,
        lambda z: 1.0 / (1.0 + cmath.exp(-z)),
        lambda z: 1.0 / (2.0 + cmath.exp(-z) + cmath.exp(z)),
        jax.nn.sigmoid,
    ),
}
FUNCTIONS["expit"] = (special.expit, *FUNCTIONS["sigmoid"][1:])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(library: Library, name: str) -> None:
    function, reference, _, theirs = FUNCTIONS[name]
    expected = np.asarray([reference(z) for z in Z.tolist()])
    library.assert_equal(function(library.asarray(Z)), expected, rtol=1e-14)
    np.testing.assert_allclose(expected, np.asarray(theirs(jax.numpy.asarray(Z))), rtol=1e-13)
    single = expected.astype(np.complex64)
    library.assert_equal(function(library.asarray(Z.astype(np.complex64))), single, rtol=2e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_and_maps(library: Library, name: str) -> None:
    function, _, derivative, _ = FUNCTIONS[name]
    found = vmap(grad(function, holomorphic=True))(library.asarray(Z))
    library.assert_equal(found, np.asarray([derivative(z) for z in Z.tolist()]), rtol=1e-12)


def test_edges(library: Library) -> None:
    """Zeros and infinities give no warning; nothing overflows where the result is finite."""
    inf = np.inf
    z = np.asarray([0.0, complex(inf, 1.0), complex(-inf, 0.0), complex(0.0, inf)])
    library.assert_equal(special.rsqrt(library.asarray(z)), np.asarray([inf, 0.0, 0.0, 0.0], dtype=complex))
    z = np.asarray([complex(1000.0, 3.0), complex(-1000.0, 3.0), complex(-700.0, 0.0)])
    library.assert_equal(special.sigmoid(library.asarray(z)), [1.0, 0.0, np.exp(-700.0) + 0.0j], rtol=1e-12)
    assert np.abs(library.to_numpy(special.exp2(library.asarray([-2000.0 + 1.0j])))) == 0.0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_types(library: Library, name: str) -> None:
    function = FUNCTIONS[name][0]
    library.assert_equal(function(library.asarray(np.zeros((0, 2), dtype=complex))), np.zeros((0, 2), dtype=complex))
    for bad in (library.asarray([1, 2]), library.asarray([True]), [1.0j], 1.0j):
        with pytest.raises(TypeError, match=name):
            function(bad)
