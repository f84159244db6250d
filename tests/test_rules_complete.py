"""The tables of rules of `tracing` are complete, name what there is, and fit the signatures of the operations."""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xpand
from xpand_extensions._capabilities import import_facades
from xpand_extensions._dispatch import OPERATIONS
from xpand_extensions.extend._derivatives import LINEAR, Each, First, contribution, factor, joint
from xpand_extensions.tracing import rules, traced_namespace
from xpand_extensions.tracing._core import Op
from xpand_extensions.tracing._creation import CREATION
from xpand_extensions.tracing._facades import INLINED, FacadeOp, is_transformation
from xpand_extensions.tracing._functions import FUNCTIONS
from xpand_extensions.tracing._indexing import INDEXING

import_facades()
importlib.import_module("xpand_extensions.random._keys")  # which loads with the first distribution

NAMESPACE = traced_namespace(xpand.array_namespace(np.ones(1)))
STANDARD = {name: op for name, op in NAMESPACE.operations.items() if not isinstance(op, FacadeOp)}
TRACED = {*INLINED, "scatter.at"}
"""Facades that are no operations: what they do is traced."""
_FACADES = {
    operation.qualified_name: operation
    for operation in OPERATIONS.values()
    if operation.package == "xpand_extensions" and not is_transformation(operation)
}
FACADES = {name: FacadeOp(operation, NAMESPACE) for name, operation in _FACADES.items() if name not in TRACED}
ALL: dict[str, Op] = {**STANDARD, **FACADES}
OF_TRANSFORMATIONS = {
    "checkpoint",
    "collective",
    "cond",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "custom_vmap",
    "gradient_if",
    "io_callback",
    "pure_callback",
    "scan",
    "safe_values",
    "while_loop",
}
"""Operations that transformations make while they are applied."""
TABLES = [
    "DERIVATIVES",
    "TRANSPOSES",
    "BATCHING",
    "SHAPES",
    "DECOMPOSITIONS",
    "CONSTANT",
    "RESULTS",
    "LINEAR",
    "OVERRIDES",
]


def test_there_are_operations() -> None:
    """The tables of the other tests aren't empty, and the namespace has all of the standard that NumPy has."""
    assert len(FACADES) > 100
    assert STANDARD.keys() >= FUNCTIONS.keys() | INDEXING.keys() | {"astype", "zeros"}
    assert _FACADES.keys() >= TRACED
    assert not STANDARD.keys() & FACADES.keys(), "a facade would take the rules of the standard's function"


@pytest.mark.parametrize("table", TABLES)
def test_names(table: str) -> None:
    """A name that is misspelt is that of no operation."""
    assert set(getattr(rules, table)) <= ALL.keys() | OF_TRANSFORMATIONS


def _generic(op: Op) -> bool:
    return op.decomposition is not None


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_operation_has_a_derivative(name: str) -> None:
    """It has a rule, is done in terms of others, or says why it has none."""
    op = ALL[name]
    assert op.derivative is not None or _generic(op) or op.constant or "linearize" in op.overrides


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_operation_has_batches(name: str) -> None:
    """It has a rule, if one that raises an error, or is done in terms of others; or it has no arrays."""
    op = ALL[name]
    from_nothing = name in CREATION and name != "astype"
    assert op.batching is not None or _generic(op) or "batch" in op.overrides or from_nothing


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_operation_has_shapes(name: str) -> None:
    op = ALL[name]
    assert op.shape is not None or _generic(op) or "stage" in op.overrides


@pytest.mark.parametrize("name", sorted(rules.CONSTANT))
def test_a_reason_is_given_for_what_has_no_rule(name: str) -> None:
    """Where there is a derivative, there is no reason for there being none."""
    assert name not in rules.DERIVATIVES
    assert rules.CONSTANT[name].strip()


# Do rules take the arguments that they are called with?


