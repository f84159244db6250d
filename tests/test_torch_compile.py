"""Functions of xpand in graphs that PyTorch's own compiler makes."""

from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch

from xpand import _kinds
from xpand_extensions import linalg
from xpand_extensions._dtypes import is_narrow
from xpand_extensions.autodiff import custom_vjp
from xpand_extensions.jit import ShapeDtype, io_callback, pure_callback
from xpand_extensions.scatter import segment_sum

D3 = ShapeDtype((3,), torch.float32)
T3 = torch.asarray([0.5, -1.5, 2.0])


class Times:
    """A function of the host with a number of its own."""

    def __init__(self, factor: float) -> None:
        self.factor = np.float32(factor)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x * self.factor


def times(factor: float) -> Any:
    return lambda x: x * np.float32(factor)


def test_host_functions_under_torch_compile() -> None:
    def function(x: Any, k: float, given: Any) -> Any:
        some = pure_callback(np.sort, D3, x)
        other = pure_callback(lambda tree, k: {"found": tree["x"] + np.float32(k)}, {"found": D3}, {"x": x}, k)
        return (
            some,
            other["found"],
            pure_callback(lambda x: x * np.float32(2.0), D3, x) + pure_callback(given, D3, x),
        )

    compiled = torch.compile(function, fullgraph=True, backend="eager")
    # Functions of the same code, and objects of the same class, are told apart.
    for k, given in ((2.0, times(3.0)), (4.0, times(5.0)), (4.0, Times(6.0)), (4.0, Times(7.0))):
        for found, expected in zip(compiled(T3, k, given), function(T3, k, given), strict=True):
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        torch.compile(lambda x: 2.0 * pure_callback(np.sort, D3, x), fullgraph=True, backend="aot_eager")(T3),
        2.0 * np.sort(T3.numpy()),
    )


def test_side_effects_under_torch_compile() -> None:
    compiled = torch.compile(lambda x: 2.0 * io_callback(np.sort, D3, x), fullgraph=True, backend="eager")
    with pytest.raises(torch._dynamo.exc.Unsupported, match="io_callback: torch.compile cannot trace it; use"):
        compiled(T3)


# Dynamo makes an instance of an autograd function, and PyTorch warns of such.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated")
def test_derivatives_of_host_functions_under_torch_compile() -> None:
    @custom_vjp
    def sorted_host(x: Any) -> Any:
        return pure_callback(np.sort, D3, x)

    sorted_host.defvjp(lambda x: (sorted_host(x), x), lambda x, ct: (2.0 * ct,))
    x = T3.clone().requires_grad_()
    found = torch.compile(sorted_host, fullgraph=True, backend="aot_eager")(x)
    found.sum().backward()
    np.testing.assert_array_equal(found.detach(), np.sort(T3))
    np.testing.assert_array_equal(x.grad, [2.0, 2.0, 2.0])
    none = torch.compile(lambda x: pure_callback(np.sort, D3, x), fullgraph=True, backend="eager")
    with pytest.raises(TypeError, match="pure_callback: the function has no derivative"):
        none(x).sum().backward()
    sort = lambda x: pure_callback(np.sort, D3, x)
    for inside in (lambda x: torch.func.jvp(sort, (x,), (x,)), lambda x: torch.func.vmap(sort)(x[None])):
        with pytest.raises(torch._dynamo.exc.Unsupported, match="torch.compile cannot trace it inside of derivatives"):
            torch.compile(inside, fullgraph=True, backend="eager")(T3)


def test_host_functions_that_hold_traced_values() -> None:
    function = torch.compile(lambda x: pure_callback(lambda y: y + x.numpy(), D3, x), fullgraph=True, backend="eager")
    with pytest.raises(torch._dynamo.exc.TorchDynamoException, match="closure cell"):
        function(T3)


def test_kinds_of_data_types_seen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch compiles no write into a table with data types of a library that compares them itself."""
    real = array_api_strict.float64
    monkeypatch.setattr(_kinds, "_kinds", {type(real): {real: "real"}})
    torch.compiler.reset()
    ids = torch.asarray([0, 1, 0])
    compiled = torch.compile(lambda x: segment_sum(x, ids, num_segments=2), fullgraph=True, backend="eager")
    assert compiled(torch.asarray([1.0, 2.0, 3.0])).tolist() == [4.0, 2.0]


def test_data_types_of_other_libraries_are_not_looked_at() -> None:
    """Facts about them are stored by type: torch.compile can't trace the hash of some, such as MLX's."""
    mlx = pytest.importorskip("mlx.core")
    assert not is_narrow(mlx, mlx.float32)
    x = torch.eye(2)
    found = torch.compile(linalg.expm, fullgraph=True, backend="eager")(x)
    torch.testing.assert_close(found, torch.linalg.matrix_exp(x))
