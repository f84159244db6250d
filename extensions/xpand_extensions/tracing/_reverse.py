"""Reverse mode: linearize a function, which records linear operations on a tape, and transpose the tape.

The tape records only the linear map from tangents of inputs to tangents of outputs. Values are computed eagerly, and
the map stores the values that it needs. An elementwise operation leaves one record with the factors of its arguments. A
linear operation leaves a record of itself with its values. The rules of other operations build derivatives from these
two kinds.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

from xpand.extend import LibraryArray as Array

from ..extend._derivatives import LINEAR, contribution, factor, joint
from ._core import (
    Aval,
    NonlinearError,
    Op,
    Trace,
    TracedArray,
    TracedError,
    apart,
    aval_of,
    bare,
    bind,
    rebuilt,
    snapshot,
)
from ._fit import Placed, alike, dense, gathered, namespace_for, plus, product, zeros
from ._forward import without_warnings
from ._simplify import without_unused
from ._staging import stage
from ._tape import Applied, Node, Opaque, Part, Sum, Tape, whole_of, without_values


class Linearize(Trace):
    """The interpreter that linearizes. Its arrays contain a value and the tape's node of the tangent."""

    __slots__ = ("array", "base", "tape")

    def __init__(self, what: str, namespace: Any, device: Any = None) -> None:
        super().__init__(what, namespace)
        self.array, self.base = namespace.array_type, namespace.base
        self.tape = Tape(what, namespace, device, self.level)

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation to the values, and record its derivative."""
        factors = op.factors
        if factors is None:
            return self.process_other(op, args, params)
        array, base = self.array, self.base
        # Handle one or two arrays without loops, which would take longer than NumPy's operation.
        if len(args) == 2:
            x, y = args
            first = second = None
            if type(x) is array and x._trace is self:
                first, x = x._extra, x._value
            if type(y) is array and y._trace is self:
                second, y = y._extra, y._value
            if type(x) is not array and type(y) is not array:
                out = op.function(x, y, **params) if params else op.function(x, y)
                of_x, of_y = factors
                if second is None:
                    return array(self, out, _scaled(first, of_x if type(of_x) is int else of_x(base, out, x, y), out))
                times = of_y if type(of_y) is int else of_y(base, out, x, y)
                if first is None:
                    return array(self, out, _scaled(second, times, out))
                terms = [(first, of_x if type(of_x) is int else of_x(base, out, x, y)), (second, times)]
                return array(self, out, Sum(out.shape, out.dtype, terms))
        elif len(args) == 1:
            (x,) = args
            value = x._value
            if type(value) is not array:
                out = op.function(value, **params) if params else op.function(value)
                (of_x,) = factors
                times = of_x if type(of_x) is int else of_x(base, out, value)
                return array(self, out, _scaled(x._extra, times, out))
        nodes, primals = self.taken_apart(args)
        out = bind(op, primals, params)
        primals = alike(self.namespace, primals)
        xp = namespace_for(self.namespace, *primals)
        terms = [
            (node, of if type(of) is int else bare(of(xp, out, *primals)))
            for node, of in zip(nodes, factors)
            if node is not None
        ]
        node = _scaled(*terms[0], out) if len(terms) == 1 else Sum(out.shape, out.dtype, terms)
        return array(self, out, node)

    def taken_apart(self, args: Sequence[Any]) -> tuple[list[Node | None], list[Any]]:
        """Return the nodes of arrays of this trace, and the values of all arrays."""
        nodes: list[Node | None] = []
        primals = []
        for x in args:
            node = None
            if isinstance(x, TracedArray):
                if x._trace is self:
                    node, x = x._extra, x._value
                else:
                    x = snapshot(x) if x._trace.level else x._value  # values may be saved for the derivative
            nodes.append(node)
            primals.append(x)
        return nodes, primals

    def process_other(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation whose derivative isn't elementwise."""
        override = op.overrides.get("linearize")
        if override is not None:
            return override(self, op, args, params)
        nodes, primals = self.taken_apart(args)
        entries = op.entries(params)
        if entries is None:
            if op.constant is not None or all(node is None for node in nodes):
                return bind(op, primals, params)
            if op.decomposition is None:
                raise op.no_rule("its derivative")
            return op.decompose(args, params)
        out = bind(op, primals, params)
        if isinstance(entries, joint):
            tangents = [None if node is None else self.tape.array(node) for node in nodes]
            # Wrap all arrays, since some libraries' own arrays don't defer operators to traced tangents.
            wrap = self.namespace.wrap
            like = wrap(out) if op.result is None else rebuilt(op, out, list(map(wrap, out)))
            given = [wrap(x) if hasattr(x, "dtype") else x for x in primals]
            found = op.apply(entries.of, (self.namespace, op.named(tangents, params), like), given, params)
            if op.result is None:
                return self.value(out, found)
            return rebuilt(op, out, [self.value(x, t) for x, t in zip(out, found)])
        positions = {i: n for i, n in enumerate(nodes) if n is not None and entries[i] is not None}
        if not positions:
            return out
        if op.result is not None or (op.linear and all(entries[i] is LINEAR for i in positions)):
            return self.applied(op, without_values(entries, primals, positions), params, positions, out)
        if not self.namespace.is_floating(out.dtype):
            return out
        terms = [
            term for i, node in positions.items() for term in self.terms(op, entries[i], i, node, primals, out, params)
        ]
        if not terms:
            return out
        node = _scaled(*terms[0], out) if len(terms) == 1 else Sum(tuple(out.shape), out.dtype, terms)
        return self.array(self, out, node)

    def applied(self, op: Op, given: list[Any], params: dict[str, Any], positions: dict[int, Node], out: Any) -> Any:
        """Record a linear operation."""
        if op.result is None:
            return self.array(self, out, Applied(_shaped(out), op, given, params, positions))
        whole = Applied(Aval((), None), op, given, params, positions)
        return rebuilt(op, out, [self.array(self, x, Part(_shaped(x), whole, i)) for i, x in enumerate(out)])

    def terms(
        self, op: Op, entry: Any, i: int, node: Node, primals: list[Any], out: Any, params: dict[str, Any]
    ) -> list[tuple[Node, Any]]:
        """Record the contribution of one argument to the derivative of a result."""
        if entry is LINEAR:
            given = list(primals)
            given[i] = aval_of(primals[i])
            return [(Applied(_shaped(out), op, given, params, {i: node}), 1)]
        if isinstance(entry, int):
            return [(node, entry)]
        if isinstance(entry, factor):
            out, *primals = alike(self.namespace, [out, *primals])
            xp = namespace_for(self.namespace, out, *primals)
            return [(node, bare(op.apply(entry.of, (xp, out), primals, params)))]
        assert isinstance(entry, contribution)
        along, out, *primals = alike(self.namespace, [self.tape.array(node), out, *primals])
        t = op.apply(entry.of, (self.namespace, along, out), primals, params)
        return [] if t is None else [(t._extra, 1)]

    def value(self, x: Any, t: Any) -> Any:
        """Make an array from a value and the traced tangent that a rule returned, None for zero."""
        if t is None or not self.tape.owns(t):
            return x
        node = t._extra
        if node.shape != tuple(x.shape) or node.dtype != x.dtype:
            node = Sum(tuple(x.shape), x.dtype, [(node, 1)])
        return self.array(self, x, node)


