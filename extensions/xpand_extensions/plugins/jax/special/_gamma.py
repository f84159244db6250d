"""The gamma function's family on JAX: the generic functions compiled.

JAX's own are further off than that: `gammaln` by 3e9 ulps near 1 and 2, `digamma` by 3e3 near its zero, `polygamma` by
any factor on the negative axis, `gammainc` by 4e4, `betaln` by 8e8, `betainc` by 5e5. Its `zeta` has no derivative in
s, its `betainc` none in a and b.
"""

import jax

from xpand_extensions.generic import special as generic

from .._derivatives import compiled

betainc = jax.jit(generic.betainc)
betaln = jax.jit(generic.betaln)
digamma = jax.jit(generic.digamma)
factorial = jax.jit(generic.factorial)
gammainc = jax.jit(generic.gammainc)
gammaincc = jax.jit(generic.gammaincc)
gammaln = compiled(generic.gammaln, lambda x, value: generic.digamma(x))  # of its own it has 0 at the poles
polygamma = jax.jit(generic.polygamma, static_argnums=0)
zeta = jax.jit(generic.zeta)
