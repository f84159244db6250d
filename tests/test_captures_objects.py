"""Functions with rules, and solvers, that capture traced arrays in objects with their own ideas of copies."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE
from xpand_extensions.autodiff import checkpoint, custom_jvp, custom_linear_solve, custom_root, custom_vjp, grad, jvp
from xpand_extensions.control_flow import fori_loop, scan
from xpand_extensions.jit import jit
from xpand_extensions.vmap import custom_vmap, vmap

W, X = np.asarray([2.0, 3.0]), np.asarray([1.5, 0.5])


class Slots:
    """An object with slots of private names and without values."""

    __slots__ = ("__w", "later")

    def __init__(self, w: Any) -> None:
        self.__w = w

    def get(self) -> Any:
        return self.__w


class Derived(Slots):
    """An object with slots of its class, and a dictionary."""

    def __init__(self, w: Any) -> None:
        super().__init__(w)
        self.name = "derived"


class Uncopied:
    """An object that refuses to be copied."""

    def __init__(self, w: Any) -> None:
        self.w = w

    def get(self) -> Any:
        return self.w

    def __copy__(self) -> NoReturn:
        raise RuntimeError("no copy")


class Unpickled(Uncopied):
    """An object that refuses to be pickled, which `copy.copy` needs."""

    __copy__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("no pickle")


class Constructed(Uncopied):
    """An object whose class needs an argument to make it."""

    __copy__ = None  # type: ignore[assignment]

    def __new__(cls, w: Any) -> "Constructed":
        return object.__new__(cls)


class Frozen(Uncopied):
    """An object that refuses to be changed."""

    def __init__(self, w: Any) -> None:
        self.__dict__["w"] = w

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("frozen")


class Properties:
    """An object whose attribute is hidden by a property without a setter."""

    def __init__(self, w: Any) -> None:
        self.__dict__["w"] = w

    @property
    def w(self) -> Any:
        return self.__dict__["w"]

    def get(self) -> Any:
        return self.w


class Fields(dict[str, Any]):
    """A subclass of a class in C, which is not searched, and refuses to be copied."""

    def __copy__(self) -> NoReturn:
        raise RuntimeError("no copy")

    def get(self) -> Any:  # type: ignore[override]
        return self["w"]


class AttributeOfFields(Fields):
    """A subclass of a class in C with an attribute that is found, and that refuses to be copied."""

    def __init__(self, w: Any) -> None:
        self.w = w

    def get(self) -> Any:  # type: ignore[override]
        return self.w


FOUND: dict[str, Callable[[Any], Callable[[], Any]]] = {
    cls.__name__: lambda w, cls=cls: cls(w).get
    for cls in (Slots, Derived, Uncopied, Unpickled, Constructed, Frozen, Properties)
}
"""Functions that return `w`, which is found in an object."""

HIDDEN: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "dict": lambda w: Fields(w=w).get,
    "mapping": lambda w: partial(MappingProxyType({"w": w}).get, "w"),
    "method in C": lambda w: partial({"w": w}.get, "w"),
}
"""Functions that return `w`, which is found nowhere."""

UNCOPIED: dict[str, Callable[[Any], Callable[[], Any]]] = {"attribute of a dict": lambda w: AttributeOfFields(w).get}
"""Functions that return `w`, which is found in an object that can't be copied."""


def times(x: Any, y: Any) -> Any:
    """Return a product, also of strict arrays, whose operators refuse traced arrays."""
    return NAMESPACE(x, y).multiply(x, y)


def _vjp(get: Callable[[], Any], x: Any) -> Any:
    function = custom_vjp(lambda x: times(x, get()))
    function.defvjp(lambda x: (times(x, get()), ()), lambda _, ct: (10.0 * times(ct, get()),))
    return function(x)


def _jvp(get: Callable[[], Any], x: Any) -> Any:
    function = custom_jvp(lambda x: times(x, get()))
    function.defjvp(lambda primals, tangents: (times(primals[0], get()), 10.0 * times(tangents[0], get())))
    return function(x)


def _vmap(get: Callable[[], Any], x: Any) -> Any:
    function = custom_vmap(lambda x: times(x, get()))
    function.def_vmap(lambda size, mapped, x: (times(x, get()), True))
    return function(x)


RULES: dict[str, Callable[[Callable[[], Any], Any], Any]] = {"custom_vjp": _vjp, "custom_jvp": _jvp}
"""Functions `x * w`, whose rules say that the derivative in `x` is ten times as large."""

OTHERS: dict[str, Callable[[Callable[[], Any], Any], Any]] = {
    "checkpoint": lambda get, x: checkpoint(lambda x: times(x, get()))(x),
    "custom_root": lambda get, x: custom_root(lambda z: z - times(x, get()), 0.0 * x, solve=lambda z: times(x, get())),
    "custom_linear_solve": lambda get, x: custom_linear_solve(
        lambda z: NAMESPACE(z, get()).divide(z, get()), x, solve=lambda b: times(b, get()), symmetric=True
    ),
    "fori_loop": lambda get, x: fori_loop(0, 1, lambda _, c: times(c, get()), x),
}
"""Functions `x * w`."""


def _total(function: Callable[..., Any], make: Callable[[Any], Callable[[], Any]], w: Any, x: Any) -> Any:
    return NAMESPACE(w, x).sum(function(make(w), x))


