"""Reverse mode: a function is linearised, which leaves a tape of linear operations, and the tape transposed.

What is recorded is the linear map from the inputs' tangents to the outputs' alone: the values are computed as they come,
and those that the linear map needs are held by it. Most operations act element by element, and leave one record with
the factors of their arguments. Others are linear themselves, and leave a record of the operation with its values. The
rest have a rule that makes their derivative of such operations.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, Final

from xpand._typing import Array

from ._core import Aval, NonlinearError, Op, Trace, TracedArray, aval_of, bare, bind, rebuilt
from ._derivatives import LINEAR, contribution, factor, joint, scale
from ._fit import alike, gathered, namespace_for, plus, product, spread, zeros
from ._shapes import avals_of_result

_ORDER: Final = count()


class Node:
    """A tangent on the tape: an input, or what a record computes. Its shape and data type are its value's."""

    __slots__ = ("dtype", "order", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype
        self.order = next(_ORDER)

    def parents(self) -> Iterable["Node"]:
        """The tangents it is computed from."""
        return ()

    def pull(self, namespace: Any, ct: Any) -> Iterable[tuple["Node", Any]]:
        """Say what a cotangent contributes to those of the parents."""
        return ()

    def push(self, namespace: Any, tangents: dict["Node", Any]) -> Any:
        """Compute the tangent from those of the parents; None for zero."""
        return tangents.get(self)


class Sum(Node):
    """The sum of tangents, each times a factor."""

    __slots__ = ("terms",)

    def __init__(self, shape: tuple[int, ...], dtype: Any, terms: list[tuple[Node, Any]]) -> None:
        self.shape, self.dtype, self.terms = shape, dtype, terms
        self.order = next(_ORDER)

    def parents(self) -> Iterable[Node]:
        return [node for node, _ in self.terms]

    def push(self, namespace: Any, tangents: dict[Node, Any]) -> Any:
        found = None
        for node, times in self.terms:
            t = tangents.get(node)
            if t is not None:
                t = spread(namespace, _times(t, times), self.shape, self.dtype)
                found = t if found is None else plus(found, t)
        return found


class Applied(Node):
    """A linear operation applied to tangents; where it returns several arrays, they are `Part`s of it."""

    __slots__ = ("args", "op", "params", "places")

    def __init__(self, aval: Any, op: Op, args: list[Any], params: dict[str, Any], places: dict[int, Node]) -> None:
        """Take the arguments with an `Aval` in the place of each tangent."""
        super().__init__(aval.shape, aval.dtype)
        self.op, self.args, self.params, self.places = op, args, params, places

    def parents(self) -> Iterable[Node]:
        return self.places.values()

    def pull(self, namespace: Any, ct: Any) -> Iterable[tuple[Node, Any]]:
        override = self.op.overrides.get("transpose")
        if override is not None:
            found = override(self, namespace, ct)
            yield from ((self.places[i], x) for i, x in found.items() if x is not None)
            return
        rules = self.op.transposes(len(self.args), self.params)
        if rules is None:
            raise self.op.no_rule("its transpose")
        flat = ct if isinstance(ct, (list, tuple)) else (ct,)
        xp = namespace_for(namespace, *flat, *self.args)
        for i, node in self.places.items():
            first = (xp, ct, i) if self.op.result is not None or self.op.linear else (xp, ct)
            yield node, bare(self.op.apply(rules[i], first, self.args, self.params))

    def push(self, namespace: Any, tangents: dict[Node, Any]) -> Any:
        if all(tangents.get(node) is None for node in self.places.values()):
            return None
        args = list(self.args)
        for i, x in enumerate(args):
            if isinstance(x, Aval):
                t = tangents.get(self.places[i]) if i in self.places else None
                args[i] = zeros(namespace, x) if t is None else t
        out = bind(self.op, args, self.params)
        return tuple(map(bare, out)) if self.op.result is not None else bare(out)


class Part(Node):
    """One of the arrays that a linear operation returns."""

    __slots__ = ("place", "whole")

    def __init__(self, aval: Any, whole: Node, place: int) -> None:
        super().__init__(aval.shape, aval.dtype)
        self.whole, self.place = whole, place

    def parents(self) -> Iterable[Node]:
        return (self.whole,)

    def push(self, namespace: Any, tangents: dict[Node, Any]) -> Any:
        found = tangents.get(self.whole)
        return None if found is None else found[self.place]


class Opaque(Node):
    """Tangents that a function of one's own computes, and pulls cotangents back through: its arrays are `Part`s."""

    __slots__ = ("avals", "back", "forth", "nodes")

    def __init__(
        self,
        avals: Sequence[Any],
        nodes: Sequence[Node | None],
        back: Callable[..., Any],
        forth: Callable[..., Any] | None,
    ) -> None:
        """Take `back(*cotangents)` and `forth(*tangents)`, functions of as many arrays as there are avals and nodes."""
        super().__init__((), None)
        self.avals, self.nodes, self.back, self.forth = avals, nodes, back, forth

    def parents(self) -> Iterable[Node]:
        return [node for node in self.nodes if node is not None]

    def pull(self, namespace: Any, ct: Any) -> Iterable[tuple[Node, Any]]:
        for node, x in zip(self.nodes, self.back(*ct)):
            if node is not None and x is not None:
                yield node, bare(x)

    def push(self, namespace: Any, tangents: dict[Node, Any]) -> Any:
        if self.forth is None:
            raise NonlinearError("the derivative of a function with a rule for reverse mode alone is asked for forward")
        return tuple(map(bare, self.forth(*(tangents.get(node) if node is not None else None for node in self.nodes))))


def _times(t: Any, factor: Any) -> Any:
    if type(factor) is int:
        return t if factor == 1 else -t if factor == -1 else t * factor
    return product(t, factor)


class Tape(Trace):
    """The interpreter of the rules' linear operations: its arrays hold a node, and no value."""

    __slots__ = ("of_device",)

    def __init__(self, what: str, namespace: Any, of_device: Any) -> None:
        super().__init__(what, namespace)
        self.of_device = of_device

    def array(self, node: Node) -> Any:
        """Make an array that stands for a tangent."""
        return self.namespace.array(self, Aval(node.shape, node.dtype, self.of_device), node)

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record a linear operation."""
        override = op.overrides.get("tape")
        if override is not None:
            return override(self, op, args, params)
        places = {i: x._extra for i, x in enumerate(args) if self.own(x)}
        given = [x._value if i in places else bare(x) for i, x in enumerate(args)]
        entries = op.entries(len(args), params)
        if entries is None or isinstance(entries, joint):
            if op.decomposition is None:
                raise self.nonlinear(op)
            return op.decompose(args, params)
        chosen = [entries[i] for i in places]
        avals = avals_of_result(op, [aval_of(x) for x in given], params)
        if all(isinstance(entry, (scale, int)) for entry in chosen):
            terms = [(node, self.factor(op, entries[i], given, params)) for i, node in places.items()]
            return self.array(Sum(avals.shape, avals.dtype, terms))
        if any(entry is not LINEAR for entry in chosen) or (len(places) > 1 and not op.linear):
            if op.decomposition is None:
                raise self.nonlinear(op)
            return op.decompose(args, params)
        return applied(self, op, without_values(entries, given, places) if op.linear else given, params, places, avals)

    def factor(self, op: Op, entry: Any, given: list[Any], params: dict[str, Any]) -> Any:
        """Compute the factor of a tangent."""
        if isinstance(entry, int):
            return entry
        found = bare(op.apply(entry.of, (namespace_for(self.namespace, *given), None), given, params))
        if isinstance(found, Aval):
            raise self.nonlinear(op)
        return found

    def nonlinear(self, op: Op) -> NonlinearError:
        """Make the error of an operation that isn't linear."""
        return NonlinearError(f"{self.what}: {op.name} is not linear in what the function must be linear in")

    def concrete(self, x: TracedArray, what: str) -> Any:
        raise NonlinearError(f"{what}: asks for the value of an argument that the function must be linear in")

    def is_traced(self, x: TracedArray) -> bool:
        return True


def without_values(entries: Any, args: list[Any], places: dict[int, Node]) -> list[Any]:
    """Take the values of the arguments that an operation is linear in away: those that aren't tangents count as zero."""
    given = []
    for i, (entry, x) in enumerate(zip(entries, args)):
        if i in places or (entry is LINEAR and hasattr(x, "dtype")):
            x = aval_of(x)
        elif entry is LINEAR and isinstance(x, (int, float, complex)):
            x = 0.0
        given.append(x)
    return given


def applied(tape: Tape, op: Op, given: list[Any], params: dict[str, Any], places: dict[int, Node], avals: Any) -> Any:
    """Record a linear operation, of one result or several."""
    if op.result is None:
        return tape.array(Applied(avals, op, given, params, places))
    whole = Applied(Aval((), None), op, given, params, places)
    return rebuilt(op, avals, [tape.array(Part(aval, whole, i)) for i, aval in enumerate(avals)])


class Linearize(Trace):
    """The interpreter that linearises: its arrays hold a value, and beside it the node of the tangent."""

    __slots__ = ("array", "tape")

    def __init__(self, what: str, namespace: Any, device: Any = None) -> None:
        super().__init__(what, namespace)
        self.array = namespace.array
        self.tape = Tape(what, namespace, device)

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation to the values, and record its derivative."""
        primals, nodes = [], []
        lower = False
        for x in args:
            node = None
            if isinstance(x, TracedArray):
                if x._trace is self:
                    node = x._extra
                    x = x._value
                    if isinstance(x, TracedArray):
                        lower = True
                elif x._trace.level:
                    lower = True
                else:
                    x = x._value
            primals.append(x)
            nodes.append(node)
        factors = op.factors
        if factors is None:
            return self.process_other(op, args, params, primals, nodes)
        if lower:
            out = bind(op, primals, params)
            primals = alike(self.namespace, primals)
            xp = self.namespace
        else:
            out = op.function(*primals, **params)
            xp = self.namespace.base
        terms = []
        for node, times in zip(nodes, factors):
            if node is not None:
                if type(times) is not int:
                    times = times(xp, out, *primals)
                    if isinstance(times, TracedArray) and times._trace.level == 0:
                        times = times._value
                terms.append((node, times))
        return self.array(self, out, Sum(out.shape, out.dtype, terms))

    def process_other(
        self, op: Op, args: Sequence[Any], params: dict[str, Any], primals: list[Any], nodes: list[Node | None]
    ) -> Any:
        """Apply an operation that isn't a matter of factors."""
        override = op.overrides.get("linearize")
        if override is not None:
            return override(self, op, args, params)
        entries = op.entries(len(args), params)
        if entries is None:
            if op.constant is not None or all(node is None for node in nodes):
                return bind(op, primals, params)
            if op.decomposition is None:
                raise op.no_rule("its derivative")
            return op.decompose(args, params)
        out = bind(op, primals, params)
        if isinstance(entries, joint):
            tangents = [None if node is None else self.tape.array(node) for node in nodes]
            found = op.apply(entries.of, (self.namespace, op.named(tangents, params), out), primals, params)
            if op.result is None:
                return self.value(out, found)
            return rebuilt(op, out, [self.value(x, t) for x, t in zip(out, found)])
        places = {i: n for i, n in enumerate(nodes) if n is not None and entries[i] is not None}
        if not places:
            return out
        if op.result is not None or (op.linear and all(entries[i] is LINEAR for i in places)):
            return self.applied(op, without_values(entries, primals, places), params, places, out)
        if not self.namespace.is_floating(out.dtype):
            return out
        terms = [
            term for i, node in places.items() for term in self.terms(op, entries[i], i, node, primals, out, params)
        ]
        return self.array(self, out, Sum(tuple(out.shape), out.dtype, terms)) if terms else out

    def applied(self, op: Op, given: list[Any], params: dict[str, Any], places: dict[int, Node], out: Any) -> Any:
        """Record a linear operation."""
        if op.result is None:
            return self.array(self, out, Applied(_shaped(out), op, given, params, places))
        whole = Applied(Aval((), None), op, given, params, places)
        return rebuilt(op, out, [self.array(self, x, Part(_shaped(x), whole, i)) for i, x in enumerate(out)])

    def terms(
        self, op: Op, entry: Any, i: int, node: Node, primals: list[Any], out: Any, params: dict[str, Any]
    ) -> list[tuple[Node, Any]]:
        """Record what one argument contributes to the derivative of a result."""
        if entry is LINEAR:
            given = list(primals)
            given[i] = aval_of(primals[i])
            return [(Applied(_shaped(out), op, given, params, {i: node}), 1)]
        if isinstance(entry, int):
            return [(node, entry)]
        primals = alike(self.namespace, primals)
        if isinstance(entry, factor):
            xp = namespace_for(self.namespace, out, *primals)
            return [(node, bare(op.apply(entry.of, (xp, out), primals, params)))]
        assert isinstance(entry, contribution)
        t = op.apply(entry.of, (self.namespace, self.tape.array(node), out), primals, params)
        return [] if t is None else [(t._extra, 1)]

    def value(self, x: Any, t: Any) -> Any:
        """Make an array of a value and the traced tangent that a rule returned for it; None is for zero."""
        if t is None or not self.tape.own(t):
            return x
        node = t._extra
        if node.shape != tuple(x.shape) or node.dtype != x.dtype:
            node = Sum(tuple(x.shape), x.dtype, [(node, 1)])
        return self.array(self, x, node)


def _shaped(x: Any) -> Aval:
    return Aval(tuple(x.shape), x.dtype)


def opaque(trace: Linearize, outs: Sequence[Any], nodes: Sequence[Any], back: Any, forth: Any) -> Any:
    """Make the arrays of a result whose derivative is a function."""
    whole = Opaque(list(map(aval_of, outs)), nodes, back, forth)
    is_floating = trace.namespace.is_floating
    return tuple(
        trace.array(trace, x, Part(aval_of(x), whole, i)) if is_floating(x.dtype) else x for i, x in enumerate(outs)
    )


def linearize(
    namespace: Any, what: str, function: Callable[..., Any], primals: Sequence[Array]
) -> tuple[tuple[Array, ...], tuple[Array, ...], "Linear"]:
    """Evaluate a function of arrays that returns two tuples of arrays: outputs, and what comes beside; linearise it."""
    primals = [bare(x) for x in primals]
    with Linearize(what, namespace, getattr(primals[0], "device", None)) as trace:
        nodes = [Node(tuple(x.shape), x.dtype) for x in primals]
        outs, beside = function(*(namespace.array(trace, x, node) for x, node in zip(primals, nodes)))
    trace.tape.alive = False
    found = [x._extra if trace.own(x) else None for x in outs]
    values = tuple(x._value if trace.own(x) else bare(x) for x in outs)
    aux = tuple(x._value if trace.own(x) else bare(x) for x in beside)
    return values, aux, Linear(namespace, nodes, found, list(map(aval_of, primals)), list(map(aval_of, values)))


class Linear:
    """A linear map between tuples of arrays, from the tape: it can be applied, and its transpose."""

    def __init__(
        self, namespace: Any, inputs: list[Node], outputs: list[Node | None], given: list[Any], avals: list[Any]
    ) -> None:
        """Take the nodes of inputs and outputs, and the types of both."""
        self.namespace, self.inputs, self.outputs, self.given, self.avals = namespace, inputs, outputs, given, avals
        self.order: list[Node] | None = None

    def records(self) -> list[Node]:
        """List the nodes that the outputs depend on, each after those it depends on."""
        if self.order is None:
            stack = [node for node in self.outputs if node is not None]
            seen = set(stack)
            while stack:
                for parent in stack.pop().parents():
                    if parent not in seen:
                        seen.add(parent)
                        stack.append(parent)
            self.order = sorted(seen, key=_order)
        return self.order

    def push(self, *tangents: Array) -> tuple[Array, ...]:
        """Apply the map."""
        found: dict[Node, Any] = {node: bare(t) for node, t in zip(self.inputs, tangents)}
        for node in self.records():
            found[node] = node.push(self.namespace, found)
        results = []
        for node, aval in zip(self.outputs, self.avals):
            t = None if node is None else found[node]
            results.append(zeros(self.namespace, aval) if t is None else t)
        return tuple(results)

    def pull(self, *cotangents: Array) -> tuple[Array, ...]:
        """Apply the transpose of the map."""
        namespace = self.namespace
        cts: dict[Node, Any] = {}
        for node, ct in zip(self.outputs, cotangents):
            if node is not None:
                ct = bare(ct)
                cts[node] = plus(cts[node], ct) if node in cts else ct
        for node in reversed(self.records()):
            ct = cts.get(node)
            if ct is None:
                continue
            if type(node) is Sum:
                del cts[node]
                for parent, times in node.terms:
                    if type(times) is int:
                        c = ct if times == 1 else -ct if times == -1 else ct * times
                    else:
                        c = times * ct if isinstance(times, TracedArray) else ct * times
                    if c.shape != parent.shape or c.dtype != parent.dtype:
                        c = gathered(namespace, c, parent.shape, parent.dtype)
                    old = cts.get(parent)
                    cts[parent] = c if old is None else plus(old, c)
            elif type(node) is Part:
                del cts[node]
                parts = cts.setdefault(node.whole, {})
                parts[node.place] = (node, ct)
            elif type(node) is not Node:
                del cts[node]
                if type(ct) is dict:
                    ct = _whole(namespace, node, ct)
                for parent, c in node.pull(namespace, ct):
                    c = gathered(namespace, c, parent.shape, parent.dtype)
                    old = cts.get(parent)
                    cts[parent] = c if old is None else plus(old, c)
        zero = lambda aval, ct: zeros(namespace, aval) if ct is None else ct
        return tuple(zero(aval, cts.get(node)) for node, aval in zip(self.inputs, self.given))


def _whole(namespace: Any, node: Any, parts: dict[int, Any]) -> list[Any]:
    """List the cotangents of all arrays of a result, zeros where there is none."""
    avals = (
        node.avals
        if isinstance(node, Opaque)
        else avals_of_result(node.op, [aval_of(x) for x in node.args], node.params)
    )
    return [parts[i][1] if i in parts else zeros(namespace, aval) for i, aval in enumerate(avals)]


def _order(node: Node) -> int:
    return node.order


def transposed(
    namespace: Any, function: Callable[..., Any], templates: Sequence[Array]
) -> Callable[..., tuple[Array, ...]]:
    """Make the transposed of a linear function of arrays that returns a tuple of arrays; values are not looked at.

    Raises:
        NonlinearError: The function isn't linear.
    """
    nodes = [Node(tuple(x.shape), x.dtype) for x in templates]
    with Tape("linear_transpose", namespace, getattr(templates[0], "device", None)) as tape:
        outs = function(*map(tape.array, nodes))
    found = [x._extra if tape.own(x) else None for x in outs]
    return Linear(namespace, nodes, found, list(map(aval_of, templates)), list(map(aval_of, outs))).pull
