"""Times and sizes as text."""


def seconds(value: float) -> str:
    """Write a time in a unit that suits it."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if value * factor >= 1.0:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} µs"


def size(count: int) -> str:
    """Write a number of bytes in a unit that suits it."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"
