"""The namespace of traced arrays is the standard: its names and its signatures, over every library.

What its functions compute is the business of the official suite (`make conformance LIBRARY=traced-numpy`).
"""

import inspect
from inspect import Parameter
from typing import Any

import array_api_compat
import array_api_strict as strict
import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from tests.test_namespaces_complete import FUNCTIONS, NOT_STANDARD
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedArray, traced_namespace
from xpand_extensions.vmap import vmap

BASES = {library.id: library for library in LIBRARIES if library.id in ("numpy", "strict", "dask", "torch")}

WIDER = {"expand_dims": {"axis": 0}}
"""Required by array-api-strict but not here: it has the default of version 2024.12."""


@pytest.fixture(params=BASES)
def base(request: pytest.FixtureRequest) -> Library:
    return BASES[request.param]


def _kinds(function: Any) -> list[tuple[str, Any]]:
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.kind) for p in parameters if not p.name.startswith("_")]


def _defaults(function: Any) -> dict[str, Any]:
    """The defaults that are values of their own: not those that stand for nothing given."""
    parameters = inspect.signature(function).parameters.values()
    plain = (bool, int, float, str)
    given = (p for p in parameters if not p.name.startswith("_") and "Undef" not in repr(p.default))
    return {p.name: p.default for p in given if isinstance(p.default, plain)}


def test_names(base: Library) -> None:
    xp = traced_namespace(base.xp)
    names = {name for name in strict.__all__ if "strict" not in name} - NOT_STANDARD
    missing = {name for name in names if not hasattr(xp, name)}
    missing |= {str(function) for function in FUNCTIONS if function.find(xp) is None}
    assert not missing
    assert xp.__array_api_version__ == "2025.12"


def test_signatures(base: Library) -> None:
    xp = traced_namespace(base.xp)
    problems = []
    for function in FUNCTIONS:
        ours, theirs = function.find(xp), function.find(strict)
        if theirs is None or function.name == "broadcast_shapes":  # the library's own: it takes no arrays
            continue
        if _kinds(ours) != _kinds(theirs) or _defaults(ours) != {**_defaults(theirs), **WIDER.get(function.name, {})}:
            problems.append(f"{function}{inspect.signature(ours)}, not {inspect.signature(theirs)}")
    assert not problems


def test_names_of_functions() -> None:
    xp = traced_namespace(BASES["numpy"].xp)
    aliases = {"linalg.matmul", "linalg.matrix_transpose", "linalg.tensordot", "linalg.vecdot"}
    for function in FUNCTIONS:
        assert function.find(xp).__name__ == function.name or str(function) in aliases


def test_what_it_is(base: Library) -> None:
    xp = traced_namespace(base.xp)
    assert traced_namespace(base.xp) is xp
    assert traced_namespace(xp) is xp
    assert repr(xp) == f"<namespace 'traced.{xpand.library_name(base.xp)}'>"
    assert xp.float64 == base.xp.float64
    assert xp.__array_namespace_info__().dtypes() == base.xp.__array_namespace_info__().dtypes()
    if base.id != "numpy":  # with NumPy's names (test_traced_beside_constants.py)
        with pytest.raises(AttributeError, match=r"has no 'einsum', .*; write `xpand.linalg.einsum`"):
            _ = xp.einsum
        with pytest.raises(AttributeError, match=r"has no 'concatenate', .*; write `xp.concat\("):
            _ = xp.concatenate
        with pytest.raises(AttributeError, match=r"linalg has no 'norm', .*; write `xp.linalg.vector_norm\("):
            _ = xp.linalg.norm
    with pytest.raises(AttributeError, match=r"has no 'summ', which is not in the standard; use a function of"):
        _ = xp.summ


def test_the_library_underneath(base: Library) -> None:
    name = xpand.library_name(base.xp)
    xp = traced_namespace(base.xp)
    assert xpand.library_name(xp) == "traced"
    for namespace in (xp, base.xp):
        assert xpand.library_name(namespace, underlying=True) == name


def test_positional_only_stays_so() -> None:
    xp = traced_namespace(BASES["strict"].xp)  # over NumPy, options may be passed by position, as in NumPy
    for call in (lambda: xp.sin(x=xp.ones(2)), lambda: xp.sum(xp.ones(2), 0), lambda: xp.zeros(2, xp.float32)):
        with pytest.raises(TypeError, match="argument"):
            call()


