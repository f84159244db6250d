"""Random numbers without keys: generators with a key and a counter, and the libraries' own generators."""

import secrets
import threading
from collections.abc import Callable
from typing import Any, Protocol

from xpand import UnsupportedError, library_name
from xpand.extend import Array, Device, DType, Namespace, checks, namespace_or_default

from .._dispatch import pluggable
from .._display import array_text
from ._arguments import is_typed, key_of
from ._keys import fold_in, key, split as split_key

_LAST = 2**32 - 1


class Generator:
    """A source of random numbers: a key, and a counter that is folded into it in each call.

    Every function of `random` that takes a key is a method without the key: `generator.normal((3,))` is
    `random.normal(generator.next_key(), (3,))`. So a seed gives the same numbers on every library. Calls from several
    threads get different numbers, in the order of the calls.

    Compiled functions (`jit`, `torch.compile`) call a generator only once, during tracing, so each run would have the
    same numbers. Pass keys to such functions: `f(generator.next_key(), …)`.

    Args:
        seed: An integer, or a key.
        xp: The library of the arrays, a namespace or a name; None: that of the key, or the default library.
        device: The device; None: that of the key, or the library's default.

    Raises:
        TypeError, ValueError, OverflowError: As `random.key`, also for arrays that are not keys.

    >>> import numpy as np
    >>> generator = Generator(0)
    >>> generator.randint((3,), 0, 10), generator.randint((3,), 0, 10)
    (array([6, 2, 0]), array([8, 2, 3]))
    """

    def __init__(self, seed: Array | int, *, xp: Namespace | str | None = None, device: Device | None = None) -> None:
        """Start from a seed."""
        if checks.is_array(seed) and (seed.ndim or is_typed(seed)):
            _, self._key = key_of("Generator", seed)
        else:
            self._key = key(seed, xp=xp, device=device)
        self._count = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Generator: key {array_text(self._key)}, {self._count} keys taken"

    def next_key(self) -> Array:
        """Return a new key, which no earlier call has returned."""
        with self._lock:
            if self._count == _LAST:
                self._key, self._count = fold_in(self._key, _LAST), 0
            number = self._count
            self._count += 1
            start = self._key
        return fold_in(start, number)

    def split(self, num: int = 2) -> list["Generator"]:
        """Create independent generators, for threads or parts of a program.

        Raises:
            TypeError, ValueError: As `random.split`.
        """
        number = checks.integer("split", "num", num, minimum=0)
        keys = split_key(self.next_key(), number)
        return [Generator(keys[i, ...]) for i in range(number)]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function of `random` with the key filled in."""
        function = _methods.get(name)
        if function is None:
            raise AttributeError(f"Generator: no method {name!r}; it has {', '.join(sorted(_methods))}")

        def method(*args: Any, **kwargs: Any) -> Any:
            return function(self.next_key(), *args, **kwargs)

        method.__name__, method.__doc__ = name, f"`random.{name}` with the next key."
        return method

    def __dir__(self) -> list[str]:
        """List the functions of `random`, too."""
        return sorted({*super().__dir__(), *_methods})

    def __getstate__(self) -> dict[str, Any]:
        """Omit the lock."""
        with self._lock:
            return {"_key": self._key, "_count": self._count}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, with a new lock."""
        self.__dict__.update(state, _lock=threading.Lock())


_methods: dict[str, Callable[..., Any]] = {}


def add_methods(functions: dict[str, Callable[..., Any]]) -> None:
    """Register functions that take a key as methods of generators."""
    _methods.update(functions)


_defaults: dict[str, Generator] = {}
_default_seed: int | None = None
_defaults_lock = threading.Lock()


def default_generator(xp: Namespace | str | None = None) -> Generator:
    """Return the process-wide generator of a library.

    It starts from the seed set by `seed`, otherwise from random bits of the operating system.

    Args:
        xp: The library, a namespace or a name; None: that of the default namespace.

    Raises:
        TypeError, ValueError, ModuleNotFoundError: `xp` is not a library.

    >>> seed(0)
    >>> default_generator().randint((3,), 0, 10)
    array([6, 2, 0])
    """
    namespace = namespace_or_default(xp, "default_generator")
    name = library_name(namespace)
    with _defaults_lock:
        if name not in _defaults:
            _defaults[name] = Generator(secrets.randbits(64) if _default_seed is None else _default_seed, xp=namespace)
        return _defaults[name]


def seed(value: int, /, *, xp: Namespace | str | None = None) -> None:
    """Seed the process-wide generators of all libraries, or of one library.

    Args:
        value: The seed.
        xp: The library, a namespace or a name; None: all.

    Raises:
        TypeError, OverflowError: As `random.key`.

    Source: PhiML's `seed`, which seeds the libraries' own generators. This function doesn't.

    >>> seed(0)
    """
    global _default_seed
    if xp is not None:
        namespace = namespace_or_default(xp, "seed")
        with _defaults_lock:
            _defaults[library_name(namespace)] = Generator(value, xp=namespace)
        return
    key(value)  # raise errors for bad seeds now
    with _defaults_lock:
        _default_seed = value
        _defaults.clear()


class NativeGenerator(Protocol):
    """The result of `native_generator`: a library's own source of random numbers."""

    def uniform(self, shape: Any = (), dtype: DType | None = None, minval: float = 0.0, maxval: float = 1.0) -> Array:
        """Generate random numbers between two bounds."""
        ...

    def normal(self, shape: Any = (), dtype: DType | None = None) -> Array:
        """Generate random numbers from the standard normal distribution."""
        ...

    def randint(self, shape: Any, minval: int, maxval: int, dtype: DType | None = None) -> Array:
        """Generate random integers from `minval` to below `maxval`."""
        ...

    def bernoulli(self, p: float = 0.5, shape: Any = ()) -> Array:
        """Generate random booleans."""
        ...

    def permutation(self, x: int) -> Array:
        """Return the integers below `x` in random order."""
        ...


@pluggable
def native_generator(
    seed: int, /, *, xp: Namespace | str | None = None, device: Device | None = None
) -> NativeGenerator:
    """Create a generator with the library's own, fastest random numbers.

    Its numbers differ from those of keys and from those of other libraries, and may change with the version of the
    library.

    Args:
        seed: An integer from 0 to 2⁶³ - 1.
        xp: The library, a namespace or a name; None: the default library.
        device: The device; None: the library's default.

    Returns:
        An object with the methods `uniform`, `normal`, `randint`, `bernoulli` and `permutation`, which have the
        arguments of the functions of `random` without the key. They use `numpy.random.Generator` with SFC64,
        `torch.Generator`, `jax.random` with a counter, and the `default_rng` of Dask and CuPy.

    Raises:
        TypeError: `seed` is not an integer, or `xp` is not a library.
        ValueError: `seed` is out of range, or the name of the library is unknown.
        UnsupportedError: The library has no random numbers.

    >>> native_generator(0).uniform((2,)).shape
    (2,)
    """
    seed = checks.integer("native_generator", "seed", seed, minimum=0)
    if seed >= 2**63:
        raise ValueError(f"native_generator: seed must be below 2**63, got {seed}")
    return native_generator.native_for(xp)(seed, xp=xp, device=device)


@native_generator.default
def _without_source(
    seed: int, /, *, xp: Namespace | str | None = None, device: Device | None = None
) -> NativeGenerator:
    name = library_name(namespace_or_default(xp, "native_generator"))
    raise UnsupportedError(
        f"native_generator: {name} has no source of random numbers; use `random.Generator`, which supports "
        "every library"
    )