def _scaled(node: Any, times: Any, out: Any) -> Node:
    """Return the tangent of a result: another tangent times a factor."""
    if type(times) is int and times == 1 and node.shape == out.shape and node.dtype == out.dtype:
        return node
    return Sum(tuple(out.shape), out.dtype, [(node, times)])


def _shaped(x: Any) -> Aval:
    return Aval(tuple(x.shape), x.dtype)


def opaque(
    trace: Linearize,
    outs: Sequence[Any],
    nodes: Sequence[Any],
    back: Any,
    pushforward: Any,
    symbolic_zeros: bool = False,
) -> Any:
    """Make the arrays of a result with a function as its derivative. The function gets None for zero cotangents."""
    whole = Opaque(list(map(aval_of, outs)), nodes, back, pushforward, symbolic_zeros)
    is_floating = trace.namespace.is_floating
    return tuple(
        trace.array(trace, x, Part(aval_of(x), whole, i)) if is_floating(x.dtype) else x for i, x in enumerate(outs)
    )


def linearize(
    namespace: Any, what: str, function: Callable[..., Any], primals: Sequence[Array]
) -> tuple[tuple[Array, ...], tuple[Array, ...], "Linear"]:
    """Evaluate and linearize a function of arrays that returns two tuples of arrays: outputs and auxiliary data."""
    primals = [snapshot(bare(x)) for x in primals]
    make = namespace.linearizer or Linearize
    with without_warnings(), make(what, namespace, getattr(primals[0], "device", None)) as trace:
        nodes = [Node(tuple(x.shape), x.dtype) for x in primals]
        outs, aux = function(*(namespace.array_type(trace, x, node) for x, node in zip(primals, nodes)))
    trace.tape.alive = False
    found = [x._extra if trace.owns(x) else None for x in outs]
    values = tuple(trace.plain(x) for x in outs)
    aux = tuple(trace.plain(x) for x in aux)
    return values, aux, Linear(namespace, nodes, found, list(map(aval_of, primals)), list(map(aval_of, values)))


