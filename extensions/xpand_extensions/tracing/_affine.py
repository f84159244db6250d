"""The interpreter of affine functions: each element of its arrays is a linear combination of the argument's elements.

A linear operation needs no rule here. It is applied to numbers that identify elements: the result shows the origin and
the factor of each entry. If an operation sums elements, its transpose shows in the same way to which sum each element
belongs. The numbers are host arrays for every library.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from xpand import is_concrete
from xpand.extend import Array, Namespace

from .. import sparse
from .._transforms import replaced
from ..devices._move import on_host
from ..extend._derivatives import LINEAR, joint, scale
from ._affine_maps import Map, compose, coordinates_of, plus, scaled
from ._core import Aval, NonlinearError, Op, Trace, TracedArray, TracedError, aval_of, bare, bind, rebuilt
from ._facades import FacadeOp
from ._flow import split
from ._namespace import traced_namespace
from ._staging import avals_of_result
from ._translate import Dtypes, operation_on, params_on
from .rules import AXES

_MOST_PROBES: Final = 1024
_MOST_PROBED: Final = 2**24
_PARTS: Final = ("real", "imag", "conj")


class Combination:
    """An array as a function of the argument: each element has a row of the matrix and an offset."""

    __slots__ = ("device", "dtype", "offset", "rows", "shape")

    def __init__(self, rows: "sparse.CSR", offset: Array, aval: Aval) -> None:
        self.rows, self.offset = rows, offset
        self.shape, self.dtype, self.device = aval.shape, aval.dtype, aval.device


class Affine(Trace):
    """The interpreter of affine functions."""

    __slots__ = ("dtypes", "host", "is_complex", "width", "xp")

    def __init__(self, namespace: Any, host: Namespace, width: int, is_complex: bool) -> None:
        """Make an interpreter over a traced namespace for functions of `width` numbers, real or complex."""
        super().__init__("matrix_from_function", namespace)
        self.xp, self.host, self.width = host, traced_namespace(host), width
        self.dtypes = Dtypes(namespace.base, host)
        self.is_complex = is_complex

    def argument(self, aval: Aval, first: int) -> Any:
        """Make an array that stands for the elements of the argument from number `first` on."""
        xp, count = self.xp, aval.size
        columns = xp.arange(first, first + count, dtype=xp.int64)
        rows = Map(xp.ones(count, dtype=xp.float64), columns, xp.arange(count + 1, dtype=xp.int64)).matrix(self.width)
        offset = xp.zeros(aval.shape, dtype=self.dtypes.of(aval.dtype))
        return self.namespace.array_type(self, Combination(rows, offset, aval))

    def combination(self, x: Any) -> tuple["sparse.CSR", Array]:
        """Return the rows and the offset of a result, which may be a constant."""
        if self.owns(x):
            return x._value.rows, x._value.offset
        value = self.on_host(x)
        return self.nothing(prod(value.shape)), value

    def nothing(self, count: int) -> "sparse.CSR":
        """Return rows without entries."""
        xp = self.xp
        empty = xp.zeros(0, dtype=xp.int64)
        return Map(xp.zeros(0, dtype=xp.float64), empty, xp.zeros(count + 1, dtype=xp.int64)).matrix(self.width)

    def on_host(self, x: Any) -> Any:
        """Return a constant as an array of the host; return other objects unchanged."""
        x = bare(x)
        if not hasattr(x, "dtype"):
            return x
        if isinstance(x, TracedArray) or not is_concrete(x):
            raise TracedError(
                f"{self.what}: the function uses a lazy array, or one that an outer transformation traces; the "
                "matrix needs concrete values, and has no derivative with respect to them"
            )
        return on_host(x)

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation, which must be affine."""
        override = op.overrides.get("affine")
        if override is not None:
            return override(self, op, args, params)
        if op.name in _PARTS:
            return self.part(op, args[0])
        mine = [i for i, x in enumerate(args) if self.owns(x)]
        entries = op.entries(params)
        if (
            entries is None
            or isinstance(entries, joint)
            or not all(entries[i] is LINEAR or isinstance(entries[i], (int, scale)) for i in mine)
        ):
            if op.decomposition is None:
                raise self.nonlinear(op)
            return op.decompose(args, params)
        if len(mine) > 1 and not op.linear and not all(isinstance(entries[i], int) for i in mine):
            raise self.nonlinear(op)
        call = _Call(self, op, args, params, mine)
        if all(isinstance(entries[i], (int, scale)) for i in mine):
            return self.results(op, call, [[call.factor(entries[i], i)] for i in mine])
        maps = [call.maps(i) for i in mine]
        if any(each is None for each in maps):
            expand = EXPANSIONS.get(op.name)
            if expand is not None:
                return expand(self.namespace, *map(self.namespace.wrap, args), **params)
            if isinstance(op, FacadeOp):
                return op.inlined(args, params["template"])
            if op.decomposition is not None:
                return op.decompose(args, params)
            maps = [call.probed(i) for i in mine]
        return self.results(op, call, maps)

    def part(self, op: Op, x: Any) -> Any:
        """Take the real part, imaginary part or conjugate of the factors, since the argument is real."""
        if self.is_complex:
            raise self.nonlinear(op)
        value = x._value
        aval = avals_of_result(op, [Aval(value.shape, value.dtype, value.device)], {})
        function = getattr(self.xp, op.name)
        given = value.rows.values
        values = function(given if self.xp.isdtype(given.dtype, "complex floating") else given + 0j)
        offset = bind(operation_on(op, self.host), [value.offset], {})
        return self.namespace.array_type(self, Combination(value.rows.with_values(values), offset, aval))

    def results(self, op: Op, call: "_Call", maps: list[Any]) -> Any:
        """Build the results of an operation from the combinations of its arguments."""
        offsets, found = call.run([x._value.offset for x in call.traced]), []
        avals = [call.aval] if op.result is None else list(call.aval)
        for k, (aval, offset) in enumerate(zip(avals, offsets)):
            parts = [compose(each[k], x._value.rows) for each, x in zip(maps, call.traced)]
            rows = plus(parts)
            found.append(self.namespace.array_type(self, Combination(rows, self.xp.reshape(offset, aval.shape), aval)))
        return found[0] if op.result is None else rebuilt(op, call.aval, found)

    def nonlinear(self, op: Op) -> NonlinearError:
        """Make the error for an operation that isn't affine."""
        return NonlinearError(
            f"{self.what}: the function must be linear, up to an offset, but `{op.name}` of values that depend on "
            "its argument isn't"
        )

    def is_traced(self, x: TracedArray) -> bool:
        return True

    def concrete(self, x: TracedArray, what: str) -> Any:
        raise TracedError(
            f"{what}: the value of an array that depends on the argument is not known while `{self.what}` looks at the "
            "structure of the function; a linear function has no conditions on its argument"
        )


