"""Rules of the samplers of many keys: each key of a batch, and what it makes, is one more row."""

from collections.abc import Callable
from typing import Any, Final

from xpand._arguments import device_of

from ...random._discrete import binomial_elements, poisson_elements
from ...random._elements import split_each
from ...random._gamma import gamma_elements
from .._core import Aval


def _batched(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(xp: Any, mapped: dict[str, Any], *, keys: Any, log_space: Any = None, **parameters: Any) -> Any:
        size = next(x.shape[0] for name, x in {"keys": keys, **parameters}.items() if mapped[name])

        def whole(name: str, x: Any) -> Any:
            return x if mapped[name] else xp.broadcast_to(x, (size, *x.shape))

        options = {} if log_space is None else {"log_space": log_space}
        return function(whole("keys", keys), *[whole(name, x) for name, x in parameters.items()], **options)

    return rule


BATCHING: Final[dict[str, Any]] = {
    "random.binomial_elements": _batched(binomial_elements),
    "random.gamma_elements": _batched(gamma_elements),
    "random.poisson_elements": _batched(poisson_elements),
    "random.split_each": lambda xp, mapped, keys, num: split_each(keys, num=num),
}

SHAPES: Final[dict[str, Any]] = {
    "random.binomial_elements": lambda namespace, keys, n, p: p,
    "random.gamma_elements": lambda namespace, keys, a, log_space: a,
    "random.poisson_elements": lambda namespace, keys, lam: lam,
    "random.split_each": lambda namespace, keys, num: Aval((*keys.shape[:-1], num, 2), keys.dtype, device_of(keys)),
}

CONSTANT: Final[dict[str, str]] = {
    "random.binomial_elements": "its result is a number of successes",
    "random.gamma_elements": "it makes trials; `random.gamma` has one",
    "random.poisson_elements": "its result is a number of events",
    "random.split_each": "a function of integers",
}
