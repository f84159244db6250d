"""PyTorch's own code on traced arrays: random numbers, buffers, writes, modes, users' functions, errors."""

import math
import pickle
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from xpand_extensions.autodiff import check_grads, grad, hessian, jvp, linear_transpose, linearize, value_and_grad, vjp
from xpand_extensions.control_flow import cond, scan
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.tracing import NonlinearError, TracedError
from xpand_extensions.vmap import vmap

DOUBLE = torch.float64

pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop")


def at(*shape: int) -> torch.Tensor:
    return torch.randn(shape or (3, 4), generator=torch.Generator().manual_seed(0), dtype=DOUBLE)


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected)


@pytest.fixture
def seeded() -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        yield


# Random functions


def dropped(x: Any) -> Any:
    return (F.dropout(x, 0.5) ** 2).sum()


def masks(*shape: int) -> Any:
    """Return the factors that `dropout` multiplies by next."""
    return F.dropout(torch.ones(shape or (3, 4), dtype=DOUBLE), 0.5)


def test_pullbacks_draw_the_numbers_of_the_function(seeded: None) -> None:
    x = at()
    state = torch.get_rng_state()
    gradient = grad(dropped)(x)
    after = torch.get_rng_state()
    torch.set_rng_state(state)
    mask = masks()
    close(gradient, 2 * x * mask**2)
    assert torch.equal(after, torch.get_rng_state())  # drawn once

    torch.set_rng_state(state)
    _, along = jvp(dropped, (x,), (x,))
    close(along, (2 * x**2 * mask**2).sum())
    torch.set_rng_state(state)
    close(hessian(dropped)(x).reshape(12, 12), torch.diag((2 * mask**2).reshape(-1)))
    torch.set_rng_state(state)
    close(grad(lambda x: (grad(dropped)(x) ** 2).sum())(x), 8 * x * mask**4)


def test_programs_draw_fresh_numbers(seeded: None) -> None:
    x = at()
    compiled = jit(grad(dropped))
    compiled(x)
    torch.manual_seed(2)
    found = compiled(x), compiled(x)
    torch.manual_seed(2)
    first, second = masks(), masks()
    close(found, (2 * x * first**2, 2 * x * second**2))
    assert not torch.equal(first, second)


def test_lanes_draw_different_numbers(seeded: None) -> None:
    ones = torch.ones(2, 64, dtype=DOUBLE)
    for transform in (lambda f: f, jit):
        lanes = transform(vmap(grad(dropped)))(ones)
        assert not torch.equal(lanes[0], lanes[1])
        assert set(lanes.unique().tolist()) == {0.0, 8.0}


def test_generators_that_are_arguments() -> None:
    generator = torch.Generator().manual_seed(3)
    kept = lambda x: (x * torch.bernoulli(torch.sigmoid(x), generator=generator)).sum()
    x = at()
    found = grad(lambda x: (grad(kept)(x) * x).sum())(x)
    generator.manual_seed(3)
    close(found, torch.bernoulli(torch.sigmoid(x), generator=generator))


@pytest.mark.parametrize("draw", [torch.rand_like, torch.randn_like, lambda x: torch.empty_like(x).uniform_()])
def test_numbers_like_an_array(draw: Callable[[Any], Any], seeded: None) -> None:
    compiled = jit(lambda x: x + draw(x))
    x = at()
    assert not torch.equal(compiled(x), compiled(x))
    close(grad(lambda x: (x * draw(x).detach()).sum())(x).shape, x.shape)


def test_numbers_that_a_program_would_repeat_are_an_error() -> None:
    with pytest.raises(TracedError, match=r"drew random numbers.*rand_like"):
        jit(lambda x: x + torch.rand(4))(at())
    with pytest.raises(TracedError, match=r"drew random numbers"):
        jit(lambda x: scan(lambda c, _: (c + torch.rand(4), None), x, None, length=3)[0])(at())


def test_unused_random_functions_stay_in_programs(seeded: None) -> None:
    compiled = jit(lambda x: (F.dropout(x), x + 1)[1])
    state = torch.get_rng_state()
    compiled(at())
    assert not torch.equal(state, torch.get_rng_state())


# Buffers


