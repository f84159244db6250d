"""Programs for functions that the user has not compiled: traced at each call, and compiled once for each text.

Values that such a function captures may have changed since the last call, so its object is no key. Tracing takes a
twentieth of the time of compilation.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from xpand_extensions._plans import Memory


class _Programs(Memory):
    most = 256


_PROGRAMS: Final = _Programs()


def call_compiled(function: Callable[..., Any], *arrays: Any) -> Any:
    """Compile a function of arrays and call it, or call the program of an earlier function with the same text.

    Arrays that the function captures are arguments of the program. Inside other transformations, it is part of the
    outer function.
    """
    if jax.config.jax_disable_jit:
        return function(*arrays)
    traced, result = jax.make_jaxpr(function, return_shape=True)(*arrays)
    jaxpr, consts = traced.jaxpr, traced.consts

    def of_consts(consts: Any, *arrays: Any) -> Any:
        return jaxpr_as_fun(ClosedJaxpr(jaxpr, consts))(*arrays)

    program = jax.jit(of_consts)
    given = [*consts, *arrays]
    is_known = not traced.effects
    if any(isinstance(x, jax.core.Tracer) for x in given):
        # An outer transformation may replace derivatives and batching, which the text does not contain.
        is_known = is_known and "custom_" not in str(traced.jaxpr)
    if is_known:
        of_types = list(map(_typed, given))
        text = program.lower(of_types[: len(consts)], *of_types[len(consts) :]).as_text()
        if "callback" not in text:  # the text contains neither the functions of callbacks, nor which types are weak
            types = (*map(jax.typeof, given), *traced.out_avals)
            key = sha256(text.encode()).digest(), types
            program = _PROGRAMS.get(key) or _PROGRAMS.add(key, program)
    return jax.tree.unflatten(jax.tree.structure(result), program(consts, *arrays))


def _typed(x: Any) -> Any:
    """Return the type of a traced array; leave others."""
    return jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) if isinstance(x, jax.core.Tracer) else x
