"""Forward mode: arrays with a value and a tangent."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import reduce
from typing import Any, Final

from xpand.extend import Array, without_numpy_warnings

from ..extend._derivatives import LINEAR, contribution, factor, joint
from ._core import Op, Trace, TracedArray, apart, bare, bind, rebuilt, snapshot
from ._fit import alike, cast, namespace_for, plus, product, spread, zeros

DERIVATIVES_TAKEN: Final[ContextVar[int]] = ContextVar("xpand_derivatives_taken", default=0)
"""The number of derivatives taken so far. If it grows while a function is traced, the function takes derivatives."""


def without_warnings() -> AbstractContextManager[Any]:
    """Silence NumPy's warnings in this context, and count a derivative.

    Enter it once per call, since it takes longer than many operations.
    """
    DERIVATIVES_TAKEN.set(DERIVATIVES_TAKEN.get() + 1)
    return without_numpy_warnings()


_WRAPPED: Final = "wrapped"
"""The attribute of a function made by `run_without_warnings`."""


def run_without_warnings(run: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to run without NumPy's warnings."""

    def call(*args: Any) -> Any:
        with without_warnings():
            return run(*args)

    setattr(call, _WRAPPED, run)
    return call


def unwrapped(run: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[[], AbstractContextManager[Any]]]:
    """Return the wrapped function, which may warn, and the context for its calls. A loop enters the context once."""
    found = getattr(run, _WRAPPED, None)
    return (run, nullcontext) if found is None else (found, without_warnings)


