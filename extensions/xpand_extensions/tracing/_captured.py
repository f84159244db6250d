"""Functions with rules that capture traced arrays: these become their last arguments.

Rules say nothing about captured arrays, so the derivatives in these are those of the function itself.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xpand.extend import LibraryArray as Array

from .._captures import captured_and_global, converted, with_own_cells
from .._transforms import replaced
from ._batching import batched_all
from ._bodies import Body, closed
from ._core import Op, TracedArray, aval_of, bare, uses_outer
from ._custom import called
from ._fit import zeros
from ._forward import jvp
from ._reverse import linearize
from ._staging import Staging

Arrays: TypeAlias = "tuple[Array, ...]"


def called_with_captured(
    namespace: Any, name: str, function: Callable[..., Arrays], arrays: Sequence[Any], rules: dict[str, Any]
) -> Arrays:
    """Call a function with rules: as an operation if an array is traced, otherwise directly.

    Raises:
        TypeError: One of the functions uses a traced array in a global variable.
    """
    if not any(map(namespace.is_transformed, arrays)):
        return tuple(function(*arrays))
    outer, shared = captured_and_global(namespace.is_variable, function, *rules.values())
    if shared:
        raise uses_outer(name)
    if outer:
        own = {key: converted(rule, outer) for key, rule in _with_own_variables(rules).items()}
        whole = WithCaptured(namespace, name, converted(with_own_cells(function), outer), own, len(arrays))
        function, rules, arrays = whole.run, whole.rules, (*arrays, *outer)
    return called(namespace, name, function, arrays, rules)


def custom_stage(trace: Staging, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Stage the function as a graph, with its rules."""
    body, constants = closed(
        trace.namespace, op.name, lambda *x: (tuple(params["run"](*x)), ()), [aval_of(x) for x in args]
    )
    rules = {name: rule for name, rule in params.items() if name != "run"}
    if constants:
        return _call_with_constants(trace.namespace, op.name, body, rules, args, constants)
    run = lambda *x: body.program(*x) if not any(isinstance(y, TracedArray) for y in x) else body.graph.run(*x)
    # `forward` may be called later, when the graph is differentiated. The graph doesn't change until then.
    own = {name: with_own_cells(rule) if name in ("rule", "forward") else rule for name, rule in rules.items()}
    return trace.equation(op, [trace.atom(x) for x in args], {"run": run, **own}, tuple(body.avals))


def _call_with_constants(
    namespace: Any, name: str, body: Body, rules: dict[str, Any], args: Sequence[Any], constants: Sequence[Any]
) -> Arrays:
    """Call a function that captures traced arrays in objects that are not searched: staging has found them."""
    count = len(args)
    run = lambda *x: tuple(map(namespace.wrap, body.run(*x[count:], *x[:count])))
    own = {key: _without_last(rule, len(constants)) for key, rule in _with_own_variables(rules).items()}
    whole = WithCaptured(namespace, name, run, own, count)
    return tuple(map(bare, called(namespace, name, whole.run, (*args, *constants), whole.rules)))


