"""Assembly of sparse matrices on PyTorch: by NumPy for concrete patterns on the CPU."""

from typing import Any

import torch

from xpand import is_concrete
from xpand.extend import Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._optional import import_if_usable
from xpand_extensions.generic.sparse._assembly import csr_assembly as generic_assembly
from xpand_extensions.sparse._assembly import CSRAssembly

from ._pattern import eagerly

_host = import_if_usable("xpand_extensions.plugins.numpy.sparse._assembly")  # it needs SciPy


@forwards_to(generic_assembly)
def csr_assembly(rows: Array, columns: Array, /, **options: Any) -> CSRAssembly:
    if _host is None or not (is_concrete(rows) and is_concrete(columns) and rows.device.type == "cpu"):
        return generic_assembly(rows, columns, **options)
    # Inside of torch.func's transformations NumPy can't read the memory of any tensor.
    found = eagerly(lambda *each: _host.csr_assembly(*(x.numpy() for x in each), **options), rows, columns)
    return CSRAssembly(*[torch.from_numpy(x) for x in found])
