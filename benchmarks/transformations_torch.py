"""Derivatives of PyTorch programs and modules, compared with `torch.func`: times and saved memory."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from xpand_extensions.autodiff import custom_linear_solve, custom_vjp, grad, hessian
from xpand_extensions.control_flow import scan
from xpand_extensions.vmap import vmap

from ._measure import Budget, Call, Row

TOPIC: Final = "derivatives of PyTorch programs"
MODULES: Final = "gradients of PyTorch modules"
BACKWARD: Final = "backward through functions of xpand"
SMALL: Final[dict[str, int]] = {"links": 2, "size": 2}
"""The sizes with which the tests run every row."""

_OPERATIONS: Final = "an operation takes 12 µs in Python: its traced array is a tensor, which takes 1.5 µs to make"
_CALLS: Final = "each of PyTorch's functions takes 15 to 20 µs in Python, and 9 µs in `torch.func`"
_RULES: Final = "a call searches the rule for captured arrays and linearizes it, in 0.2 ms of Python"
_BLOCKS: Final = "long loops save the carry of blocks only, and compute each step twice"
_SOLUTION: Final = "PyTorch differentiates the formula, xpand the equation of any solver"
_LANES: Final = "each operation has a rule for lanes in Python, which takes as long as PyTorch's on few numbers"


def rows(links: int = 50, size: int = 64) -> Iterator[Row]:
    import torch

    torch.set_num_threads(1)
    yield from _operations(links)
    yield from _modules(size)
    yield from _backward(links, size)


def _operations(links: int) -> Iterator[Row]:
    """Measure the overhead of operations, by chains of them on few numbers."""
    import torch

    x = torch.linspace(0.1, 0.4, 4, dtype=torch.float64)

    def total(x: Any) -> Any:
        for _ in range(links):
            x = torch.sin(x) * x + 0.5
        return x.sum()

    count = 3 * links
    theirs = {"torch.func": Call(torch.func.grad(total), x)}
    yield Row(
        TOPIC, f"grad of {count} operations on few numbers", Call(grad(total), x), theirs, Budget(0.75), _OPERATIONS
    )
    theirs = {"torch.func": Call(torch.func.hessian(total), x)}
    yield Row(
        TOPIC, f"hessian of {count} operations, 4 variables", Call(hessian(total), x), theirs, Budget(0.85), _OPERATIONS
    )
    lanes = x * torch.ones(64, 1, dtype=torch.float64)
    theirs = {"torch.func": Call(torch.func.vmap(torch.func.grad(total)), lanes)}
    yield Row(
        TOPIC, f"vmap of grad of {count} operations, 64 lanes", Call(vmap(grad(total)), lanes), theirs, Budget(0.8)
    )


def _modules(size: int) -> Iterator[Row]:
    """Measure the gradients of modules with respect to their parameters."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    few = max(size // 8, 1)
    perceptron = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 10))
    convolution = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten()
    )
    transformer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    for name, module, x, limit in (
        ("a perceptron", perceptron, torch.randn(8 * size, 64), 1.0),
        ("a convolutional network", convolution, torch.randn(few, 3, 28, 28), 1.3),
        ("a transformer layer", transformer, torch.randn(few, 32, 64), 1.3),
        ("an LSTM", nn.LSTM(16, 32, batch_first=True), torch.randn(few, 20, 16), 1.3),
    ):
        parameters = {key: p.detach() for key, p in module.named_parameters()}
        loss = _loss(module)
        theirs = {"torch.func": Call(torch.func.grad(loss), parameters, x)}
        yield Row(MODULES, name, Call(grad(loss), parameters, x), theirs, Budget(limit), _CALLS)
    parameters = {key: p.detach() for key, p in perceptron.named_parameters()}
    loss, x = _loss(perceptron), torch.randn(size, 64)
    ours, theirs_of_each = (
        each(of(loss), (None, 0)) for each, of in ((vmap, grad), (torch.func.vmap, torch.func.grad))
    )
    theirs = {"torch.func": Call(theirs_of_each, parameters, x)}
    yield Row(MODULES, "a perceptron, for each sample", Call(ours, parameters, x), theirs, Budget(1.3), _LANES)


def _backward(links: int, size: int) -> Iterator[Row]:
    """Measure PyTorch's own derivatives of xpand's functions."""
    import torch

    class Sine(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * torch.cos(ctx.saved_tensors[0])

    ruled = custom_vjp(torch.sin)
    ruled.defvjp(lambda x: (torch.sin(x), torch.cos(x)), lambda slope, ct: (ct * slope,))
    steps = 8 * links

    def looped(x: Any) -> Any:
        for _ in range(steps):
            x = torch.sin(x) * 1.01
        return x

    x = torch.linspace(0.1, 0.4, size * size, dtype=torch.float64, requires_grad=True)
    diagonal = torch.linspace(1.0, 2.0, size * size, dtype=torch.float64)
    pairs: tuple[tuple[str, Callable[..., Any], Callable[..., Any], float, str], ...] = (
        ("a custom rule", ruled, Sine.apply, 8.0, _RULES),
        (f"a scan of {steps} steps", lambda x: scan(lambda c, _: (torch.sin(c) * 1.01, None), x, None, length=steps)[0],
         looped, 2.5, _BLOCKS),
        ("a solution", lambda x: custom_linear_solve(
            lambda v: v * (diagonal + x), x, solve=lambda b: b / (diagonal + x), symmetric=True
        ), lambda x: x / (diagonal + x), 20.0, _SOLUTION),
    )  # fmt: skip
    for name, ours, theirs, limit, reason in pairs:
        calls = [Call(lambda f: f(x).sum().backward(), f) for f in (ours, theirs)]
        yield Row(BACKWARD, name, calls[0], {"PyTorch": calls[1]}, Budget(limit), reason)


def _loss(module: Any) -> Callable[..., Any]:
    from torch.func import functional_call

    def loss(parameters: Any, x: Any) -> Any:
        found = functional_call(module, parameters, (x,))
        return (found[0] if isinstance(found, tuple) else found).square().mean()

    return loss