@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_running_means_are_updated_once(transform: Any) -> None:
    ours, theirs = (nn.BatchNorm1d(4).double() for _ in range(2))
    x = at()
    gradient = transform(grad(lambda x: (ours(x) ** 3).sum()))
    found = gradient(x)
    leaf = x.clone().requires_grad_()
    (theirs(leaf) ** 3).sum().backward()
    close(found, leaf.grad)
    close((ours.running_mean, ours.running_var), (theirs.running_mean, theirs.running_var))


def test_higher_derivatives_update_running_means_once() -> None:
    ours, theirs = (nn.BatchNorm1d(4).double() for _ in range(2))
    hessian(lambda x: (ours(x) ** 3).sum())(at())
    theirs(at())
    close(ours.running_mean, theirs.running_mean)


def test_running_means_of_lanes() -> None:
    norm = nn.BatchNorm1d(4).double()
    x = at(2, 3, 4)
    buffers = {name: torch.stack([x, x]) for name, x in norm.named_buffers()}

    def apply(buffers: Any, x: Any) -> Any:
        y = functional_call(norm, buffers, (x,))
        return y, buffers

    y, found = vmap(apply)(buffers, x)
    for i in range(2):
        theirs = nn.BatchNorm1d(4).double()
        close(y[i], theirs(x[i]).detach())
        close(found["running_mean"][i], theirs.running_mean)
        close(found["running_var"][i], theirs.running_var)
    with pytest.raises(TracedError, match=r"running mean"):
        vmap(norm)(x)


def test_instance_norm_updates_traced_means() -> None:
    x, mean, var = at(2, 4, 3), torch.zeros(4, dtype=DOUBLE), torch.ones(4, dtype=DOUBLE)

    def apply(x: Any, mean: Any, var: Any) -> Any:
        return F.instance_norm(x, mean, var), mean, var

    found = jit(apply)(x, mean, var)
    close(found, apply(x, mean.clone(), var.clone()))


# Writes


def _writes() -> dict[str, Callable[[Any], Any]]:
    def multiplied(view: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def write(y: Any) -> Any:
            view(y).mul_(3.0)
            return y

        return write

    views = {
        "itself": lambda y: y,
        "view": lambda y: y.view(-1)[2:],
        "row": lambda y: y[1],
        "chunk": lambda y: y.chunk(2, 1)[0],
        "split": lambda y: y.split(2)[1],
        "unbind": lambda y: y.unbind(1)[2],
        "hsplit": lambda y: y.hsplit(2)[0],
        "narrow": lambda y: y.narrow(1, 1, 2),
        "select": lambda y: torch.select(y, 0, 1),
        "transpose": lambda y: y.transpose(0, 1)[0],
        "permute": lambda y: y.permute(1, 0)[1:],
        "T": lambda y: y.T[0],
        "mT": lambda y: y.mT,
        "unsqueeze": lambda y: y.unsqueeze(1)[:, 0, 1:],
        "squeeze": lambda y: y[None].squeeze(),
        "diagonal": lambda y: y.diagonal(),
        "unfold": lambda y: y.unfold(1, 2, 2),
        "as_strided": lambda y: torch.as_strided(y, (2, 2), (1, 2)),
        "atleast_2d": torch.atleast_2d,
        "contiguous": lambda y: y.contiguous(),
        "copy": lambda y: y.t().contiguous(),
        "flatten": lambda y: y.flatten(),
        "movedim": lambda y: y.movedim(0, 1)[2],
        "expand_as": lambda y: y.expand_as(torch.zeros(3, 4)),
    }
    others: dict[str, Callable[[Any], Any]] = {
        "add_": lambda y: y.add_(1.0).mul_(2.0),
        "clamp_": lambda y: y.clamp_(min=0.0),
        "masked_fill_": lambda y: y.masked_fill_(y > 0, 2.0),
        "index_add_": lambda y: y.index_add_(0, torch.tensor([0, 0]), torch.ones(2, 4, dtype=DOUBLE)),
        "scatter_": lambda y: y.scatter_(1, torch.tensor([[0]]), 2.0),
        "copy_": lambda y: y.copy_(torch.ones(4, dtype=DOUBLE)),
        "zero_": lambda y: y[0].zero_() + y,
        "fill_": lambda y: y.diagonal().fill_(2.0).sum() + y,
        "t_": lambda y: y.t_() * 2,
        "inplace": lambda y: F.relu(y, inplace=True),
        "hardtanh_": lambda y: F.hardtanh_(y) + y,
        "+=": lambda y: y.__iadd__(torch.ones(4, dtype=DOUBLE)),
        "out": lambda y: torch.sin(y, out=torch.zeros_like(y)) + y,
        "outs": lambda y: torch.max(y, 1, out=(torch.zeros_like(y[:, 0]), torch.zeros_like(y[:, 0]).long()))[0],
    }
    return {name: multiplied(view) for name, view in views.items()} | others


WRITES = _writes()


@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str) -> None:
    write, x = WRITES[name], at()

    def of(y: Any) -> Any:
        y = y * 1.0
        return write(y), y

    expected = of(x)
    close(jit(of)(x), expected)
    close(vmap(of)(torch.stack([x, 2 * x])), tuple(map(torch.stack, zip(expected, of(2 * x)))))
    number = lambda x: sum((y**2).sum() for y in of(x))
    _, numeric = jvp(number, (x,), (x,))
    step = 1e-6
    difference = (number(x + step * x) - number(x - step * x)) / (2 * step)
    close(numeric, difference)
    close((grad(number)(x) * x).sum(), difference)


