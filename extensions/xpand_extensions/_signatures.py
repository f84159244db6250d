"""Types of transformations: their results have the parameters of the functions that they transform.

Each decorator gives a transformation its type for type checkers; those of transformations that can be decorators
themselves also apply `transformation`. Differentiated arguments must be
positional. Positions other than 0 and 1 leave the type of the derivative open.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, Self, TypeVar, cast, overload

from xpand.extend import Array
from xpand.trees import Tree

from ._transformed import Function, transformation

if TYPE_CHECKING:
    from .autodiff._rules import CustomJVP, CustomVJP
    from .jit import CompiledFunction

O = ParamSpec("O")  # noqa: E741 - the options of a transformation
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
X = TypeVar("X")
Y = TypeVar("Y")
A = TypeVar("A", bound=Array)
Aux = TypeVar("Aux")


class Operation(Protocol):
    """The attributes of all transformations."""

    __name__: str
    __module__: str

    def native(self, *arrays: Array) -> Callable[..., Any]:
        """Return the implementation for the library of the arrays."""
        ...

    def native_for(self, xp: Any, /) -> Callable[..., Any]:
        """Return the implementation for a library, by its namespace or name."""
        ...

    def register(self, library: str, /) -> Callable[[Function], Function]:
        """Register the implementation for one library, by its name or root module."""
        ...


class Derivative(Protocol[P, R_co]):
    """A function made by `grad` and similar transformations."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: type, /) -> Self: ...
    @overload
    def __get__(
        self: "Derivative[Concatenate[S, Q], R]", instance: S, owner: type | None = None, /
    ) -> Callable[Q, R]: ...


