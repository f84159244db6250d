"""PyTorch's modules on traced arrays, compared with `torch.func` and central differences."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state
from torch.nn.attention import SDPBackend, sdpa_kernel

from xpand import trees
from xpand_extensions.autodiff import check_grads, grad, hessian, value_and_grad
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

DOUBLE = torch.float64
INDICES = torch.tensor([[0, 3, 1], [2, 2, 4]])

pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop")


class Residual(nn.Module):
    """A block of a residual network."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 2, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(2, track_running_stats=False) for _ in range(2)])

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.norms[0](self.first(x)))
        y = self.norms[1](self.second(y))
        return torch.relu(x + y).mean((2, 3))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x, need_weights=False)[0]


class Case(NamedTuple):
    """A module, the shapes of its arguments, and arguments that are integers."""

    make: Callable[[], nn.Module]
    shapes: tuple[tuple[int, ...], ...]
    indices: tuple[Any, ...] = ()
    has_second: bool = True
    has_lanes: bool = True


def case(make: Callable[[], nn.Module], *shapes: tuple[int, ...], **options: Any) -> Case:
    return Case(make, shapes, **options)


def sequential() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2))


MODULES = {
    "Linear": case(lambda: nn.Linear(3, 2), (4, 3)),
    "Bilinear": case(lambda: nn.Bilinear(3, 2, 2), (4, 3), (4, 2)),
    "Sequential": case(sequential, (4, 3)),
    "Conv1d": case(lambda: nn.Conv1d(2, 3, 3), (2, 2, 5)),
    "Conv2d": case(lambda: nn.Conv2d(2, 2, 2, stride=2), (1, 2, 4, 4)),
    "Conv3d": case(lambda: nn.Conv3d(1, 2, 2), (1, 1, 3, 3, 3)),
    "ConvTranspose2d": case(lambda: nn.ConvTranspose2d(2, 2, 2), (1, 2, 3, 3)),
    "BatchNorm1d": case(lambda: nn.BatchNorm1d(3, track_running_stats=False), (5, 3)),
    "BatchNorm2d.eval": case(lambda: nn.BatchNorm2d(2).eval(), (2, 2, 3, 3)),
    "LayerNorm": case(lambda: nn.LayerNorm(4), (3, 4)),
    "RMSNorm": case(lambda: nn.RMSNorm(4), (3, 4)),
    "GroupNorm": case(lambda: nn.GroupNorm(2, 4), (2, 4, 3)),
    "InstanceNorm1d": case(lambda: nn.InstanceNorm1d(2, affine=True), (2, 2, 4)),
    "Embedding": case(lambda: nn.Embedding(5, 3), indices=(INDICES,)),
    "EmbeddingBag": case(
        lambda: nn.EmbeddingBag(5, 3, mode="sum"), indices=(INDICES,), has_second=False, has_lanes=False
    ),
    "RNN": case(lambda: nn.RNN(3, 2, batch_first=True), (2, 4, 3)),
    "GRU": case(lambda: nn.GRU(3, 2), (4, 2, 3)),
    "LSTM": case(lambda: nn.LSTM(3, 2, num_layers=2), (4, 2, 3)),
    "LSTMCell": case(lambda: nn.LSTMCell(3, 2), (2, 3)),
    "GRUCell": case(lambda: nn.GRUCell(3, 2), (2, 3)),
    "MultiheadAttention": case(Attention, (2, 3, 4)),
    "TransformerEncoderLayer": case(
        lambda: nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True), (2, 3, 4)
    ),
    "TransformerDecoderLayer": case(
        lambda: nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0, batch_first=True), (2, 3, 4), (2, 2, 4)
    ),
    "Residual": case(Residual, (2, 2, 4, 4)),
    "PReLU": case(lambda: nn.PReLU(3), (4, 3)),
    "MaxPool2d": case(lambda: nn.Sequential(nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2)), (1, 2, 4, 4)),
    "AdaptiveAvgPool2d": case(
        lambda: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2, 2)), (2, 2, 3, 3)
    ),
    "Upsample": case(lambda: nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(1, 1, 2)), (1, 1, 3, 3)),
    "PixelShuffle": case(lambda: nn.Sequential(nn.Conv2d(1, 4, 2), nn.PixelShuffle(2)), (1, 1, 3, 3)),
    "CrossEntropyLoss": case(lambda: Lossy(nn.CrossEntropyLoss(), torch.tensor([0, 1, 1, 0])), (4, 3)),
    "MSELoss": case(lambda: Lossy(nn.MSELoss(), torch.ones(4, 2, dtype=DOUBLE)), (4, 3)),
    "HuberLoss": case(lambda: Lossy(nn.HuberLoss(), torch.ones(4, 2, dtype=DOUBLE)), (4, 3)),
    "BCEWithLogitsLoss": case(lambda: Lossy(nn.BCEWithLogitsLoss(), torch.ones(4, 2, dtype=DOUBLE)), (4, 3)),
    "weight_norm": case(lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), (4, 3)),
}


