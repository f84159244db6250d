"""Rules of random numbers. A batch of keys is one call, which makes a row for each key.

Samplers of many keys take a batch as more rows, one for each key. Uniform numbers whose bounds differ among lanes use
the generic implementation, and so do derivatives in the bounds.
"""

from collections.abc import Sequence
from typing import Any, Final

from ._derived import Axes, same


def _batch_of_uniform(trace: Any, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Make the numbers of all keys in one call if the bounds are the same."""
    mapped = [name for name, x in zip(params["template"].names, args) if trace.owns(x)]
    return trace.by_rule(op, args, params) if mapped == ["key"] else op.decompose(args, params)


OVERRIDES: Final[dict[str, Any]] = {"random.uniform": {"batch": _batch_of_uniform}}
"""The bounds of uniform numbers may be mapped too."""


def _dtype_of_last(namespace: Any, avals: Any, params: Any) -> Any:
    return avals[-1].dtype


CONSTANT: Final[dict[str, str]] = {
    "random.binomial_elements": "its result is a number of successes",
    "random.gamma_elements": "it makes trials; `random.gamma` has one",
    "random.poisson_elements": "its result is a number of events",
    "random.split_each": "a function of integers",
}

AXES: Final[dict[str, Axes]] = {
    **dict.fromkeys(
        ("random.bits", "random.normal", "random.uniform"),
        Axes("key:...[k]->...{shape}", dtype=lambda namespace, avals, params: params["dtype"]),
    ),
    "random.binomial_elements": Axes("keys:...[k],n:...[n],p:...[n]->...[n]", dtype=_dtype_of_last, same_shape=True),
    "random.fold_in": Axes("key:...[k],data:...->...[k]", dtype=same),
    "random.gamma_elements": Axes("keys:...[k],a:...->...", dtype=_dtype_of_last, same_shape=True),
    "random.poisson_elements": Axes("keys:...[k],lam:...[n]->...[n]", dtype=_dtype_of_last, same_shape=True),
    "random.split": Axes("key:...[k]->...{num}[k]"),
    "random.split_each": Axes("keys:...[k]->...{num}[k]"),
}
