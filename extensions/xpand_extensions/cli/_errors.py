"""Errors that the user can fix."""


class UsageError(Exception):
    """The command can't be carried out as given; the message says why, and how to fix it."""
