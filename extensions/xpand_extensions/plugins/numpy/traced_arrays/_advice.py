"""Replacements for code for which NumPy has no dispatch protocol, for error messages."""

from typing import Final

from xpand_extensions.tracing._advice import Advice

ADVICE: Final = Advice(
    functions=(
        "NumPy's functions accept the array, except those that make arrays of anything: write `np.stack([x, y])` or "
        "`np.array([x, y], like=x)` in place of `np.array([x, y])`, `x` in place of `np.asarray(x)`, and "
        "`np.zeros_like(x, shape=…)` in place of a buffer `np.zeros(…)`; compiled functions, pandas and other "
        "libraries need `pure_callback` (with `custom_jvp` for a derivative) or `stop_gradient`; for packages that you "
        "can't change, try `with xpand_extensions.convert.collecting_traced():`"
    ),
    # `np.take(table, x)` does not dispatch on the index.
    index="to index a constant array with it, write `np.asarray(table, like=x)[x]` in place of `table[x]`",
    numbers="write `np.sin(x)` in place of `math.sin(x)`, and keep numbers as arrays in place of `float(x)`",
    buffer=(
        "make the buffer with `np.zeros_like(x, shape=…)` or `np.zeros(…, like=x)`, or put the elements together with "
        "`np.stack`"
    ),
)
"""Replacements by functions of NumPy."""
