"""The axis signatures of operations, and the rules for shapes and batches that are derived from them.

The references are the operations themselves: called eagerly, on each lane, and on parts of their arguments.
"""

import importlib
import inspect
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import array_api_strict
import numpy as np
import pytest

import xpand
from xpand_extensions._capabilities import import_facades
from xpand_extensions._dispatch import OPERATIONS
from xpand_extensions.tracing import rules, traced_namespace
from xpand_extensions.tracing._core import Aval, aval_of
from xpand_extensions.tracing._facades import INLINED, FacadeOp, is_transformation
from xpand_extensions.tracing._functions import FUNCTIONS
from xpand_extensions.tracing._signature import Dimension, Layout, parse
from xpand_extensions.tracing.rules._derived import key_of
from xpand_extensions.tracing.rules._derived_batches import native_by_name
from xpand_extensions.vmap import vmap

import_facades()
importlib.import_module("xpand_extensions.random._keys")  # which loads with the first distribution

XP = xpand.array_namespace(np.ones(1))
NAMESPACE = traced_namespace(XP)
RNG = np.random.default_rng(7)


# The grammar


@pytest.mark.parametrize(
    "text", sorted({str(axes.signature) for axes in rules.AXES.values() if not callable(axes.signature)})
)
def test_signatures_are_written_as_they_are_read(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(text.replace("->", " -> ").replace(",", ", ")) == parse(text)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("...", "one '->'"),
        ("...->...->...", "one '->'"),
        ("...I->...", "'I' isn't an axis"),
        ("...[i->...", "brackets must be closed"),
        ("...[[i]]->...", "brackets must be closed"),
        ("...i]->...", "brackets must be closed"),
        ("...{n}->...", "only results have sizes"),
        ("...(axis:k)->...", "only results have sizes"),
        ("*...,...->...", "only the last argument is repeated"),
        ("i->...", "no argument has the axes"),
        ("x:...,x:...->...", "names of arguments must be different"),
        ("i(axis)->i", "among those of"),
        ("...(axis)(other)->...", "one parameter"),
        ("...(axis)->...(axis=0)", "the default of a parameter"),
    ],
)
def test_signatures_that_cannot_be_read(text: str, match: str) -> None:
    with pytest.raises(ValueError, match=f"axis signature .*{match}"):
        parse(text)


def test_where_axes_come_from() -> None:
    """A batched product of matrices: batch axes broadcast, one axis is summed over."""
    signature = parse("...ij,...jk->...ik")
    layout = signature.layout((3, 2), {}, lambda axis, ndim: ())
    assert [each.sources for each in layout.results[0]] == [((0, 0),), ((0, 1),), ((1, 1),)]
    assert [each.broadcasts for each in layout.results[0]] == [True, False, False]
    assert [each.sources for each in layout.reduced] == [((0, 2), (1, 0))]
    assert not any(each.whole for each in (*layout.results[0], *layout.reduced))


# Each operation has a signature or rules written by hand, or is decomposed


def test_operations_without_signature_or_rule_are_decomposed() -> None:
    """Such are done in terms of others, which have signatures, or the interpreters trace them."""
    facades = [
        FacadeOp(each, NAMESPACE)
        for each in OPERATIONS.values()
        if each.package == "xpand_extensions"
        and each.qualified_name not in {*INLINED, "scatter.at"}  # traced as their generic implementations are
        and not is_transformation(each)
    ]
    by_hand = rules._table("SHAPES").keys() | rules._table("BATCHING").keys()
    ops = [*NAMESPACE.operations.values(), *facades]
    without = [op for op in ops if op.name not in rules.AXES and op.name not in by_hand]
    assert [op.name for op in without if op.decomposition is None and not op.overrides] == []


# Calls of all operations


class Call(NamedTuple):
    """Arrays and static parameters, by name for facades."""

    arrays: tuple[Any, ...]
    params: dict[str, Any] = {}
    names: tuple[str, ...] = ()


def _numbers(*shape: int) -> np.ndarray:
    return RNG.uniform(0.1, 0.9, shape)


def _calls(*shapes: tuple[tuple[int, ...], ...], make: Callable[..., Any] = _numbers, **params: Any) -> list[Call]:
    return [Call(tuple(make(*shape) for shape in each), params) for each in shapes]


def _integers(*shape: int) -> np.ndarray:
    return RNG.integers(1, 6, shape)


