"""Small dense systems on PyTorch: on the CPU by NumPy's plug-in, without copies."""

from typing import Final

import torch

from xpand.extend import LibraryArray as Array
from xpand_extensions._optional import import_if_usable

from .._plain import is_plain

_host: Final = import_if_usable("xpand_extensions.plugins.numpy.linear_solve._direct_dense")  # it needs SciPy
_DTYPES: Final = frozenset({torch.float32, torch.float64, torch.complex64, torch.complex128})


def solve_dense(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    if _host is None or a.dtype not in _DTYPES or b.ndim != 1 or b.numel() > _host.MOST:
        return None
    if not (a.is_cpu and b.is_cpu and is_plain(a, b)):
        return None
    found = _host.solve_dense(a.numpy(force=True), b.numpy(force=True), rtol, atol)
    return None if found is None else tuple([torch.from_numpy(each) for each in found])
