"""Assembly of sparse matrices on JAX: that of NumPy where the pattern is known, on the CPU."""

from functools import partial
from typing import Any

import jax
import numpy as np

from xpand import is_concrete
from xpand.extend import Array
from xpand_extensions.generic.sparse._assembly import csr_assembly as generic_assembly
from xpand_extensions.plugins.numpy.sparse._assembly import csr_assembly as host_assembly
from xpand_extensions.sparse._assembly import CSRAssembly, Shape

from .._placement import placed_like
from .._rows import is_on_cpu

_compiled = partial(jax.jit, static_argnames=("shape", "sum_duplicates", "size"))(generic_assembly)


def csr_assembly(
    rows: Array,
    columns: Array,
    /,
    *,
    shape: Shape,
    sum_duplicates: bool = True,
    size: int | None = None,
) -> CSRAssembly:
    options: dict[str, Any] = {"shape": shape, "sum_duplicates": sum_duplicates, "size": size}
    if not (is_concrete(rows) and is_concrete(columns)):
        compiled: CSRAssembly = _compiled(rows, columns, **options)
        return compiled
    if not is_on_cpu(rows):
        return generic_assembly(rows, columns, **options)
    found = host_assembly(np.asarray(rows), np.asarray(columns), **options)
    return CSRAssembly(*[placed_like(rows, x) for x in found])
