"""Compilation on CuPy: traces the function and combines elementwise operations in kernels."""

from collections.abc import Hashable, Sequence
from typing import Any

from cupy import ElementwiseKernel
from cupy.cuda import runtime

from ...tracing._jit import jit_by
from ._kernels import Kernels


class _OnDevice(Kernels):
    @staticmethod
    def signature(leaves: Sequence[Any]) -> Hashable:
        # Arrays that the function creates are on the device that is current while it is traced.
        return runtime.getDevice(), Kernels.signature(leaves)


jit = jit_by(_OnDevice(ElementwiseKernel))
