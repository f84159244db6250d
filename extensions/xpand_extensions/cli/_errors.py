"""What the user can mend."""


class UsageError(Exception):
    """The command can't be carried out as given; the message says why and what to do."""
