"""Derivatives on JAX: its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.ad_checkpoint
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from xpand.extend import Array
from xpand_extensions.autodiff._linear import LinearFunction, flatten, unflatten_linear
from xpand_extensions.autodiff.checkpoint_policies import AnyPolicy, Policy

from .._explained import explained
from ._solve import custom_linear_solve, custom_root


def stop_gradient(x: Array, /) -> Array:
    return jax.lax.stop_gradient(x)


def jvp(
    function: Callable[..., Any], /, primals: Sequence[Array], tangents: Sequence[Array], *, has_aux: bool = False
) -> tuple[Any, ...]:
    function = explained(getattr(function, "name", "jvp"), function)
    outs, derivatives, aux = jax.jvp(function, tuple(primals), tuple(tangents), has_aux=has_aux)
    return outs, tuple(map(_tangent, outs, derivatives)), aux


def vjp(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    function = explained(getattr(function, "name", "vjp"), function)
    outs, pull, aux = jax.vjp(function, *primals, has_aux=has_aux)

    return outs, jax.tree_util.Partial(_pulled, pull), aux


def _pulled(pull: Callable[..., tuple[Array, ...]], *cotangents: Array) -> tuple[Array, ...]:
    back: tuple[Array, ...] = pull(tuple(map(_cotangent, cotangents)))
    return back


def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    both: Callable[..., Any] = jax.value_and_grad(explained("grad", function), argnums, has_aux, holomorphic, allow_int)
    return both


def linearize(function: Callable[..., Any], /, *primals: Array, has_aux: bool = False) -> tuple[Any, ...]:
    outs, derivative, aux = jax.linearize(explained("linearize", function), *primals, has_aux=True)
    return outs, derivative, aux


def linear_transpose(function: Callable[..., Any], /, *primals: Array) -> Callable[..., tuple[Array, ...]]:
    transposed: Callable[..., tuple[Array, ...]] = jax.tree_util.Partial(
        _transposed, jax.linear_transpose(function, *primals)
    )
    return transposed


def _transposed(transpose: Callable[..., tuple[Array, ...]], *cotangents: Array) -> tuple[Array, ...]:
    try:
        return transpose(cotangents)
    except (AssertionError, NotImplementedError) as error:  # JAX found an operation that isn't linear
        raise TypeError("linear_transpose: the function is not linear in its arguments") from error


def residuals(function: Callable[..., Any], /, *specs: Any) -> tuple[list[Array], Callable[..., Any]]:
    arrays, structure = jax.tree_util.tree_flatten(function)  # JAX's linear functions are trees
    return arrays, _OfResiduals(structure)


@dataclass(frozen=True)
class _OfResiduals:
    """A linear function without its residuals. Functions of one structure are equal."""

    structure: Any

    def __call__(self, arrays: Sequence[Array], *given: Array) -> Any:
        """Call the function."""
        return jax.tree_util.tree_unflatten(self.structure, arrays)(*given)


jax.tree_util.register_pytree_node(LinearFunction, flatten, unflatten_linear)


def closure_convert(function: Callable[..., Any], /, *example_args: Array) -> tuple[Callable[..., Any], list[Array]]:
    converted, captured = jax.closure_convert(function, *example_args)
    return converted, list(captured)


def checkpoint(
    function: Callable[..., Any],
    /,
    *,
    prevent_cse: bool = True,
    policy: AnyPolicy | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    checkpointed: Callable[..., Any] = jax.checkpoint(function, prevent_cse=prevent_cse, policy=_policy(policy))
    return checkpointed


def _policy(policy: Any) -> Any:
    """Convert a policy of xpand to JAX's policy of the same name; return others unchanged."""
    if not isinstance(policy, Policy):
        return policy
    found = getattr(jax.checkpoint_policies, policy.name)
    if policy.name == "save_and_offload_only_these_names":
        saved, offloaded, source, target = policy.args
        return found(
            names_which_can_be_saved=list(saved),
            names_which_can_be_offloaded=list(offloaded),
            offload_src=source,
            offload_dst=target,
        )
    return found(*map(_policy, policy.args)) if policy.args or policy.name.startswith("save_") else found


def checkpoint_name(x: Array, /, name: str) -> Array:
    return jax.ad_checkpoint.checkpoint_name(x, name)


def custom_jvp(
    function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
) -> "_Forward":
    return _Forward(function)


def custom_vjp(
    function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
) -> "_Reverse":
    return _Reverse(function)


class _Forward(jax.custom_jvp):  # type: ignore[misc]
    """JAX's `custom_jvp`, for xpand's rules: these get zeros for integers, and None for symbolic zeros."""

    def defjvp(self, rule: Callable[..., Any], symbolic_zeros: bool) -> None:
        derivative = _known if symbolic_zeros else _tangent

        def of_arrays(primals: tuple[Array, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            outs, derivatives = rule(primals, tuple(map(derivative, primals, tangents)))
            return outs, tuple(map(_cotangent, derivatives))

        super().defjvp(of_arrays, symbolic_zeros)


class _Reverse(jax.custom_vjp):  # type: ignore[misc]
    """JAX's `custom_vjp`, for xpand's rules: these get zeros for integers, and None for symbolic zeros."""

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any], symbolic_zeros: bool) -> None:
        derivative = _known if symbolic_zeros else _like_tangent

        def of_arrays(state: tuple[Any, Any, Any], cotangents: tuple[Any, ...]) -> tuple[Array, ...]:
            perturbed, residuals, outs = state
            return tuple(
                map(_cotangent, backward(perturbed.flags, residuals, tuple(map(derivative, outs, cotangents))))
            )

        def with_outs(*xs: Any) -> tuple[Any, Any]:
            perturbed = (True,) * len(xs)
            if symbolic_zeros:
                xs, perturbed = tuple(x.value for x in xs), tuple(x.perturbed and not _is_integer(x.value) for x in xs)
            outs, residuals = forward(perturbed, *xs)
            # The shapes and data types of integer outputs are needed later.
            return outs, (_Perturbed(perturbed), residuals, tuple(x if _is_integer(x) else None for x in outs))

        super().defvjp(with_outs, of_arrays, symbolic_zeros)


@jax.tree_util.register_static
@dataclass(frozen=True)
class _Perturbed:
    """Which arguments are differentiated, as a tree without leaves."""

    flags: tuple[bool, ...]


def _is_integer(x: Array) -> bool:
    return not jnp.issubdtype(x.dtype, jnp.inexact)


def _like_tangent(out: Array | None, cotangent: Array) -> Array:
    return cotangent if out is None else jnp.zeros_like(out)


def _known(out: Array | None, derivative: Any) -> Array | None:
    """Return a derivative; or None if JAX marks it as zero or as that of an integer."""
    is_zero = isinstance(derivative, SymbolicZero) or derivative.dtype == jax.dtypes.float0
    return None if is_zero else derivative


def _tangent(out: Array, derivative: Array) -> Array:
    """Replace JAX's mark for an integer's derivative by zeros."""
    return jnp.zeros_like(out) if derivative.dtype == jax.dtypes.float0 else derivative


def _cotangent(x: Array) -> Array:
    if not _is_integer(x):
        return x
    return np.zeros(x.shape, dtype=jax.dtypes.float0)
