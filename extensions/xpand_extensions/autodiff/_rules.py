"""Functions with custom rules for their derivatives: for forward mode, which is used in both modes, or for reverse
mode.
"""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from xpand import array_namespace, trees
from xpand.extend import Array, checks, describe

from .._captures import OfArrays
from .._dispatch import pluggable
from .._signatures import forward_rule, reverse_rule
from .._transforms import ArraySpec, Partial, divided, replaced, unflatten
from .._transforms_patterns import without_plans
from .._where import clean_tracebacks
from ._products import Function
from ._rule_calls import Call, Custom, CustomVJPPrimal, P, R, conforming, filled_in, pair, with_zeros

F = TypeVar("F", bound=Function)


@forward_rule
@pluggable
def custom_jvp(
    function: Function, /, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
) -> "CustomJVP[..., Any]":
    """Give a function a custom derivative along a direction, which reverse mode uses, too: a decorator.

    Set the rule with `defjvp` of the returned function, or with `defjvps`, which takes one rule for each argument.

    Args:
        function: Takes trees of arrays and returns one.
        nondiff_argnums: The positions of arguments that are not arrays, but of any other type, such as functions. The
            rule gets them unchanged, before the others.
        nondiff_argnames: The same by name. The rule gets the arguments in order of position.

    Returns:
        The function. If it is called before the rule is set, it raises `AttributeError`.

    Raises:
        TypeError: The returned function raises it if a differentiated argument is not a tree of arrays and numbers, or
            the rule returns another structure, shape or data type than its output.

    A second derivative differentiates the operations of the rule, as on JAX. The rule doesn't cover captured arrays:
    their derivatives are those of the function itself. On JAX, a differentiated captured array raises an error.

    Source: `jax.custom_jvp`.

    >>> import torch
    >>> @custom_jvp
    ... def f(x, y):
    ...     return torch.sin(x) * y
    >>> @f.defjvp
    ... def rule(primals, tangents):
    ...     (x, y), (dx, dy) = primals, tangents
    ...     return f(x, y), torch.cos(x) * dx * y + torch.sin(x) * dy
    >>> torch.func.grad(f)(torch.tensor(0.0), torch.tensor(2.0))
    tensor(2.)
    """
    return CustomJVP("custom_jvp", function, nondiff_argnums, nondiff_argnames)


@reverse_rule
@pluggable
def custom_vjp(
    function: Function, /, nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
) -> "CustomVJP[..., Any]":
    """Give a function a custom derivative for reverse mode: a decorator.

    Set the rule with `defvjp(forward, backward)` of the returned function. `forward` takes the arguments and returns a
    pair, the output and the residuals. `backward` takes the residuals and a tree like the output. It returns a tuple
    with a tree like each argument, or None for arguments whose derivative is zero.

    Args:
        function: Takes trees of arrays and returns one.
        nondiff_argnums: The positions of arguments that are not arrays, but of any other type, such as functions.
            `backward` gets them before the others.
        nondiff_argnames: The same by name. The rule gets the arguments in order of position.

    Returns:
        The function. If it is called before the rule is set, it raises `AttributeError`. It has no forward mode.

    Raises:
        TypeError: The returned function raises it if a differentiated argument is not a tree of arrays and numbers, or
            the rule returns a wrong structure, shape or data type.

    A second derivative differentiates the operations of the rule, as on JAX. Captured arrays are treated as in
    `custom_jvp`.

    Source: `jax.custom_vjp`.

    >>> import torch
    >>> @custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, g: (torch.clip(g, -1.0, 1.0),))
    >>> torch.func.grad(lambda x: 10.0 * clipped(x))(torch.tensor(0.5))
    tensor(1.)
    """
    return CustomVJP("custom_vjp", function, nondiff_argnums, nondiff_argnames)