def _without_last(rule: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Omit the last arguments of a rule: it reads captured arrays in its own objects."""
    return lambda *args: rule(*args[: len(args) - count])


def _with_own_variables(rules: dict[str, Any]) -> dict[str, Any]:
    """Keep the variables of rules as they are now, since they may change before the rules are called.

    Those of backward rules stay: a forward rule may set them.
    """
    return {name: rule if name == "backward" else with_own_cells(rule) for name, rule in rules.items()}


class WithCaptured:
    """A function and its rules, which take captured arrays after their arguments."""

    def __init__(
        self, namespace: Any, name: str, function: Callable[..., Arrays], own: dict[str, Any], count: int
    ) -> None:
        """Take the function and its own rules, which take all arrays, and the number of its arguments."""
        self.namespace, self.name, self.count = namespace, name, count
        self.function, self.own = function, own

    @property
    def rules(self) -> dict[str, Any]:
        """The rules by name, made for each call: bound methods in an attribute would be a reference cycle."""
        return {key: getattr(self, key) for key in self.own}

    def run(self, *arrays: Array) -> Arrays:
        """Call the function."""
        return tuple(self.function(*arrays))

    def _of_captured(self, arrays: Arrays, positions: Sequence[int]) -> Callable[..., Any]:
        """Return the function of some of the captured arrays, for transformations."""
        return lambda *xs: (self.run(*replaced(arrays, positions, xs)), ())

    def _captured(self, differentiated: Sequence[bool]) -> list[int]:
        """List the positions of captured arrays that are differentiated."""
        return [i for i, each in enumerate(differentiated) if each and i >= self.count]

    def _value(self, arrays: Arrays) -> Arrays:
        """Call the function where only captured arrays are differentiated. Outer transformations use the rules."""
        return called(self.namespace, self.name, self.run, arrays, self.rules)

    def rule(self, primals: Arrays, tangents: Sequence[Array | None]) -> tuple[Arrays, Arrays]:
        """Return the results and their tangents."""
        namespace, count = self.namespace, self.count
        has_rule = any(t is not None for t in tangents[:count])
        if has_rule:
            outs, along = self.own["rule"](primals[:count], tangents[:count], *primals[count:])
        else:
            outs, along = self._value(primals), ()
        positions = self._captured(
            [t is not None and namespace.is_floating(x.dtype) for x, t in zip(primals, tangents)]
        )
        if positions:
            along_captured: list[Any] = [tangents[i] for i in positions]
            moved = jvp(
                namespace, self._of_captured(primals, positions), [primals[i] for i in positions], along_captured
            )[1]
            others = tuple(map(namespace.wrap, moved))
            along = tuple([x + y for x, y in zip(along, others)]) if has_rule else others
        return outs, along

    def forward(self, perturbed: tuple[bool, ...], *arrays: Array) -> tuple[Arrays, Arrays]:
        """Return the results and the residuals: the arrays that `backward` needs, then those of the rule."""
        count = self.count
        saved = arrays if any(perturbed[count:]) else arrays[count:]
        if not any(perturbed[:count]):
            return self._value(arrays), saved
        outs, residuals = self.own["forward"](perturbed[:count], *arrays)
        return outs, (*saved, *residuals)

    def backward(
        self, perturbed: tuple[bool, ...], residuals: Arrays, cotangents: Sequence[Array | None]
    ) -> list[Array | None]:
        """Return the cotangents of all arrays."""
        namespace, count = self.namespace, self.count
        skipped = 0 if any(perturbed[count:]) else count
        arrays: Any = (*[None] * skipped, *residuals[: len(perturbed) - skipped])
        gradients: list[Array | None] = [None] * len(perturbed)
        if any(perturbed[:count]):
            rest = residuals[len(perturbed) - skipped :]
            gradients[:count] = self.own["backward"](perturbed[:count], rest, cotangents, *arrays[count:])
        positions = [i for i in self._captured(perturbed) if namespace.is_floating(arrays[i].dtype)]
        if positions:
            function = self._of_captured(arrays, positions)
            outs, _, linear = linearize(namespace, "vjp", function, [arrays[i] for i in positions])
            whole = [zeros(namespace, x) if ct is None else ct for x, ct in zip(outs, cotangents)]
            for i, ct in zip(positions, linear.pull(*whole)):
                gradients[i] = namespace.wrap(ct)
        return gradients

    def batches(self, size: int, mapped: Sequence[bool], *arrays: Array) -> tuple[Arrays, Sequence[bool]]:
        """Compute all lanes by the rule, or by the function if a captured array has the axis."""
        count = self.count
        if any(mapped[count:]):
            outs = batched_all(self.namespace, self.run, arrays, [0 if each else None for each in mapped], size)
            return outs, [True] * len(outs)
        lanes: tuple[Arrays, Sequence[bool]] = self.own["batches"](size, mapped[:count], *arrays)
        return lanes
