"""Arrays that outlive the transformation that made them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from xpand.extend import Namespace, imported_libraries

from .._dispatch import pluggable


@pluggable
def leaks_checked(*, xp: Namespace | str | None = None) -> AbstractContextManager[None]:
    """Return a context that checks for leaks of a library's transformations."""
    return leaks_checked.native_for(xp)(xp=xp)


@contextmanager
def checking_leaks() -> Iterator[None]:
    """Within this context, raise where a traced array outlives the call that it was made for.

    Such an array, kept in a list or an attribute by a function that is transformed, is an error as soon as it is used;
    here it is one even if it is never used. On JAX this is `jax.checking_leaks`, which looks after each call. On those
    that xpand traces, references that are left at the end of the block count. PyTorch's own are not checked.

    Raises:
        LeakedArrayError: At the end of the block, with the names of the transformations.
        Exception: JAX's own, where its transformations leak.

    Source: `jax.checking_leaks`.

    >>> import numpy as np
    >>> from xpand_extensions.jit import jit
    >>> kept = []
    >>> with checking_leaks():  # doctest: +ELLIPSIS
    ...     jit(lambda x: (kept.append(x), 2 * x)[1])(np.asarray(1.0))
    Traceback (most recent call last):
    ...
    xpand_extensions.tracing._core.LeakedArrayError: checking_leaks: arrays traced by `jit` outlive ...
    """
    with ExitStack() as stack:
        for check in {leaks_checked.native_for(name) for name in imported_libraries()}:
            stack.enter_context(check())
        yield
