"""Rules of random numbers: those of a batch of keys are made in one call, each key's in a row.

Uniform numbers between bounds that differ among the lanes use the generic implementation, and so do derivatives
in the bounds.
"""

from collections.abc import Sequence
from typing import Any, Final

from ._derived import Axes
from ._dtypes import same


def _batch_of_uniform(trace: Any, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Make the numbers of all keys at once, where the bounds are the same."""
    mapped = [name for name, x in zip(params["template"].names, args) if trace.owns(x)]
    return trace.by_rule(op, args, params) if mapped == ["key"] else op.decompose(args, params)


OVERRIDES: Final[dict[str, Any]] = {"random.uniform": {"batch": _batch_of_uniform}}
"""The bounds of uniform numbers may be mapped too."""


def _dtype(namespace: Any, avals: Any, params: Any) -> Any:
    return params["dtype"]


AXES: Final[dict[str, Axes]] = {
    **{f"random.{name}": Axes("key:...[k]->...{shape}", dtype=_dtype) for name in ("bits", "normal", "uniform")},
    "random.fold_in": Axes("key:...[k],data:...->...[k]", dtype=same),
    "random.split": Axes("key:...[k]->...{num}[k]"),
}
