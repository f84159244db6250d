"""Tests for the rows of docs/coverage/phiml.toml about precision and networks."""

import numpy as np
import pytest

import xpand
from tests.coverage import COMPLEX, INTEGERS, A, Row
from tests.libraries import Library
from xpand import UnsupportedError, networks
from xpand_extensions import precision


def get_precision(library: Library) -> None:
    own = library.xp.finfo(library.xp.__array_namespace_info__().default_dtypes()["real floating"]).bits
    with xpand.use(library.xp):
        assert precision.get_precision() == own
    for bits in (32, 64):
        with precision.precision(bits):
            assert precision.get_precision() == bits


def float_type(library: Library) -> None:
    with precision.precision(32):
        found = library.xp.ones(3, dtype=precision.default_dtype(xp=library.xp), device=library.device)
    library.assert_equal(found, np.ones(3, np.float32))


def complex_type(library: Library) -> None:
    for bits, wanted in ((32, np.complex64), (64, np.complex128)):
        with precision.precision(bits):
            dtype = precision.default_dtype("complex floating", xp=library.xp)
        library.assert_equal(library.xp.ones(3, dtype=dtype, device=library.device), np.ones(3, wanted))


def local(library: Library) -> None:
    with precision.precision(32):
        made(library, "float32")
        with precision.precision(64):
            made(library, "float64")
        made(library, "float32")


def made(library: Library, name: str) -> None:
    """Check created arrays, if xpand wraps the library, and converted arrays."""
    if not library.id.startswith("strict"):
        library.assert_equal(library.xp.linspace(0, 1, 3, device=library.device), np.linspace(0, 1, 3, dtype=name))
    library.assert_equal(precision.to_float(library.asarray(np.asarray([1, 2]))), np.asarray([1, 2], name))


def process(library: Library) -> None:
    try:
        precision.set_precision(32)
        made(library, "float32")
        with precision.precision(64):
            made(library, "float64")
    finally:
        precision.set_precision(None)


def to_float(library: Library) -> None:
    double = library.asarray(np.asarray([1.5, 2.5]))
    with precision.precision(32):
        library.assert_equal(precision.to_float(double), np.asarray([1.5, 2.5], np.float32))
        library.assert_equal(precision.to_float(library.asarray(INTEGERS)), INTEGERS.astype(np.float32))
    library.assert_equal(precision.to_float(double), np.asarray([1.5, 2.5]))


def to_complex(library: Library) -> None:
    library.assert_equal(precision.to_complex(library.asarray(A)), A.astype(np.complex128))
    with precision.precision(32):
        library.assert_equal(precision.to_complex(library.asarray(COMPLEX)), COMPLEX.astype(np.complex64))
        library.assert_equal(precision.to_complex(library.asarray(INTEGERS)), INTEGERS.astype(np.complex64))


def is_module(library: Library) -> None:
    import torch

    network = torch.nn.Linear(2, 3)
    assert networks.is_module(network)
    assert networks.is_module(network, xp=library.xp) == (library.xp is xpand.namespace("torch"))
    assert not networks.is_module(library.asarray(np.ones(3)))
    assert not networks.is_module(torch.nn.Linear)


def nn_library(library: Library) -> None:
    name = xpand.library_name(library.xp)
    with xpand.use(library.xp):
        if name == "torch":
            network = networks.nn_library().Linear(2, 3)
            assert networks.is_module(network, xp="torch")
        elif name != "jax":  # for JAX the result depends on installed packages
            with pytest.raises(UnsupportedError, match=f"nn_library: {name} has no neural networks; use those of"):
                networks.nn_library()


CHECKS: dict[str, Row] = {
    "Backend.precision": get_precision,
    "Backend.float_type": float_type,
    "Backend.complex_type": complex_type,
    "Backend.to_float": to_float,
    "Backend.to_complex": to_complex,
    "Backend.nn_library": nn_library,
    "Backend.is_module": is_module,
    "get_precision": get_precision,
    "precision": local,
    "set_global_precision": process,
}