class _Call:
    """An operation on traced and concrete arguments, run on the host."""

    def __init__(self, trace: Affine, op: Op, args: Sequence[Any], params: dict[str, Any], mine: list[int]) -> None:
        self.trace, self.op, self.mine = trace, op, mine
        self.traced = [args[i] for i in mine]
        avals = [Aval(x._value.shape, x._value.dtype, x._value.device) if trace.owns(x) else aval_of(x) for x in args]
        self.aval = avals_of_result(op, avals, params)
        self.shapes = [aval.shape for aval in ([self.aval] if isinstance(self.aval, Aval) else self.aval)]
        self.given = [None if i in mine else trace.on_host(x) for i, x in enumerate(args)]
        self.host_op = operation_on(op, trace.host)
        self.params = params_on(op, params, trace.dtypes, trace.xp)
        self.zeros = [trace.xp.zeros(x._value.shape, dtype=trace.xp.float64) for x in self.traced]
        self._constant: list[Array] | None = None

    def run(self, values: Sequence[Array]) -> list[Array]:
        """Run the operation with host arrays in place of the traced ones."""
        result = bind(self.host_op, replaced(self.given, self.mine, values), self.params)
        return [result] if self.op.result is None else list(result)

    def linear(self, i: int, value: Array) -> list[Array]:
        """Apply the linear part of the operation in one argument."""
        if self._constant is None:
            self._constant = self.run(self.zeros)
        values = [value if position == i else zero for position, zero in zip(self.mine, self.zeros)]
        return [x - constant for x, constant in zip(self.run(values), self._constant)]

    def factor(self, entry: Any, i: int) -> Map:
        """Return the map of an operation that multiplies each element by a factor."""
        xp, shape = self.trace.xp, self.shapes[0]
        value: Any = entry
        if isinstance(entry, scale):
            primals = [
                x if position not in self.mine else xp.zeros((), dtype=xp.float64)
                for position, x in enumerate(self.given)
            ]
            value = self.host_op.apply(entry.of, (xp, None), primals, self.params)
        size = prod(self.trace.shape(self.traced[self.mine.index(i)]))
        positions = xp.reshape(xp.arange(size, dtype=xp.int64), self.trace.shape(self.traced[self.mine.index(i)]))
        return scaled(xp, xp.reshape(xp.broadcast_to(positions, shape), (-1,)), value, shape)

    def maps(self, i: int) -> list[Map] | None:
        """Return, for each result, the elements of an argument that it copies or sums; None for other operations."""
        shape = self.zeros[self.mine.index(i)].shape
        found = coordinates_of(self.trace.xp, lambda x: self.linear(i, x), shape)
        if found is not None or self.op.result is not None:
            return found
        rules = self.op.transposes(self.params)
        if rules is None or rules[i] is None:
            return None
        back = coordinates_of(self.trace.xp, lambda ct: [self.pulled(rules[i], i, ct)], self.shapes[0])
        if back is None or back[0].count != prod(shape):
            return None
        return [back[0].transposed(prod(self.shapes[0]))]

    def pulled(self, rule: Callable[..., Any], i: int, ct: Array) -> Array:
        """Apply the transpose of the operation in one argument."""
        avals = iter([aval_of(x) for x in self.zeros])
        args = [next(avals) if position in self.mine else x for position, x in enumerate(self.given)]
        first = (self.trace.xp, ct, i) if self.op.linear else (self.trace.xp, ct)
        return self.host_op.apply(rule, first, args, self.params)

    def probed(self, i: int) -> list[Map]:
        """Return the map of any linear operation by applying it to each unit vector."""
        xp, zero = self.trace.xp, self.zeros[self.mine.index(i)]
        size, count = prod(zero.shape), sum(map(prod, self.shapes))
        if size > _MOST_PROBES or size * count > _MOST_PROBED:
            raise NonlinearError(
                f"{self.trace.what}: the structure of `{self.op.name}` is not known, and its argument of shape "
                f"{zero.shape} has too many elements to try each (at most {_MOST_PROBES}); write it with other "
                "functions"
            )
        unit = xp.eye(size, dtype=xp.float64)
        columns = [self.linear(i, xp.reshape(unit[j, :], zero.shape)) for j in range(size)]
        found = []
        for k in range(len(self.shapes)):
            dense = xp.stack([xp.reshape(column[k], (-1,)) for column in columns], axis=-1)
            found.append(Map.of_dense(xp, dense))
        return found


