"""Transformations of functions of JAX's and PyTorch's arrays, compared with each library's own."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from xpand_extensions import autodiff, jit, vmap

from ._measure import Budget, Call, Row
from .namespaces import Library, libraries

BUDGET: Final = Budget(ratio=1.05, extra=3e-6)
"""The overhead of a call must not grow with the arrays."""

SIZES: Final = (8, 256, 2_048)
SMALL: Final[dict[str, tuple[int, ...]]] = {"sizes": (4,)}
"""The sizes with which the tests run every row."""

REASONS: Final[Mapping[tuple[str, str], str]] = {
    (
        "torch",
        "vmap",
    ): "the sizes of arguments are compared, and results are checked for their type and for leaks"
}
"""Why a transformation of a library is over the budget: (library, transformation)."""


class Own(NamedTuple):
    """A library's own transformations."""

    grad: Callable[..., Any]
    value_and_grad: Callable[..., Any]
    jit: Callable[..., Any]
    vmap: Callable[..., Any]
    hessian: Callable[..., Any]


OURS: Final = Own(autodiff.grad, autodiff.value_and_grad, jit.jit, vmap.vmap, autodiff.hessian)


def rows(sizes: tuple[int, ...] = SIZES) -> Iterator[Row]:
    for library in libraries():
        if library.name not in _OWN:
            continue
        for size in sizes:
            yield from _of_library(library, _OWN[library.name](), size)


def _of_library(library: Library, own: Own, size: int) -> Iterator[Row]:
    # A layer with square weights and inputs: a chain of a few operations, of which the product takes longest.
    native = library.native
    weights, inputs = native.ones((size, size)) / size, native.ones((size, size))

    def loss(weights: Any, inputs: Any) -> Any:
        return (native.tanh(inputs @ weights) ** 2).sum()

    def of_one(x: Any) -> Any:
        return native.tanh(x) * x

    def cubes(x: Any) -> Any:
        return (x**3).sum() * x[0]

    programs: dict[str, tuple[Callable[[Own], Callable[..., Any]], tuple[Any, ...]]] = {
        "grad": (lambda of: of.grad(loss), (weights, inputs)),
        "value_and_grad": (lambda of: of.value_and_grad(loss), (weights, inputs)),
        "jit": (lambda of: of.jit(loss), (weights, inputs)),
        "jit(grad)": (lambda of: of.jit(of.grad(loss)), (weights, inputs)),
        "vmap": (lambda of: of.vmap(of_one), (inputs,)),
        "vmap(grad)": (lambda of: of.vmap(of.grad(cubes)), (inputs,)),
    }
    if size <= 256:  # with more variables, a Hessian exceeds the machine's memory
        programs["hessian"] = (lambda of: of.hessian(cubes), (inputs[0],))
    for name, (made, arguments) in programs.items():
        ours, theirs = Call(made(OURS), *arguments), Call(made(own), *arguments)
        reason = REASONS.get((library.name, name), "")
        label = f"{library.name}, {name}, {size:,} by {size:,}"
        yield Row("transformations", label, ours, {f"{library.name}'s own": theirs}, BUDGET, reason)


def _jax() -> Own:
    import jax

    return Own(jax.grad, jax.value_and_grad, jax.jit, jax.vmap, jax.hessian)


def _torch() -> Own:
    import torch

    return Own(
        torch.func.grad,
        torch.func.grad_and_value,
        # Compiled whole, like a function of torch.func.
        lambda function: torch.compile(function, fullgraph=True),
        torch.func.vmap,
        torch.func.hessian,
    )


_OWN: Final[Mapping[str, Callable[[], Own]]] = {"jax": _jax, "torch": _torch}