class Linear:
    """A linear map between tuples of arrays, recorded on a tape. It can be applied and transposed."""

    def __init__(
        self, namespace: Any, inputs: list[Node], outputs: list[Node | None], given: list[Any], avals: list[Any]
    ) -> None:
        """Take the nodes of inputs and outputs, and the types of both."""
        self.namespace, self.inputs, self.outputs, self.given, self.avals = namespace, inputs, outputs, given, avals
        self.order: list[Node] | None = None

    def records(self) -> list[Node]:
        """List the nodes that the outputs depend on, in order of dependency."""
        if self.order is None:
            stack = [node for node in self.outputs if node is not None]
            seen = set(stack)
            while stack:
                for parent in stack.pop().parents():
                    if parent not in seen:
                        seen.add(parent)
                        stack.append(parent)
            self.order = sorted(seen, key=attrgetter("order"))
        return self.order

    def push(self, *tangents: Array) -> tuple[Array, ...]:
        """Apply the map."""
        found: dict[Node, Any] = {node: bare(t) for node, t in zip(self.inputs, tangents)}
        with without_warnings():
            for node in self.records():
                found[node] = node.push(self.namespace, found)
        tangents_of = [None if node is None else found[node] for node in self.outputs]
        return apart(tuple(zeros(self.namespace, aval) if t is None else t for t, aval in zip(tangents_of, self.avals)))

    def pull(self, *cotangents: Array) -> tuple[Array, ...]:
        """Apply the transpose of the map."""
        with without_warnings():
            return apart(self._pull(cotangents))

    def _pull(self, cotangents: Sequence[Array]) -> tuple[Array, ...]:
        namespace = self.namespace
        cts: dict[Node, Any] = {}
        waiting: list[tuple[int, Node]] = []  # a heap of the nodes with cotangents in `cts`, the last one first

        def add(node: Node, ct: Any) -> None:
            old = cts.get(node)
            cts[node] = ct if old is None else plus(old, ct)
            if old is None:
                heappush(waiting, (-node.order, node))

        for node, ct in zip(self.outputs, cotangents):
            if node is not None:
                add(node, bare(ct))
        while waiting:
            node = heappop(waiting)[1]
            if type(node) is Sum:
                ct = cts.pop(node)
                if type(ct) is Placed:
                    ct = ct.dense()
                for parent, times in node.terms:
                    if type(times) is int:
                        c = ct if times == 1 else -ct if times == -1 else ct * times
                    else:
                        # Operators of traced arrays are made at run time, so the type does not match `Array`.
                        c = product(ct, times) if isinstance(times, TracedArray) else ct * times  # type: ignore[arg-type]
                    if c.shape != parent.shape or c.dtype != parent.dtype:
                        c = gathered(namespace, c, parent.shape, parent.dtype)
                    # Repeat the code of `add`, whose call would take a tenth of the time.
                    if parent in cts:
                        cts[parent] = plus(cts[parent], c)
                    else:
                        cts[parent] = c
                        heappush(waiting, (-parent.order, parent))
            elif type(node) is Part:
                if node.whole not in cts:
                    cts[node.whole] = {}
                    heappush(waiting, (-node.whole.order, node.whole))
                cts[node.whole][node.position] = (node, dense(cts.pop(node)))
            elif type(node) is not Node:
                ct = cts.pop(node)
                ct = whole_of(namespace, node, ct) if type(ct) is dict else dense(ct)
                for parent, c in node.pull(namespace, ct):
                    add(parent, c if type(c) is Placed else gathered(namespace, c, parent.shape, parent.dtype))
        return tuple(
            dense(cts[node]) if node in cts else zeros(namespace, x) for node, x in zip(self.inputs, self.given)
        )


def transposed(
    namespace: Any, function: Callable[..., Any], templates: Sequence[Array]
) -> Callable[..., tuple[Array, ...]]:
    """Return the transpose of a linear function from arrays to a tuple of arrays. No values are used.

    Raises:
        NonlinearError: The function isn't linear.
    """
    try:
        return _transposed(namespace, function, templates)
    except NonlinearError:
        # Nonlinear operations are allowed if they don't affect the results.
        try:
            graph, _ = stage(
                namespace, "linear_transpose", lambda *x: (function(*x), ()), list(map(aval_of, templates))
            )
        except TracedError:
            graph = None
        if graph is None or len(without_unused(graph).equations) == len(graph.equations):
            raise
        return _transposed(namespace, without_unused(graph).run, templates)


def _transposed(
    namespace: Any, function: Callable[..., Any], templates: Sequence[Array]
) -> Callable[..., tuple[Array, ...]]:
    nodes = [Node(tuple(x.shape), x.dtype) for x in templates]
    with Tape("linear_transpose", namespace, getattr(templates[0], "device", None)) as tape:
        outs = function(*map(tape.array, nodes))
    found = [x._extra if tape.owns(x) else None for x in outs]
    return Linear(namespace, nodes, found, list(map(aval_of, templates)), list(map(aval_of, outs))).pull
