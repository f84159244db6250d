"""PyTorch's functions and methods on traced arrays, compared with `torch.func` on tensors."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch.nn import functional as F

from xpand import trees
from xpand_extensions.autodiff import grad, jacrev, jvp
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

Function = Callable[..., Any]

LANES = 3

pytestmark = [
    pytest.mark.filterwarnings("ignore:There is a performance drop"),  # PyTorch computes one lane after another
    pytest.mark.filterwarnings("ignore:Casting complex values"),
]


class Case(NamedTuple):
    """A function of tensors of normal numbers with certain shapes."""

    function: Function
    shapes: tuple[tuple[int, ...], ...] = ((3, 4),)
    is_positive: bool = False
    has_second: bool = True
    """Whether PyTorch has second derivatives of the function."""
    has_lanes: bool = True
    """Whether PyTorch can apply the function to lanes."""
    has_program: bool = True
    """Whether PyTorch knows the shape of its result without values."""

    def arrays(self, seed: int, *lanes: int) -> list[torch.Tensor]:
        """Return arguments, of which the first two are equal if there are lanes."""
        generator = torch.Generator().manual_seed(seed)
        found = [torch.randn((*lanes, *shape), generator=generator, dtype=torch.float64) for shape in self.shapes]
        return [x.abs() + 0.5 if self.is_positive else x for x in found]


M, V, S = (3, 4), (5,), (4, 4)
B = (2, 3, 4)


def case(function: Function, *shapes: tuple[int, ...], **options: Any) -> Case:
    return Case(function, shapes or (M,), **options)


def _methods() -> dict[str, Case]:
    """Return calls of methods, with PyTorch's options."""
    index = torch.tensor([[0, 2, 1, 0], [1, 1, 2, 2], [2, 0, 0, 1]])
    calls: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
        "sum": ("sum", (), {}),
        "sum(1)": ("sum", (1,), {}),
        "sum([0, 1], keepdim)": ("sum", ([0, 1],), {"keepdim": True}),
        "sum(dtype)": ("sum", (), {"dtype": torch.float32}),
        "sum(axis)": ("sum", (), {"axis": 1}),
        "mean(dim)": ("mean", (), {"dim": -1, "keepdim": True}),
        "mean(0, True)": ("mean", (0, True), {}),
        "var": ("var", (), {}),
        "var(1)": ("var", (1,), {}),
        "var(unbiased)": ("var", (False,), {}),
        "var(dim, unbiased)": ("var", (0, False), {"keepdim": True}),
        "var(correction)": ("var", (1,), {"correction": 2}),
        "std": ("std", (), {}),
        "std(dim)": ("std", (), {"dim": (0, 1), "correction": 0}),
        "max": ("max", (), {}),
        "max(1)": ("max", (1,), {}),
        "max(dim)": ("max", (), {"dim": 0, "keepdim": True}),
        "min": ("min", (), {}),
        "min(0)": ("min", (0,), {}),
        "amax": ("amax", (), {}),
        "amax(1)": ("amax", (1, True), {}),
        "amin": ("amin", ((0, 1),), {}),
        "argmax": ("argmax", (), {}),
        "argmax(1)": ("argmax", (1, True), {}),
        "argmin": ("argmin", (), {"dim": 0}),
        "prod": ("prod", (), {}),
        "prod(1)": ("prod", (1,), {"keepdim": True}),
        "cumsum": ("cumsum", (0,), {}),
        "cumprod": ("cumprod", (), {"dim": 1}),
        "cummax": ("cummax", (1,), {}),
        "logsumexp": ("logsumexp", (1,), {}),
        "norm": ("norm", (), {}),
        "norm(1)": ("norm", (1, 0), {}),
        "sort": ("sort", (), {}),
        "sort(0)": ("sort", (), {"dim": 0, "descending": True}),
        "argsort": ("argsort", (1,), {}),
        "topk": ("topk", (2,), {}),
        "median": ("median", (1,), {}),
        "kthvalue": ("kthvalue", (2,), {}),
        "view": ("view", (4, 3), {}),
        "view(-1)": ("view", (-1,), {}),
        "view(tuple)": ("view", ((2, 6),), {}),
        "reshape": ("reshape", (2, -1), {}),
        "flatten": ("flatten", (), {}),
        "flatten(0, 1)": ("flatten", (), {"start_dim": 0, "end_dim": 1}),
        "unflatten": ("unflatten", (1, (2, -1)), {}),
        "ravel": ("ravel", (), {}),
        "transpose": ("transpose", (0, 1), {}),
        "transpose(dim0)": ("transpose", (), {"dim0": -1, "dim1": 0}),
        "swapaxes": ("swapaxes", (0, 1), {}),
        "permute": ("permute", (1, 0), {}),
        "permute(tuple)": ("permute", ((1, 0),), {}),
        "t": ("t", (), {}),
        "squeeze": ("squeeze", (), {}),
        "squeeze(0)": ("squeeze", (0,), {}),
        "unsqueeze": ("unsqueeze", (1,), {}),
        "unsqueeze(-1)": ("unsqueeze", (-1,), {}),
        "expand": ("expand", (2, -1, 4), {}),
        "movedim": ("movedim", (0, 1), {}),
        "chunk": ("chunk", (3, 1), {}),
        "split": ("split", (2,), {}),
        "split(list)": ("split", ([1, 3],), {"dim": 1}),
        "tensor_split": ("tensor_split", (3,), {"dim": 1}),
        "tensor_split(list)": ("tensor_split", ([1, 2], 1), {}),
        "unbind": ("unbind", (), {}),
        "unbind(1)": ("unbind", (1,), {}),
        "narrow": ("narrow", (1, 1, 2), {}),
        "narrow(-1)": ("narrow", (1, -2, 2), {}),
        "select": ("select", (1, -1), {}),
        "diagonal": ("diagonal", (1,), {}),
        "diagonal(dims)": ("diagonal", (0, 1, 0), {}),
        "diag_embed": ("diag_embed", (), {}),
        "repeat": ("repeat", (2, 1, 3), {}),
        "repeat_interleave": ("repeat_interleave", (2,), {}),
        "repeat_interleave(1)": ("repeat_interleave", (2,), {"dim": 1}),
        "tile": ("tile", (2, 1), {}),
        "roll": ("roll", (1,), {}),
        "roll(dims)": ("roll", ((1, 2), (0, 1)), {}),
        "flip": ("flip", (0, 1), {}),
        "tril": ("tril", (), {"diagonal": -1}),
        "triu": ("triu", (1,), {}),
        "unfold": ("unfold", (1, 2, 1), {}),
        "contiguous": ("contiguous", (), {}),
        "clamp": ("clamp", (-0.5, 0.5), {}),
        "clamp(min)": ("clamp", (), {"min": 0.0}),
        "clamp(max)": ("clamp", (), {"max": 0.3}),
        "clip": ("clip", (-1, 1), {}),
        "gather": ("gather", (1, index), {}),
        "gather(small)": ("gather", (1, index[:2, :3]), {}),
        "take_along_dim": ("take_along_dim", (index, 1), {}),
        "index_select": ("index_select", (1, torch.tensor([3, 0, 0])), {}),
        "index_add": ("index_add", (0, torch.tensor([0, 0]), torch.ones(2, 4, dtype=torch.float64)), {}),
        "index_fill": ("index_fill", (0, torch.tensor([0]), 2.0), {}),
        "masked_fill": ("masked_fill", (torch.tensor([True, False, True, False]), -1.0), {}),
        "scatter": ("scatter", (1, index, torch.ones(3, 4, dtype=torch.float64)), {}),
        "scatter_add": ("scatter_add", (0, index[:1], torch.ones(1, 4, dtype=torch.float64)), {}),
        "float": ("float", (), {}),
        "double": ("double", (), {}),
        "to": ("to", (torch.float32,), {}),
        "to(device, dtype)": ("to", ("cpu", torch.float32), {}),
        "to(other)": ("to", (torch.ones(1, dtype=torch.float32),), {}),
        "type_as": ("type_as", (torch.ones(1, dtype=torch.float32),), {}),
        "type": ("type", (torch.float32,), {}),
        "long": ("long", (), {}),
        "bool": ("bool", (), {}),
        "clone": ("clone", (), {}),
        "detach": ("detach", (), {}),
        "abs": ("abs", (), {}),
        "sin": ("sin", (), {}),
        "pow": ("pow", (2,), {}),
        "pow(3.0)": ("pow", (3.0,), {}),
        "add(alpha)": ("add", (1.5,), {"alpha": 2}),
        "sub": ("sub", (1,), {}),
        "div": ("div", (2,), {}),
        "div(floor)": ("div", (0.7,), {"rounding_mode": "floor"}),
        "remainder": ("remainder", (0.7,), {}),
        "round": ("round", (), {}),
        "round(decimals)": ("round", (), {"decimals": 1}),
        "new_zeros": ("new_zeros", (2, 3), {}),
        "new_full": ("new_full", ((2,), 3.0), {"dtype": torch.float32}),
        "any": ("any", (), {}),
        "all(1)": ("all", (1,), {}),
        "nan_to_num": ("nan_to_num", (), {}),
        "renorm": ("renorm", (2, 0, 1.0), {}),
        "softmax": ("softmax", (1,), {}),
        "sigmoid": ("sigmoid", (), {}),
        "relu": ("relu", (), {}),
        "matmul": ("matmul", (torch.ones(4, 2, dtype=torch.float64),), {}),
        "mm": ("mm", (torch.ones(4, 2, dtype=torch.float64),), {}),
        "mv": ("mv", (torch.ones(4, dtype=torch.float64),), {}),
    }

    def method(name: str, args: Any, kwargs: Any) -> Function:
        return lambda x: getattr(x, name)(*args, **kwargs)

    return {f"x.{text}": Case(method(*call)) for text, call in calls.items()}


W = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3)
CASES: dict[str, Case] = {
    **_methods(),
    **{
        f"torch.{name}": Case(getattr(torch, name), is_positive=is_positive)
        for is_positive, names in (
            (True, "log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma acosh i0 special.gammaln"),
            (False, "cos sin tan tanh sinh cosh atan asinh exp expm1 erf erfc sigmoid square sign neg sinc frac"),
            (False, "ceil floor trunc isfinite isnan signbit logical_not abs exp2 angle"),
        )
        for name in names.split()
        if hasattr(torch, name)
    },
    "maximum": case(torch.maximum, M, M),
    "minimum": case(torch.minimum, M, (4,)),
    "atan2": case(torch.atan2, M, M),
    "hypot": case(torch.hypot, M, M),
    "logaddexp": case(torch.logaddexp, M, M),
    "where": case(lambda x, y: torch.where(x > 0, x, y), M, M),
    "where(number)": case(lambda x: torch.where(x > 0, x, 0.5)),
    "lerp": case(lambda x, y: torch.lerp(x, y, 0.3), M, M),
    "addcmul": case(lambda x, y: torch.addcmul(x, x, y, value=2.0), M, M),
    "operators": case(lambda x, y: (2 - x) * y / (1.5 + y * y) - x**2 + 3.0**x + (-x), M, M),
    "comparisons": case(lambda x, y: (torch.lt(x, y), torch.ge(x, 0), x == y, torch.ne(x, y)), M, M),
    "reflected": case(lambda x: torch.ones(4, dtype=torch.float64) - torch.full((3, 1), 2.0, dtype=torch.float64) * x),
    "cat": case(lambda x, y: torch.cat([x, y], dim=1), M, M),
    "cat(axis 0)": case(lambda x, y: torch.cat((x, y)), M, (1, 4)),
    "stack": case(lambda x, y: torch.stack([x, y], -1), M, M),
    "hstack": case(lambda x, y: torch.hstack([x, y]), M, M),
    "matmul": case(torch.matmul, B, (4, 2)),
    "bmm": case(torch.bmm, B, (2, 4, 3)),
    "dot": case(torch.dot, V, V),
    "outer": case(torch.outer, V, (3,)),
    "addmm": case(torch.addmm, (3, 2), M, (4, 2)),
    "addmm(beta)": case(lambda *x: torch.addmm(*x, beta=0.5, alpha=2), (3, 2), M, (4, 2)),
    "baddbmm": case(torch.baddbmm, (2, 3, 3), B, (2, 4, 3)),
    "einsum": case(lambda x, y: torch.einsum("ij,kj->ik", x, y), M, M),
    "tensordot": case(lambda x, y: torch.tensordot(x, y, dims=1), M, (4, 2)),
    "cdist": case(torch.cdist, M, (5, 4), has_second=False),
    "cov": case(torch.cov, has_program=False),
    "linalg.norm": case(lambda x: torch.linalg.norm(x)),
    "linalg.vector_norm": case(lambda x: torch.linalg.vector_norm(x, dim=1)),
    "linalg.solve": case(lambda a, b: torch.linalg.solve(a @ a.mT + 5 * torch.eye(4), b), S, (4, 2)),
    "linalg.cholesky": case(lambda a: torch.linalg.cholesky(a @ a.mT + torch.eye(4)), S),
    "linalg.inv": case(lambda a: torch.linalg.inv(a @ a.mT + torch.eye(4)), S),
    "det": case(torch.det, S),
    "trapezoid": case(torch.trapezoid),
    "zeros_like": case(lambda x: torch.zeros_like(x) + torch.ones_like(x, dtype=torch.float64) * x),
    "full_like": case(lambda x: torch.full_like(x, 2.5)),
    "meshgrid": case(lambda x, y: torch.meshgrid(x, y, indexing="ij"), V, (3,)),
    "var_mean": case(lambda x: torch.var_mean(x, 1)),
    "linear": case(F.linear, (2, 4), (3, 4), (3,)),
    "bilinear": case(F.bilinear, (2, 3), (2, 4), (5, 3, 4), (5,)),
    "relu": case(F.relu),
    "leaky_relu": case(lambda x: F.leaky_relu(x, 0.2)),
    "elu": case(F.elu),
    "selu": case(F.selu),
    "celu": case(lambda x: F.celu(x, 2.0)),
    "gelu": case(F.gelu),
    "gelu(tanh)": case(lambda x: F.gelu(x, approximate="tanh")),
    "silu": case(F.silu),
    "mish": case(F.mish),
    "softplus": case(lambda x: F.softplus(x, beta=2)),
    "softsign": case(F.softsign),
    "softshrink": case(F.softshrink),
    "hardshrink": case(F.hardshrink),
    "tanhshrink": case(F.tanhshrink),
    "hardtanh": case(F.hardtanh),
    "hardsigmoid": case(F.hardsigmoid, has_second=False),
    "hardswish": case(F.hardswish),
    "relu6": case(F.relu6),
    "logsigmoid": case(F.logsigmoid),
    "threshold": case(lambda x: F.threshold(x, 0.1, 2.0)),
    "glu": case(F.glu),
    "prelu": case(F.prelu, (2, 3), (3,)),
    "softmax": case(lambda x: F.softmax(x, dim=-1)),
    "softmin": case(lambda x: F.softmin(x, dim=0)),
    "log_softmax": case(lambda x: F.log_softmax(x, -1)),
    "normalize": case(F.normalize),
    "layer_norm": case(lambda x, w, b: F.layer_norm(x, (4,), w, b), M, (4,), (4,)),
    "rms_norm": case(lambda x, w: F.rms_norm(x, (4,), w), M, (4,)),
    "group_norm": case(lambda x: F.group_norm(x, 2), (2, 4, 3)),
    "batch_norm": case(lambda x: F.batch_norm(x, None, None, training=True), (5, 3)),
    "instance_norm": case(F.instance_norm, (2, 3, 5)),
    "local_response_norm": case(lambda x: F.local_response_norm(x, 2), (2, 3, 5)),
    "conv1d": case(F.conv1d, (2, 3, 6), (4, 3, 3)),
    "conv2d": case(lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), (2, 2, 5, 5), (3, 2, 3, 3), (3,)),
    "conv3d": case(F.conv3d, (1, 2, 3, 3, 3), (2, 2, 2, 2, 2)),
    "conv_transpose1d": case(F.conv_transpose1d, (2, 3, 4), (3, 2, 3)),
    "conv_transpose2d": case(F.conv_transpose2d, (1, 2, 3, 3), (2, 2, 2, 2)),
    "unfold": case(lambda x: F.unfold(x, 2), (1, 2, 3, 3)),
    "fold": case(lambda x: F.fold(x, (3, 3), 2), (1, 8, 4)),
    "max_pool1d": case(lambda x: F.max_pool1d(x, 2), (2, 3, 6)),
    "max_pool2d": case(lambda x: F.max_pool2d(x, 2), (1, 2, 4, 4)),
    "avg_pool1d": case(lambda x: F.avg_pool1d(x, 2), (2, 3, 6)),
    "avg_pool2d": case(lambda x: F.avg_pool2d(x, 2), (1, 2, 4, 4)),
    "lp_pool1d": case(lambda x: F.lp_pool1d(x, 2.0, 2), (2, 3, 6), is_positive=True),
    "adaptive_avg_pool2d": case(lambda x: F.adaptive_avg_pool2d(x, 2), (1, 2, 4, 4)),
    "adaptive_max_pool1d": case(lambda x: F.adaptive_max_pool1d(x, 2), (2, 3, 6)),
    "pad": case(lambda x: F.pad(x, (1, 2)), M),
    "pad(reflect)": case(lambda x: F.pad(x, (1, 1), mode="reflect"), (1, 2, 4)),
    "interpolate": case(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (1, 2, 3, 3)),
    "pixel_shuffle": case(lambda x: F.pixel_shuffle(x, 2), (1, 4, 2, 2)),
    "grid_sample": case(lambda x, g: F.grid_sample(x, torch.tanh(g), align_corners=False), (1, 2, 3, 3), (1, 2, 2, 2)),
    "affine_grid": case(lambda t: F.affine_grid(t, [1, 2, 3, 3], align_corners=False), (1, 2, 3)),
    "embedding": case(lambda w: F.embedding(torch.tensor([[0, 2], [1, 1]]), w), (4, 3)),
    "embedding_bag": case(
        lambda w: F.embedding_bag(torch.tensor([[0, 2], [1, 1]]), w, mode="sum"),
        (4, 3),
        has_lanes=False,
        has_second=False,
    ),
    "scaled_dot_product_attention": case(F.scaled_dot_product_attention, B, B, B),
    "cosine_similarity": case(F.cosine_similarity, M, M),
    "pairwise_distance": case(F.pairwise_distance, M, M),
    "mse_loss": case(F.mse_loss, M, M),
    "mse_loss(sum)": case(lambda x, y: F.mse_loss(x, y, reduction="sum"), M, M),
    "l1_loss": case(F.l1_loss, M, M),
    "smooth_l1_loss": case(F.smooth_l1_loss, M, M),
    "huber_loss": case(F.huber_loss, M, M),
    "cross_entropy": case(lambda x: F.cross_entropy(x, torch.tensor([0, 3, 1]), label_smoothing=0.1)),
    "nll_loss": case(lambda x: F.nll_loss(x, torch.tensor([0, 3, 1]))),
    "binary_cross_entropy": case(
        lambda x: F.binary_cross_entropy(torch.sigmoid(x), torch.full(M, 0.3, dtype=torch.float64))
    ),
    "binary_cross_entropy_with_logits": case(
        lambda x: F.binary_cross_entropy_with_logits(x, torch.full(M, 0.3, dtype=torch.float64))
    ),
    "kl_div": case(lambda x, y: F.kl_div(F.log_softmax(x, -1), F.softmax(y, -1), reduction="batchmean"), M, M),
    "poisson_nll_loss": case(lambda x: F.poisson_nll_loss(x, torch.ones(M, dtype=torch.float64))),
    "gaussian_nll_loss": case(
        lambda x, y: F.gaussian_nll_loss(x, y, torch.ones(M, dtype=torch.float64)),
        M,
        M,
        has_lanes=False,
        has_program=False,
    ),
    "hinge_embedding_loss": case(lambda x: F.hinge_embedding_loss(x, torch.ones(M, dtype=torch.float64))),
    "margin_ranking_loss": case(lambda x, y: F.margin_ranking_loss(x, y, torch.ones(5, dtype=torch.float64)), V, V),
    "soft_margin_loss": case(lambda x: F.soft_margin_loss(x, torch.ones(M, dtype=torch.float64))),
    "cosine_embedding_loss": case(lambda x, y: F.cosine_embedding_loss(x, y, torch.ones(3)), M, M),
    "triplet_margin_loss": case(F.triplet_margin_loss, M, M, M),
    "multi_margin_loss": case(
        lambda x: F.multi_margin_loss(x, torch.tensor([0, 3, 1])), has_second=False, has_lanes=False
    ),
    "multilabel_soft_margin_loss": case(lambda x: F.multilabel_soft_margin_loss(x, torch.ones(M, dtype=torch.float64))),
}