class Lossy(nn.Module):
    """A linear layer and a loss."""

    def __init__(self, loss: nn.Module, target: torch.Tensor) -> None:
        super().__init__()
        self.linear, self.loss, self.target = nn.Linear(3, 2), loss, target

    def forward(self, x: Any) -> Any:
        return self.loss(self.linear(x), self.target)


class Problem:
    """A loss of the parameters of a module and its arguments."""

    def __init__(self, name: str, lanes: tuple[int, ...] = ()) -> None:
        case = MODULES[name]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.module = case.make().to(DOUBLE)
            self.arrays = [torch.randn((*lanes, *shape), dtype=DOUBLE) for shape in case.shapes]
        self.indices = case.indices
        self.parameters = {key: x.detach() for key, x in self.module.named_parameters()}

    def loss(self, parameters: Any, arrays: Any) -> Any:
        found = functional_call(self.module, parameters, (*self.indices, *arrays))
        return sum((x * torch.cos(x)).sum() for x in trees.leaves(found))


def assert_close(found: Any, expected: Any) -> None:
    ours, theirs = trees.leaves(found), trees.leaves(expected)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs):
        torch.testing.assert_close(x, y, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", MODULES)
def test_gradients(name: str) -> None:
    problem = Problem(name)
    given = problem.parameters, problem.arrays
    expected = torch.func.grad_and_value(problem.loss, (0, 1))(*given)
    value, found = value_and_grad(problem.loss, (0, 1))(*given)
    assert_close((found, value), expected)
    assert_close(jit(grad(problem.loss, (0, 1)))(*given), expected[0])


@pytest.mark.parametrize("name", MODULES)
def test_gradients_of_each_sample(name: str) -> None:
    if not MODULES[name].has_lanes:
        return
    problem = Problem(name, (2,))
    if problem.arrays:
        # torch.func.vmap fails for recurrent networks.
        gradient = torch.func.grad(problem.loss)
        lanes = [gradient(problem.parameters, [x[i] for x in problem.arrays]) for i in range(2)]
        expected = trees.stack(lanes)
        assert_close(vmap(grad(problem.loss), (None, 0))(problem.parameters, problem.arrays), expected)


@pytest.mark.parametrize("name", MODULES)
def test_derivatives_along_a_gradient(name: str) -> None:
    if not MODULES[name].has_second:
        return
    problem = Problem(name)

    def steepness(gradient: Any, parameters: Any) -> Any:
        return sum((x**2).sum() for x in gradient(problem.loss)(parameters, problem.arrays).values())

    with sdpa_kernel(SDPBackend.MATH):  # PyTorch has no second derivatives of its faster attention
        expected = torch.func.grad(lambda p: steepness(torch.func.grad, p))(problem.parameters)
    assert_close(grad(lambda p: steepness(grad, p))(problem.parameters), expected)


@pytest.mark.parametrize("name", ["Linear", "Sequential", "LayerNorm", "LSTMCell", "PReLU", "MSELoss"])
def test_hessians(name: str) -> None:
    problem = Problem(name)
    # torch.func.hessian is wrong for "Sequential": in the block of the weights of both layers before and in LayerNorm.
    expected = torch.func.jacrev(torch.func.grad(problem.loss))(problem.parameters, problem.arrays)
    assert_close(hessian(problem.loss)(problem.parameters, problem.arrays), expected)


@pytest.mark.parametrize("name", ["Sequential", "Conv2d", "TransformerEncoderLayer", "LSTM", "GroupNorm"])
def test_central_differences(name: str) -> None:
    problem = Problem(name)
    check_grads(lambda p: problem.loss(p, problem.arrays), (problem.parameters,), order=1, modes=["rev"])


def test_ensembles() -> None:
    models = [sequential().to(DOUBLE) for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    parameters = {key: x.detach() for key, x in parameters.items()}
    x = torch.randn(4, 3, dtype=DOUBLE)

    def loss(parameters: Any, buffers: Any, x: Any) -> Any:
        return (functional_call(models[0], (parameters, buffers), (x,)) ** 2).mean()

    expected = torch.func.vmap(torch.func.grad(loss), (0, 0, None))(parameters, buffers, x)
    assert_close(vmap(grad(loss), (0, 0, None))(parameters, buffers, x), expected)


def test_gradient_penalties() -> None:
    problem = Problem("Sequential")

    def penalty(gradient: Any, parameters: Any) -> Any:
        of_arrays = gradient(lambda arrays: problem.loss(parameters, arrays))(problem.arrays)
        return ((of_arrays[0] ** 2).sum() ** 0.5 - 1) ** 2

    expected = torch.func.grad(lambda p: penalty(torch.func.grad, p))(problem.parameters)
    assert_close(grad(lambda p: penalty(grad, p))(problem.parameters), expected)