class Gradient(Operation, Protocol):
    """The type of `grad`."""

    @overload
    def __call__(
        self,
        function: Callable[Concatenate[X, P], Any],
        /,
        argnums: Literal[0] = 0,
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[Concatenate[X, P], X]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[X, P], tuple[Any, Aux]],
        /,
        argnums: Literal[0] = 0,
        *,
        has_aux: Literal[True],
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[Concatenate[X, P], tuple[X, Aux]]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[X, Y, P], Any],
        /,
        argnums: Literal[1],
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[Concatenate[X, Y, P], Y]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[X, Y, P], Any],
        /,
        argnums: tuple[Literal[0], Literal[1]],
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[Concatenate[X, Y, P], tuple[X, Y]]: ...
    @overload
    def __call__(
        self,
        function: Callable[P, Any],
        /,
        argnums: int | Sequence[int],
        has_aux: bool = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[P, Any]: ...
    @overload
    def __call__(
        self,
        function: Callable[P, Any],
        /,
        argnums: int | Sequence[int] = 0,
        *,
        has_aux: bool,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[P, Any]: ...
    @overload
    def __call__(
        self,
        *,
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Callable[[Callable[P, Any]], Derivative[P, Any]]: ...


class ValueAndGradient(Operation, Protocol):
    """The type of `value_and_grad`."""

    @overload
    def __call__(
        self,
        function: Callable[Concatenate[X, P], R],
        /,
        argnums: Literal[0] = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[Concatenate[X, P], tuple[R, X]]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[X, Y, P], R],
        /,
        argnums: Literal[1],
        has_aux: bool = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[Concatenate[X, Y, P], tuple[R, Y]]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[X, Y, P], R],
        /,
        argnums: tuple[Literal[0], Literal[1]],
        has_aux: bool = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[Concatenate[X, Y, P], tuple[R, tuple[X, Y]]]: ...
    @overload
    def __call__(
        self,
        function: Callable[P, R],
        /,
        argnums: int | Sequence[int],
        has_aux: bool = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[P, tuple[R, Any]]: ...
    @overload
    def __call__(
        self,
        *,
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Callable[[Callable[P, R]], Derivative[P, tuple[R, Any]]]: ...


class Jacobian(Operation, Protocol):
    """The type of `jacfwd` and `hessian`."""

    @overload
    def __call__(
        self,
        function: Callable[Concatenate[A, P], A],
        /,
        argnums: Literal[0] = 0,
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
    ) -> Derivative[Concatenate[A, P], A]: ...
    @overload
    def __call__(
        self,
        function: Callable[P, Any],
        /,
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
    ) -> Derivative[P, Any]: ...
    @overload
    def __call__(
        self,
        *,
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
    ) -> Callable[[Callable[P, Any]], Derivative[P, Any]]: ...


class ReverseJacobian(Operation, Protocol):
    """The type of `jacrev`."""

    @overload
    def __call__(
        self,
        function: Callable[Concatenate[A, P], A],
        /,
        argnums: Literal[0] = 0,
        has_aux: Literal[False] = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[Concatenate[A, P], A]: ...
    @overload
    def __call__(
        self,
        function: Callable[P, Any],
        /,
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Derivative[P, Any]: ...
    @overload
    def __call__(
        self,
        *,
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Callable[[Callable[P, Any]], Derivative[P, Any]]: ...


class ForwardProduct(Operation, Protocol):
    """The type of `jvp`."""

    @overload
    def __call__(
        self,
        function: Callable[..., R],
        /,
        primals: Sequence[Tree],
        tangents: Sequence[Tree],
        *,
        has_aux: Literal[False] = False,
    ) -> tuple[R, R]: ...
    @overload
    def __call__(
        self,
        function: Callable[..., tuple[R, Aux]],
        /,
        primals: Sequence[Tree],
        tangents: Sequence[Tree],
        *,
        has_aux: Literal[True],
    ) -> tuple[R, R, Aux]: ...


class ReverseProduct(Operation, Protocol):
    """The type of `vjp`. The pullback returns a tuple with a tree like each argument."""

    @overload
    def __call__(
        self, function: Callable[..., R], /, *primals: Tree, has_aux: Literal[False] = False
    ) -> tuple[R, Callable[[R], tuple[Any, ...]]]: ...
    @overload
    def __call__(
        self, function: Callable[..., tuple[R, Aux]], /, *primals: Tree, has_aux: Literal[True]
    ) -> tuple[R, Callable[[R], tuple[Any, ...]], Aux]: ...


class Linearization(Operation, Protocol):
    """The type of `linearize`."""

    @overload
    def __call__(
        self, function: Callable[..., R], /, *primals: Tree, has_aux: Literal[False] = False
    ) -> tuple[R, Callable[..., R]]: ...
    @overload
    def __call__(
        self, function: Callable[..., tuple[R, Aux]], /, *primals: Tree, has_aux: Literal[True]
    ) -> tuple[R, Callable[..., R], Aux]: ...


class SameSignature(Operation, Protocol[O]):
    """A transformation whose results have the parameters and the result of the function, such as `vmap`."""

    @overload
    def __call__(self, function: Callable[P, R], /, *args: O.args, **kwargs: O.kwargs) -> Callable[P, R]: ...
    @overload
    def __call__(self, *args: O.args, **kwargs: O.kwargs) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


class SameParameters(Operation, Protocol[O, R_co]):
    """A transformation whose results have the parameters of the function, and one type of result, such as `lower`."""

    @overload
    def __call__(self, function: Callable[P, Any], /, *args: O.args, **kwargs: O.kwargs) -> Callable[P, R_co]: ...
    @overload
    def __call__(self, *args: O.args, **kwargs: O.kwargs) -> Callable[[Callable[P, Any]], Callable[P, R_co]]: ...


class Compilation(Operation, Protocol[O]):
    """The type of `jit`."""

    @overload
    def __call__(self, function: Callable[P, R], /, *args: O.args, **kwargs: O.kwargs) -> "CompiledFunction[P, R]": ...
    @overload
    def __call__(self, *args: O.args, **kwargs: O.kwargs) -> "Callable[[Callable[P, R]], CompiledFunction[P, R]]": ...


class ForwardRule(Operation, Protocol[O]):
    """The type of `custom_jvp`."""

    @overload
    def __call__(self, function: Callable[P, R], /, *args: O.args, **kwargs: O.kwargs) -> "CustomJVP[P, R]": ...
    @overload
    def __call__(self, *args: O.args, **kwargs: O.kwargs) -> "Callable[[Callable[P, R]], CustomJVP[P, R]]": ...


class ReverseRule(Operation, Protocol[O]):
    """The type of `custom_vjp`."""

    @overload
    def __call__(self, function: Callable[P, R], /, *args: O.args, **kwargs: O.kwargs) -> "CustomVJP[P, R]": ...
    @overload
    def __call__(self, *args: O.args, **kwargs: O.kwargs) -> "Callable[[Callable[P, R]], CustomVJP[P, R]]": ...


def gradient_transformation(facade: Function, /) -> Gradient:
    """Decorate `grad`."""
    return cast("Gradient", transformation(facade))


def value_and_gradient_transformation(facade: Function, /) -> ValueAndGradient:
    """Decorate `value_and_grad`."""
    return cast("ValueAndGradient", transformation(facade))


def jacobian_transformation(facade: Function, /) -> Jacobian:
    """Decorate `jacfwd` or `hessian`."""
    return cast("Jacobian", transformation(facade))


def reverse_jacobian_transformation(facade: Function, /) -> ReverseJacobian:
    """Decorate `jacrev`."""
    return cast("ReverseJacobian", transformation(facade))


def keeps_signature(facade: Callable[Concatenate[Function, O], Any], /) -> SameSignature[O]:
    """Decorate a transformation whose results have the parameters and the result of the function."""
    return cast("SameSignature[O]", transformation(facade))


def keeps_parameters(facade: Callable[Concatenate[Function, O], Callable[..., R]], /) -> SameParameters[O, R]:
    """Decorate a transformation whose results have the parameters of the function, and one type of result."""
    return cast("SameParameters[O, R]", transformation(facade))


def compilation(facade: Callable[Concatenate[Function, O], Any], /) -> Compilation[O]:
    """Decorate `jit`."""
    return cast("Compilation[O]", transformation(facade))


def forward_rule(facade: Callable[Concatenate[Function, O], Any], /) -> ForwardRule[O]:
    """Decorate `custom_jvp`."""
    return cast("ForwardRule[O]", transformation(facade))


def reverse_rule(facade: Callable[Concatenate[Function, O], Any], /) -> ReverseRule[O]:
    """Decorate `custom_vjp`."""
    return cast("ReverseRule[O]", transformation(facade))


def forward_product(facade: Function, /) -> ForwardProduct:
    """Decorate `jvp`."""
    return cast("ForwardProduct", facade)


def reverse_product(facade: Function, /) -> ReverseProduct:
    """Decorate `vjp`."""
    return cast("ReverseProduct", facade)


def linearization(facade: Function, /) -> Linearization:
    """Decorate `linearize`."""
    return cast("Linearization", facade)