def _booleans(*shape: int) -> np.ndarray:
    return RNG.integers(0, 2, shape) > 0


def _bytes(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def _definite(*shape: int) -> np.ndarray:
    x = RNG.normal(size=shape)
    return x @ np.swapaxes(x, -1, -2) + 3 * np.eye(shape[-1])


def _key(*shape: int) -> np.ndarray:
    return RNG.integers(0, 2**32, (*shape, 2), dtype=np.uint32)


_ONE = [((3, 4),), ((),), ((2, 0),), ((2, 3, 4),)]
_TWO = [((3, 4), (3, 4)), ((3, 1), (4,)), ((2, 1, 4), (3, 1)), ((), (3,))]
_AXIS = [{}, {"axis": 0}, {"axis": -1}, {"axis": (0, 2)}, {"axis": (2, 0), "keepdims": True}, {"keepdims": True}]
_MATRICES = [((4, 4),), ((2, 4, 4),), ((2, 3, 1, 1),)]
_WIDE = [((4, 3),), ((2, 3, 4),), ((2, 1, 3, 3),)]
_OF_INTEGERS = ("bitwise_", "bits.", "arithmetic.quotient")


def _elementwise(name: str) -> list[Call]:
    make = _integers if name.startswith(_OF_INTEGERS) else _booleans if name.startswith("logical") else _numbers
    if name == "acosh":
        make = lambda *shape: 1 + _numbers(*shape)
    if name == "special.polygamma":
        return [Call((_numbers(*shape),), {"n": 1}, ("x",)) for (shape,) in _ONE]
    count = len(FUNCTIONS_OF[name])
    shapes: Any = {1: _ONE, 2: _TWO, 3: [((3, 1), (4,), ()), ((2, 3), (2, 3), (2, 3))]}[count]
    calls = [Call(each.arrays, {}, tuple(FUNCTIONS_OF[name])) for each in _calls(*shapes, make=make)]
    if name in ("clip",):
        calls.append(Call((_numbers(3), None, 0.5)))
    return calls


def _arrays_of(name: str) -> list[str]:
    """Return the names of the arrays of an elementwise operation."""
    if name in FUNCTIONS:
        return {"clip": ["x", "min", "max"], "where": ["condition", "x1", "x2"]}.get(
            name, FUNCTIONS[name].split("/")[0].strip(", ").split(", ")
        )
    facade = OPERATIONS[f"xpand_extensions.{name}"].facade if f"xpand_extensions.{name}" in OPERATIONS else None
    return ["x"] if facade is None else list(inspect.signature(facade).parameters)


FUNCTIONS_OF = {
    name: _arrays_of(name)
    for name, axes in rules.AXES.items()
    if not callable(axes.signature) and axes.signature.is_elementwise
}


def _along(*axes: Any, shapes: Any = (((3, 4),), ((2, 3, 4),)), key: str = "axis", **params: Any) -> list[Call]:
    return [call for axis in axes for call in _calls(*shapes, **{key: axis}, **params)]


def _named(*arrays: Any, names: str, **params: Any) -> Call:
    return Call(arrays, params, tuple(names.split()))


_FFT = [call for axis in (-1, 0, 1) for call in _along(axis)] + _along(-1, n=5)
_LINES = [*_along(0, -1, 1), *_calls(((5,),), ((),))]
_NONEMPTY = [each for each in _ONE if 0 not in each[0]]
_CUMULATIVE = [*_LINES, *_along(1, include_initial=True)]
_TRIANGLES = [*_calls(*_WIDE), *_calls(((3, 3),), k=1)]
_REDUCED = [*_calls(*_NONEMPTY), *(call for params in _AXIS for call in _calls(((2, 3, 4),), **params))]
_INDICES = [*_calls(*_NONEMPTY), *_along(0, -1), *_along(1, keepdims=True), *_calls(((2, 3),), keepdims=True)]
_WINDOWS = {"strides": (2,), "padding": ((1, 0),), "window_dilation": (1,)}


def _of_facade(name: str, calls: list[Call], **defaults: Any) -> list[Call]:
    """Give calls the names of a facade's arrays, and axes counted from the front, as the facade hands them on."""
    found = []
    for call in calls:
        params = {**defaults, **call.params}
        ndim = call.arrays[0].ndim
        axis = params.get("axis")
        if isinstance(axis, int):
            params["axis"] = axis % ndim
        elif isinstance(axis, tuple):
            params["axis"] = tuple(i % ndim for i in axis)
        found.append(Call(call.arrays, params, ("x",)))
    return found


def _window_calls(name: str) -> list[Call]:
    params: dict[str, Any] = {"window_shape": (2,), "axis": (1,), **_WINDOWS}
    if name == "sliding_window_view":
        del params["padding"]
        params["strides"] = (1,)
    if name == "window_mean":
        params["count_include_pad"] = True
    both = {"window_shape": (2, 1), "axis": (2, 0), "strides": (1, 2), "window_dilation": (2, 1)}
    more = {**params, **both, **({"padding": ((0, 0), (0, 0))} if "padding" in params else {})}
    return [Call((_numbers(2, 5, 4),), each, ("x",)) for each in (params, more)]


CALLS: dict[str, list[Call]] = {
    **{name: _elementwise(name) for name in FUNCTIONS_OF},
    "astype": _calls(*_ONE, dtype=np.float32),
    "to_device": _calls(*_ONE, device="cpu"),
    **dict.fromkeys(
        ["sum", "prod", "max", "min", "mean", "std", "var", "count_nonzero", "linalg.vector_norm"], _REDUCED
    ),
    **{name: [Call((x.arrays[0] > 0.5,), x.params) for x in _REDUCED] for name in ("all", "any")},
    **dict.fromkeys(["argmax", "argmin"], _INDICES),
    **dict.fromkeys(["cumulative_prod", "cumulative_sum"], _CUMULATIVE),
    **dict.fromkeys(["argsort", "sort"], _LINES[:-1]),
    "concat": [
        *_calls(((2, 3), (4, 3)), axis=0),
        *_calls(((2, 3), (2, 1)), axis=-1),
        *_calls(((2, 3), (4,)), axis=None),
    ],
    "stack": [*_calls(((2, 3), (2, 3)), axis=1), *_calls(((3,), (3,), (3,)), axis=-1), *_calls(((),), axis=0)],
    "expand_dims": _along(0, -1, (0, 2), 1),
    "flip": _along(None, 0, -1, (0, 1)),
    "matrix_transpose": _calls(*_WIDE),
    "moveaxis": [
        *_calls(((2, 3, 4),), source=0, destination=-1),
        *_calls(((2, 3, 4),), source=(0, 2), destination=(1, 0)),
    ],
    "permute_dims": [*_calls(((2, 3, 4),), axes=(2, 0, 1)), *_calls(((),), axes=())],
    "squeeze": [*_calls(((1, 3, 1),), axis=(0, -1)), *_calls(((2, 1),), axis=1)],
    **dict.fromkeys(["tril", "triu"], _TRIANGLES),
    "unstack": _along(0, -1),
    "linalg.cross": [
        *_calls(((2, 3), (3,))),
        *_calls(((3, 2), (3, 2)), axis=0),
    ],
    "linalg.outer": _calls(((3,), (4,))),
    "matmul": _calls(((2, 3), (3, 4)), ((3,), (3, 4)), ((5, 2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (1, 3, 4))),
    "tensordot": [
        *_calls(((2, 3, 4), (3, 4, 5))),
        *_calls(((2, 3), (4, 2)), axes=((0,), (1,))),
        *_calls(((2, 3), (3, 2)), axes=((1, 0), (0, 1))),
    ],
    "vecdot": [*_calls(((2, 3), (3,))), *_calls(((3, 2), (3, 2)), axis=-2)],
    **{f"fft.{name}": _FFT for name in ("fft", "ifft", "irfft", "hfft", "rfft", "ihfft")},
    **{f"fft.{name}": [*_along(None, (0, 1), (1, 0), key="axes")] for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{f"fft.{name}": _along(None, 1, (0, 1), key="axes") for name in ("fftshift", "ifftshift")},
    **{f"linalg.{name}": _calls(*_MATRICES) for name in ("det", "inv", "slogdet", "eig", "eigvals")},
    **{f"linalg.{name}": _calls(*_MATRICES, make=_definite) for name in ("cholesky", "eigh", "eigvalsh")},
    "linalg.logm_along": _calls(((3, 3), (3, 3)), ((2, 3, 3), (2, 3, 3)), make=_definite),
    "linalg.diagonal": [*_calls(*_WIDE), *_calls(*_WIDE, offset=1), *_calls(*_WIDE, offset=-2)],
    "linalg.trace": _calls(*_WIDE, offset=1),
    "linalg.matrix_norm": [*_calls(*_WIDE), *_calls(*_WIDE, keepdims=True)],
    "linalg.matrix_power": _calls(*_MATRICES, n=3),
    "linalg.matrix_rank": _calls(((2, 3, 4), ()), ((2, 3, 4), (2,)), ((2, 3, 4), (1,))),
    "linalg.pinv": _calls(((2, 3, 4), ()), ((2, 3, 4), (2,)), ((2, 3, 4), (1,))),
    "linalg.solve": _calls(((3, 3), (3,)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 2))),
    "linalg.qr": [*_calls(*_WIDE), *_calls(*_WIDE, mode="complete")],
    "linalg.svd": [*_calls(*_WIDE), *_calls(*_WIDE, full_matrices=False)],
    "linalg.svdvals": _calls(*_WIDE),
    "linalg.expm": _of_facade("expm", _calls(*_MATRICES)),
    "linalg.logm": _of_facade("logm", _calls(*_MATRICES, make=_definite)),
    "linalg.lu_factor": _of_facade("lu_factor", _calls(*_WIDE)),
    "linalg.sqrtm": _of_facade("sqrtm", _calls(*_MATRICES, make=_definite)),
    "linalg.schur": _of_facade("schur", _calls(*_MATRICES)),
    "linalg.schur_factors": [_named(_numbers(*shape) + 0j, names="x") for shape in ((3, 3), (2, 3, 3))],
    "linalg.column_order": _of_facade("column_order", _calls(*_WIDE)),
    "linalg.pivoted_qr": [
        *_of_facade("pivoted_qr", _calls(*_WIDE)),
        *_of_facade("pivoted_qr", _calls(*_WIDE), mode="complete"),
    ],
    "linalg.solve_sylvester": [
        _named(_definite(3, 3), _definite(2, 2), _numbers(3, 2), names="a b q"),
        _named(_definite(2, 3, 3), _definite(2, 2), _numbers(1, 3, 2), names="a b q"),
    ],
    "linalg.tridiagonal_solve": [
        _named(_numbers(3), 3 + _numbers(3), _numbers(3), _numbers(3), names="dl d du b"),
        _named(_numbers(3), 3 + _numbers(2, 3), _numbers(3), _numbers(3, 2), names="dl d du b"),
    ],
    "linalg.triangular_solve": [
        _named(_definite(3, 3), _numbers(3), names="a b"),
        _named(_definite(2, 3, 3), _numbers(3, 2), names="a b"),
        _named(_definite(3, 3), _numbers(2, 2, 3), names="a b", left_side=False),
    ],
    **{
        f"linear_solve.{name}": [_named(_definite(3, 3), names="a"), _named(_definite(2, 3, 3), names="a")]
        for name in ("factor_lu", "factor_cholesky", "factor_qr", "factor_triangular")
    },
    **{f"special.{name}": _of_facade(name, _along(0, -1)) for name in ("softmax", "log_softmax")},
    "special.logsumexp": [
        _named(_numbers(2, 3, 4), names="x", axis=(0, 2), keepdims=False, b=None),
        _named(_numbers(3, 4), _numbers(4), names="x b", axis=(1,), keepdims=True),
    ],
    "bits.packbits": [_named(_bytes(3, 10), names="x", axis=axis, bitorder="big") for axis in (None, 0, 1)],
    "bits.unpackbits": [
        _named(_bytes(3, 2), names="x", axis=axis, count=count, bitorder="little")
        for axis, count in itertools.product((None, 1), (None, 5))
    ],
    "random.bits": [
        _named(_key(), names="key", shape=(3,), dtype=np.dtype("uint32")),
        _named(_key(2), names="key", shape=(), dtype=np.dtype("uint32")),
    ],
    "random.normal": [_named(_key(3), names="key", shape=(2, 3), dtype=np.dtype("float64"))],
    "random.uniform": [_named(_key(2), names="key", shape=(4,), dtype=np.dtype("float64"), minval=0.0, maxval=1.0)],
    "random.fold_in": [
        _named(_key(2), np.asarray([3, 4], dtype=np.uint32), names="key data"),
        _named(_key(), names="key", data=7),
    ],
    "random.split": [_named(_key(), names="key", num=(3,)), _named(_key(2), names="key", num=(2, 1))],
    "random.split_each": [_named(_key(3), names="keys", num=2)],
    "random.binomial_elements": [
        _named(_key(2), np.full((2, 3), 9.0, np.float32), np.full((2, 3), 0.5, np.float32), names="keys n p")
    ],
    "random.poisson_elements": [_named(_key(2), np.full((2, 3), 4.0, np.float32), names="keys lam")],
    "random.gamma_elements": [_named(_key(3), _numbers(3), names="keys a", log_space=False)],
    **{f"statistics.{name}": _of_facade(name, _REDUCED[1:]) for name in ("nanmax", "nanmin", "nanmean", "ptp")},
    **{f"statistics.{name}": _of_facade(name, _REDUCED[1:]) for name in ("nansum", "nanprod")},
    **{f"statistics.{name}": _of_facade(name, _REDUCED[1:], correction=0.0) for name in ("nanstd", "nanvar")},
    **{f"statistics.{name}": _of_facade(name, _INDICES) for name in ("nanargmax", "nanargmin")},
    **{
        f"statistics.{name}": _of_facade(name, _along(0, 1, include_initial=True))
        for name in ("cumulative_max", "cumulative_min", "logcumsumexp")
    },
    "histograms.digitize": [_named(_numbers(2, 3), np.asarray([0.2, 0.6]), names="x edges", right=False)],
    "sorting.argpartition": _of_facade("argpartition", _along(0, 1, kth=1)),
    "sorting.partition": _of_facade("partition", _along(0, 1, kth=1)),
    "sorting.top_k": _of_facade("top_k", _along(0, 1, k=2, largest=True)),
    **{
        f"scatter.segment_{name}": [
            _named(
                _numbers(5, 2),
                np.asarray([0, 1, 1, 3, 3]),
                names="values segment_ids",
                num_segments=4,
                axis=0,
                mode="clip",
                indices_are_sorted=True,
            )
        ]
        for name in ("sum", "prod", "min", "max", "mean")
    },
    **{
        f"windows.{name}": _window_calls(name)
        for name in ("window_max", "window_min", "window_mean", "window_sum", "window_prod", "sliding_window_view")
    },
    "sparse.csr_rows": [_named(np.asarray([[0, 2, 3, 3], [0, 1, 1, 3]]), names="indptr", nse=3)],
    "sparse.sampled_matmul": [
        _named(_numbers(2, 3, 4), _numbers(4, 5), np.asarray([0, 1]), np.asarray([4, 0]), names="x y rows columns")
    ],
}


def test_there_are_calls_of_all() -> None:
    assert rules.AXES.keys() == CALLS.keys()
    assert all(CALLS.values())


# Properties


def _applied(name: str, call: Call, arrays: Any) -> tuple[Any, ...]:
    """Apply an operation to other arrays than those of a call."""
    if name in NAMESPACE.operations and not isinstance(NAMESPACE.operations[name], FacadeOp):
        found = NAMESPACE.operations[name].bind(*arrays, **call.params)
    else:
        found = native_by_name(name, {**call.params, **dict(zip(call.names, arrays, strict=True))})
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _each(check: Callable[[str, Call], None]) -> Any:
    """Make a test of all calls of an operation."""

    @pytest.mark.parametrize("name", sorted(CALLS))
    def test(name: str) -> None:
        for call in CALLS[name]:
            check(name, call)

    return test


@_each
def test_derived_shapes_are_those_of_results(name: str, call: Call) -> None:
    avals = [aval_of(x) for x in call.arrays]
    if call.names and name not in NAMESPACE.standard:
        found = rules.SHAPES[name](NAMESPACE, **call.params, **dict(zip(call.names, avals)))
    else:
        found = rules.SHAPES[name](NAMESPACE, *avals, **call.params)
    expected = _applied(name, call, call.arrays)
    found = (found,) if isinstance(found, Aval) else tuple(found)
    assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in expected]


@_each
def test_results_of_batches_are_those_of_their_lanes(name: str, call: Call) -> None:
    """Also where not all arrays are mapped."""
    positions = [j for j, x in enumerate(call.arrays) if isinstance(x, np.ndarray)]
    lanes = [[_lane(name, x, k) for k in range(3)] for x in call.arrays if isinstance(x, np.ndarray)]
    for mapped in itertools.product((True, False), repeat=len(positions)):
        if not any(mapped):
            continue
        given = [np.stack(x) if is_mapped else x[0] for x, is_mapped in zip(lanes, mapped)]

        def function(*arrays: Any) -> tuple[Any, ...]:
            filled = list(call.arrays)
            for j, x in zip(positions, arrays):
                filled[j] = x
            return _applied(name, call, filled)

        found = vmap(function, in_axes=tuple(0 if is_mapped else None for is_mapped in mapped))(*given)
        expected = [function(*(x[k] if is_mapped else x[0] for x, is_mapped in zip(lanes, mapped))) for k in range(3)]
        for one, each in zip(found, zip(*expected), strict=True):
            np.testing.assert_allclose(one, np.stack(each), rtol=1e-10, atol=1e-12)


def _lane(name: str, x: np.ndarray, k: int) -> np.ndarray:
    """Return another array that the operation takes."""
    if name.startswith("random."):
        return x + np.asarray(k if x.dtype == np.uint32 else 0, dtype=x.dtype)
    if name.startswith(("linalg.", "linear_solve.", "scatter.", "sparse.", "histograms.")):
        return x * (1 + 0.25 * k) if x.dtype == np.float64 else x  # what is sorted or definite stays so
    return np.roll(x, k, axis=None)


COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "all": np.logical_and,
    "any": np.logical_or,
    "logsumexp": np.logaddexp,
    "max": np.maximum,
    "mean": lambda x, y: (x + y) / 2,
    "min": np.minimum,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
    "nanprod": np.multiply,
    "prod": np.multiply,
}
"""How to combine reductions of parts, if not by a sum."""


