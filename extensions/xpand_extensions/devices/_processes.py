"""The processes that a computation runs in."""

from xpand.extend import Namespace

from .._dispatch import pluggable


@pluggable
def process_index(xp: Namespace | str | None = None) -> int:
    """Return the number of this process among those that compute together.

    Args:
        xp: The library, by its namespace or name; the default one where omitted.

    Returns:
        JAX's own number; PyTorch's rank where `torch.distributed` is initialized; else 0.

    Raises:
        TypeError, ValueError: `xp` is neither a namespace nor the name of a library.

    Source: `jax.process_index`, before it `jax.host_id`.

    >>> process_index("numpy")
    0
    """
    return process_index.native_for(xp)(xp)


@pluggable
def process_indices(xp: Namespace | str | None = None) -> tuple[int, ...]:
    """Return the numbers of all processes that compute together, in ascending order.

    Arguments and errors are those of `process_index`.

    Source: `jax.process_indices`, before it `jax.host_ids`, which return lists.

    >>> process_indices("numpy")
    (0,)
    """
    return process_indices.native_for(xp)(xp)


@pluggable
def process_count(xp: Namespace | str | None = None) -> int:
    """Return the number of processes that compute together.

    Arguments and errors are those of `process_index`.

    Source: `jax.process_count`, before it `jax.host_count`.

    >>> process_count("numpy")
    1
    """
    return process_count.native_for(xp)(xp)