class CustomJVP(Custom[P, R]):
    """A function with a custom rule for forward mode, made by `custom_jvp`."""

    rule: Function | None = None
    symbolic_zeros = False

    def defjvp(self, rule: F, symbolic_zeros: bool = False) -> F:
        """Set the rule, and return it: a decorator.

        Args:
            rule: Takes the arguments named by `nondiff_argnums`, a tuple of the other arguments, and a tuple with a
                tangent like each of these. Returns a pair, the output and a tangent like it. It must be linear in the
                tangents. Tangents of integers are zeros of their data types.
            symbolic_zeros: Whether the rule gets a `SymbolicZero` as the tangent of integers, Python numbers and arrays
                that are not differentiated, so that it can skip zero terms. It may also return them.
        """
        checks.function("defjvp", rule)
        self.rule, self.symbolic_zeros = rule, symbolic_zeros
        return rule

    def defjvps(self, *rules: Function | None) -> None:
        """Set a rule for each argument.

        Args:
            *rules: Each takes the tangent of its argument, the output, and the arguments; returns the contribution to
                the tangent of the output. None: the contribution is zero.

        Raises:
            TypeError: The function has `nondiff_argnums`, which these rules can't take.
        """
        if self.nondiff_argnums:
            raise TypeError("defjvps: can't be used with nondiff_argnums; give the whole rule to `defjvp`")
        for rule in rules:
            if rule is not None:
                checks.function("defjvps", rule)

        def whole(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[trees.Tree, trees.Tree]:
            if len(primals) != len(rules):
                raise TypeError(f"defjvps: got {len(rules)} rules for a function called with {len(primals)} arguments")
            output = cast("Function", self)(*primals)
            parts = [rule(t, output, *primals) for rule, t in zip(rules, tangents) if rule is not None]
            if not parts:
                return output, trees.map(lambda x: array_namespace(x).zeros_like(x), output)
            return output, trees.map(lambda first, *rest: sum(rest, first), *parts)

        self.rule, self.symbolic_zeros = whole, False

    @clean_tracebacks
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        if self.rule is None:
            raise AttributeError(
                f"custom_jvp: {getattr(self.function, '__name__', 'the function')} has no rule yet; give it one with "
                "`defjvp` or `defjvps`"
            )
        call, symbolic_zeros = self.bound(args, kwargs), self.symbolic_zeros

        def flat_rule(
            users: tuple[Any, ...], primals: Sequence[Array], tangents: Sequence[Array | None]
        ) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
            along = with_zeros(tangents, call.specs, symbolic_zeros, primals)
            # The direction of a container has the container's pattern.
            directions = replaced(along, call.patterns, [primals[i] for i in call.patterns])
            given = unflatten(call.structure, primals), call.tangents(directions, symbolic_zeros)
            rule, *nondiff = users
            output, tangent = pair(f"{self.label} must return a pair (output, tangent)", rule(*nondiff, *given))
            outs = call.outputs(output)
            specs = [ArraySpec.of(x) for x in outs]
            return outs, conforming(f"{self.label}: the tangent", tangent, call.result[0], specs)

        leaves = call.taken()
        if not leaves:
            return call.direct()
        native = custom_jvp.native(*leaves)(OfArrays(call.run, self.function, *call.nondiff_args))
        native.defjvp(OfArrays(flat_rule, self.rule, *call.nondiff_args), symbolic_zeros)
        return call.output(native(*leaves))


class CustomVJP(Custom[P, R]):
    """A function with a custom rule for reverse mode, made by `custom_vjp`."""

    rule: tuple[Function, Function] | None = None
    symbolic_zeros = False

    def defvjp(self, forward: Function, backward: Function, symbolic_zeros: bool = False) -> None:
        """Set the rule.

        Args:
            forward: Takes the function's arguments; returns a pair, the output and the residuals, a tree of arrays and
                other objects.
            backward: Takes the arguments named by `nondiff_argnums`, the residuals, and a tree like the output;
                returns a tuple with a tree like each of the other arguments.
            symbolic_zeros: Whether the rule learns which arrays are not differentiated. Then `forward` gets a
                `CustomVJPPrimal`, with the attributes `value` and `perturbed`, in place of each array and number in the
                differentiable arguments. `backward` gets a `SymbolicZero` as the cotangent of an output that nothing
                depends on, and may also return them. Inside `torch.compile`, cotangents are always arrays.
        """
        checks.function("defvjp", forward, "forward")
        checks.function("defvjp", backward, "backward")
        self.rule, self.symbolic_zeros = (forward, backward), symbolic_zeros

    @clean_tracebacks
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        if self.rule is None:
            raise AttributeError(
                f"custom_vjp: {getattr(self.function, '__name__', 'the function')} has no rule yet; give it one with "
                "`defvjp`"
            )
        call = self.bound(args, kwargs)
        rule, nondiff = _Reverse(call, self.symbolic_zeros), call.nondiff_args
        leaves = call.taken()
        if not leaves:
            return call.direct()
        native = custom_vjp.native(*leaves)(OfArrays(call.run, self.function, *nondiff))
        forward, backward = self.rule
        forward, backward = OfArrays(rule.forward, forward, *nondiff), OfArrays(rule.backward, backward, *nondiff)
        native.defvjp(forward, backward, self.symbolic_zeros)
        return call.output(native(*leaves))


class _Reverse:
    """A rule for reverse mode as functions of arrays, for one call.

    The functions also take which arrays are differentiated, as their first argument: the residuals may depend on it.
    """

    def __init__(self, call: Call, symbolic_zeros: bool) -> None:
        self.call, self.symbolic_zeros = call, symbolic_zeros
        self.residuals: dict[tuple[bool, ...], Partial] = {}
        self.specs: list[ArraySpec] = []

    def forward(
        self, users: tuple[Any, ...], perturbed: tuple[bool, ...], *leaves: Array
    ) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Return the output and the arrays of the residuals. Store the other parts of the residuals."""
        label = f"{self.call.custom.label}: forward"
        if self.symbolic_zeros:
            arguments = self.call.primals([CustomVJPPrimal(*each) for each in zip(leaves, perturbed)])
        else:
            arguments = unflatten(self.call.structure, leaves)
        output, residuals = pair(f"{label} must return a pair (output, residuals)", self.call.merged(users, *arguments))
        if any(isinstance(x, CustomVJPPrimal) for x in trees.leaves((residuals, output))):
            raise TypeError(f"{label} must not return a CustomVJPPrimal; return its `value`")
        arrays, rest = divided(residuals)
        if perturbed not in self.residuals:  # only once: PyTorch's compiler forbids a change in a second call
            self.residuals[perturbed] = rest
        outs = self.call.outputs(output)
        if not self.specs:
            self.specs.extend([ArraySpec.of(x) for x in outs])
        # Save the patterns of the output, too: `backward` needs them for its cotangent.
        patterns = tuple(outs[i] for i in self.call.patterns_out)
        return outs, (*arrays, *patterns)

    def backward(
        self,
        users: tuple[Any, ...],
        perturbed: tuple[bool, ...],
        arrays: Sequence[Array],
        cotangents: Sequence[Array | None],
    ) -> tuple[Array, ...]:
        """Return the cotangents of the arguments."""
        call, label = self.call, f"{self.call.custom.label}: backward"
        given = iter(arrays)
        residuals = self.residuals[perturbed].tree(given)
        back = with_zeros(cotangents, self.specs, self.symbolic_zeros, arrays)
        backward, *nondiff = users
        found = backward(*nondiff, residuals, call.output(replaced(back, call.patterns_out, list(given))))
        arguments = unflatten(call.structure, call.specs)
        if not isinstance(found, (tuple, list)) or len(found) != len(arguments):
            got = f"{type(found).__name__} of {len(found)}" if isinstance(found, (tuple, list)) else describe(found)
            raise TypeError(f"{label} must return a tuple of {len(arguments)}, one for each argument, got {got}")
        filled = filled_in(label, without_plans(tuple(found)), arguments)
        return conforming(f"{label}: the derivative", filled, call.structure, call.specs)
