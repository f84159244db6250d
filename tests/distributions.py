"""Shared code of the tests of distributions: parameters, laws, and JAX's samples."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import numpy as np
from scipy import stats

from tests.libraries import Library
from xpand_extensions import random

SEED = 20
SIZE = 40
# XLA's log1p is off by up to 128 ulps in float64, also inside its erfinv and its softmax.
ROUNDING = 128 * 2.0**-52


@dataclass(frozen=True)
class Distribution:
    """The parameters of a distribution, arrays and numbers, and its law for the first elements."""

    parameters: tuple[Any, ...] = ()
    law: Any = None
    takes_shape: bool = False
    """Whether the shape of the samples does not come from the parameters."""
    scale: float = 0.0
    """The size of the terms that are summed to a sample. Rounding errors are in proportion to it."""


def spread(*values: float) -> np.ndarray:
    """Repeat values up to the required number."""
    return np.resize(np.asarray(values, dtype=np.float64), SIZE)


def _key(library: Library) -> Any:
    return library.asarray(np.asarray([0, SEED], dtype=np.uint32))


def sample(library: Library, name: str, distribution: Distribution, dtype: str | None = "float64") -> np.ndarray:
    """Sample on a library. Arrays of parameters have the data type."""
    parameters = [library.asarray(x, dtype) if isinstance(x, np.ndarray) else x for x in distribution.parameters]
    options: dict[str, Any] = {"shape": (SIZE,)} if distribution.takes_shape else {}
    if dtype is not None:
        options["dtype"] = getattr(library.xp, dtype)
    result = getattr(random, name)(_key(library), *parameters, **options)
    return library.to_numpy(result)


@cache
def of_jax(name: str, distribution_id: int, dtype: str | None) -> np.ndarray:
    """Sample with JAX."""
    distribution = _KNOWN[distribution_id]
    parameters = [
        jax.numpy.asarray(x, dtype=dtype) if isinstance(x, np.ndarray) else x for x in distribution.parameters
    ]
    options: dict[str, Any] = {"shape": (SIZE,)} if distribution.takes_shape else {}
    if dtype is not None:
        options["dtype"] = dtype
    return np.asarray(getattr(jax.random, name)(jax.random.PRNGKey(SEED), *parameters, **options))


_KNOWN: dict[int, Distribution] = {}


def check_agrees(library: Library, name: str, distribution: Distribution, dtype: str | None = "float64") -> None:
    """Check that a library's samples are JAX's, within the rounding errors of JAX's logarithms."""
    _KNOWN[id(distribution)] = distribution
    expected = of_jax(name, id(distribution), dtype)
    found = sample(library, name, distribution, dtype)
    assert found.dtype == expected.dtype
    if expected.dtype.kind in "iu":
        np.testing.assert_array_equal(found, expected)
        return
    rtol = ROUNDING if dtype == "float64" else 64 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * distribution.scale)


def check_law(name: str, parameters: tuple[Any, ...], law: Any, options: dict[str, Any] | None = None) -> None:
    """Check many samples against a distribution function, by the Kolmogorov-Smirnov test."""
    samples = getattr(random, name)(random.key(SEED), *parameters, shape=(20_000,), **(options or {}))
    assert stats.kstest(samples, law.cdf).pvalue > 1e-3


def check_counts(samples: np.ndarray, law: Any) -> None:
    """Check many counts against probabilities, by the chi-square test. Rare values are combined."""
    values = np.arange(int(samples.min()), int(samples.max()) + 1)
    expected = law.pmf(values) * samples.size
    observed = np.bincount(samples.astype(np.int64) - values[0], minlength=values.size)
    common = expected >= 10
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], samples.size - expected[common].sum())
    used = expected > 1
    statistic = np.sum((observed[used] - expected[used]) ** 2 / expected[used])
    assert stats.chi2.sf(statistic, used.sum() - 1) > 1e-3
