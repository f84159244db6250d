"""Krylov methods on PyTorch: for sparse matrices on the CPU, by NumPy's plug-in if it has the method in place.

A step makes a few passes over short vectors; on PyTorch, the overhead of its calls exceeds the computation.
"""

from typing import Any

import numpy as np
import torch

from xpand import trees
from xpand.extend import LibraryArray as Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._optional import import_if_usable
from xpand_extensions.generic.linear_solve._krylov_run import run
from xpand_extensions.linear_solve import _krylov as facade
from xpand_extensions.linear_solve._krylov import Found, System
from xpand_extensions.linear_solve._operators import Matrix
from xpand_extensions.sparse._containers import CSC, CSR

from .._plain import is_plain

_host = import_if_usable("xpand_extensions.plugins.numpy.linear_solve._krylov")  # it needs SciPy
_METHODS = frozenset({"cg", "bicgstab", "gmres"})
_DTYPES = frozenset({torch.float32, torch.float64})


@forwards_to(facade.krylov)
def krylov(
    b: Array, x0: Array, rtol: Array, atol: Array, /, *, system: Any, method: str, record: bool, **options: Any
) -> Found:
    options |= {"method": method, "record": record}
    given = (b, x0, rtol, atol)
    is_taken = method in _METHODS and _is_sparse(system)
    if _host is None or not is_taken or not _is_on_host(*given, *trees.leaves(system)):
        return Found(*run(b, x0, rtol, atol, system=system, **options))
    values = system.operator.values
    pattern = tuple([each.numpy() for each in values.pattern])
    flags = system.operator.symmetric, system.operator.positive_definite
    matrix = Matrix(values._of(values.values.detach().numpy(), pattern, values._static()), *flags)
    same = System(matrix, None, None, system.rows, system.columns, system.is_transposed)
    found = _host.krylov(*[each.detach().numpy() for each in given], system=same, **options)
    arrays = found if record else found[:-1]
    return Found(*[torch.from_numpy(np.require(each, requirements="W")) for each in arrays])


def _is_sparse(system: Any) -> bool:
    plain = isinstance(system.operator, Matrix) and not system.is_preconditioned and system.basis is None
    return plain and isinstance(system.operator.values, CSR | CSC)


def _is_on_host(*tensors: Array) -> bool:
    """Return whether NumPy can use the memory of tensors: on the CPU, not differentiated, compiled or mapped over."""
    if not is_plain(*tensors):
        return False
    floating = [each for each in tensors if each.is_floating_point() or each.is_complex()]
    return all(each.device.type == "cpu" for each in tensors) and all(each.dtype in _DTYPES for each in floating)
