"""The tables of NumPy's functions, compared with NumPy itself: names, parameters, and a verdict for each function."""

import inspect
from typing import Any, Final

import numpy as np
import numpy.lib.recfunctions as recfunctions
import pytest

from xpand_extensions.jit import jit
from xpand_extensions.plugins.numpy.traced_arrays import known
from xpand_extensions.plugins.numpy.traced_arrays._functions import functions_of_numpy
from xpand_extensions.plugins.numpy.traced_arrays._table import ENTRIES, NO_VALUE, Entry, find, signature_of
from xpand_extensions.plugins.numpy.traced_arrays.known.reasons import REASONS, known_reason

_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

NOT_MERGED_YET: Final = frozenset(
    [
        "fft.fft",
        "fft.ifft",
        "fft.rfft",
        "fft.irfft",
        "fft.hfft",
        "fft.ihfft",
        "fft.fftn",
        "fft.ifftn",
        "fft.rfftn",
        "fft.irfftn",
        "fft.fft2",
        "fft.ifft2",
        "fft.rfft2",
        "fft.irfft2",
        "fft.fftshift",
        "fft.ifftshift",
        "angle",
        "append",
        "around",
        "array_split",
        "astype",
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block",
        "broadcast_arrays",
        "broadcast_to",
        "clip",
        "column_stack",
        "concatenate",
        "copy",
        "copyto",
        "cross",
        "delete",
        "diag",
        "diagflat",
        "diagonal",
        "dot",
        "dsplit",
        "dstack",
        "einsum",
        "einsum_path",
        "expand_dims",
        "fill_diagonal",
        "fix",
        "flip",
        "fliplr",
        "flipud",
        "hsplit",
        "hstack",
        "i0",
        "imag",
        "inner",
        "insert",
        "ix_",
        "kron",
        "matrix_transpose",
        "meshgrid",
        "moveaxis",
        "ndim",
        "outer",
        "pad",
        "place",
        "put",
        "put_along_axis",
        "putmask",
        "ravel",
        "real",
        "repeat",
        "reshape",
        "resize",
        "roll",
        "rollaxis",
        "rot90",
        "round",
        "shape",
        "sinc",
        "size",
        "split",
        "squeeze",
        "swapaxes",
        "take",
        "take_along_axis",
        "tensordot",
        "tile",
        "trace",
        "transpose",
        "tril",
        "triu",
        "unstack",
        "vdot",
        "vsplit",
        "vstack",
        "where",
        "lib.stride_tricks.sliding_window_view",
        "lib.scimath.arccos",
        "lib.scimath.arcsin",
        "lib.scimath.arctanh",
        "lib.scimath.log",
        "lib.scimath.log10",
        "lib.scimath.log2",
        "lib.scimath.logn",
        "lib.scimath.power",
        "lib.scimath.sqrt",
        "linalg.cholesky",
        "linalg.cond",
        "linalg.cross",
        "linalg.det",
        "linalg.diagonal",
        "linalg.eig",
        "linalg.eigh",
        "linalg.eigvals",
        "linalg.eigvalsh",
        "linalg.inv",
        "linalg.lstsq",
        "linalg.matmul",
        "linalg.matrix_norm",
        "linalg.matrix_power",
        "linalg.matrix_rank",
        "linalg.matrix_transpose",
        "linalg.multi_dot",
        "linalg.norm",
        "linalg.outer",
        "linalg.pinv",
        "linalg.qr",
        "linalg.slogdet",
        "linalg.solve",
        "linalg.svd",
        "linalg.svdvals",
        "linalg.tensordot",
        "linalg.tensorinv",
        "linalg.tensorsolve",
        "linalg.trace",
        "linalg.vecdot",
        "linalg.vector_norm",
    ]
)
"""Functions whose entries are written on another branch. The merge empties this set."""

BY_NAME: Final = {entry.name: entry for entry in ENTRIES.values()}


def test_the_tables_are_filled() -> None:
    assert known.__all__ == sorted(known.__all__)
    assert len(BY_NAME) > 100


def test_each_function_has_an_entry_or_a_reason() -> None:
    verdicts = functions_of_numpy()
    missing = {name for name, has_entry in verdicts.items() if not has_entry and not known_reason(name)}
    assert missing == NOT_MERGED_YET & verdicts.keys()
    twice = {name for name, has_entry in verdicts.items() if has_entry and known_reason(name)}
    assert not twice


def test_each_reason_is_for_a_function() -> None:
    names = functions_of_numpy()
    modules = {name.rpartition(".")[0] for name in names}
    ufuncs = {name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)}
    assert set(REASONS) <= {*names, *modules, *ufuncs}


def parameters(entry: Entry) -> list[inspect.Parameter]:
    """Return the parameters of an implementation after the namespace."""
    return list(inspect.signature(entry.function).parameters.values())[1:]


def has_signature(name: str) -> bool:
    """Return whether NumPy tells the signature of a function: in C, most have none before NumPy 2.4."""
    try:
        inspect.signature(find(name))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", [name for name in BY_NAME if has_signature(name)])
def test_parameters_are_those_of_numpy(name: str) -> None:
    reference = signature_of(find(name), BY_NAME[name].function).parameters
    own = [x for x in parameters(BY_NAME[name]) if x.kind not in _VARIADIC]
    names = [x.name for x in own]
    assert names == [x for x in reference if x in names], "names, and their order"
    for x in own:
        theirs = reference[x.name]
        if theirs.default is not NO_VALUE:
            assert same_default(x.default, theirs.default), x.name
    required = [x.name for x in reference.values() if x.default is x.empty and x.kind not in _VARIADIC]
    variadic = {x.kind for x in parameters(BY_NAME[name])} & set(_VARIADIC)
    assert variadic or set(required) <= set(names)


def same_default(own: Any, theirs: Any) -> bool:
    """Return whether two defaults are the same; NumPy's default of a mask is an array in some versions."""
    return own is theirs or (type(own) is type(theirs) and own == theirs)


def test_the_reason_is_in_the_error() -> None:
    with pytest.raises(TypeError, match=r"np.savetxt: .*return the array"):
        jit(lambda x: np.savetxt("x", x))(np.ones(3))
    with pytest.raises(TypeError, match=r"np.strings.upper: .*no texts"):
        jit(lambda x: np.strings.upper(x))(np.ones(3))
    with pytest.raises(TypeError, match=r"np.lib.recfunctions.drop_fields: .*no fields"):
        jit(lambda x: recfunctions.drop_fields(x, "a"))(np.ones(3))
