"""The errors that xpand adds to Python's own."""


class UnsupportedError(TypeError):
    """A capability that a library can't have: the message says what, for which library, and what to use instead."""
