"""Custom rules and implicit solves, which PyTorch's `backward` differentiates once."""

from collections.abc import Sequence
from typing import Any, Final

import torch

from xpand.extend import LibraryArray as Array
from xpand_extensions._transforms import ArraySpec
from xpand_extensions.autodiff._implicit import Calculus, LinearSystem, Root, flat_solver, tangent_solver
from xpand_extensions.generic import autodiff, vmap

from .._gradients import conjugated, is_floating
from ._derivatives import Arrays, Function, linearize, vjp, with_aux
from ._replaced import check_no_levels, in_place_of, refuse


class _Custom:
    """A function with its own derivative."""

    apply: Function
    """Takes a boolean for each argument, whether it is differentiated, and the arguments."""

    def __init__(self, name: str, function: Function) -> None:
        self.name, self.function = name, function

    def defjvp(self, rule: Function, symbolic_zeros: bool) -> None:
        """Store the rule, whose tangents are None for arrays that are not differentiated."""

        def apply(perturbed: Sequence[bool], xs: Arrays) -> Any:
            fixed = tuple([x.detach() for x in xs])
            outs, along = rule(fixed, [x if each else None for x, each in zip(fixed, perturbed)])
            self._check_captured((*outs, *along))
            # The rule is linear in its tangents, so its derivative in them is that of the function.
            along = rule(fixed, [x if each else None for x, each in zip(xs, perturbed)])[1]
            return _Attached.apply(*outs, *along)

        self.apply = apply

    def defvjp(self, forward: Function, backward: Function, symbolic_zeros: bool) -> None:
        """Store the rule."""

        def apply(perturbed: Sequence[bool], xs: Arrays) -> Any:
            self._check_captured(self.function(*[x.detach() for x in xs]))
            pull = lambda residuals, cotangents: backward(perturbed, residuals, cotangents)
            return _ruled(lambda *xs: forward(perturbed, *xs), pull, xs)

        self.apply = apply

    def _check_captured(self, arrays: Arrays) -> None:
        """Check that results for constant arguments do not require gradients."""
        if any(x.requires_grad for x in arrays):
            refuse(
                f"{self.name}: inside torch.compile, a captured array that requires gradients would lose its "
                "derivative; pass it as an argument"
            )

    def __call__(self, *xs: Array) -> Any:
        """Call the function."""
        check_no_levels(self.name, "functions with derivatives of their own")
        perturbed = tuple([torch.is_grad_enabled() and bool(x.requires_grad) for x in xs])
        return self.apply(perturbed, xs) if any(perturbed) else self.function(*xs)


