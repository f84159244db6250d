"""Checks of derivatives against differences of values."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from xpand import array_namespace, trees
from xpand.extend import Array, checks, describe

from .._transforms import arrays_of, differentiable, is_floating
from .._where import clean_tracebacks
from ._products import Function, jvp, vjp

_MODES = ("fwd", "rev")


@clean_tracebacks
def check_grads(
    f: Function,
    args: Sequence[trees.Tree],
    order: int = 1,
    modes: str | Sequence[str] = _MODES,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of a function against differences of its values, along random directions.

    Forward mode is compared with the differences. For reverse mode, the product of its result and the direction is
    compared with them. Every call uses the same directions.

    Args:
        f: Takes trees of floating-point arrays and returns one.
        args: The arguments at which to check: a tuple or a list of trees.
        order: The maximum order of derivatives. With 2, the derivatives are checked like `f`, in all modes.
        modes: "fwd", "rev", or both.
        atol: The absolute tolerance. None: the default for the least precise data type of the arguments, 1e-6 for
            float64.
        rtol: The relative tolerance. None: as `atol`.
        eps: The step of the differences, which have fourth order. None: the fifth root of the data type's precision.

    Raises:
        AssertionError: Derivatives differ. The message has the mode, the leaf, and both values.
        TypeError: Arguments are not floating-point arrays.
        ValueError: A mode is unknown, or the order is below 1.

    Source: `jax.test_util.check_grads`.

    >>> import torch
    >>> check_grads(torch.sin, (torch.tensor([0.5, 2.0], dtype=torch.float64),), order=2)
    """
    checks.function("check_grads", f)
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"check_grads: args must be a tuple or a list of arguments, got {describe(args)}")
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    for mode in modes:
        checks.choice("check_grads", "modes", mode, _MODES)
    if checks.integer("check_grads", "order", order) < 1:
        raise ValueError(f"check_grads: order must be at least 1, got {order}")
    leaves, _ = arrays_of("check_grads", "args", tuple(args))
    differentiable("check_grads", "args", leaves)
    precision = max(float(array_namespace(x).finfo(x.dtype).eps) for x in leaves)
    default = 1e-6 if precision < 1e-12 else 5.0 * math.sqrt(precision)
    check = _Check(
        tuple(modes),
        default if atol is None else atol,
        default if rtol is None else rtol,
        precision**0.2 if eps is None else eps,
    )
    check.run(f, tuple(args), order, "")


class _Check:
    """A check, with its tolerances."""

    def __init__(self, modes: tuple[str, ...], atol: float, rtol: float, eps: float) -> None:
        self.modes, self.atol, self.rtol, self.eps = modes, atol, rtol, eps
        from random import Random  # this import is slow

        self.random = Random(0)

    def run(self, f: Function, args: tuple[Any, ...], order: int, path: str) -> None:
        """Check a function and its derivatives up to an order."""
        direction = self.direction(args)
        differences = self.differences(f, args, direction)
        if "fwd" in self.modes:
            here = f"{path} > fwd" if path else "fwd"
            _, derivative = jvp(f, args, direction)
            self.compare(here, differences, derivative)
            if order > 1:
                self.run(lambda *xs: _floating(jvp(f, xs, direction)[1]), args, order - 1, here)
        if "rev" in self.modes:
            here = f"{path} > rev" if path else "rev"
            value, pullback = vjp(f, *args)
            weights = self.direction(value)
            back = pullback(weights)
            self.compare_numbers(here, _product(weights, differences), _product(back, direction))
            if order > 1:
                self.run(lambda *xs: vjp(f, *xs)[1](weights), args, order - 1, here)

    def direction(self, tree: trees.Tree) -> trees.Tree:
        """Make a tree of random numbers like another tree, with zeros for integers."""

        def random(x: Any) -> Array:
            xp = array_namespace(x)
            if not is_floating(xp, x):
                return xp.zeros_like(x)
            count = math.prod(x.shape)
            real = [self.random.gauss(0.0, 1.0) for _ in range(count)]
            is_complex = checks.kind(xp, x.dtype) == "complex"
            values = [complex(a, self.random.gauss(0.0, 1.0)) for a in real] if is_complex else real
            return xp.reshape(xp.asarray(values, dtype=x.dtype, device=checks.device_of(x)), x.shape)

        leaves, structure = trees.flatten(tree)
        like = next((x for x in leaves if checks.is_array(x)), None)
        if like is not None:
            leaves, structure = arrays_of("check_grads", "the function returned", tree)
        return trees.unflatten(structure, [random(x) for x in leaves])

    def differences(self, f: Function, args: tuple[Any, ...], direction: tuple[Any, ...]) -> trees.Tree:
        """Compute the central differences of fourth order along a direction."""

        def at(steps: int) -> trees.Tree:
            return f(*_map(lambda x, t: x + t * (steps * self.eps), args, direction))

        near = _map(lambda x, y: x - y, at(1), at(-1))
        far = _map(lambda x, y: x - y, at(2), at(-2))
        return _map(lambda x, y: (x * 8.0 - y) / (12.0 * self.eps), near, far)

    def compare(self, path: str, expected: trees.Tree, found: trees.Tree) -> None:
        """Compare trees, leaf by leaf."""
        for position, wanted, got in zip(
            trees.structure(expected).accessors(), trees.leaves(expected), trees.leaves(found)
        ):
            xp = array_namespace(got)
            if not is_floating(xp, got) or not math.prod(got.shape):
                continue
            off = xp.abs(got - wanted) - (self.atol + self.rtol * xp.abs(wanted))
            if not bool(xp.all(off <= 0.0)):
                raise AssertionError(
                    f"check_grads: {path}: {position.codify('output')}: differences give {wanted}, the derivative "
                    f"is {got}"
                )

    def compare_numbers(self, path: str, expected: float, found: float) -> None:
        """Compare products by forward mode with products by reverse mode."""
        if not abs(found - expected) <= self.atol + self.rtol * abs(expected):
            raise AssertionError(
                f"check_grads: {path}: the differences times random weights of the output are {expected}, "
                f"the direction times the weights pulled back is {found}"
            )


def _map(function: Callable[..., Array], tree: trees.Tree, *rest: trees.Tree) -> trees.Tree:
    """Map a function over floating-point arrays; leave others unchanged."""

    def of_floating(x: Any, *others: Any) -> Any:
        if not checks.is_array(x):
            return function(x, *others) if isinstance(x, (float, complex)) else x
        return function(x, *others) if is_floating(array_namespace(x), x) else x

    return trees.map(of_floating, tree, *rest)


def _floating(tree: trees.Tree) -> list[Array]:
    """List the arrays of a tree that can be differentiated again."""
    return [x for x in trees.leaves(tree) if is_floating(array_namespace(x), x)]


def _product(a: trees.Tree, b: trees.Tree) -> float:
    """Sum the products of all elements as real numbers. Forward and reverse mode must agree in this sum."""
    total = 0.0
    for x, y in zip(trees.leaves(a), trees.leaves(b)):
        xp = array_namespace(x)
        if is_floating(xp, x):
            product = xp.sum(x * y)
            total += float(xp.real(product) if checks.kind(xp, x.dtype) == "complex" else product)
    return total