@pytest.mark.parametrize(
    ("write", "match"),
    [
        (lambda y: torch.view_as_complex(y.reshape(3, 2, 2)).mul_(2.0), r"view_as_complex.*x\.clone"),
        (lambda y: y.view(torch.int64).add_(1), r"view.*x\.clone"),
        (lambda y: y.expand(2, 3, 4)[0].mul_(2.0), r"elements share memory"),
        (lambda y: y.detach().mul_(2.0), r"derivative of the argument would be lost"),
        (lambda y: y.data.mul_(2.0), r"derivative of the argument would be lost"),
        (lambda y: torch.sin(y, out=torch.zeros(3, 4)), r"is not traced.*zeros_like"),
        (lambda y: torch.sin(y, out=torch.zeros_like(y[0])), r"shape \(4,\).*\(3, 4\)"),
        (lambda y: torch.zeros(3, 4).add_(y), r"is not traced.*zeros_like"),
    ],
)
def test_writes_that_are_errors(write: Callable[[Any], Any], match: str) -> None:
    with pytest.raises(TracedError, match=match):
        grad(lambda x: (y := x * 1.0, write(y), y.sum())[2])(at())


def test_functions_that_fill_arrays() -> None:
    x = at()
    close(grad(lambda x: (nn.init.constant_(torch.empty_like(x), 2.0) * x).sum())(x), torch.full_like(x, 2.0))
    close(grad(lambda x: torch.zeros_like(x).fill_(x.sum()).sum())(x), torch.full_like(x, 12.0))


def test_lines_have_derivatives() -> None:
    weights = torch.tensor([1.0, 2.0, 4.0])
    line = lambda x: (torch.linspace(x[0], x[1], 3) * weights).sum()
    close(grad(line)(torch.tensor([0.5, 3.0])), torch.tensor([2.0, 5.0]))
    for of_integers in (torch.linspace, torch.logspace):  # PyTorch rounds their values, which have no derivatives
        integers = lambda x, f=of_integers: f(x[0], x[1], 4, dtype=torch.int64).sum()
        x = torch.tensor([1.0, 3.0])
        close(jit(integers)(x), integers(x))
        close(grad(lambda x, f=integers: x[0] * f(x))(x), torch.tensor([float(integers(x)), 0.0]))
    logarithmic = lambda x: torch.logspace(0.0, x, 3, base=2.0)
    close(jit(logarithmic)(torch.tensor(2.0)), torch.logspace(0.0, 2.0, 3, base=2.0))
    close(jvp(logarithmic, (torch.tensor(2.0),), (torch.tensor(1.0),))[1], torch.tensor([0.0, 1.0, 4.0]) * math.log(2))


# Modes


def held(mode: Any) -> Callable[[Any], Any]:
    def of(x: Any) -> Any:
        with mode():
            y, z = F.softplus(x), x * 2
        return (x * (y + z)).sum()

    return of


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("derivative", [grad, lambda f: jit(grad(f)), lambda f: grad(jit(f))])
def test_no_grad_makes_constants(mode: Any, derivative: Any) -> None:
    if mode is torch.inference_mode and derivative is not grad:
        return
    x = at()
    close(derivative(held(mode))(x), F.softplus(x) + 2 * x)