class Forward(Trace):
    """The interpreter of forward mode. Its arrays contain a value and a tangent."""

    __slots__ = ()

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation to the values, and its derivative to the tangents."""
        override = op.overrides.get("forward")
        if override is not None:
            return override(self, op, args, params)
        primals, tangents = self.split(args)
        if op.factors is not None and namespace_for(self.namespace, *primals, *tangents) is self.namespace.base:
            return self.by_factors(op.factors, op.function(*primals, **params), primals, tangents)
        entries = op.entries(params)
        if entries is None:
            if op.constant is not None or all(t is None for t in tangents):
                return bind(op, primals, params)
            if op.decomposition is None:
                raise op.no_rule("its derivative")
            return op.decompose(args, params)
        out = bind(op, primals, params)
        if op.result is not None:
            outs = tuple(out)
            found = self.several(op, entries, tangents, primals, outs, params)
            return rebuilt(op, out, [self.pair(x, t) for x, t in zip(outs, found)])
        return self.pair(out, self.tangent(op, entries, tangents, primals, out, params))

    def by_factors(self, factors: Sequence[Any], out: Any, primals: list[Any], tangents: list[Any]) -> Any:
        """Apply the derivative of an elementwise operation to the library's own arrays, faster than `tangent`."""
        found: Any = None
        for t, of in zip(tangents, factors):
            if t is not None:
                if type(of) is not int:
                    t = t * of(self.namespace.base, out, *primals)
                elif of != 1:
                    t = -t if of == -1 else t * of
                if t.shape != out.shape or t.dtype != out.dtype:
                    t = spread(self.namespace, t, tuple(out.shape), out.dtype)
                found = t if found is None else found + t
        return self.pair(out, found)

    def pair(self, x: Array, t: Array | None) -> Array:
        """Make an array of this trace, or return the value itself if there is no tangent."""
        return x if t is None else self.namespace.array_type(self, x, t)

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Split the arguments of an operation into values and tangents."""
        primals, tangents = [], []
        for x in args:
            t = None
            if isinstance(x, TracedArray):
                x, t = (x._value, x._extra) if x._trace is self else (bare(x), None)
            primals.append(x)
            tangents.append(t)
        return primals, tangents

    def tangent(
        self, op: Op, entries: Any, tangents: list[Any], primals: list[Any], out: Any, params: dict[str, Any]
    ) -> Array | None:
        """Return the derivative of an operation with one result."""
        namespace = self.namespace
        if not namespace.is_floating(out.dtype):
            return None
        shape = tuple(out.shape)
        if isinstance(entries, joint):
            (t,) = self.several(op, entries, tangents, primals, out, params)
            return None if t is None else spread(namespace, t, shape, out.dtype)
        if op.linear:
            if all(t is None or entry is None for t, entry in zip(tangents, entries)):
                return None
            given = [_tangent_or_zeros(namespace, t, x, entry) for t, x, entry in zip(tangents, primals, entries)]
            return spread(namespace, bare(bind(op, given, params)), shape, out.dtype)
        terms = []
        for i, (entry, t) in enumerate(zip(entries, tangents)):
            if t is not None and entry is not None:
                term = _term(namespace, op, entry, i, t, primals, out, params)
                if term is not None:
                    terms.append(spread(namespace, bare(term), shape, out.dtype))
        return reduce(plus, terms) if terms else None

    def several(
        self, op: Op, entries: Any, tangents: list[Any], primals: list[Any], out: Any, params: dict[str, Any]
    ) -> tuple[Array | None, ...]:
        """Return the derivatives of an operation with several results."""
        namespace = self.namespace
        traced = namespace_for(namespace, *primals, *(t for t in tangents if t is not None))
        if isinstance(entries, joint):
            count = len(primals)
            several = op.result is not None
            given = alike(namespace, [*primals, *tangents, *(out if several else [out])])
            primals, along, outs = given[:count], given[count : 2 * count], given[2 * count :]
            out = rebuilt(op, out, outs) if several else outs[0]
            found = op.apply(entries.of, (traced, op.named(along, params), out), primals, params)
            return tuple(
                None if t is None else bare(t) for t in (found if isinstance(found, (tuple, list)) else (found,))
            )
        # Replace missing tangents by zeros in operations that are linear in each array, or jointly linear.
        given = [_tangent_or_zeros(namespace, t, x, entry) for t, x, entry in zip(tangents, primals, entries)]
        return tuple(map(bare, bind(op, given, params)))


def _tangent_or_zeros(namespace: Any, t: Any, x: Any, entry: Any) -> Any:
    if t is not None:
        return t
    if entry is not LINEAR or x is None:
        return x
    return zeros(namespace, x) if hasattr(x, "dtype") else 0.0


def _term(
    namespace: Any, op: Op, entry: Any, i: int, t: Array, primals: list[Any], out: Any, params: dict[str, Any]
) -> Array | None:
    if entry is LINEAR:
        given = list(primals)
        given[i] = t
        return bind(op, given, params)
    if isinstance(entry, int):
        return t if entry == 1 else -t if entry == -1 else t * entry
    xp = namespace_for(namespace, t, out, *primals)
    t, out, *primals = alike(namespace, [t, out, *primals])
    if isinstance(entry, factor):
        found = op.apply(entry.of, (xp, out), primals, params)
        return product(t, found)
    assert isinstance(entry, contribution)
    return op.apply(entry.of, (xp, t, out), primals, params)


def jvp(
    namespace: Any, function: Callable[..., Any], primals: Sequence[Array], tangents: Sequence[Array], what: str = "jvp"
) -> tuple[tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]]:
    """Push tangents through a function of arrays that returns two tuples of arrays: outputs and auxiliary data."""
    with without_warnings(), Forward(what, namespace) as trace:
        inputs = [namespace.array_type(trace, snapshot(bare(x)), bare(t)) for x, t in zip(primals, tangents)]
        outs, aux = function(*inputs)
    values, derivatives = [], []
    for x in outs:
        if trace.owns(x):
            values.append(x._value)
            derivatives.append(cast(namespace_for(namespace, x._extra), namespace, x._extra, x._value.dtype))
        else:
            values.append(bare(x))
            derivatives.append(zeros(namespace, x))
    return tuple(values), apart(tuple(derivatives)), tuple(trace.plain(x) for x in aux)
