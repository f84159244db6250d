"""The tables of NumPy's functions, compared with NumPy itself: names, parameters, and a verdict for each function."""

import inspect
from typing import Any, Final

import numpy as np
import numpy.lib.recfunctions as recfunctions
import pytest

from xpand_extensions.jit import jit
from xpand_extensions.plugins.numpy.traced_arrays._functions import functions_of_numpy
from xpand_extensions.plugins.numpy.traced_arrays._table import ENTRIES, NO_VALUE, Entry, find, signature_of
from xpand_extensions.plugins.numpy.traced_arrays.known.reasons import REASONS, known_reason

_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

BY_NAME: Final = {entry.name: entry for entry in ENTRIES.values()}


def test_the_tables_are_filled() -> None:
    assert len(BY_NAME) > 250


def test_each_function_has_an_entry_or_a_reason() -> None:
    verdicts = functions_of_numpy()
    missing = {name for name, has_entry in verdicts.items() if not has_entry and not known_reason(name)}
    assert not missing
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
    if any(x.kind is x.VAR_KEYWORD for x in reference.values()):  # NumPy's options without names
        own = [x for x in own if x.name in reference]
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
