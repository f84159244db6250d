"""Triangular systems by the same BLAS as `linalg.triangular_solve`: SciPy's, at its public addresses."""

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from llvmlite import ir

from ....._optional import import_if_usable
from .....tracing._graph import Equation, Variable
from ._emit import INTEGER, POINTER, Emitter
from ._flags import clear_flags, keep_flags
from ._matrices import sample, stacked
from ._scalars import BYTE, literal, type_of
from ._ufuncs import Loop, is_same
from ._values import Buffer, Index, Node, Order

_ROUTINES: Final = {"d": "dtrsm", "f": "strsm", "D": "ztrsm", "F": "ctrsm"}
_INT: Final = ir.IntType(32)
_TYPE: Final = ir.FunctionType(ir.VoidType(), [POINTER] * 11)


def triangular_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    if not all(isinstance(x, Variable) and x.aval.size for x in equation.inputs) or len(equation.inputs) != 2:
        return "arguments"
    dtypes = {np.dtype(x.dtype).char for x in (*equation.inputs, *equation.outputs)}
    if len(dtypes) != 1 or not dtypes <= _ROUTINES.keys():
        return "data type"
    return Order.DENSE if _routine(dtypes.pop(), *_options(equation)) is not None else "no BLAS of SciPy"


def _options(equation: Equation) -> tuple[bool, bool, bool, bool]:
    found = equation.params["template"].fill([None, None])
    defaults = {"lower": True, "transpose": False, "unit_diagonal": False, "left_side": True}
    lower, transpose, unit, left = (bool(found.get(name, default)) for name, default in defaults.items())
    return lower, transpose, unit, left


def _letters(lower: bool, transpose: bool, unit: bool, left: bool) -> bytes:
    """Return the options for the transposes of the matrices, since BLAS reads rows as columns."""
    letters = "R" if left else "L", "U" if lower else "L", "T" if transpose else "N", "U" if unit else "N"
    return "".join(letters).encode()


@cache
def _routine(code: str, lower: bool, transpose: bool, unit: bool, left: bool) -> Loop | None:
    """Return the routine, or None without SciPy, or if its values differ from the function's."""
    module = import_if_usable("scipy.linalg.cython_blas")
    if module is None:
        return None
    address = _address(module.__pyx_capi__[_ROUTINES[code]])
    return None if address is None or not _is_equal(address, code, lower, transpose, unit, left) else Loop(address, 0)


def _address(capsule: Any) -> int | None:
    """Return the address of a Cython function, or None if its four integers don't have C's type `int`."""
    get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    name = get_name(capsule)
    address: int | None = get(capsule, name) if name.count(b" int *") == 4 else None
    return address


def _is_equal(address: int, code: str, lower: bool, transpose: bool, unit: bool, left: bool) -> bool:
    from ...linalg import triangular_solve

    a, b = (sample(shape, code, seed) for seed, shape in enumerate(((5, 5), (5, 3) if left else (3, 5))))
    expected = triangular_solve(a, b, lower=lower, transpose=transpose, unit_diagonal=unit, left_side=left)
    found, letters = b.copy(), _letters(lower, transpose, unit, left)
    given = [letters[i : i + 1] for i in range(4)]
    m, n, lda = map(ctypes.c_int, (b.shape[1], b.shape[0], 5))
    one: Any = np.ones(1, code)
    routine = ctypes.CFUNCTYPE(None, *[ctypes.c_char_p] * 4, *[ctypes.c_void_p] * 7)(address)
    refer = ctypes.addressof
    routine(*given, refer(m), refer(n), one.ctypes.data, a.ctypes.data, refer(lda), found.ctypes.data, refer(m))
    return is_same(found, expected)


def triangular(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    """Copy the right-hand sides to the memory of the result, and solve there."""
    out, options = equation.outputs[0], _options(equation)
    dtype, left = np.dtype(out.dtype), options[3]
    routine = _routine(dtype.char, *options)
    assert routine is not None
    is_vector = len(given[1].shape) == 1
    a = emitter.dense(given[0])
    found = emitter.result(out.shape, dtype)
    emitter.store(emitter.stretched(given[1], out.shape), found)
    systems: Buffer = found
    if is_vector:
        systems = found.viewed(lambda x: x[:, None] if left else x[None, :])
    batch = systems.shape[:-2]
    (rows, columns), size = systems.shape[-2:], a.shape[-1]
    a = stacked(a, 2, batch)
    letters = _constants(emitter, BYTE, [ir.Constant(BYTE, x) for x in _letters(*options)])
    numbers = _constants(emitter, _INT, [ir.Constant(_INT, x) for x in (columns, rows, size)])
    one = _constants(emitter, type_of(dtype), [literal(1, dtype)])[0]

    def solve(place: tuple[Index, ...]) -> None:
        matrix, target = (emitter.part(x, place) for x in (a, systems))
        pointers = [emitter.address(x, [Index(ir.Constant(INTEGER, 0), 0, 1)] * 2) for x in (matrix, target)]
        arguments = [*letters, *numbers[:2], one, pointers[0], numbers[2], pointers[1], numbers[0]]
        emitter.call_address(routine, _TYPE, arguments)

    keep_flags(emitter)
    emitter.nest(batch, solve)
    clear_flags(emitter)  # SciPy does not report these flags
    return [found]


def _constants(emitter: Emitter, kind: ir.Type, values: Sequence[Any]) -> list[Any]:
    """Return addresses of constants."""
    cells = [emitter.cell(kind) for _ in values]
    for cell, value in zip(cells, values):
        emitter.entry.store(value, cell)
    return cells
