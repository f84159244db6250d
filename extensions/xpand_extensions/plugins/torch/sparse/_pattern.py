"""Computations on patterns on PyTorch, below torch.func's derivatives, which wrap integers too."""

from collections.abc import Callable
from typing import Any

from torch.func import debug_unwrap

from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand.torch._concrete import is_traced


def are_concrete(*arrays: Array) -> bool:
    return all(is_concrete(x) or is_concrete(_unwrapped(x)) for x in arrays)


def eagerly(function: Callable[..., Any], /, *arrays: Array) -> Any:
    if not private.are_levels_active():
        return function(*map(_unwrapped, arrays))
    with private.without_levels():
        return function(*map(_unwrapped, arrays))


def _unwrapped(x: Array) -> Array:
    """Unwrap an array without derivatives; a mapped one stays wrapped at the level of vmap."""
    if is_traced() or x.is_floating_point() or x.is_complex():
        return x
    while private.is_grad_wrapped(x):
        x = debug_unwrap(x, recurse=False)
    return x