def leaves(result: Any) -> list[Any]:
    return trees.leaves(result)


def number(case: Case) -> Function:
    """Return a smooth number that all floating-point results affect."""

    def of(*arrays: Any) -> Any:
        total: Any = 0.0
        for x in leaves(case.function(*arrays)):
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                total = total + (x * torch.cos(x)).sum()
        return total

    return of


def assert_alike(found: Any, expected: Any) -> None:
    """Check values, shapes, data types and the classes of containers."""
    assert type(found) is type(expected)
    ours, theirs = leaves(found), leaves(expected)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs):
        assert type(x) is type(y)
        if isinstance(y, torch.Tensor):
            rtol = 1e-5 if y.dtype in (torch.float32, torch.complex64) else 1e-9
            torch.testing.assert_close(x, y, rtol=rtol, atol=max(rtol, 1e-7), equal_nan=True)
        else:
            assert x == y


def is_differentiable(case: Case) -> bool:
    arrays = [x.requires_grad_() for x in case.arrays(0)]
    return any(isinstance(x, torch.Tensor) and x.requires_grad for x in leaves(case.function(*arrays)))


def all_numbers(case: Case) -> tuple[int, ...]:
    return tuple(range(len(case.shapes)))


def forward(case: Case) -> tuple[Any, Any]:
    x, t = case.arrays(0), case.arrays(1)
    of = number(case)
    # PyTorch has no forward mode for some functions: ours then needs second derivatives.
    theirs = sum((g * d).sum() for g, d in zip(torch.func.grad(of, all_numbers(case))(*x), t))
    out, tangent = jvp(of, tuple(x), tuple(t))
    assert out.dtype == tangent.dtype
    return (out, tangent), (of(*x), theirs.to(out.dtype))


