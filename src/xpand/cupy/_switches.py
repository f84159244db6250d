"""CuPy's own switch for matrix products, which follows xpand's setting. It applies to the whole process."""

from typing import Any

import cupy as cp

from .._precision import MATMUL
from .._settings import ProcessSwitch

_TYPES = {"highest": "COMPUTE_TYPE_FP32", "high": "COMPUTE_TYPE_TF32", "medium": "COMPUTE_TYPE_BF16"}


def _products() -> Any:
    from cupy._core import _routines_linalg  # imported when needed: it has no public name

    return _routines_linalg


def _read() -> Any:
    return _products().get_compute_type("float32")


def _turn(value: str) -> None:
    # Older GPUs have no faster products, and CuPy warns if they are requested.
    level = value if int(cp.cuda.Device().compute_capability) >= 80 else "highest"
    module = _products()
    module.set_compute_type("float32", getattr(module, _TYPES[level]))


def _restore(state: Any) -> None:
    _products().set_compute_type("float32", state)


MATMUL.follow(ProcessSwitch(_read, _turn, _restore))
