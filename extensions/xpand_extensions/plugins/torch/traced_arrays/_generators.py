"""Generators of random numbers that calls draw from."""

from collections.abc import Sequence
from typing import Any, Self

import torch


def generators(leaves: Sequence[Any]) -> list[torch.Generator]:
    """List the generators that a function with these arguments may draw from."""
    sources = [torch.default_generator]
    for x in leaves:
        if isinstance(x, torch.Generator):
            sources.append(x)
    if torch.cuda.is_initialized():
        sources += torch.cuda.default_generators
    return sources


def evaluated(call: Any, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Evaluate a call. If it is watched and draws random numbers, it gets the states of its generators before."""
    results: tuple[torch.Tensor, ...]
    if not call.watched:
        results = call(*xs)
        return results
    sources = call.generators()
    before = [source.get_state() for source in sources]
    results = call(*xs)
    for source, state in zip(sources, before):
        if not torch.equal(state, source.get_state()):
            call.state = before
            break
    return results


class Draws:
    """Generators in given states, within a context."""

    def __init__(self, sources: Sequence[torch.Generator], states: Sequence[torch.Tensor], is_again: bool) -> None:
        """Take the generators, their states, and whether to leave the generators as they are afterwards."""
        self.sources, self.states, self.is_again = sources, states, is_again

    def __enter__(self) -> Self:
        self.before = [source.get_state() for source in self.sources]
        self.set(self.states)
        return self

    def __exit__(self, *error: object) -> None:
        if self.is_again:
            self.set(self.before)

    def set(self, states: Sequence[torch.Tensor]) -> None:
        """Set the states of the generators."""
        for source, state in zip(self.sources, states):
            source.set_state(state)
