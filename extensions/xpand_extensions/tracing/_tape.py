"""The tape: linear operations on tangents, recorded so that cotangents can be pulled back through them.

A node is a tangent: an input, or computed by a record from other nodes. Most records are sums of tangents times
factors; others apply a linear operation, or custom functions.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, Final

from ..extend._derivatives import LINEAR, joint, scale
from ._core import Aval, NonlinearError, Op, Trace, TracedArray, aval_of, bare, bind, rebuilt, snapshot
from ._fit import namespace_for, plus, product, spread, zeros
from ._staging import avals_of_result

ORDER: Final = count()


class Node:
    """A tangent on the tape: an input, or computed by a record. It has the shape and data type of its value."""

    __slots__ = ("dtype", "order", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype
        self.order = next(ORDER)

    def parents(self) -> Iterable["Node"]:
        """Return the tangents from which this one is computed."""
        return ()

    def pull(self, namespace: Any, ct: Any) -> Iterable[tuple["Node", Any]]:
        """Return the contributions of a cotangent to the cotangents of the parents."""
        return ()

    def push(self, namespace: Any, tangents: dict["Node", Any]) -> Any:
        """Compute the tangent from the tangents of the parents, None for zero."""
        return tangents.get(self)


class Sum(Node):
    """The sum of tangents times factors."""

    __slots__ = ("terms",)

    def __init__(self, shape: tuple[int, ...], dtype: Any, terms: list[tuple[Node, Any]]) -> None:
        self.shape, self.dtype, self.terms = shape, dtype, terms
        self.order = next(ORDER)

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
    """A linear operation applied to tangents. If it returns several arrays, they are `Part`s."""

    __slots__ = ("args", "op", "params", "positions")

    def __init__(self, aval: Any, op: Op, args: list[Any], params: dict[str, Any], positions: dict[int, Node]) -> None:
        """Take the arguments, with an `Aval` in place of each tangent."""
        super().__init__(aval.shape, aval.dtype)
        self.op, self.args, self.params, self.positions = op, args, params, positions

    def parents(self) -> Iterable[Node]:
        return self.positions.values()

    def pull(self, namespace: Any, ct: Any) -> Iterable[tuple[Node, Any]]:
        override = self.op.overrides.get("accumulate")
        found = None if override is None else override(self, namespace, ct)
        if found is not None:
            yield self.positions[0], found
            return
        rules = self.op.transposes(self.params)
        if rules is None:
            raise self.op.no_rule("its transpose")
        flat = ct if isinstance(ct, (list, tuple)) else (ct,)
        args = self.args
        xp = namespace_for(namespace, *flat, *args)
        if xp is namespace:  # some libraries' arrays don't defer operators to traced ones
            args = [_wrapped(namespace, x) for x in args]
            ct = [_wrapped(namespace, x) for x in ct] if flat is ct else _wrapped(namespace, ct)
        for i, node in self.positions.items():
            first = (xp, ct, i) if self.op.result is not None or self.op.linear else (xp, ct)
            yield node, bare(self.op.apply(rules[i], first, args, self.params))

    def push(self, namespace: Any, tangents: dict[Node, Any]) -> Any:
        if all(tangents.get(node) is None for node in self.positions.values()):
            return None
        args = list(self.args)
        for i, x in enumerate(args):
            if isinstance(x, Aval):
                t = tangents.get(self.positions[i]) if i in self.positions else None
                args[i] = zeros(namespace, x) if t is None else t
        out = bind(self.op, args, self.params)
        return tuple(map(bare, out)) if self.op.result is not None else bare(out)


class Part(Node):
    """One of the arrays that a linear operation returns."""

    __slots__ = ("position", "whole")

    def __init__(self, aval: Any, whole: Node, position: int) -> None:
        super().__init__(aval.shape, aval.dtype)
        self.whole, self.position = whole, position

    def parents(self) -> Iterable[Node]:
        return (self.whole,)

    def push(self, namespace: Any, tangents: dict[Node, Any]) -> Any:
        found = tangents.get(self.whole)
        return None if found is None else found[self.position]


class Opaque(Node):
    """Tangents that custom functions compute and pull cotangents back through. The arrays are `Part`s."""

    __slots__ = ("avals", "back", "nodes", "pushforward", "symbolic_zeros")

    def __init__(
        self,
        avals: Sequence[Any],
        nodes: Sequence[Node | None],
        back: Callable[..., Any],
        pushforward: Callable[..., Any] | None,
        symbolic_zeros: bool = False,
    ) -> None:
        """Take `back(*cotangents)`, one for each aval, and `pushforward(*tangents)`, one for each node.

        If `symbolic_zeros`, `back` gets None for zero cotangents.
        """
        super().__init__((), None)
        self.avals, self.nodes, self.back, self.pushforward = avals, nodes, back, pushforward
        self.symbolic_zeros = symbolic_zeros

    def parents(self) -> Iterable[Node]:
        return [node for node in self.nodes if node is not None]

    def pull(self, namespace: Any, ct: Any) -> Iterable[tuple[Node, Any]]:
        for node, x in zip(self.nodes, self.back(*ct)):
            if node is not None and x is not None:
                yield node, bare(x)

    def push(self, namespace: Any, tangents: dict[Node, Any]) -> Any:
        if self.pushforward is None:
            raise NonlinearError("a function with a rule for reverse mode only has no derivative by forward mode")
        return tuple(
            map(bare, self.pushforward(*(tangents.get(node) if node is not None else None for node in self.nodes)))
        )


def _times(t: Any, factor: Any) -> Any:
    if type(factor) is int:
        return t if factor == 1 else -t if factor == -1 else t * factor
    return product(t, factor)


class Tape(Trace):
    """The interpreter of linear operations in rules. Its arrays contain a node and no value."""

    __slots__ = ("of_device", "values")

    def __init__(self, what: str, namespace: Any, of_device: Any, values: int = -1) -> None:
        super().__init__(what, namespace)
        self.of_device, self.values = of_device, values
        """The device of the tangents, and the level of the interpreter of their values, or -1."""

    def array(self, node: Node) -> Any:
        """Make the array of a tangent."""
        return self.namespace.array_type(self, Aval(node.shape, node.dtype, self.of_device), node)

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record a linear operation."""
        # Custom rules may capture differentiated arrays. Their derivatives are linear, and use the values of the
        # arrays.
        args = [x._value if isinstance(x, TracedArray) and x._trace.level == self.values else x for x in args]
        override = op.overrides.get("tape")
        if override is not None:
            return override(self, op, args, params)
        positions = {i: x._extra for i, x in enumerate(args) if self.owns(x)}
        given = [x._value if i in positions else snapshot(bare(x)) for i, x in enumerate(args)]
        entries = op.entries(params)
        if entries is None or isinstance(entries, joint):
            if op.decomposition is None:
                raise self.nonlinear(op)
            return op.decompose(args, params)
        chosen = [entries[i] for i in positions]
        avals = avals_of_result(op, [aval_of(x) for x in given], params)
        if all(isinstance(entry, (scale, int)) for entry in chosen):
            terms = [(node, self.factor(op, entries[i], given, params)) for i, node in positions.items()]
            return self.array(Sum(avals.shape, avals.dtype, terms))
        if any(entry is not LINEAR for entry in chosen) or (len(positions) > 1 and not op.linear):
            if op.decomposition is None:
                raise self.nonlinear(op)
            return op.decompose(args, params)
        return applied(
            self, op, without_values(entries, given, positions) if op.linear else given, params, positions, avals
        )

    def factor(self, op: Op, entry: Any, given: list[Any], params: dict[str, Any]) -> Any:
        """Compute the factor of a tangent."""
        if isinstance(entry, int):
            return entry
        found = bare(op.apply(entry.of, (namespace_for(self.namespace, *given), None), given, params))
        if isinstance(found, Aval):
            raise self.nonlinear(op)
        return found

    def nonlinear(self, op: Op) -> NonlinearError:
        """Make the error for an operation that isn't linear."""
        return NonlinearError(
            f"{self.what}: {op.name} is not linear in the arrays in which the function must be linear"
        )

    def at_zero(self, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Split arguments into values, with zeros for tangents, and nodes. The derivative at zero is the linear map."""
        values = [zeros(self.namespace, x) if self.owns(x) else bare(x) for x in args]
        return values, [x._extra if self.owns(x) else None for x in args]

    def concrete(self, x: TracedArray, what: str) -> Any:
        raise NonlinearError(f"{what}: needs the value of an argument in which the function must be linear")

    def is_traced(self, x: TracedArray) -> bool:
        return True


def recorded(
    tape: Tape, op: Op, outs: Sequence[Any], depends: Sequence[bool], nodes: Sequence[Any], back: Any, pushforward: Any
) -> Any:
    """Record a linear operation given as functions. Results that don't depend on tangents are values."""
    if any(each and not tape.namespace.is_floating(x.dtype) for x, each in zip(outs, depends)):
        raise tape.nonlinear(op)
    whole = Opaque(list(map(aval_of, outs)), nodes, back, pushforward)
    return tuple(
        tape.array(Part(aval_of(x), whole, i)) if each else x for i, (x, each) in enumerate(zip(outs, depends))
    )


def without_values(entries: Any, args: list[Any], positions: dict[int, Node]) -> list[Any]:
    """Replace linear arguments of an operation by zeros, unless they are tangents."""
    given = []
    for i, (entry, x) in enumerate(zip(entries, args)):
        if i in positions or (entry is LINEAR and hasattr(x, "dtype")):
            x = aval_of(x)
        elif entry is LINEAR and isinstance(x, (int, float, complex)):
            x = 0.0
        given.append(x)
    return given


def applied(
    tape: Tape, op: Op, given: list[Any], params: dict[str, Any], positions: dict[int, Node], avals: Any
) -> Any:
    """Record a linear operation with one result or several."""
    if op.result is None:
        return tape.array(Applied(avals, op, given, params, positions))
    whole = Applied(Aval((), None), op, given, params, positions)
    return rebuilt(op, avals, [tape.array(Part(aval, whole, i)) for i, aval in enumerate(avals)])


def whole_of(namespace: Any, node: Any, parts: dict[int, Any]) -> list[Any]:
    """List the cotangents of all arrays of a result, with zeros for missing ones."""
    avals = (
        node.avals
        if isinstance(node, Opaque)
        else avals_of_result(node.op, [aval_of(x) for x in node.args], node.params)
    )
    if isinstance(node, Opaque) and node.symbolic_zeros:
        return [parts[i][1] if i in parts else None for i in range(len(avals))]
    return [parts[i][1] if i in parts else zeros(namespace, aval) for i, aval in enumerate(avals)]


def _wrapped(namespace: Any, x: Any) -> Any:
    """Wrap an array; return abstract values and other objects unchanged."""
    return namespace.wrap(x) if hasattr(x, "dtype") and not isinstance(x, Aval) else x
