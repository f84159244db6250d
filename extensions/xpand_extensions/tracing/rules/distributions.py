"""Rules of the samplers of many keys: each key of a batch, and what it makes, is one more row."""

from typing import Any, Final

from ._derived import Axes

CONSTANT: Final[dict[str, str]] = {
    "random.binomial_elements": "its result is a number of successes",
    "random.gamma_elements": "it makes trials; `random.gamma` has one",
    "random.poisson_elements": "its result is a number of events",
    "random.split_each": "a function of integers",
}


def _dtype_of_last(namespace: Any, avals: Any, params: Any) -> Any:
    return avals[-1].dtype


AXES: Final[dict[str, Axes]] = {
    "random.binomial_elements": Axes("keys:...[k],n:...[n],p:...[n]->...[n]", dtype=_dtype_of_last, same_shape=True),
    "random.gamma_elements": Axes("keys:...[k],a:...->...", dtype=_dtype_of_last, same_shape=True),
    "random.poisson_elements": Axes("keys:...[k],lam:...[n]->...[n]", dtype=_dtype_of_last, same_shape=True),
    "random.split_each": Axes("keys:...[k]->...{num}[k]"),
}
