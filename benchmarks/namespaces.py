"""Every function of the standard in each namespace, compared with the library's own call and array-api-compat's."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import xpand

from ._calls import CASES, INTEGER_CASES, NATIVE, NATIVE_INTEGERS, call, native_call
from ._measure import Budget, Row
from ._samples import Samples

FEW: Final = Budget(extra=0.5e-6)
PEER: Final = Budget()
MANY: Final = Budget(ratio=1.05, extra=0.5e-6)
"""A view of a million elements costs no more than one of four, so the overhead of a call is allowed here too."""

NO_PEER: Final = {("torch", "unique_all")}
"""Functions that array-api-compat's wrapper has but that fail: (library, function)."""

REASONS: Final = {
    ("numpy", "floor_divide"): "infinities are looked for: their quotients differ from NumPy's",
    ("torch", "floor_divide"): "infinities are looked for: their quotients differ from PyTorch's",
    ("torch", "remainder"): "zeros take the divisor's sign, PyTorch's the dividend's: a second pass",
    ("torch", "sign"): "NaN is looked for, whose sign is NaN: PyTorch's is 0",
    ("torch", "take"): "negative indices are looked for, which index_select refuses",
    ("torch", "searchsorted"): "PyTorch warns of arrays that aren't contiguous: both are made so",
    ("torch", "vecdot"): "the axis does not broadcast, PyTorch's does: its sizes are compared",
    ("torch", "linalg.vecdot"): "the axis does not broadcast, PyTorch's does: its sizes are compared",
    ("torch", "linalg.cross"): "the axis does not broadcast, PyTorch's does: its sizes are compared",
    ("jax", "sign"): "the sign of a zero is 0, JAX's keeps its sign: one more choice",
    ("torch", "take_along_axis"): "negative indices are looked for, which gather refuses",
    ("jax", "max"): "NaN is looked for, which XLA leaves out on the CPU: a second pass",
    ("jax", "min"): "NaN is looked for, which XLA leaves out on the CPU: a second pass",
    **dict.fromkeys(
        [("torch", "hypot"), ("torch", "logaddexp"), ("torch", "linalg.matrix_norm")],
        "whether a derivative follows the arrays is asked: at some points PyTorch's is another than elsewhere",
    ),
    **dict.fromkeys(
        [("torch", "cumulative_sum"), ("torch", "cumulative_prod")],
        "integers, the beginning and the axis left out are asked for, in Python",
    ),
}
"""Reasons in the standard why functions exceed a budget, by (library, function)."""

_PEER_IS_NATIVE: Final = "array-api-compat hands out the library's own function, which lacks the correction"

_LOOK_AT_TYPE: Final = "a look at the data type, for the unsigned integers that PyTorch has no kernels for"


@dataclass(frozen=True)
class Library:
    """A library to measure: its own namespace, and array-api-compat's wrapper where there is one."""

    name: str
    native: Any
    compat: Any

    @property
    def xp(self) -> Any:
        return xpand.namespace(self.name)


def libraries() -> list[Library]:
    """Load the libraries, set up to compute in one thread and in double precision."""
    import jax
    import torch

    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(1)
    return [
        Library("numpy", importlib.import_module("numpy"), importlib.import_module("array_api_compat.numpy")),
        Library("torch", torch, importlib.import_module("array_api_compat.torch")),
        # array-api-compat wraps nothing of JAX: there, its namespace is the native one.
        Library("jax", importlib.import_module("jax.numpy"), None),
    ]


SMALL: Final[dict[str, int]] = {"small": 4, "large": 4}
"""The sizes at which the tests run every row."""


def rows(small: int = 4, large: int = 1_000_000) -> Iterator[Row]:
    """Every function on `small` elements, compared with the native call and array-api-compat's, and on `large`."""
    for library in libraries():
        yield from _on_few(library, Samples(library.xp.asarray, small))
    for library in libraries():
        yield from _on_many(library, Samples(library.xp.asarray, large))


def _on_few(library: Library, samples: Samples) -> Iterator[Row]:
    for name, case in CASES.items():
        arguments = case(library.native, samples)
        ours = call(library.xp, name, arguments)
        if ours is None:
            continue
        reason = REASONS.get((library.name, name), "")
        native = native_call(library.native, name, samples, arguments, NATIVE[library.name])
        if native is not None:
            topic = f"{library.name}, {samples.size} elements, against the native call"
            yield Row(topic, name, ours, {"native": native}, FEW, reason)
        peer = call(library.compat, name, arguments) if library.compat else None
        if peer is not None and (library.name, name) not in NO_PEER:
            topic = f"{library.name}, {samples.size} elements, against array-api-compat"
            if native is not None and peer.function is native.function:
                reason = reason or _PEER_IS_NATIVE
            elif library.name == "torch":
                reason = reason or _LOOK_AT_TYPE
            yield Row(topic, name, ours, {"array-api-compat": peer}, PEER, reason)


def _on_many(library: Library, samples: Samples) -> Iterator[Row]:
    topic = f"{library.name}, {samples.size:,} elements, against the native call"
    for suffix, cases, natives in (("", CASES, NATIVE), (" (int64)", INTEGER_CASES, NATIVE_INTEGERS)):
        for name, case in cases.items():
            arguments = case(library.native, samples)
            ours = call(library.xp, name, arguments)
            native = native_call(library.native, name, samples, arguments, natives[library.name])
            if ours is not None and native is not None:
                yield Row(topic, name + suffix, ours, {"native": native}, MANY, REASONS.get((library.name, name), ""))
