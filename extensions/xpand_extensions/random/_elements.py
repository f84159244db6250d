"""New keys of each of many keys: for distributions whose elements have a key each."""

from xpand.extend import Array

from .._dispatch import pluggable


@pluggable
def split_each(keys: Array, /, *, num: int) -> Array:
    """Make new keys of each of many keys, after all checks.

    Args:
        keys: An array of uint32 of shape (…, 2).
        num: How many of each.

    Returns:
        An array of shape (…, num, 2).
    """
    return split_each.native(keys)(keys, num=num)