def test_enable_grad_within_no_grad() -> None:
    def of(x: Any) -> Any:
        with torch.no_grad(), torch.enable_grad():
            return F.softplus(x).sum()

    close(grad(of)(at()), torch.sigmoid(at()))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_modes_around_a_transformation(mode: Any) -> None:
    with mode():
        x = at()
        close(grad(lambda x: F.softplus(x).sum())(x), torch.sigmoid(x))
        second = grad(lambda x: grad(lambda x: F.softplus(x).sum())(x).sum())(x)
        close(second, torch.sigmoid(x) * (1 - torch.sigmoid(x)))


def test_autocast() -> None:
    x, w = at().float(), torch.ones(2, 4)

    def of(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = F.linear(x, w)
        assert y.dtype == torch.bfloat16
        return y.float().sum()

    close(grad(of)(x), torch.full((3, 4), 2.0))
    with pytest.raises(TracedError, match=r"torch\.autocast"):
        jit(of)(x)


# Functions of users


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class Products(torch.autograd.Function):
    @staticmethod
    def forward(x: Any, k: float, y: Any) -> Any:
        return x * k * y, x + y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.k, y = inputs
        ctx.save_for_backward(x, y)

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * ctx.k * y + h, None, g * ctx.k * x + h


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * g


@pytest.mark.parametrize("transform", [lambda f: f, jit, vmap])
def test_functions_with_their_own_derivative(transform: Any) -> None:
    x = at()
    close(transform(grad(lambda x: (StraightThrough.apply(x) * x).sum()))(x), x + x.round())
    close(transform(grad(lambda x: Once.apply(x).sum()))(x), 2 * x)
    found = transform(grad(lambda x, y: sum(z.sum() for z in Products.apply(x, 3.0, y)), (0, 1)))(x, x + 1)
    close(found, (3 * (x + 1) + 1, 3 * x + 1))


def test_second_derivatives_of_functions() -> None:
    x = at()
    twice = lambda f: grad(lambda x: grad(lambda x: f(x).sum())(x).sum())
    close(twice(lambda x: Products.apply(x, 3.0, x)[0])(x), torch.full((3, 4), 6.0, dtype=DOUBLE))
    with pytest.raises(RuntimeError, match="once_differentiable"):
        twice(Once.apply)(x)


# Linear functions


def test_linear_transpose_of_linear_functions() -> None:
    kernel, x = at(2, 3, 3), at(1, 3, 5)
    of = lambda x: F.conv1d(x, kernel)
    expected = torch.func.vjp(of, x)[1](of(x))[0]
    close(linear_transpose(of, x)(of(x)), (expected,))


@pytest.mark.parametrize("function", [F.softplus, F.relu, lambda x: F.max_pool1d(x, 2), F.normalize, torch.cumprod])
def test_linear_transpose_of_others_is_an_error(function: Any) -> None:
    of = (lambda x: torch.cumprod(x, 1)) if function is torch.cumprod else function
    with pytest.raises(NonlinearError):
        linear_transpose(of, at())(of(at()))


def test_pushforwards_of_pytorchs_graph() -> None:
    x, t = at(), at() + 1
    of = lambda x: torch.cumsum(F.softplus(x), 0) * F.gelu(x)
    _, push = linearize(of, x)
    close(push(t), torch.func.jvp(of, (x,), (t,))[1])
    close(vmap(push)(torch.stack([t, x])), torch.stack([push(t), push(x)]))
    _, pull = vjp(of, x)
    close(vmap(lambda ct: pull(ct)[0])(torch.stack([t, x])), torch.stack([pull(t)[0], pull(x)[0]]))
    close(jit(pull)(t), pull(t))


def test_complex_numbers() -> None:
    z = torch.view_as_complex(at(3, 2))
    of = lambda z: (torch.fft.fft(z).abs() ** 2).sum() + torch.addcmul(z, z, z).abs().sum()
    check_grads(of, (z,), order=2)
    leaf = z.clone().requires_grad_()
    of(leaf).backward()
    close(grad(of)(z).conj().resolve_conj(), leaf.grad)  # PyTorch's gradients are conjugates


# Graphs of PyTorch within records of xpand


def program(seed: int) -> Callable[..., Any]:
    """Return a random program of PyTorch's functions and of operators, whose results are used several times."""
    steps = random.Random(seed)
    cell = nn.LSTMCell(4, 4).double().requires_grad_(False)
    functions: list[Callable[[Any, Any], Any]] = [
        lambda x, y: [F.softplus(x)],
        lambda x, y: [F.gelu(x)],
        lambda x, y: [torch.lerp(x, y, 0.3)],
        lambda x, y: [x * torch.sigmoid(y)],
        lambda x, y: [x + 1.0],
        lambda x, y: [x + y],
        lambda x, y: [torch.tanh(x)],
        lambda x, y: torch.var_mean(F.silu(x) * y, 1, keepdim=True),
        lambda x, y: list(cell(x, (x, y))),
        lambda x, y: [torch.cat(y.chunk(2, 1)[::-1], 1)],
        lambda x, y: [F.layer_norm(x, (4,)), y.detach() * x],
    ]
    chosen = [(steps.choice(functions), steps.random(), steps.random()) for _ in range(12)]
    kept = [steps.random() for _ in range(4)]

    def run(*xs: Any) -> Any:
        values = list(xs)
        for function, i, j in chosen:
            x, y = values[int(i * len(values))], values[int(j * len(values))]
            values += [z if z.shape == x.shape else z + torch.zeros_like(x) for z in function(x, y)]
        return sum((values[int(i * len(values))] ** 2).mean() for i in kept) + values[-1].sum()

    return run


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    run, xs, ts = program(seed), (at(), at() + 0.5), (at() * 2, at() - 1)
    expected = torch.func.grad(run, (0, 1))(*xs)
    close(grad(run, (0, 1))(*xs), expected)
    along = sum((g * t).sum() for g, t in zip(expected, ts))
    close(linearize(run, *xs)[1](*ts), along)
    close(jvp(run, xs, ts)[1], along)
    lanes = tuple(torch.stack([x, t]) for x, t in zip(xs, ts))
    of_each = [torch.func.grad(run, (0, 1))(*(x[i] for x in lanes)) for i in range(2)]
    close(vmap(grad(run, (0, 1)))(*lanes), tuple(map(torch.stack, zip(*of_each))))
    _, pull = vjp(run, *xs)
    close(vmap(pull)(torch.tensor([1.0, 2.0], dtype=DOUBLE)), tuple(torch.stack([g, 2 * g]) for g in expected))
    leaves = [x.clone().requires_grad_() for x in xs]
    total = sum(g.sum() for g in grad(run, (0, 1))(*leaves))
    close(torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True), _second(run, xs))
    close(grad(lambda *xs: sum(g.sum() for g in grad(run, (0, 1))(*xs)), (0, 1))(*xs), _second(run, xs))


