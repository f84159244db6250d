"""Linear systems and roots of equations, differentiated implicitly."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, TypeAlias

from xpand import array_namespace, trees
from xpand.extend import Array, DType, checks, describe, device_of, same_structure

from .._captures import OfArrays
from .._dispatch import pluggable
from .._transforms import Partial, arrays_of, as_array, differentiable, divided
from .._where import clean_tracebacks
from ..control_flow._trees import one_library
from ..vmap._mapping import vmap

Arrays: TypeAlias = tuple[Array, ...]


class Form:
    """The required form of a tree of arrays: its structure, and the shapes and data types of its leaves."""

    __slots__ = ("kinds", "structure")

    def __init__(self, structure: trees.Structure, arrays: Sequence[Array]) -> None:
        self.structure = structure
        self.kinds: list[tuple[tuple[int, ...], DType]] = [(tuple(x.shape), x.dtype) for x in arrays]

    def tree(self, arrays: Sequence[Array]) -> trees.Tree:
        """Give arrays this structure."""
        return trees.unflatten(self.structure, arrays)

    def arrays(self, what: str, like: str, tree: trees.Tree, reference: Array) -> Arrays:
        """Flatten a tree, which must have this form. Errors call it `what`, and the tree that defines the form `like`.

        Raises:
            TypeError: It has another structure or other data types, or is no tree of arrays.
            ValueError: It has other shapes.
        """
        leaves, structure = trees.flatten(tree)
        if not same_structure(structure, self.structure):
            raise TypeError(f"{what} a tree like {like}, of the structure {self.structure}, got {structure}")
        found = []
        for leaf, (shape, dtype) in zip(leaves, self.kinds):
            x = as_array(f"{what} a tree of arrays like {like}; it holds", leaf, reference)
            if not isinstance(leaf, complex) and not checks.is_array(leaf) and x.dtype != dtype:
                x = array_namespace(x).astype(x, dtype)
            if tuple(x.shape) != shape:
                raise ValueError(f"{what} a tree like {like}, of the shape {shape}, got {tuple(x.shape)}")
            if x.dtype != dtype:
                raise TypeError(
                    f"{what} a tree like {like}, of the data type {dtype}, got {x.dtype}; convert one of them with "
                    "`xp.astype`"
                )
            found.append(x)
        return tuple(found)


Function = Callable[..., Any]

Users: TypeAlias = tuple[Function, Partial]
"""A function of the user, and the further arguments without their arrays. Both may capture arrays."""


@clean_tracebacks
@pluggable
def custom_linear_solve(
    matvec: Function,
    /,
    b: trees.Tree,
    *,
    solve: Function,
    transpose_solve: Function | None = None,
    args: tuple[Any, ...] = (),
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve a linear system with a custom function, and differentiate the solution by solving again.

    If `matvec(x) = b`, the derivative of `x` solves the same system. Reverse mode solves the transposed system. So
    `solve` is never differentiated: its steps need no derivatives, and are not saved.

    Args:
        matvec: Takes a tree like `b`, and `args`; returns a tree like `b`. It is linear in the first argument.
        b: The right-hand side, a tree of floating-point arrays.
        solve: Takes a tree like `b`, and `args`; returns the solution, a tree like `b`.
        transpose_solve: The same for the transposed system. The transpose of complex numbers is not conjugated. Without
            it, only symmetric systems have a reverse mode.
        args: Further arguments of the functions: trees of arrays, which are differentiated, and of other objects. An
            argument that only `solve` uses, such as a preconditioner, does not affect the derivative.
        symmetric: Whether the system equals its transpose, so `solve` solves both.
        has_aux: Whether `solve` and `transpose_solve` return a pair: the solution, and auxiliary data that is not
            differentiated.

    Returns:
        The solution; with `has_aux`, a pair of the solution and the auxiliary data of `solve`.

    Raises:
        TypeError: An argument has the wrong type, a function returns a tree of a wrong structure or data type, or
            reverse mode needs `transpose_solve`.
        ValueError: A function returns arrays of wrong shapes.

    Each call checks `solve`. Without transformations, it also checks `matvec` by one evaluation, at the solution.
    `transpose_solve` is checked when a derivative by reverse mode calls it.

    Pass all arrays that the functions need in `args`. Captured arrays are differentiated, too. On JAX and on traced
    arrays, `jit` must then be able to trace the functions. An array that is not found in closures, bound arguments or
    attributes raises an error.

    Source: `jax.lax.custom_linear_solve`.

    >>> import numpy as np
    >>> from xpand import grad
    >>> a, b = np.asarray([[2.0, 0.0], [0.0, 4.0]]), np.asarray([1.0, 1.0])
    >>> matvec, solve = lambda x, a: a @ x, lambda b, a: b / np.linalg.diagonal(a)
    >>> custom_linear_solve(matvec, b, solve=solve, symmetric=True, args=(a,))
    array([0.5 , 0.25])
    """
    name = "custom_linear_solve"
    checks.function(name, matvec, "matvec")
    checks.function(name, solve, "solve")
    if transpose_solve is not None:
        checks.function(name, transpose_solve, "transpose_solve")
    system = _Equation(name, "b", b, args, has_aux)
    back, others = transpose_solve, system.other_args
    native = custom_linear_solve.native(*system.first, *system.args)
    xs, aux = native(
        OfArrays(partial(system.function, "matvec"), matvec, others),
        system.first,
        solve=OfArrays(partial(system.solver, "solve"), solve, others),
        transpose_solve=back and OfArrays(partial(system.solver, "transpose_solve"), back, others),
        args=system.args,
        symmetric=symmetric,
        has_aux=True,
    )
    return system.result(xs, aux)


