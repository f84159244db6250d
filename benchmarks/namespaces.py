"""Every function of the standard in each namespace, compared with the native call and with array-api-compat."""

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
"""A view of a million elements takes no longer than one of four, so the overhead of a call is allowed here too."""

NO_PEER: Final = {("torch", "unique_all")}
"""Functions of array-api-compat that fail: (library, function)."""

REASONS: Final = {
    ("numpy", "floor_divide"): "a pass looks for infinities: their quotients differ from NumPy's",
    ("torch", "floor_divide"): "a pass looks for infinities: their quotients differ from PyTorch's",
    ("torch", "remainder"): "zeros take the divisor's sign, PyTorch's take the dividend's: a second pass",
    ("torch", "sign"): "the sign of NaN is NaN, PyTorch's is 0: a second pass looks for NaN",
    ("torch", "take"): "index_select rejects negative indices: a pass looks for them",
    ("torch", "searchsorted"): "PyTorch warns of arrays that aren't contiguous: both are made contiguous",
    ("torch", "vecdot"): "the axis must not broadcast, PyTorch's does: its sizes are compared",
    ("torch", "linalg.vecdot"): "the axis must not broadcast, PyTorch's does: its sizes are compared",
    ("torch", "linalg.cross"): "the axis must not broadcast, PyTorch's does: its sizes are compared",
    ("torch", "arange"): "PyTorch raises if the step has the wrong sign; the standard's range is empty",
    ("torch", "concat"): "PyTorch does not promote unsigned integers with other types: the data types are compared",
    ("jax", "sign"): "the sign of zero is 0, JAX's keeps the sign bit: one more selection",
    ("torch", "take_along_axis"): "gather rejects negative indices: a pass looks for them",
    ("jax", "max"): "XLA ignores NaN on the CPU: a second pass looks for it",
    ("jax", "min"): "XLA ignores NaN on the CPU: a second pass looks for it",
    **dict.fromkeys(
        [("torch", "hypot"), ("torch", "logaddexp"), ("torch", "linalg.matrix_norm")],
        "a check whether arrays are differentiated, because PyTorch's derivative differs at some points",
    ),
    **dict.fromkeys(
        [("torch", "cumulative_sum"), ("torch", "cumulative_prod")],
        "Python checks for integers, the initial value and an omitted axis",
    ),
}
"""Requirements of the standard that make functions exceed a budget, by (library, function)."""

_PEER_IS_NATIVE: Final = "array-api-compat returns the library's own function, without the correction"

_LOOK_AT_TYPE: Final = "PyTorch lacks kernels for some unsigned integers, so the data type is checked"


@dataclass(frozen=True)
class Library:
    """A library to measure: its own namespace, and array-api-compat's wrapper if there is one."""

    name: str
    native: Any
    compat: Any

    @property
    def xp(self) -> Any:
        return xpand.namespace(self.name)


def libraries() -> list[Library]:
    """Load the libraries, with one thread and double precision."""
    import jax
    import torch

    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(1)
    return [
        Library("numpy", importlib.import_module("numpy"), importlib.import_module("array_api_compat.numpy")),
        Library("torch", torch, importlib.import_module("array_api_compat.torch")),
        # array-api-compat does not wrap JAX: its namespace is the native one.
        Library("jax", importlib.import_module("jax.numpy"), None),
    ]


SMALL: Final[dict[str, int]] = {"small": 4, "large": 4}
"""The sizes with which the tests run every row."""


def rows(small: int = 4, large: int = 1_000_000) -> Iterator[Row]:
    """Every function on `small` elements, compared with the native call and array-api-compat, and on `large` ones."""
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