def _second(run: Callable[..., Any], xs: Any) -> Any:
    return torch.func.grad(lambda *xs: sum(g.sum() for g in torch.func.grad(run, (0, 1))(*xs)), (0, 1))(*xs)


# Within loops, branches and other transformations


def test_modules_in_loops_and_branches() -> None:
    cell = nn.LSTMCell(4, 5).double().requires_grad_(False)
    parameters, steps = dict(cell.named_parameters()), at(6, 2, 4)
    zeros = torch.zeros(2, 5, dtype=DOUBLE)

    def step(parameters: Any, carry: Any, x: Any) -> Any:
        carry = functional_call(cell, parameters, (x, carry))
        return carry, carry[0]

    def scanned(parameters: Any) -> Any:
        return (scan(lambda c, x: step(parameters, c, x), (zeros, zeros), steps)[1] ** 2).sum()

    def unrolled(parameters: Any) -> Any:
        carry, total = (zeros, zeros), 0.0
        for x in steps:
            carry, y = step(parameters, carry, x)
            total = total + (y**2).sum()
        return total

    expected = torch.func.grad(unrolled)(parameters)
    close(grad(scanned)(parameters), expected)
    close(jit(grad(scanned))(parameters), expected)
    x = at()
    chosen = lambda x: cond(x.sum() > 0, lambda x: F.softplus(x).sum(), lambda x: F.gelu(x).sum(), x)
    expected = torch.func.grad(lambda x: (F.softplus(x) if x.sum() > 0 else F.gelu(x)).sum())(x)
    close((grad(chosen)(x), jit(grad(chosen))(x)), (expected, expected))


