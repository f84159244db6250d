"""What `jit` makes, on PyTorch, of what is one operation in its graphs: within a loop, and mapped."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from xpand_extensions.control_flow import scan
from xpand_extensions.jit import jit
from xpand_extensions.linalg import logm
from xpand_extensions.vmap import vmap

X = 3.0 * torch.eye(2, dtype=torch.float64) + torch.linspace(0.0, 1.0, 12, dtype=torch.float64).reshape(3, 2, 2)


def repeated(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: scan(lambda carry, _: (function(carry), None), x, None, length=20)[0]


@pytest.mark.parametrize("within", [repeated(torch.sin), lambda x: logm(x) + X[0]], ids=["scan", "logm"])
def test_operations_within_loops_are_mapped(within: Callable[[Any], Any]) -> None:
    function = repeated(within)
    found = jit(vmap(function))(X)
    np.testing.assert_allclose(found, torch.stack([function(x) for x in X]), rtol=1e-12)
