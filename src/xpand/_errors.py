"""The errors that xpand adds to Python's own."""


class UnsupportedError(TypeError):
    """A capability that a library can't have: the message names it, the library, and an alternative."""