def test_maps_of_derivatives() -> None:
    x = at()
    of = lambda x: (F.gelu(x) * x.sum()).sum()
    expected = torch.func.vmap(torch.func.hessian(of))(x)
    close((vmap(hessian(of))(x), jit(vmap(hessian(of)))(x)), (expected, expected))
    close(vmap(vmap(grad(F.softplus)))(x), torch.sigmoid(x))
    total = lambda x: vmap(grad(lambda y: F.softplus(y).sum()))(x).sum()
    close(grad(total)(x), torch.sigmoid(x) * (1 - torch.sigmoid(x)))


def test_threads() -> None:
    x = at()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: grad(lambda x: F.softplus(x * i).sum())(x), range(1, 20)))
    close(found, [i * torch.sigmoid(x * i) for i in range(1, 20)])


def test_hooks_of_modules() -> None:
    module = nn.Linear(4, 2).double().requires_grad_(False)
    module.register_forward_hook(lambda module, given, out: out * 2)
    close(grad(lambda x: module(x).sum())(at()), 2 * module.weight.sum(0).expand(3, 4))


def test_default_data_types() -> None:
    x = at()
    torch.set_default_dtype(DOUBLE)
    try:
        assert jit(lambda x: F.softplus(x) + torch.ones(4))(x).dtype == DOUBLE
    finally:
        torch.set_default_dtype(torch.float32)


# Programs


def test_graphs_name_pytorchs_functions() -> None:
    text = str(make_graph(lambda x: F.softplus(x, beta=2) + torch.sin(x))(at()))
    assert "softplus(2)" in text
    assert "sin(" in text


def test_programs_are_pickled() -> None:
    graph = make_graph(lambda x: F.softplus(x))(at())
    close(pickle.loads(pickle.dumps(graph)).run(at())[0], F.softplus(at()))


def test_pullbacks_through_pytorchs_graph_cannot_be_pickled() -> None:
    _, pull = vjp(F.softplus, at())
    with pytest.raises(TypeError, match=r"PyTorch's graph.*grad\(f\)"):
        pickle.dumps(pull)
    _, pull = vjp(torch.sin, at())
    close(pickle.loads(pickle.dumps(pull))(at()), pull(at()))


def test_values_of_programs_are_those_of_each_call() -> None:
    w = at()
    compiled = jit(lambda x: F.softplus(x * w))
    close(compiled(w), F.softplus(w * w))
    close(compiled(w + 1), F.softplus((w + 1) * w))


def test_named_tuples_keep_their_class() -> None:
    for transform in (jit, vmap):
        found = transform(lambda x: torch.max(x, -1))(at())
        assert type(found) is torch.return_types.max


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.nonzero(x),
        lambda x: torch.masked_select(x, x > 0),
        torch.unique,
        lambda x: torch.allclose(x, x),
    ],
)
def test_functions_that_need_values(function: Any) -> None:
    function(at())
    with pytest.raises(TracedError, match=r"depends on the values"):
        jit(function)(at())


# PyTorch's own transformations


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda x: torch.func.grad(lambda y: F.softplus(y).sum())(x), "grad"),
        (lambda x: torch.func.vjp(F.softplus, x)[0], "vjp"),
        (lambda x: torch.func.jvp(F.softplus, (x,), (torch.ones(3, 4),))[1], "jvp"),
        (lambda x: torch.func.hessian(lambda y: F.softplus(y).sum())(x), "jvp"),
        (lambda x: torch.vmap(F.softplus)(x), "vmap"),
        (lambda x: torch.autograd.grad(F.softplus(x).sum(), x)[0], "grad"),
        (lambda x: F.softplus(x).sum().backward(), "autodiff.grad"),
        (lambda x: torch.autograd.backward(F.softplus(x).sum()), "grad"),
        (lambda x: nn.Parameter(x), "autodiff.grad"),
        (lambda x: x.register_hook(print), "autodiff.grad"),
        (lambda x: x.numpy(), "pure_callback"),
        (lambda x: torch.tensor(x), "torch.tensor"),
        (lambda x: checkpoint(F.softplus, x, use_reentrant=True), "autodiff.checkpoint"),
    ],
)
@pytest.mark.filterwarnings("ignore:To copy construct")
def test_transformations_of_pytorch_are_errors(function: Any, match: str) -> None:
    with pytest.raises(TracedError, match=match):
        grad(lambda x: function(x).sum())(at())
    with pytest.raises(TracedError, match=match):
        jit(function)(at())


