"""Neural networks of other libraries: recognize a module, and find the package of a library."""

import sys
from importlib.util import find_spec
from types import ModuleType

from ._defaults import _as_namespace as as_namespace, default_namespace
from ._errors import UnsupportedError
from ._imports import import_module
from ._namespace import LIBRARIES, library_name
from .typing import Namespace

__all__ = ["is_module", "nn_library"]
__dir__ = __all__.copy


def is_module(x: object, /, *, xp: Namespace | str | None = None) -> bool:
    """Return whether an object is a neural network.

    Args:
        x: Anything.
        xp: The namespace, or the name, of the library that it is to compute with; any library if omitted.

    Returns:
        True for instances of `torch.nn.Module`, and for those of Flax (`nnx` and `linen`) and Equinox over JAX. Nothing
        is imported.

    Raises:
        TypeError, ValueError, ModuleNotFoundError: `xp` is neither a namespace nor the name of a library.

    Source: PhiML's `is_module`.

    >>> import torch
    >>> is_module(torch.nn.Linear(2, 3)), is_module(torch.ones(3))
    (True, False)
    """
    names = LIBRARIES if xp is None else (library_name(as_namespace(xp, "is_module")),)
    for name in names:
        for module, attribute in LIBRARIES[name].networks if name in LIBRARIES else ():
            base = getattr(sys.modules.get(module), attribute, None)
            if base is not None and isinstance(x, base):
                return True
    return False


def nn_library(xp: Namespace | str | None = None, /) -> ModuleType:
    """Return the module of a library's neural networks.

    Args:
        xp: The namespace of the library, or its name; the default one if omitted.

    Returns:
        `torch.nn`; for JAX `flax.nnx`, or `equinox` where Flax isn't installed.

    Raises:
        UnsupportedError: The library has no neural networks.
        ModuleNotFoundError: None that are known are installed.
        TypeError, ValueError: No namespace, and no library of that name.

    Source: PhiML's `nn_library`.

    >>> nn_library("torch").__name__
    'torch.nn'
    """
    name = library_name(default_namespace() if xp is None else as_namespace(xp, "nn_library"))
    known = [module for module, _ in LIBRARIES[name].networks] if name in LIBRARIES else []
    if not known:
        raise UnsupportedError(f"nn_library: {name} has no neural networks; take those of 'torch' or 'jax'")
    for module in known:
        if find_spec(module.partition(".")[0]) is not None:
            return import_module(module)
    raise ModuleNotFoundError(
        f"nn_library: no neural networks for {name} are installed; `pip install` one of "
        f"{', '.join(dict.fromkeys(module.partition('.')[0] for module in known))}"
    )