def reverse(case: Case) -> tuple[Any, Any]:
    x = case.arrays(0)
    theirs = torch.func.grad(number(case), all_numbers(case))(*x)
    return grad(number(case), all_numbers(case))(*x), theirs


def compiled_gradient(case: Case) -> tuple[Any, Any]:
    x = case.arrays(0)
    theirs = torch.func.grad(number(case), all_numbers(case))(*x)
    return jit(grad(number(case), all_numbers(case)))(*x), theirs


def lanes_of_gradients(case: Case) -> tuple[Any, Any]:
    x = case.arrays(0, LANES)
    theirs = torch.func.vmap(torch.func.grad(number(case), all_numbers(case)))(*x)
    return vmap(grad(number(case), all_numbers(case)))(*x), theirs


def gradient_of_lanes(case: Case) -> tuple[Any, Any]:
    x = case.arrays(0, LANES)
    of = number(case)
    theirs = torch.func.grad(lambda *x: torch.func.vmap(of)(*x).sum(), all_numbers(case))(*x)
    return grad(lambda *x: vmap(of)(*x).sum(), all_numbers(case))(*x), theirs


def second(case: Case) -> tuple[Any, Any]:
    x, t = case.arrays(0), case.arrays(1)
    of = number(case)

    def along(gradient: Any, *x: Any) -> Any:
        found = gradient(of, all_numbers(case))(*x)
        return sum((g * d).sum() for g, d in zip(found, t))

    theirs = torch.func.grad(lambda *x: along(torch.func.grad, *x), all_numbers(case))(*x)
    return grad(lambda *x: along(grad, *x), all_numbers(case))(*x), theirs