class _Attached(torch.autograd.Function):  # type: ignore[misc]
    """The first half of the arguments, with the derivatives of the second half."""

    @staticmethod
    def forward(ctx: Any, *arrays: Array) -> Arrays:
        outs = tuple([x.clone() for x in arrays[: len(arrays) // 2]])
        ctx.mark_non_differentiable(*[x for x in outs if not is_floating(x)])
        return outs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (*[None] * len(gradients), *gradients)


@in_place_of(autodiff.custom_jvp)
def custom_jvp(function: Function, /, **options: Any) -> _Custom:
    return _Custom("custom_jvp", function)


@in_place_of(autodiff.custom_vjp)
def custom_vjp(function: Function, /, **options: Any) -> _Custom:
    return _Custom("custom_vjp", function)


def _ruled(forward: Function, backward: Function, xs: Arrays) -> Any:
    """Call a function with a derivative in JAX's convention.

    Args:
        forward: Takes arrays; returns the results and the residuals, two tuples of arrays.
        backward: Takes the residuals and the cotangents of the results; returns the cotangents of `xs`, or None.
        xs: The arguments of `forward`.
    """
    # Call the functions: they store the structure of their results, which torch.compile forbids below.
    with torch.no_grad():
        outs, residuals = forward(*xs)
        backward(residuals, tuple(map(torch.zeros_like, outs)))
    return _Ruled.apply(forward, backward, *xs)


class _Ruled(torch.autograd.Function):  # type: ignore[misc]
    """A function with a derivative."""

    @staticmethod
    def forward(ctx: Any, forward: Function, backward: Function, *xs: Array) -> Arrays:
        outs, residuals = forward(*xs)
        ctx.of_residuals = backward
        ctx.like = [(tuple(x.shape), x.dtype, x.device) for x in outs]
        ctx.save_for_backward(*residuals)
        ctx.mark_non_differentiable(*[x for x in outs if not is_floating(x)])
        return outs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        def cotangent(x: Array | None, like: Any) -> Array:
            shape, dtype, device = like
            is_known = x is not None and is_floating(x)
            return conjugated(x) if is_known else torch.zeros(shape, dtype=dtype, device=device)

        back = ctx.of_residuals(ctx.saved_tensors, tuple(map(cotangent, gradients, ctx.like)))
        return (None, None, *[None if x is None or not is_floating(x) else conjugated(x) for x in back])


_CALCULUS: Final = Calculus(
    linearize=lambda function, xs: linearize(with_aux(function), *xs, has_aux=True)[1],
    transpose=lambda function, rows, _: vjp(with_aux(function), *[x.zeros() for x in rows], has_aux=True)[1],
    wrap=lambda x: x,
)


@in_place_of(autodiff.custom_linear_solve)
def custom_linear_solve(
    matvec: Function, /, b: Arrays, *, solve: Function, transpose_solve: Any, args: Arrays, symmetric: bool, **rest: Any
) -> tuple[Arrays, Arrays]:
    back = None if transpose_solve is None else flat_solver(transpose_solve)
    rows = list(map(ArraySpec.of, b))
    return _solved(LinearSystem(_CALCULUS, matvec, flat_solver(solve), back, symmetric, rows), b, args)


@in_place_of(autodiff.custom_root)
def custom_root(
    f: Function, /, initial_guess: Arrays, *, solve: Function, tangent_solve: Any, args: Arrays, **rest: Any
) -> tuple[Arrays, Arrays]:
    rows, of_tangents = list(map(ArraySpec.of, initial_guess)), tangent_solver(_CALCULUS, f, tangent_solve)
    return _solved(Root(_CALCULUS, f, flat_solver(solve), of_tangents, rows), initial_guess, args)


def _solved(equation: LinearSystem | Root, first: Arrays, args: Arrays) -> tuple[Arrays, Arrays]:
    """Solve an equation; the first arrays are the right-hand side or the initial guess."""
    check_no_levels(equation.name, "implicit solves")
    count = len(first)
    with torch.no_grad():
        outs = equation.solve(first, *args)
    xs, aux = outs[:count], outs[count:]
    # The solution's derivative solves a linear system with the derivative of this right-hand side, which torch.compile
    # differentiates outside `_Ruled`: it may depend on captured arrays.
    rhs: tuple[Any, ...] = equation.change(xs, first, args) if torch.is_grad_enabled() else ()
    if not any(x.requires_grad for x in rhs):
        return xs, aux
    system, arrays = equation.of_tangents(xs, args)

    def forward(*arrays: Array) -> tuple[Arrays, Arrays]:
        return tuple([x.clone() for x in arrays[:count]]), arrays[2 * count :]

    def backward(residuals: Arrays, cotangents: Arrays) -> Sequence[Array | None]:
        back = system.transposed().solve(cotangents, *residuals)[:count]
        return [*[None] * count, *back, *[None] * len(residuals)]

    return _ruled(forward, backward, (*xs, *rhs, *[x.detach() for x in arrays])), aux


class _CustomVmap:
    """A function with its own rule for batches."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def def_vmap(self, rule: Function) -> None:
        """Do nothing: the rule is not called."""

    def __call__(self, *xs: Array) -> Any:
        """Call the function, which nothing maps."""
        check_no_levels("custom_vmap", "functions with rules of their own")
        return self.function(*xs)


@in_place_of(vmap.custom_vmap)
def custom_vmap(function: Function, /) -> _CustomVmap:
    return _CustomVmap(function)
