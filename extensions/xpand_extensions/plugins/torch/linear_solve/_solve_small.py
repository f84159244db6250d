"""Small dense systems on PyTorch: on the CPU by NumPy's plug-in, on the same memory."""

from typing import Final

import torch

from xpand._typing import Array
from xpand_extensions.linear_solve._small import MOST, Small

from ...numpy.linear_solve._solve_small import solve_small as on_host
from .._plain import is_plain

_DTYPES: Final = frozenset({torch.float32, torch.float64, torch.complex64, torch.complex128})


def solve_small(a: Array, b: Array, rtol: Array, atol: Array, /) -> Small | None:
    given = (a, b, rtol, atol)
    if a.dtype not in _DTYPES or b.numel() > MOST or a.device.type != "cpu" or not is_plain(*given):
        return None
    found = on_host(*[x.detach().resolve_conj().resolve_neg().numpy() for x in given])
    return None if found is None else Small(*map(torch.from_numpy, found))
