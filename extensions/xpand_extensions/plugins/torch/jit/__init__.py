"""Compilation on PyTorch by tracing, with the backends in this folder."""

from typing import Final

from ....jit._reused import reused_by
from ....tracing._backend import Backends
from ....tracing._jit import jit_by, lower_by

BACKENDS: Final = Backends(__name__, __path__)
jit = jit_by(BACKENDS.preferred(), BACKENDS)
lower = lower_by(BACKENDS)
reused = reused_by(jit, compiles_large=False)
