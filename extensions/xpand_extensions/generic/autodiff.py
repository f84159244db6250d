"""Derivatives on any library, by tracing."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from xpand import array_namespace
from xpand.extend import Array, LibraryNamespace

from .. import autodiff
from .._captures import captured, captured_and_global, converted, solved_directly, with_own_cells
from .._dispatch import forwards_to
from .._transforms import ArraySpec
from ..autodiff._implicit import LinearSystem, Root, flat_solver, tangent_solver
from ..autodiff.checkpoint_policies import AnyPolicy, check_no_offload, everything_saveable
from ..tracing import TracedArray, traced_namespace
from ..tracing._bodies import Body, closed
from ..tracing._captured import called_with_captured
from ..tracing._core import Aval, aval_of, bare, bind, is_traced
from ..tracing._custom import checkpointed
from ..tracing._forward import jvp as _jvp
from ..tracing._graph import Graph
from ..tracing._reverse import linearize as _linearize, transposed
from ..tracing._solve import Equation, calculus_of, solved
from ..tracing._staging import stage
from ..tracing._tape import Tape
from ..tracing._views import linked


def stop_gradient(x: Array, /) -> Array:
    if not isinstance(x, TracedArray):
        return x
    namespace: LibraryNamespace = array_namespace(x)
    op = namespace.operations["stop_gradient"]
    return linked(namespace.wrap(bind(op, (x,), {})), x, op, {})


def is_differentiated(x: Array, /) -> bool:
    return False  # differentiated arrays are traced


def jvp(
    function: Callable[..., Any], /, primals: Sequence[Array], tangents: Sequence[Array], *, has_aux: bool = False
) -> tuple[Any, ...]:
    namespace = traced_namespace(array_namespace(*primals, *tangents))
    return _jvp(namespace, function, primals, tangents, _name(function, "jvp"))


def vjp(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    namespace = traced_namespace(array_namespace(*primals))
    outs, aux, linear = _linearize(namespace, _name(function, "vjp"), function, primals)
    return outs, linear.pull, aux


def _name(function: Callable[..., Any], default: str) -> str:
    """Return the name of the transformation that the user called, e.g. `hessian`."""
    return getattr(function, "name", default)


def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    positions = argnums if isinstance(argnums, (tuple, list)) else (argnums,)

    def both(*arrays: Array) -> tuple[Array, Any]:
        xp = array_namespace(*arrays)
        namespace = traced_namespace(xp)

        def of_chosen(*chosen: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
            arguments = [namespace.argument(x) for x in arrays]
            for position, x in zip(positions, chosen):  # without a call: small gradients take microseconds
                arguments[position] = x
            return (function(*arguments),), ()

        (value,), _, linear = _linearize(namespace, "grad", of_chosen, [arrays[position] for position in positions])
        gradients = linear.pull(xp.ones_like(value))
        return value, gradients if isinstance(argnums, (tuple, list)) else gradients[0]

    return both


def linearize(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    namespace = traced_namespace(array_namespace(*primals))
    outs, aux, linear = _linearize(namespace, "linearize", function, primals)
    return outs, linear.push, aux


def linear_transpose(function: Callable[..., Any], /, *primals: Array) -> Callable[..., Any]:
    return transposed(traced_namespace(array_namespace(*primals)), function, primals)


def residuals(function: Callable[..., Any], /, *specs: ArraySpec) -> tuple[list[Array], Callable[..., Any]]:
    namespace = traced_namespace(specs[0].xp)
    avals = [Aval(like.shape, like.dtype, like.device) for like in specs]
    graph, _ = stage(namespace, "vjp", lambda *xs: (tuple(function(*xs)), ()), avals)
    constants = graph.constants
    body = Body(Graph(namespace, [*constants, *graph.inputs], {}, graph.equations, graph.outputs))
    return list(constants.values()), partial(_of_residuals, body)


def _of_residuals(body: Body, arrays: Sequence[Array], *primals: Array) -> tuple[Array, ...]:
    return body.run(*arrays, *primals)


def closure_convert(function: Callable[..., Any], /, *example_args: Array) -> tuple[Callable[..., Any], list[Array]]:
    traced = captured(lambda x: isinstance(x, TracedArray), function, *example_args)
    if not traced:
        function(*example_args)  # this call determines the structure of the result
        return function, []
    namespace = traced_namespace(array_namespace(*example_args, *traced))
    flat = lambda *xs: (tuple(function(*xs)), ())
    body, outer = closed(namespace, "closure_convert", flat, [aval_of(x) for x in example_args])
    constants: list[Any] = list(map(namespace.wrap, outer))
    is_differentiated = [namespace.is_floating(x.dtype) for x in constants]

    def converted(*xs: Array) -> tuple[Array, ...]:
        others = iter(xs[len(example_args) :])
        values = [next(others) if each else x for x, each in zip(constants, is_differentiated)]
        return tuple(map(namespace.wrap, body.graph.run(*values, *xs[: len(example_args)])))

    return converted, [x for x, each in zip(constants, is_differentiated) if each]


def checkpoint(
    function: Callable[..., Any],
    /,
    *,
    prevent_cse: bool = True,
    policy: AnyPolicy | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    if policy is everything_saveable:
        return function
    check_no_offload(policy)  # all other policies recompute all values

    def call(*arrays: Array) -> Arrays:
        results = checkpointed(traced_namespace(array_namespace(*arrays)), function, arrays)
        return results if any(isinstance(x, TracedArray) for x in arrays) else tuple(map(bare, results))

    return call


def checkpoint_name(x: Array, /, name: str) -> Array:
    return x  # no policy uses names


class _Custom:
    """A function of arrays with a rule."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function, self.name = function, name
        self.rules: dict[str, Any] = {}

    def defjvp(self, rule: Callable[..., Any], symbolic_zeros: bool) -> None:
        """Register the rule of forward mode. Its tangents are None where they are zero."""
        self.rules = {"rule": rule}

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any], symbolic_zeros: bool) -> None:
        """Register the rule of reverse mode. Its cotangents are None where they are zero."""
        self.rules = {"forward": forward, "backward": backward}

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        """Call the function."""
        namespace = traced_namespace(array_namespace(*arrays))
        results = called_with_captured(namespace, self.name, self.function, arrays, self.rules)
        return results if any(isinstance(x, TracedArray) for x in arrays) else tuple(map(bare, results))