def _product(name: str) -> Callable[..., Any]:
    """Expand a product: broadcast the arrays to all axes, multiply, and sum over the axes that the result lacks."""

    def product(xp: Any, x: Any, y: Any, **params: Any) -> Any:
        arrays = [xp.conj(x) if name == "vecdot" and xp.isdtype(x.dtype, "complex floating") else x, y]
        axes, ndims = AXES[name], (x.ndim, y.ndim)
        layout = axes.layout(name, axes.of(ndims, params), ndims, params)
        (result,) = layout.results
        aligned = []
        for number, array in enumerate(arrays):
            own = [dict(dimension.sources).get(number) for dimension in (*result, *layout.reduced)]
            array = xp.permute_dims(array, tuple([axis for axis in own if axis is not None]))
            sizes = iter(array.shape)
            aligned.append(xp.reshape(array, tuple([1 if axis is None else next(sizes) for axis in own])))
        last = tuple(range(len(result), len(result) + len(layout.reduced)))
        found = aligned[0] * aligned[1]
        return xp.sum(found, axis=last) if last else found

    return product


def _cumulative_sum(xp: Any, x: Any, *, axis: int | None = None, include_initial: bool = False, **_: Any) -> Any:
    """Sum along an axis by a product with a triangle of ones."""
    axis = 0 if axis is None else axis
    lines = xp.moveaxis(x, axis, 0)
    size = lines.shape[0]
    ones = xp.tril(xp.ones((size + include_initial, size), dtype=x.dtype), k=-int(include_initial))
    sums = _product("matmul")(xp, ones, xp.reshape(lines, (size, -1)))
    return xp.moveaxis(xp.reshape(sums, (sums.shape[0], *lines.shape[1:])), 0, axis)


EXPANSIONS: Final[dict[str, Callable[..., Any]]] = {
    **{name: _product(name) for name in ("matmul", "tensordot", "vecdot")},
    "cumulative_sum": _cumulative_sum,
}
"""Decompositions of products and sums whose elements are neither copies nor disjoint sums of argument elements."""


def scan_affine(trace: Affine, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, graph = trace.namespace, params["body"].graph
    fixed, carried, xs = split(args, params["constants"], params["carry"])
    rows, columns = [namespace.wrap(x) for x in xs], []
    for i in range(params["length"]):
        out = graph.run(*fixed, *carried, *[bare(x[i, ...]) for x in rows])
        carried = list(out[: params["carry"]])
        columns.append([namespace.wrap(x) for x in out[params["carry"] :]])
    if columns:
        return (*carried, *(bare(namespace.stack(list(each))) for each in zip(*columns)))
    avals = params["body"].avals[params["carry"] :]
    return (*carried, *(bare(namespace.zeros((0, *x.shape), dtype=x.dtype)) for x in avals))


def while_affine(trace: Affine, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    of_test, of_body, carried = split(args, params["tested"], params["constants"])
    test, body = params["test"].graph, params["body"].graph
    steps = 0
    while params["limit"] is None or steps < params["limit"]:
        if not bool(trace.namespace.wrap(test.run(*of_test, *carried)[0])):
            break
        carried = list(body.run(*of_body, *carried))
        steps += 1
    return tuple(carried)


def checkpoint_affine(trace: Affine, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    return params["body"].graph.run(*args)


def custom_affine(trace: Affine, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    return tuple(map(bare, params["run"](*map(trace.namespace.wrap, args))))
