"""The errors that xpand adds to Python's own."""


class UnsupportedError(TypeError):
    """A library cannot have this capability. The message names both, and an alternative."""

    __module__ = "xpand"  # where users import it from: tracebacks show this name