def custom_jvp(
    function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
) -> _Custom:
    return _Custom(function, "custom_jvp")


def custom_vjp(
    function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
) -> _Custom:
    return _Custom(function, "custom_vjp")


Arrays: TypeAlias = tuple[Array, ...]
Function: TypeAlias = Callable[..., Any]


@forwards_to(autodiff.custom_linear_solve)
def custom_linear_solve(
    matvec: Function, /, b: Arrays, *, solve: Function, transpose_solve: Any, args: Arrays, symmetric: bool, **rest: Any
) -> tuple[Arrays, Arrays]:
    def equation(outer: int, matvec: Function, solve: Function, transpose_solve: Function | None) -> LinearSystem:
        back = transpose_solve and flat_solver(transpose_solve)
        calculus = calculus_of(traced_namespace(array_namespace(*b, *args)))
        return LinearSystem(calculus, matvec, flat_solver(solve), back, symmetric, list(map(aval_of, b)))

    return _solved(equation, (matvec, solve, transpose_solve), b, args)


@forwards_to(autodiff.custom_root)
def custom_root(
    f: Function, /, initial_guess: Arrays, *, solve: Function, tangent_solve: Any, args: Arrays, **options: Any
) -> tuple[Arrays, Arrays]:
    def equation(outer: int, f: Function, solve: Function, tangent_solve: Function) -> Root:
        calculus = calculus_of(traced_namespace(array_namespace(*initial_guess, *args)))
        of_tangents = tangent_solver(calculus, f, tangent_solve, outer)
        return Root(calculus, f, flat_solver(solve), of_tangents, list(map(aval_of, initial_guess)))

    return _solved(equation, (f, solve, tangent_solve), initial_guess, args)


def _solved(
    equation: Callable[..., Equation], functions: tuple[Any, Any, Any], first: Arrays, args: Arrays
) -> tuple[Arrays, Arrays]:
    """Solve an equation.

    Args:
        equation: Takes the number of captured arrays and the functions; returns the equation.
        functions: The function of the equation, its solver, and the solver of derivatives.
        first: The right-hand side or the initial guess.
        args: The further arguments of the functions.
    """
    namespace = traced_namespace(array_namespace(*first, *args))
    is_transformed = namespace.is_transformed
    outer, shared = captured_and_global(is_transformed, *functions)
    result = solved_directly(is_transformed, functions, first, args, outer)
    if result is not None:
        return result
    arrays = (*first, *args)
    later = list(map(with_own_cells, functions))  # derivatives call the functions again
    # Functions of derivatives refer to arrays that they don't use, and some arrays can't be replaced in copies. Staging
    # finds the arrays that the functions use.
    is_converted = outer and not shared and not any(map(is_traced, arrays)) and not any(map(_is_tangent, outer))
    is_staged = not is_converted and (bool(outer or shared) or not any(map(is_transformed, arrays)))
    if is_converted:
        later = [each and converted(each, outer) for each in later]
    else:
        outer = []
    outs = solved(namespace, equation(len(outer), *later), (*arrays, *outer), is_staged)
    if not any(isinstance(x, TracedArray) for x in arrays):
        outs = list(map(bare, outs))
    return tuple(outs[: len(first)]), tuple(outs[len(first) :])


def _is_tangent(x: Array) -> bool:
    return isinstance(x, TracedArray) and isinstance(x._trace, Tape)
