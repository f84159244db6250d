"""Neural networks of other libraries: recognize them, and find the package for a library."""

import sys
from importlib.util import find_spec
from types import ModuleType

from ._defaults import namespace_or_default
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
        xp: The namespace or name of the library that the network uses. By default, any library is accepted.

    Returns:
        True for modules of PyTorch (`torch.nn`), and for modules of Flax (`nnx`, `linen`) and Equinox, which use JAX.
        Nothing is imported.

    Raises:
        TypeError, ValueError, ModuleNotFoundError: `xp` is neither a namespace nor the name of a library.

    Source: PhiML's `is_module`.

    >>> import torch
    >>> is_module(torch.nn.Linear(2, 3)), is_module(torch.ones(3))
    (True, False)
    """
    names = LIBRARIES if xp is None else (library_name(namespace_or_default(xp, "is_module")),)
    for name in names:
        for module, attribute in LIBRARIES[name].networks if name in LIBRARIES else ():
            base = getattr(sys.modules.get(module), attribute, None)
            if base is not None and isinstance(x, base):
                return True
    return False


def nn_library(xp: Namespace | str | None = None, /) -> ModuleType:
    """Return the Python module with a library's neural networks.

    Args:
        xp: The namespace or name of the library; by default, `default_namespace()`.

    Returns:
        `torch.nn` for PyTorch; for JAX, `flax.nnx`, or `equinox` if Flax is not installed.

    Raises:
        UnsupportedError: The library has no neural networks.
        ModuleNotFoundError: No known package with neural networks is installed.
        TypeError, ValueError: `xp` is neither a namespace nor the name of a library.

    Source: PhiML's `nn_library`.

    >>> nn_library("torch").__name__
    'torch.nn'
    """
    name = library_name(namespace_or_default(xp, "nn_library"))
    known = [module for module, _ in LIBRARIES[name].networks] if name in LIBRARIES else []
    if not known:
        raise UnsupportedError(f"nn_library: {name} has no neural networks; use those of 'torch' or 'jax'")
    for module in known:
        if find_spec(module.partition(".")[0]) is not None:
            return import_module(module)
    raise ModuleNotFoundError(
        f"nn_library: no neural networks for {name} are installed; `pip install` one of "
        f"{', '.join(dict.fromkeys(module.partition('.')[0] for module in known))}"
    )
