"""The types of the modules that are called like functions, for type checkers."""

from types import ModuleType

from .convert import (
    ByteOrder as _convert_ByteOrder,
    Pointer as _convert_Pointer,
    collecting_traced as _convert_collecting_traced,
    convert as _convert_convert,
    exported as _convert_exported,
    from_bytes as _convert_from_bytes,
    from_pointer as _convert_from_pointer,
    imported as _convert_imported,
    pointer as _convert_pointer,
    to_bytes as _convert_to_bytes,
    to_numpy as _convert_to_numpy,
)
from .jit import (
    CompiledFunction as _jit_CompiledFunction,
    CompiledProgram as _jit_CompiledProgram,
    Lowered as _jit_Lowered,
    ShapeDtype as _jit_ShapeDtype,
    disable_jit as _jit_disable_jit,
    eval_shape as _jit_eval_shape,
    io_callback as _jit_io_callback,
    jit as _jit_jit,
    lazy_apply as _jit_lazy_apply,
    lower as _jit_lower,
    make_graph as _jit_make_graph,
    named_call as _jit_named_call,
    pure_callback as _jit_pure_callback,
)
from .profile import (
    ArrayInfo as _profile_ArrayInfo,
    Entry as _profile_Entry,
    MemoryUse as _profile_MemoryUse,
    Place as _profile_Place,
    Profile as _profile_Profile,
    call as _profile_call,
    get_current_profile as _profile_get_current_profile,
    profile as _profile_profile,
    profile_function as _profile_profile_function,
)
from .vmap import (
    all_gather as _vmap_all_gather,
    all_to_all as _vmap_all_to_all,
    apply_along_axis as _vmap_apply_along_axis,
    axis_index as _vmap_axis_index,
    axis_size as _vmap_axis_size,
    custom_vmap as _vmap_custom_vmap,
    pmap as _vmap_pmap,
    pmax as _vmap_pmax,
    pmean as _vmap_pmean,
    pmin as _vmap_pmin,
    ppermute as _vmap_ppermute,
    psum as _vmap_psum,
    psum_scatter as _vmap_psum_scatter,
    sequential_vmap as _vmap_sequential_vmap,
    vectorize as _vmap_vectorize,
    vmap as _vmap_vmap,
)

class Convert(ModuleType):
    __call__ = staticmethod(_convert_convert)
    ByteOrder = _convert_ByteOrder
    Pointer = _convert_Pointer
    collecting_traced = staticmethod(_convert_collecting_traced)
    convert = staticmethod(_convert_convert)
    exported = staticmethod(_convert_exported)
    from_bytes = staticmethod(_convert_from_bytes)
    from_pointer = staticmethod(_convert_from_pointer)
    imported = staticmethod(_convert_imported)
    pointer = staticmethod(_convert_pointer)
    to_bytes = staticmethod(_convert_to_bytes)
    to_numpy = staticmethod(_convert_to_numpy)

class Jit(ModuleType):
    __call__ = _jit_jit
    CompiledFunction = _jit_CompiledFunction
    CompiledProgram = _jit_CompiledProgram
    Lowered = _jit_Lowered
    ShapeDtype = _jit_ShapeDtype
    disable_jit = staticmethod(_jit_disable_jit)
    eval_shape = staticmethod(_jit_eval_shape)
    io_callback = staticmethod(_jit_io_callback)
    jit = _jit_jit
    lazy_apply = staticmethod(_jit_lazy_apply)
    lower = _jit_lower
    make_graph = _jit_make_graph
    named_call = _jit_named_call
    pure_callback = staticmethod(_jit_pure_callback)

class Profile(ModuleType):
    __call__ = staticmethod(_profile_profile)
    ArrayInfo = _profile_ArrayInfo
    Entry = _profile_Entry
    MemoryUse = _profile_MemoryUse
    Place = _profile_Place
    Profile = _profile_Profile
    call = staticmethod(_profile_call)
    get_current_profile = staticmethod(_profile_get_current_profile)
    profile = staticmethod(_profile_profile)
    profile_function = staticmethod(_profile_profile_function)

class Vmap(ModuleType):
    __call__ = _vmap_vmap
    all_gather = staticmethod(_vmap_all_gather)
    all_to_all = staticmethod(_vmap_all_to_all)
    apply_along_axis = staticmethod(_vmap_apply_along_axis)
    axis_index = staticmethod(_vmap_axis_index)
    axis_size = staticmethod(_vmap_axis_size)
    custom_vmap = staticmethod(_vmap_custom_vmap)
    pmap = _vmap_pmap
    pmax = staticmethod(_vmap_pmax)
    pmean = staticmethod(_vmap_pmean)
    pmin = staticmethod(_vmap_pmin)
    ppermute = staticmethod(_vmap_ppermute)
    psum = staticmethod(_vmap_psum)
    psum_scatter = staticmethod(_vmap_psum_scatter)
    sequential_vmap = staticmethod(_vmap_sequential_vmap)
    vectorize = _vmap_vectorize
    vmap = _vmap_vmap
