"""The types of the modules that are called like functions, for type checkers."""

from types import ModuleType

from .convert import convert
from .jit import jit
from .profile import profile
from .vmap import vmap

class Convert(ModuleType):
    __call__ = staticmethod(convert)

class Jit(ModuleType):
    __call__ = jit

class Profile(ModuleType):
    __call__ = staticmethod(profile)

class Vmap(ModuleType):
    __call__ = vmap
