"""Let NumPy's conversions collect traced numbers, for packages that cannot be changed."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collecting_traced() -> Iterator[None]:
    """Let `np.array` and its like return traced arrays of traced numbers inside this context.

    NumPy has no protocol for conversions, so `np.array([x[0], x[1]])` and `np.asarray(x)` raise for arrays that a
    transformation traces. In your own code, write `np.stack([x[0], x[1]])` and `x`. This context is for packages that
    you can't change. In it, `np.array`, `np.asarray`, `np.asanyarray`, `np.ascontiguousarray` and
    `np.asfortranarray` call NumPy's own function first, and only after its error look for traced arrays in nested lists
    and tuples. Results for other arguments are NumPy's.

    Limits:

    - The functions are replaced in the whole process, in all threads, until the last active context ends.
    - Names imported earlier (`from numpy import array`) are not reached, nor are compiled code and NumPy's own code,
      such as `np.r_`.
    - Arrays of objects are refused.

    >>> import numpy as np
    >>> from xpand_extensions.autodiff import grad
    >>> def product(x):
    ...     return np.sum(np.array([x[0] * x[1], 1.0]))
    >>> with collecting_traced():
    ...     print(grad(product)(np.asarray([2.0, 3.0])))
    [3. 2.]
    """
    from ..plugins.numpy.traced_arrays._replaced import REPLACEMENT  # this import loads all rules

    REPLACEMENT.enter()
    try:
        yield
    finally:
        REPLACEMENT.exit()