TRACED = [library for library in LIBRARIES if library.id != "jax"]
"""The libraries of which xpand traces the arrays."""


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
@pytest.mark.parametrize("holder", [*FOUND, *HIDDEN, *UNCOPIED])
@pytest.mark.parametrize("name", [*RULES, *OTHERS, "custom_vmap"])
def test_compiled(library: Library, holder: str, name: str) -> None:
    function = {**RULES, **OTHERS, "custom_vmap": _vmap}[name]
    w, x = library.asarray(W), library.asarray(X)
    total = partial(_total, function, {**FOUND, **HIDDEN, **UNCOPIED}[holder])
    result = jit(total)(w, x)
    np.testing.assert_allclose(library.to_numpy(result), np.sum(W * X), rtol=1e-12)


@pytest.mark.parametrize("library", TRACED, ids=str)
@pytest.mark.parametrize("holder", [*FOUND, *HIDDEN])
@pytest.mark.parametrize("name", [*RULES, *OTHERS])
def test_derivatives_in_compiled_functions(library: Library, holder: str, name: str) -> None:
    """The rule holds for the argument; the derivative in the captured array is that of the function."""
    function = {**RULES, **OTHERS}[name]
    w, x = library.asarray(W), library.asarray(X)
    total = partial(_total, function, {**FOUND, **HIDDEN}[holder])
    of_rule = (10.0 if name in RULES else 1.0) * W
    calls: dict[str, tuple[Callable[[], Any], Any]] = {
        "argument": (lambda: jit(grad(total, argnums=1))(w, x), of_rule),
        "captured": (lambda: jit(grad(total, argnums=0))(w, x), X),
        "argument, outside": (lambda: grad(jit(total), argnums=1)(w, x), of_rule),
        "captured, outside": (lambda: grad(jit(total), argnums=0)(w, x), X),
    }
    if name != "custom_vjp":
        calls["argument, forward"] = lambda: jit(lambda w, x: jvp(partial(total, w), (x,), (x,))[1])(w, x), of_rule @ X
    for what, (call, expected) in calls.items():
        np.testing.assert_allclose(library.to_numpy(call()), expected, rtol=1e-9, err_msg=what)


@pytest.mark.parametrize("library", TRACED, ids=str)
@pytest.mark.parametrize("holder", [*FOUND, *HIDDEN])
@pytest.mark.parametrize("name", [*RULES, *OTHERS, "custom_vmap"])
def test_batches_in_compiled_functions(library: Library, holder: str, name: str) -> None:
    total = partial(_total, {**RULES, **OTHERS, "custom_vmap": _vmap}[name], {**FOUND, **HIDDEN}[holder])
    w, x = library.asarray(W), library.asarray(X)
    calls: dict[str, tuple[Any, Any, Any]] = {
        "argument": ((None, 0), (w[0], x), W[0] * X),
        "captured": ((0, None), (w, x[0]), W * X[0]),
        "both": ((0, 0), (w, x), W * X),
    }
    if holder in HIDDEN and name not in ("checkpoint", "fori_loop"):
        del calls["both"]  # an error: the test below
    for what, (axes, arrays, expected) in calls.items():
        result = jit(vmap(total, in_axes=axes))(*arrays)
        np.testing.assert_allclose(library.to_numpy(result), expected, rtol=1e-12, err_msg=what)


@pytest.mark.parametrize("library", TRACED, ids=str)
@pytest.mark.parametrize("holder", HIDDEN)
@pytest.mark.parametrize("name", RULES)
def test_hidden_arrays_of_the_level_of_an_argument(library: Library, holder: str, name: str) -> None:
    """A rule that uses an array that is differentiated like its argument would lose its derivative: an error."""
    total = partial(_total, RULES[name], HIDDEN[holder])
    w, x = library.asarray(W), library.asarray(X)
    with pytest.raises(TypeError, match=f"{name}: a function uses an array that is differentiated or mapped over"):
        jit(grad(lambda x: total(times(w, x), x)))(x)


@pytest.mark.parametrize("library", [library for library in TRACED if not library.lazy], ids=str)
@pytest.mark.parametrize("holder", HIDDEN)
@pytest.mark.parametrize("name", RULES)
def test_rules_in_loops(library: Library, holder: str, name: str) -> None:
    """A rule that is called after its step was staged can't read arrays in objects that are not searched."""
    w, x = library.asarray(W), library.asarray(X)

    def loop(w: Any, x: Any) -> Any:
        step = lambda c, _: (RULES[name](HIDDEN[holder](w), c), None)
        return NAMESPACE(w, x).sum(scan(step, x, None, length=17)[0])

    np.testing.assert_allclose(library.to_numpy(jit(loop)(w, x)), np.sum(W**17 * X), rtol=1e-9)
    with pytest.raises(TypeError, match="a function uses an array that is differentiated or mapped over"):
        jit(grad(loop, argnums=1))(w, x)


def test_copies_share_other_attributes() -> None:
    """Only the array is another one: an object without a working `__copy__` keeps everything else."""
    from xpand_extensions._captures import with_arrays

    old, new = np.asarray(1.0), np.asarray(2.0)
    for cls in (Slots, Derived, Uncopied, Unpickled, Constructed, Frozen, Properties):
        holder = cls(old)
        if hasattr(holder, "__dict__"):
            holder.__dict__["other"] = other = object()
        copied: Any = with_arrays(holder.get, {id(old): new}).__self__
        assert type(copied) is cls
        assert copied is not holder
        assert copied.get() is new
        assert holder.get() is old
        if hasattr(holder, "__dict__"):
            assert copied.__dict__["other"] is other
    assert not hasattr(with_arrays(Slots(old).get, {id(old): new}).__self__, "later")