def test_errors_say_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"torch\.stack"):
        grad(lambda x: torch.tensor([x[0, 0], x[1, 1]]).sum())(at())
    with pytest.raises(TracedError, match=r"autodiff\.checkpoint"):
        grad(lambda x: checkpoint(lambda x: F.softplus(x).sum(), x, use_reentrant=False))(at())


# Questions


def test_questions() -> None:
    asked: list[Any] = []
    attributes = ["dtype", "is_cuda", "is_leaf", "requires_grad", "grad", "layout", "is_sparse", "itemsize", "nbytes"]
    methods = [
        "size",
        "dim",
        "numel",
        "stride",
        "is_floating_point",
        "is_complex",
        "is_contiguous",
        "get_device",
        "element_size",
    ]

    def of(x: Any) -> Any:
        asked.append([getattr(x, name) for name in attributes] + [getattr(x, name)() for name in methods])
        asked[-1] += [x.size(1), len(x), isinstance(x, torch.Tensor), torch.is_tensor(x)]
        return x.sum()

    for transform in (jit, grad, lambda f: f):
        transform(of)(at())
    assert asked[0] == asked[1] == asked[2]


def test_data_types_are_pytorchs() -> None:
    x, wide, whole = at().float(), torch.tensor(2.0, dtype=DOUBLE), torch.tensor([1, 2, 3, 4])
    of = lambda x, n: (x * wide, torch.add(wide, x), x / n, n * 2.5, n / 2, torch.mul(n, n), 1 - n, x > wide, n**2)
    close(jit(of)(x, whole), of(x, whole))


# Parameters that require gradients


def test_value_and_gradient_of_parameters_that_require_gradients() -> None:
    module = nn.Linear(4, 2).double()
    x = at()
    value, found = value_and_grad(lambda p: functional_call(module, p, (x,)).sum())(dict(module.named_parameters()))
    value.backward()
    close(found["weight"].detach(), module.weight.grad)


def test_derivatives_of_gradients_by_backward() -> None:
    module = nn.Sequential(nn.Linear(4, 3), nn.Softplus(), nn.Linear(3, 1)).double()
    parameters = dict(module.named_parameters())
    loss = lambda p: functional_call(module, p, (at(),)).square().mean()
    found = sum((g**2).sum() for g in grad(loss)(parameters).values())
    theirs = sum((g**2).sum() for g in torch.func.grad(loss)(parameters).values())
    close(torch.autograd.grad(found, parameters.values()), torch.autograd.grad(theirs, parameters.values()))


def saved(function: Callable[[], Any]) -> int:
    """Return the number of bytes that PyTorch saves for backward."""
    sizes = {}

    def pack(x: Any) -> Any:
        sizes[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        kept.append(x)  # so that no two tensors have the same memory
        return x

    kept: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        function()
    return sum(sizes.values())


def test_memory_of_parameters_that_require_gradients() -> None:
    layers = [layer for _ in range(4) for layer in (nn.Linear(16, 16), nn.Tanh(), nn.LayerNorm(16))]
    module = nn.Sequential(*layers)
    x = torch.ones(64, 16)
    loss = lambda p: functional_call(module, p, (x,)).square().mean()
    parameters = dict(module.named_parameters())
    constant = {name: p.detach() for name, p in parameters.items()}
    theirs = saved(lambda: torch.autograd.grad(loss(parameters), parameters.values()))
    twice = saved(lambda: torch.autograd.grad(loss(parameters), parameters.values(), create_graph=True))
    assert saved(lambda: grad(loss)(constant)) <= 1.1 * theirs
    assert saved(lambda: grad(loss)(parameters)) <= 1.1 * twice
    with torch.no_grad():
        assert saved(lambda: grad(loss)(parameters)) <= 1.1 * theirs
