"""Distances of vectors."""

import math
from typing import Final, Literal, TypeAlias, get_args

from xpand.extend import Array, checks, describe

from .._dispatch import pluggable

Metric: TypeAlias = Literal["euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine"]
"""The distance of two vectors."""

METRICS: Final = get_args(Metric)


@pluggable
def cdist(x1: Array, x2: Array, /, metric: Metric = "euclidean", *, p: float = 2.0) -> Array:
    """Compute the distance of each vector of one set to each vector of another.

    Args:
        x1: Vectors: an array of shape `(*batch, m, d)`, of a real floating-point data type.
        x2: Vectors: an array of shape `(*batch, n, d)`, of a real floating-point data type. The batches broadcast.
        metric: With the differences `x1 - x2` of the components: "euclidean", the root of the sum of squares;
            "sqeuclidean", the sum of squares; "cityblock", the sum of absolute values; "chebyshev", the largest
            absolute value; "minkowski", the sum of absolute values to the power `p`, to the power `1 / p`. "cosine" is
            1 minus the cosine of the angle.
        p: The power for "minkowski", a positive number.

    Returns:
        An array of shape `(*batch, m, n)`, of the promoted data type. The differences are computed, so small distances
        of large vectors are exact. The cosine distance of a vector of zeros is NaN. The derivative of a distance of 0
        is 0.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: Fewer than two axes, vectors of different sizes, batches that don't broadcast, an unknown metric, a
            power that isn't positive, arrays on two devices, or an unknown shape.

    Takes time in proportion to `m * n * d`, and memory in proportion to `m * n` on NumPy; on other libraries, and under
    transformations, it may be in proportion to `m * n * d`.

    Source: `scipy.spatial.distance.cdist`, `torch.cdist`.

    >>> import numpy as np
    >>> cdist(np.asarray([[0.0, 0.0], [3.0, 0.0]]), np.asarray([[0.0, 4.0]]))
    array([[4.],
           [5.]])
    """
    xp = checks.together("cdist", checks.REAL, x1=x1, x2=x2)
    checks.choice("cdist", "metric", metric, METRICS)
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise TypeError(f"cdist: p must be a number, got {p!r} ({describe(p)})")
    if not 0 < p < math.inf:
        raise ValueError(f"cdist: p must be positive and finite, got {p}; the limit is the metric 'chebyshev'")
    shapes = [checks.known_shape("cdist", name, x) for name, x in (("x1", x1), ("x2", x2))]
    if min(map(len, shapes)) < 2 or shapes[0][-1] != shapes[1][-1]:
        raise ValueError(
            f"cdist: x1 and x2 must have the shapes (*batch, m, d) and (*batch, n, d), got {shapes[0]} and {shapes[1]}"
        )
    checks.broadcast_shapes("cdist", **{"the batches of x1": shapes[0][:-2], "those of x2": shapes[1][:-2]})
    x1, x2 = checks.promote("cdist", xp, x1=x1, x2=x2)
    return cdist.native(x1, x2)(x1, x2, metric, p=p)
