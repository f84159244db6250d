"""Functions of xpand in graphs that PyTorch's own compiler makes."""

from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch

from xpand import _kinds
from xpand_extensions import linalg
from xpand_extensions._dtypes import is_narrow
from xpand_extensions.autodiff import grad
from xpand_extensions.control_flow import while_loop
from xpand_extensions.jit import ShapeDtype, io_callback, pure_callback
from xpand_extensions.scatter import segment_sum

D3 = ShapeDtype((3,), torch.float32)
T3 = torch.asarray([0.5, -1.5, 2.0])


@pytest.mark.parametrize("call", [pure_callback, io_callback])
def test_host_functions_under_torch_compile(call: Any) -> None:
    compiled = torch.compile(lambda x: 2.0 * call(np.sort, D3, x), fullgraph=True, backend="eager")
    with pytest.raises(torch._dynamo.exc.Unsupported, match=f"{call.__name__}: torch.compile cannot trace it; use"):
        compiled(T3)


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


def test_gradients_within_torch_compile() -> None:
    """Dynamo can't flatten a tree with an empty dictionary, such as that of no keyword arguments."""
    compiled = torch.compile(grad(lambda x: torch.sum(x**3)), fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(T3), 3.0 * T3**2)


def test_gradients_in_loops_within_torch_compile() -> None:
    """PyTorch's loops forbid side effects, such as storing the types of arrays."""
    slope = grad(lambda x: torch.sum(x * x))
    descent = lambda x: while_loop(lambda x: torch.sum(x * x) > 1.0, lambda x: x - 0.25 * slope(x), x)
    compiled = torch.compile(descent, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(T3), T3 / 4.0)