def _parts(name: str, call: Call, arrays: list[Any], order: list[str | None], dimension: Dimension) -> Any:
    """Apply an operation to the first and to the second half of an axis."""
    for half in range(2):
        given = list(arrays)
        for i, j in dimension.sources:
            size = given[i].shape[j]
            if size > 1:  # else it is broadcast
                given[i] = np.split(given[i], [size // 2], axis=j)[half]
        yield _applied(name, call, [given[order.index(key)] for key in call.names] if order else given)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_axes_that_need_not_stay_whole_can_be_split(name: str) -> None:
    """The operation on a part is that part of the result; of a reduced axis, a term of it."""
    axes, checked, short = rules.AXES[name], 0, name.rpartition(".")[2]
    for call in CALLS[name]:
        if axes.flat and call.params.get("axis", 0) is None:
            continue
        arrays, order, layout = _laid_out(name, call)
        whole = _applied(name, call, call.arrays)
        for dimension in {*itertools.chain(*layout.results), *layout.reduced}:
            size = max([arrays[i].shape[j] for i, j in dimension.sources], default=0)
            if dimension.whole or size < 2 or (size % 2 and short == "mean" and dimension in layout.reduced):
                continue
            checked += 1
            first, second = _parts(name, call, arrays, order, dimension)
            for r, expected in enumerate(whole):
                result = layout.results[min(r, len(layout.results) - 1)]
                if dimension in result:
                    found = np.concatenate([first[r], second[r]], axis=result.index(dimension))
                else:
                    found = COMBINE.get(short, np.add)(first[r], second[r])
                np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert checked


def _laid_out(name: str, call: Call) -> tuple[list[Any], list[Any], Layout]:
    """Return the arrays of a call in the order of the signature, their names, and where the axes come from."""
    axes = rules.AXES[name]
    ndims = list(map(np.ndim, call.arrays))
    if name in NAMESPACE.standard:
        return list(call.arrays), [], axes.layout(name, axes.of(ndims, call.params), tuple(ndims), call.params)
    signature = axes.of(dict(zip(call.names, ndims)), call.params)
    order = [each.name for each in signature.arguments]
    if order[0] is None:
        return list(call.arrays), [], axes.layout(name, signature, tuple(ndims), call.params)
    given = dict(zip(call.names, call.arrays))
    arrays = [given.get(key) if key is not None else None for key in order]
    return (
        arrays,
        order,
        axes.layout(name, signature, tuple([np.ndim(x) if x is not None else 0 for x in arrays]), call.params),
    )


def test_saved_plans_tell_parameters_apart_that_python_takes_for_equal() -> None:
    of = lambda **params: key_of((2,), params=params)
    assert {of(dtype=np.dtype("float64")): 1}.get(of(dtype=array_api_strict.float64)) is None  # comparing them warns
    assert of(k=1) != of(k=True)
    assert of(x=0.0) != of(x=-0.0)
    assert of(x=1.5) == of(x=1.5)
    assert of(x=[1]) is None
