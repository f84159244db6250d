"""Types of loops and branches: their results have the types that the functions return.

Each decorator gives a facade its type for type checkers.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

from xpand import trees
from xpand.extend import Array

from .._signatures import Operation
from .._transformed import Function
from ..progress import To

C = TypeVar("C")
R = TypeVar("R")
Y = TypeVar("Y")


class Scan(Operation, Protocol):
    """The type of `scan`."""

    def __call__(
        self,
        f: Callable[[Any, Any], tuple[C, Y]],
        init: trees.Tree,
        xs: trees.Tree = None,
        length: int | None = None,
        reverse: bool = False,
        unroll: int | bool = 1,
        *,
        progress: To = False,
    ) -> tuple[C, Y]: ...


class WhileLoop(Operation, Protocol):
    """The type of `while_loop`."""

    def __call__(
        self,
        cond_fun: Callable[[Any], bool | Array],
        body_fun: Callable[[Any], C],
        init_val: trees.Tree,
        *,
        max_iter: int | Sequence[int] | None = None,
        progress: To = False,
    ) -> C: ...


class ForiLoop(Operation, Protocol):
    """The type of `fori_loop`."""

    def __call__(
        self,
        lower: int | Array,
        upper: int | Array,
        body_fun: Callable[[Any, Any], C],
        init_val: trees.Tree,
        *,
        unroll: int | bool | None = None,
        progress: To = False,
    ) -> C: ...


class Cond(Operation, Protocol):
    """The type of `cond`."""

    def __call__(
        self, pred: bool | Array, true_fun: Callable[..., R], false_fun: Callable[..., R], *operands: trees.Tree
    ) -> R: ...


class Switch(Operation, Protocol):
    """The type of `switch`."""

    def __call__(self, index: int | Array, branches: Sequence[Callable[..., R]], *operands: trees.Tree) -> R: ...


def scan_signature(facade: Function, /) -> Scan:
    """Decorate `scan`."""
    return cast("Scan", facade)


def while_loop_signature(facade: Function, /) -> WhileLoop:
    """Decorate `while_loop`."""
    return cast("WhileLoop", facade)


def fori_loop_signature(facade: Function, /) -> ForiLoop:
    """Decorate `fori_loop`."""
    return cast("ForiLoop", facade)


def cond_signature(facade: Function, /) -> Cond:
    """Decorate `cond`."""
    return cast("Cond", facade)


def switch_signature(facade: Function, /) -> Switch:
    """Decorate `switch`."""
    return cast("Switch", facade)
