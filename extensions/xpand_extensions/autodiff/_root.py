"""Roots of equations, differentiated implicitly."""

from collections.abc import Callable
from math import prod
from typing import Any, TypeAlias

from xpand import array_namespace, trees
from xpand.extend import Array, device_of

from .._captures import OfArrays
from .._dispatch import pluggable
from .._transforms import arrays_of, differentiable
from .._where import clean_tracebacks
from ..control_flow._trees import one_library
from ..vmap._mapping import vmap
from ._arguments import check_callable
from ._solve import Arguments, Arrays, Aux, Form, pair

Function: TypeAlias = Callable[..., Any]
Users: TypeAlias = tuple[Function]


@clean_tracebacks
@pluggable
def custom_root(
    f: Function,
    /,
    initial_guess: trees.Tree,
    *,
    solve: Function,
    tangent_solve: Function | None = None,
    args: tuple[Any, ...] = (),
    has_aux: bool = False,
) -> Any:
    """Solve an equation with a custom function, and differentiate the solution by the implicit function theorem.

    Where `f(x) = 0`, the derivative of `x` solves the linear system of the Jacobian of `f` there. So `solve` is never
    differentiated: its steps need no derivative, and none of them is saved.

    Args:
        f: Takes a tree like `initial_guess`, and `args`; returns such a tree, which is zero at the solution.
        initial_guess: The starting point of `solve`: a tree of floating-point arrays. It doesn't affect the derivative.
        solve: Takes the initial guess, and `args`; returns the solution, a tree like it.
        tangent_solve: Takes a linear function `g` of trees like `initial_guess`, the derivative of `f` at the solution,
            and a tree `y` like it; returns the tree `x` for which `g(x)` is `y`. Reverse mode transposes it, so
            iterations in it belong into `custom_linear_solve`. By default, the Jacobian is computed column by column,
            and the system solved by elimination.
        args: Further arguments of the functions: trees of arrays, which are differentiated, and of other objects.
        has_aux: Whether `solve` returns a pair, of the solution and of auxiliary data that is not differentiated.

    Returns:
        The solution; with `has_aux` a pair, of it and of the auxiliary data.

    Raises:
        TypeError: An argument of the wrong type; a function that returns a tree of another structure or data type than
            it must.
        ValueError: A function that returns arrays of other shapes than it must.

    `solve` is checked at every call, and so is `f`, which an untransformed call evaluates once, at the solution.
    `tangent_solve` is checked where a derivative calls it.

    The functions get everything they need by `args`; for arrays that they capture, see `custom_linear_solve`.

    Source: `jax.lax.custom_root`.

    >>> import numpy as np
    >>> from xpand_extensions.autodiff import grad
    >>> root = lambda a: custom_root(
    ...     lambda x, a: x * x - a, np.asarray(1.0), solve=lambda x, a: a**0.5, args=(a,)
    ... )
    >>> float(root(np.asarray(4.0))), float(grad(root)(np.asarray(4.0)))
    (2.0, 0.25)
    """
    name = "custom_root"
    for function in (f, solve, *(() if tangent_solve is None else (tangent_solve,))):
        check_callable(name, function)
    root = _Root(initial_guess, args, has_aux)
    vmap.native(*root.guess)  # looked up here because PyTorch's compiler forbids a first look-up inside of derivatives
    native = custom_root.native(*root.guess, *root.given.arrays)
    xs, aux = native(
        OfArrays(root.residual, f),
        root.guess,
        solve=OfArrays(root.solve, solve),
        tangent_solve=OfArrays(root.tangent_solve, tangent_solve),
        args=root.given.arrays,
        has_aux=True,
    )
    solution = root.form.tree(xs)
    return (solution, root.aux.tree(aux)) if has_aux else solution


class _Root:
    """A call of `custom_root`: calls the user's functions of trees with arrays."""

    def __init__(self, guess: Any, args: Any, has_aux: bool) -> None:
        self.has_aux = has_aux
        self.given = Arguments("custom_root", args)
        leaves, structure = arrays_of("custom_root", "initial_guess", guess, self.given.arrays)
        differentiable("custom_root", "initial_guess", leaves)
        self.guess = tuple(leaves)
        one_library("custom_root", initial_guess=self.guess, args=self.given.arrays)
        self.form = Form(structure, leaves)
        self.aux = Aux()

    def residual(self, users: Users, xs: Arrays, *args: Array) -> Arrays:
        """Evaluate the equation."""
        found = users[0](self.form.tree(xs), *self.given.filled(args))
        return self.form.arrays("custom_root: f must return", "initial_guess", found, xs[0])

    def solve(self, users: Users, guess: Arrays, *args: Array) -> tuple[Arrays, Arrays]:
        """Find the root; return it, and the arrays of the auxiliary data."""
        found = users[0](self.form.tree(guess), *self.given.filled(args))
        aux: Arrays = ()
        if self.has_aux:
            found, data = pair("custom_root: solve", found)
            aux = self.aux.arrays(data)
        return self.form.arrays("custom_root: solve must return", "initial_guess", found, guess[0]), aux

    def tangent_solve(self, users: tuple[Function | None], jacobian: Callable[[Arrays], Arrays], ys: Arrays) -> Arrays:
        """Solve the system of the Jacobian, a linear function of arrays."""
        (tangent_solve,) = users
        if tangent_solve is None:
            return _eliminated(jacobian, ys)

        def of_trees(tree: trees.Tree) -> trees.Tree:
            what = "custom_root: the derivative of f takes"
            return self.form.tree(jacobian(self.form.arrays(what, "initial_guess", tree, ys[0])))

        found = tangent_solve(of_trees, self.form.tree(ys))
        return self.form.arrays("custom_root: tangent_solve must return", "initial_guess", found, ys[0])


def _eliminated(function: Callable[[Arrays], Arrays], ys: Arrays) -> Arrays:
    """Solve a linear system by making its matrix."""
    xp = array_namespace(*ys)
    dtype = xp.result_type(*ys) if len(ys) > 1 else ys[0].dtype
    sizes = [prod(y.shape) for y in ys]

    def joined(arrays: Arrays) -> Array:
        xp = array_namespace(*arrays)  # under `vmap` they may differ
        return xp.concat([xp.reshape(xp.astype(x, dtype), (-1,)) for x in arrays])

    def parted(row: Array) -> Arrays:
        xp = array_namespace(row)
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        return tuple(
            xp.astype(xp.reshape(row[end - prod(y.shape) : end], tuple(y.shape)), y.dtype) for y, end in zip(ys, ends)
        )

    unit = xp.eye(sum(sizes), dtype=dtype, device=device_of(ys[0]))
    columns = vmap(lambda row: joined(function(parted(row))))(unit)
    xp = array_namespace(columns, *ys)
    return parted(xp.linalg.solve(xp.matrix_transpose(columns), joined(ys)))
