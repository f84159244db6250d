"""Functions with custom derivatives: JAX's derivatives of long formulas compile slowly and lose digits."""

from collections.abc import Callable

import jax

from xpand.extend import Array


def compiled(
    function: Callable[[Array], Array], derivative: Callable[[Array, Array], Array]
) -> Callable[[Array], Array]:
    """Compile a function whose derivative is a short formula of its argument and its value."""
    known = jax.custom_jvp(function)
    known.defjvps(lambda tangent, value, x: tangent * derivative(x, value))
    found: Callable[[Array], Array] = jax.jit(known)
    return found


def with_derivatives_of(other: Callable[..., Array], function: Callable[..., Array]) -> Callable[..., Array]:
    """Compile `function` with the derivatives of `other`."""
    known = jax.custom_jvp(function)

    known.defjvp(lambda primals, tangents: jax.jvp(other, primals, tangents))
    found: Callable[..., Array] = jax.jit(known)
    return found