class _Signature:
    """The arguments of an operation: how its rules get them."""

    def __init__(self, name: str) -> None:
        if name in FACADES:
            self.arrays: list[str] = []
            parameters = inspect.signature(FACADES[name].operation.facade).parameters.values()
            self.params = {p.name: 0 for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
            self.sequence = any(p.kind is p.VAR_POSITIONAL for p in parameters)
            return
        text, _, named = FUNCTIONS[name].partition(":")
        parts = [part.strip() for part in text.split(",")]
        before = parts[: parts.index("/")] if "/" in parts else parts[:1]
        chosen = [part.strip() for part in named.split(",") if part.strip()]
        self.arrays = chosen if chosen[:1] == before[:1] else before + chosen
        self.sequence = self.arrays[0].startswith("*")
        rest = (part.partition("=")[0] for part in parts if part not in ("/", "*"))
        self.params = {part: 0 for part in rest if part not in self.arrays}

    def fits(self, rule: Any, *first: Any) -> None:
        """Raise where the rule can't be called with `first` and the arguments."""
        inspect.signature(rule).bind(*first, *range(len(self.arrays)), **self.params)


WITH_SIGNATURE = sorted((FUNCTIONS.keys() & STANDARD.keys()) | FACADES.keys())


def _entries(name: str, table: Any) -> Iterator[tuple[Any, Any]]:
    """Go through the entries for each array, with its place or name; none where they depend on other arguments."""
    if isinstance(table, dict):
        yield from table.items()
    elif isinstance(table, Each):
        yield 0, table.entry
    elif isinstance(table, First):
        yield from enumerate(table.entries)
    elif isinstance(table, tuple):
        yield from enumerate(table)


@pytest.mark.parametrize("name", WITH_SIGNATURE)
def test_rules_fit_signatures(name: str) -> None:
    signature, op = _Signature(name), ALL[name]
    if op.batching is not None:
        signature.fits(op.batching, "xp", "mapped")
    if op.shape is not None:
        signature.fits(op.shape, "namespace")
    if name in rules.DECOMPOSITIONS:
        signature.fits(rules.DECOMPOSITIONS[name], "xp")
    if isinstance(op.derivative, joint):
        signature.fits(op.derivative.of, "xp", "tangents", "out")
    for _, entry in _entries(name, op.derivative):
        if isinstance(entry, factor):
            signature.fits(entry.of, "xp", "out")
        elif isinstance(entry, contribution):
            signature.fits(entry.of, "xp", "t", "out")
        else:
            assert entry is None or entry is LINEAR or isinstance(entry, int), f"{entry} is no rule"
    for _, rule in _entries(name, op.transpose):
        if rule is not None:
            signature.fits(rule, "xp", "ct", *(["i"] if op.result is not None or op.linear else []))


@pytest.mark.parametrize("name", [name for name in WITH_SIGNATURE if name in rules.DERIVATIVES])
def test_entries_are_those_of_the_arrays(name: str) -> None:
    """There is one for each array: as many as there are, or by names that there are."""
    signature = _Signature(name)
    for table in (rules.DERIVATIVES[name], rules.TRANSPOSES.get(name)):
        if isinstance(table, dict):
            assert name in FACADES
            assert table.keys() <= signature.params.keys()
        elif isinstance(table, Each):
            assert signature.sequence
        elif isinstance(table, tuple) and name in FACADES:
            # Arrays are in the order of their names.
            names = list(signature.params)[: len(table)]
            assert len(names) == len(table)
            assert names == sorted(names), "arrays in another order than their names: a dictionary is needed"
        elif isinstance(table, tuple):
            assert len(table) == len(signature.arrays)
        elif table is not None and not isinstance(table, (First, joint)):
            assert name in FACADES
            inspect.signature(table).bind("arguments")


@pytest.mark.parametrize("name", sorted(ALL))
def test_what_is_linear_has_a_transpose(name: str) -> None:
    """And what has one is linear, in the same arrays: a rule for another would never be called."""
    op = ALL[name]
    linear = {place for place, entry in _entries(name, op.derivative) if entry is LINEAR}
    depends = callable(op.derivative)  # on other arguments
    if not depends:
        transposes = {place for place, rule in _entries(name, op.transpose) if rule is not None}
        assert transposes == linear
    if op.linear:
        assert linear or depends