CREATIONS = {
    "arange": lambda xp: xp.arange(1, 7, 2, dtype=xp.float64),
    "arange of one": lambda xp: xp.arange(3),
    "empty": lambda xp: xp.empty((2, 0)),
    "eye": lambda xp: xp.eye(2, 3, k=1, dtype=xp.float32),
    "eye of one": lambda xp: xp.eye(2),
    "fftfreq": lambda xp: xp.fft.fftfreq(4, d=0.5),
    "full": lambda xp: xp.full((2, 1), 3.0),
    "full_like": lambda xp: xp.full_like(xp.ones(2), 4, dtype=xp.int32),
    "linspace": lambda xp: xp.linspace(0.0, 1.0, 3, endpoint=False),
    "linspace named": lambda xp: xp.linspace(0.0, 1.0, num=3),
    "ones": lambda xp: xp.ones(shape=2),
    "rfftfreq": lambda xp: xp.fft.rfftfreq(4),
    "zeros": lambda xp: xp.zeros((2,), dtype=xp.bool),
    "zeros_like": lambda xp: xp.zeros_like(xp.ones((1, 2))),
}


@pytest.mark.parametrize("make", CREATIONS.values(), ids=CREATIONS)
def test_arrays_are_made(base: Library, make: Any) -> None:
    found = make(traced_namespace(base.xp))
    assert isinstance(found, TracedArray)
    base.assert_equal(found._value, np.asarray(base.to_numpy(make(base.xp))))


@pytest.mark.parametrize("make", CREATIONS.values(), ids=CREATIONS)
def test_arrays_are_made_in_a_graph(make: Any) -> None:
    numpy = BASES["numpy"]
    found = jit(lambda x: make(xpand.array_namespace(x)))(numpy.asarray(1.0))
    numpy.assert_equal(found, make(numpy.xp))


def test_an_array_of_parts(base: Library) -> None:
    xp = traced_namespace(base.xp)
    one = xp.ones((), dtype=xp.float64)
    base.assert_equal(xp.asarray([[one, 2 * one], (one, one)])._value, np.asarray([[1.0, 2.0], [1.0, 1.0]]))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float64"])
def test_copies_are_others(base: Library, dtype: str) -> None:
    xp = traced_namespace(base.xp)
    x = xp.zeros(2, dtype=getattr(xp, dtype))
    y = xp.asarray(x, copy=True)
    y[0] = True if dtype == "bool" else 1
    base.assert_equal(x._value, np.zeros(2, dtype))
    base.assert_equal(y._value, np.asarray([1, 0], dtype))


def test_data_types(base: Library) -> None:
    xp = traced_namespace(base.xp)
    x = xp.ones(2, dtype=xp.float32)
    assert xp.finfo(x).bits == 32
    assert xp.iinfo(xp.ones(2, dtype=xp.int16)).max == 32767
    assert xp.result_type(x, xp.float64) == base.xp.float64
    assert xp.can_cast(xp.float32, xp.float64)
    assert xp.isdtype(x.dtype, "real floating")


TRANSFORMED = {
    "grad": lambda f: grad(lambda x: xpand.array_namespace(x).sum(f(x))),
    "vmap": vmap,
    "jit": jit,
}


@pytest.mark.parametrize("transform", TRANSFORMED.values(), ids=TRANSFORMED)
def test_what_other_code_asks_of_an_array(transform: Any) -> None:
    """The questions of array-api-compat and of code on it, such as scikit-learn."""
    asked = []

    def function(x: Any) -> Any:
        xp = array_api_compat.array_namespace(x)
        assert xp is xpand.array_namespace(x)
        assert xp is x.__array_namespace__()
        assert xp is x.__array_namespace__(api_version="2024.12")
        assert xpand.array_namespace(x, np.ones(2), 1.0, None) is xp
        assert array_api_compat.is_array_api_obj(x)
        assert array_api_compat.is_writeable_array(x)
        assert not array_api_compat.is_numpy_array(x)
        assert array_api_compat.is_lazy_array(xp.ones(3)) == (transform is jit)
        assert array_api_compat.device(x) == "cpu"
        assert array_api_compat.size(x) == x.size == 3
        assert array_api_compat.to_device(x, "cpu").shape == x.shape == (3,)
        assert (len(x), x.ndim, x.dtype) == (3, 1, np.float64)
        asked.append(xp)
        return array_api_compat.to_device(x, "cpu") * 2.0

    x = np.asarray([[1.0, 2.0, 3.0]] * 2)
    transform(function)(x if transform is vmap else x[0])
    assert asked == [traced_namespace(xpand.namespace("numpy"))]


def test_parameter_kinds_of_operators() -> None:
    """The standard's operators are methods of one positional argument."""
    array = traced_namespace(BASES["numpy"].xp).array_type
    for name in ("__add__", "__radd__", "__matmul__", "__lt__", "__rpow__"):
        parameters = list(inspect.signature(getattr(array, name)).parameters.values())
        assert [p.kind for p in parameters] == [Parameter.POSITIONAL_OR_KEYWORD] * 2
        assert getattr(array, name).__name__ == name