def second_forward(case: Case) -> tuple[Any, Any]:
    x, t = case.arrays(0), case.arrays(1)
    of = number(case)
    # PyTorch's own derivative in forward mode of a gradient is wrong or missing for some functions.
    theirs = torch.func.grad(
        lambda *x: sum((g * d).sum() for g, d in zip(torch.func.grad(of, all_numbers(case))(*x), t)), all_numbers(case)
    )(*x)
    return jvp(grad(of, all_numbers(case)), tuple(x), tuple(t))[1], theirs


def rows_of_pullbacks(case: Case) -> tuple[Any, Any]:
    x = case.arrays(0)
    of = lambda x, *rest: sum(y.flatten()[:2] for y in floating(case.function(x, *rest)) if y.numel() > 1)
    if isinstance(of(*x), int):
        return None, None
    return jacrev(of)(*x), torch.func.jacrev(of)(*x)


def floating(result: Any) -> list[Any]:
    return [x for x in leaves(result) if isinstance(x, torch.Tensor) and x.is_floating_point()]


TRANSFORMATIONS: dict[str, tuple[Callable[[Case], tuple[Any, Any]], Callable[[Case], bool]]] = {
    "jvp": (forward, lambda case: case.has_second),
    "grad": (reverse, lambda case: True),
    "jit(grad)": (compiled_gradient, lambda case: case.has_program),
    "vmap(grad)": (lanes_of_gradients, lambda case: case.has_lanes),
    "grad(vmap)": (gradient_of_lanes, lambda case: case.has_lanes),
    "grad(grad)": (second, lambda case: case.has_second),
    "jvp(grad)": (second_forward, lambda case: case.has_second),
    "jacrev": (rows_of_pullbacks, lambda case: case.has_lanes),
}
"""Functions of a case that return our result and PyTorch's, and for which cases."""


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    case = CASES[name]
    arrays = case.arrays(0)
    expected = case.function(*arrays)
    if case.has_program:
        assert_alike(jit(case.function)(*arrays), expected)
    if case.has_lanes:
        mapped = case.arrays(0, LANES)
        assert_alike(vmap(case.function)(*mapped), torch.func.vmap(case.function)(*mapped))


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    case = CASES[name]
    if not is_differentiable(case):
        return
    for transformation, (compare, applies) in TRANSFORMATIONS.items():
        if applies(case):
            try:
                assert_alike(*compare(case))
            except Exception as error:
                error.add_note(f"in {transformation}")
                raise


@pytest.mark.parametrize("name", CASES)
def test_other_data_types(name: str) -> None:
    case = CASES[name]
    for dtype in (torch.int64, torch.bool, torch.complex64, torch.float32, torch.int32):
        arrays = [(3 * x).to(dtype) for x in case.arrays(0)]
        try:
            expected = case.function(*arrays)
        except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
            continue  # PyTorch has none
        if case.has_program:
            assert_alike(jit(case.function)(*arrays), expected)
        if case.has_lanes:
            lanes = [x[None] for x in arrays]
            assert_alike(vmap(case.function)(*lanes), torch.func.vmap(case.function)(*lanes))