class _Equation:
    """A call of `custom_linear_solve` or `custom_root`: calls the user's functions of trees with arrays.

    The solution is a tree like the first argument, a right-hand side or an initial guess.
    """

    def __init__(self, name: str, argument: str, first: Any, args: Any, has_aux: bool) -> None:
        self.name, self.argument, self.has_aux = name, argument, has_aux
        if not isinstance(args, tuple):
            raise TypeError(f"{name}: args must be a tuple of further arguments, got {describe(args)}")
        self.args, self.other_args = divided(args)
        leaves, structure = arrays_of(name, argument, first, self.args)
        differentiable(name, argument, leaves)
        self.first = tuple(leaves)
        one_library(name, **{argument: self.first, "args": self.args})
        self.form = Form(structure, leaves)
        self.other_aux: list[Partial] = []
        """The auxiliary data of the solver without its arrays, once it is known."""

    def function(self, what: str, users: Users, xs: Arrays, *args: Array) -> Arrays:
        """Call a function that returns a tree like the first argument; `what` is its name."""
        user, others = users
        found = user(self.form.tree(xs), *others.tree(args))
        return self.form.arrays(f"{self.name}: {what} must return", self.argument, found, xs[0])

    def solver(self, what: str, users: Users, xs: Arrays, *args: Array) -> tuple[Arrays, Arrays]:
        """Call a solver. Return the solution and the arrays of the auxiliary data."""
        user, others = users
        found = user(self.form.tree(xs), *others.tree(args))
        aux: Arrays = ()
        if self.has_aux:
            if not isinstance(found, tuple) or len(found) != 2:
                raise TypeError(
                    f"{self.name}: {what} must return a pair (solution, auxiliary data) with has_aux=True, got "
                    f"{describe(found)}"
                )
            aux, rest = divided(found[1])
            if not self.other_aux:  # only once: PyTorch's compiler forbids a change in a second call
                self.other_aux.append(rest)
            found = found[0]
        return self.form.arrays(f"{self.name}: {what} must return", self.argument, found, xs[0]), aux

    def result(self, xs: Arrays, aux: Arrays) -> Any:
        """Return the solution, and the auxiliary data if there is any."""
        solution = self.form.tree(xs)
        return (solution, self.other_aux[0].tree(aux)) if self.has_aux else solution

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

    If `f(x) = 0`, the derivative of `x` solves a linear system with the Jacobian of `f`. So `solve` is never
    differentiated: its steps need no derivatives, and are not saved.

    Args:
        f: Takes a tree like `initial_guess`, and `args`; returns a tree like it, which is zero at the solution.
        initial_guess: The starting point of `solve`: a tree of floating-point arrays. It doesn't affect the derivative.
        solve: Takes the initial guess, and `args`; returns the solution, a tree like it.
        tangent_solve: Takes a linear function `g` of trees like `initial_guess`, the derivative of `f` at the solution,
            and a tree `y` like it. Returns the tree `x` with `g(x) = y`. Reverse mode transposes `tangent_solve`, so
            wrap iterations in `custom_linear_solve`. By default, the Jacobian is computed column by column, and the
            system is solved by elimination.
        args: Further arguments of the functions: trees of arrays, which are differentiated, and of other objects.
        has_aux: Whether `solve` returns a pair: the solution, and auxiliary data that is not differentiated.

    Returns:
        The solution; with `has_aux`, a pair of the solution and the auxiliary data.

    Raises:
        TypeError: An argument has the wrong type, or a function returns a tree of a wrong structure or data type.
        ValueError: A function returns arrays of wrong shapes.

    Each call checks `solve`. Without transformations, it also checks `f` by one evaluation, at the solution.
    `tangent_solve` is checked when a derivative calls it.

    Pass all arrays that the functions need in `args`. For captured arrays, see `custom_linear_solve`.

    Source: `jax.lax.custom_root`.

    >>> import numpy as np
    >>> from xpand import grad
    >>> root = lambda a: custom_root(
    ...     lambda x, a: x * x - a, np.asarray(1.0), solve=lambda x, a: a**0.5, args=(a,)
    ... )
    >>> float(root(np.asarray(4.0))), float(grad(root)(np.asarray(4.0)))
    (2.0, 0.25)
    """
    name = "custom_root"
    checks.function(name, f, "f")
    checks.function(name, solve, "solve")
    if tangent_solve is not None:
        checks.function(name, tangent_solve, "tangent_solve")
    root = _Equation(name, "initial_guess", initial_guess, args, has_aux)
    vmap.native(*root.first)  # looked up here: PyTorch's compiler forbids a first look-up inside derivatives
    native = custom_root.native(*root.first, *root.args)
    xs, aux = native(
        OfArrays(partial(root.function, "f"), f, root.other_args),
        root.first,
        solve=OfArrays(partial(root.solver, "solve"), solve, root.other_args),
        tangent_solve=OfArrays(root.tangent_solve, tangent_solve),
        args=root.args,
        has_aux=True,
    )
    return root.result(xs, aux)


def _eliminated(function: Callable[[Arrays], Arrays], ys: Arrays) -> Arrays:
    """Solve a linear system with its full matrix."""
    xp = array_namespace(*ys)
    dtype = xp.result_type(*ys) if len(ys) > 1 else ys[0].dtype
    sizes = [prod(y.shape) for y in ys]

    def joined(arrays: Arrays) -> Array:
        xp = array_namespace(*arrays)  # under `vmap`, lanes may differ
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
