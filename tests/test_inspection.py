"""The line that describes an array: the same on every library, and no more of the array is touched than is shown."""

import re

import numpy as np
import pytest

from tests.libraries import Library
from xpand.inspection import inspect

VALUES = {
    "float64": np.asarray([[1.0, -0.1234567], [np.nan, np.inf]]),
    "float32": np.asarray([[0.1, 1e20], [-0.0, 2.0]], dtype="float32"),
    "int64": np.arange(4).reshape(2, 2),
    "uint64": np.asarray([[2**64 - 1, 0], [1, 2]], dtype="uint64"),
    "bool": np.asarray([[True, False], [False, True]]),
    "complex128": np.asarray([[1 + 2j, -1j], [0.5, 0]]),
}
TEXTS = {
    "float64": "[[1, -0.123457], [nan, inf]]",
    "float32": "[[0.1, 1e+20], [-0, 2]]",
    "int64": "[[0, 1], [2, 3]]",
    "uint64": "[[18446744073709551615, 0], [1, 2]]",
    "bool": "[[True, False], [False, True]]",
    "complex128": "[[1+2j, -0-1j], [0.5+0j, 0+0j]]",
}


@pytest.mark.parametrize("dtype", VALUES)
def test_the_line(library: Library, dtype: str) -> None:
    text = inspect(library.asarray(VALUES[dtype]))
    name = {"strict": "array_api_strict", "strict-device1": "array_api_strict"}.get(library.id, library.id)
    assert text.startswith(f"{name} {dtype}[2, 2]")
    if library.lazy:
        assert text.endswith(": values not known yet")
    else:
        assert text.endswith(f": {TEXTS[dtype]}")
        assert " on " in text


@pytest.mark.parametrize(
    ("shape", "limit", "expected"),
    [
        ((), 8, "0"),
        ((0,), 8, "[]"),
        ((2, 0), 8, "[[], []]"),
        ((3,), 3, "[0, 1, 2]"),
        ((4,), 3, "[0, 1, 2, …]"),
        ((3, 3), 4, "[[0, 1, 2], …]"),
        ((3, 3), 2, "[[0, 1, …], …]"),
        ((2, 2, 2), 4, "[[[0, 1], [2, 3]], …]"),
        ((3,), 0, "[…]"),
    ],
)
def test_the_limit(eager_library: Library, shape: tuple[int, ...], limit: int, expected: str) -> None:
    x = eager_library.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape))
    assert inspect(x, limit=limit).endswith(f": {expected}")


def test_traced_arrays_stay_unknown() -> None:
    import jax
    import torch

    seen = []

    def f(x):
        seen.append(inspect(x))
        return x

    jax.jit(jax.vmap(f))(np.ones((2, 3), dtype="float32"))
    torch.func.vmap(f)(torch.ones(2, 3))
    assert all(re.search(r"float32\[3\].*: values not known yet", text) for text in seen)
    assert len(seen) == 2


def test_what_the_standard_does_not_know() -> None:
    import jax
    import torch

    assert inspect(torch.ones(1, dtype=torch.bfloat16)) == "torch bfloat16[1] on cpu: [1]"
    assert "key<fry>[]" in inspect(jax.random.key(0))


def test_only_what_is_shown_is_read() -> None:
    import tracemalloc

    x = np.zeros((1000, 1000)).T
    tracemalloc.start()
    inspect(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_bad_input(library: Library) -> None:
    with pytest.raises(TypeError, match="inspect: x must be an array, got list"):
        inspect([1])
    with pytest.raises(ValueError, match="inspect: limit must be at least 0"):
        inspect(library.asarray(1.0), limit=-1)
    with pytest.raises(TypeError, match="inspect: limit must be an integer"):
        inspect(library.asarray(1.0), limit=2.5)  # type: ignore[arg-type]
