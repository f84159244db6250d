"""Compilation on CuPy: traces the function and combines elementwise operations in kernels."""

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

from cupy import ElementwiseKernel
from cupy.cuda import runtime
from cupy.cuda.compiler import CompileException

from ...tracing._jit import jit_by
from ._kernels import Kernels


class _OnDevice(Kernels):
    errors: ClassVar[tuple[type[Exception], ...]] = (CompileException,)

    @staticmethod
    def signature(leaves: Sequence[Any]) -> Hashable:
        # Arrays that the function creates are on the device that is current while it is traced.
        return runtime.getDevice(), Kernels.signature(leaves)


jit = jit_by(_OnDevice(ElementwiseKernel))
