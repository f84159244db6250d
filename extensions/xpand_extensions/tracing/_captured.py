"""Functions with rules that capture traced arrays: these become their last arguments.

Rules say nothing about captured arrays, so the derivatives in these are those of the function itself.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xpand.extend import LibraryArray as Array

from .._captures import captured, captured_and_global, with_arrays, with_own_cells
from .._transforms import replaced
from ._batching import batched_all
from ._core import TracedArray, bare
from ._custom import called, uses_outer
from ._fit import zeros
from ._forward import jvp
from ._reverse import linearize

Arrays: TypeAlias = "tuple[Array, ...]"


def called_with_captured(
    namespace: Any, name: str, function: Callable[..., Arrays], arrays: Sequence[Any], rules: dict[str, Any]
) -> Arrays:
    """Call a function with rules: as an operation if an array is traced, otherwise directly.

    Raises:
        TypeError: One of the functions uses a traced array in a global variable.
    """
    if not any(map(_is_traced, arrays)):
        return tuple(function(*arrays))
    outer, shared = captured_and_global(_is_traced, function, *rules.values())
    if shared:
        raise uses_outer(name)
    if outer:
        whole = WithCaptured(namespace, name, function, rules, len(arrays), outer)
        function, rules, arrays = whole.run, whole.rules, (*arrays, *outer)
    return called(namespace, name, function, arrays, rules)


def _is_traced(x: Any) -> bool:
    return isinstance(bare(x), TracedArray)


class WithCaptured:
    """A function and its rules, which take captured arrays after their arguments."""

    def __init__(
        self,
        namespace: Any,
        name: str,
        function: Callable[..., Arrays],
        rules: dict[str, Any],
        count: int,
        outer: Sequence[Array],
    ) -> None:
        """Take the number of arguments and the captured arrays."""
        self.namespace, self.name, self.count, self.outer = namespace, name, count, outer
        self.ids = set(map(id, outer))
        # The variables of the functions may change before they are called, except those of backward rules.
        given = {"run": function, **rules}
        self.own = {key: each if key == "backward" else with_own_cells(each) for key, each in given.items()}
        self.used = {key: self._used(each) for key, each in self.own.items()}
        self.rules = {key: getattr(self, key) for key in rules}

    def run(self, *arrays: Array) -> Arrays:
        """Call the function."""
        return tuple(self._with("run", arrays)(*arrays[: self.count]))

    def _with(self, key: str, arrays: Sequence[Array]) -> Any:
        """Return one of the functions with other captured arrays."""
        function = self.own[key]
        if not self.used[key] <= self._used(function):
            raise TypeError(
                f"{self.name}: an array that a function uses has been replaced since {self.name} was called: an "
                "attribute of an object, or a variable of the pullback; pass it as an argument, or bind it "
                "(`lambda z, a=self.a: ...`)"
            )
        return with_arrays(function, {id(x): y for x, y in zip(self.outer, arrays[self.count :])})

    def _used(self, function: Callable[..., Any]) -> set[int]:
        """Return the `id` of each array that a function captures now."""
        return {id(x) for x in captured(lambda x: id(x) in self.ids, function)}

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
            outs, along = self._with("rule", primals)(primals[:count], tangents[:count])
        else:
            outs, along = self._value(primals), ()
        positions = self._captured(
            [t is not None and namespace.is_floating(x.dtype) for x, t in zip(primals, tangents)]
        )
        if positions:
            given: list[Any] = [tangents[i] for i in positions]
            moved = jvp(namespace, self._of_captured(primals, positions), [primals[i] for i in positions], given)[1]
            others = tuple(map(namespace.wrap, moved))
            along = tuple([x + y for x, y in zip(along, others)]) if has_rule else others
        return outs, along

    def forward(self, perturbed: tuple[bool, ...], *arrays: Array) -> tuple[Arrays, Arrays]:
        """Return the results and the residuals: the arrays that `backward` needs, then those of the rule."""
        count = self.count
        saved = arrays if any(perturbed[count:]) else arrays[count:]
        if not any(perturbed[:count]):
            return self._value(arrays), saved
        outs, residuals = self._with("forward", arrays)(perturbed[:count], *arrays[:count])
        return outs, (*saved, *residuals)

    def backward(
        self, perturbed: tuple[bool, ...], residuals: Arrays, cotangents: Sequence[Array | None]
    ) -> list[Array | None]:
        """Return the cotangents of all arrays."""
        namespace, count = self.namespace, self.count
        skipped = 0 if any(perturbed[count:]) else count
        arrays: Any = (*[None] * skipped, *residuals[: len(perturbed) - skipped])
        found: list[Array | None] = [None] * len(perturbed)
        if any(perturbed[:count]):
            rule = self._with("backward", arrays)
            found[:count] = rule(perturbed[:count], residuals[len(perturbed) - skipped :], cotangents)
        positions = [i for i in self._captured(perturbed) if namespace.is_floating(arrays[i].dtype)]
        if positions:
            function = self._of_captured(arrays, positions)
            outs, _, linear = linearize(namespace, "vjp", function, [arrays[i] for i in positions])
            whole = [zeros(namespace, x) if ct is None else ct for x, ct in zip(outs, cotangents)]
            for i, ct in zip(positions, linear.pull(*whole)):
                found[i] = namespace.wrap(ct)
        return found

    def batches(self, size: int, mapped: Sequence[bool], *arrays: Array) -> tuple[Arrays, Sequence[bool]]:
        """Compute all lanes by the rule, or by the function if a captured array has the axis."""
        count = self.count
        if any(mapped[count:]):
            outs = batched_all(self.namespace, self.run, arrays, [0 if each else None for each in mapped], size)
            return outs, [True] * len(outs)
        found: tuple[Arrays, Sequence[bool]] = self._with("batches", arrays)(size, mapped[:count], *arrays[:count])
        return found
