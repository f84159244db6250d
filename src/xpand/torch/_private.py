"""The private names of PyTorch that xpand uses. No other module uses any.

Each is looked up when this module is imported, or at its first use if PyTorch takes seconds to load it. If a release of
PyTorch lacks one, a function or a class that raises `UnsupportedError` takes its place, and everything else works. Each
docstring ends with the most similar public name, or says that there is none. `tests/test_private_torch.py` shows what
breaks without each name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, reduce
from importlib import import_module
from typing import Any, Final, NoReturn, TypeVar

import torch
from torch.autograd import forward_ad

from .._errors import UnsupportedError
from ..typing import LibraryArray as Array

F = TypeVar("F", bound=Callable[..., Any])

TESTED: Final = ("2.11.0", "2.13.0", "2.15.0")
"""The releases of PyTorch with which all names were tested."""


def _look_up(path: str) -> Any:
    """Return the object "module:name"; the name may have dots. Raise ImportError or AttributeError if it is missing."""
    module, _, name = path.partition(":")
    return reduce(getattr, name.split("."), import_module(module))


def _error(path: str) -> UnsupportedError:
    return UnsupportedError(
        f"this needs `{path.replace(':', '.')}`, a private name that PyTorch {torch.__version__} lacks; install a "
        f"release of PyTorch with which xpand was tested: {', '.join(TESTED)}"
    )


def missing(path: str) -> Any:
    """Make a function that replaces a missing one, and raises UnsupportedError."""

    def raises(*args: Any, **kwargs: Any) -> NoReturn:
        raise _error(path)

    return raises


def missing_class(path: str) -> Any:
    """Make a class that replaces a missing one; its constructor, `isinstance` and `apply` raise UnsupportedError."""

    class Kind(type):
        def __instancecheck__(cls, instance: object) -> bool:
            raise _error(path)

    raises = missing(path)
    return Kind(path.rpartition(".")[2], (), {"__new__": raises, "apply": staticmethod(raises)})


def _function(path: str, instead: Callable[[str], Any] = missing) -> Any:
    try:
        return _look_up(path)
    except (ImportError, AttributeError):
        return instead(path)


def _class(path: str) -> Any:
    return _function(path, missing_class)


def _exception(path: str) -> Any:
    """Return a class of errors, or one that nothing raises if it is missing: errors then pass unchanged."""
    return _function(path, lambda path: type(path.rpartition(".")[2], (Exception,), {}))


def _late(path: str, *modules: str) -> Callable[[], Any]:
    """Make a function that loads and returns an object. `modules` are further modules that the object needs.

    PyTorch takes seconds to load these objects.
    """

    @cache
    def load() -> Any:
        with warnings.catch_warnings():  # PyTorch's own modules use deprecated functions
            warnings.simplefilter("ignore")
            try:
                for module in modules:
                    import_module(module)
                return _look_up(path)
            except (ImportError, AttributeError) as error:
                raise _error(path) from error

    return load


def _needs(*paths: str) -> Callable[[F], F]:
    """Replace a function by one that raises UnsupportedError if a private name that it uses is missing."""

    def decorate(function: F) -> F:
        for path in paths:
            try:
                _look_up(path)
            except (ImportError, AttributeError):
                return missing(path)
        return function

    return decorate


# ---------------------------------------------------------------------------------------------------------------------
# Levels of torch.func: each running `vmap`, `grad` or `jvp` is a level, and wraps the arrays that it traces.

are_levels_active: Callable[[], bool] = _function("torch._C:_are_functorch_transforms_active")
"""Return whether a transformation of torch.func is running. Public: none."""

current_level: Callable[[], int | None] = _function("torch._C._functorch:maybe_current_level")
"""Return the number of the innermost level, or None. Public: none."""

level_of: Callable[[Array], int] = _function("torch._C._functorch:maybe_get_level")
"""Return the innermost level that wraps an array; 0 or less if none does. Public: none."""

is_wrapped: Callable[[Array], bool] = _function("torch._C._functorch:is_functorch_wrapped_tensor")
"""Return whether any level wraps an array. Public: `torch.func.debug_unwrap(x) is not x`, which is slower."""

is_mapped: Callable[[Array], bool] = _function("torch._C._functorch:is_batchedtensor")
"""Return whether the innermost level that wraps an array is a `vmap`. Public: none."""

is_grad_wrapped: Callable[[Array], bool] = _function("torch._C._functorch:is_gradtrackingtensor")
"""Return whether the innermost level that wraps an array is a derivative. Public: none."""

unwrap_mapped: Callable[[Array, int], tuple[Array, int | None]] = _function("torch._C._functorch:_unwrap_batched")
"""Return the batch below a `vmap`, and its axis or None. Public: `register_vmap`, but only for operations."""

wrap_mapped: Callable[[Array, int, int], Array] = _function("torch._C._functorch:_add_batch_dim")
"""Wrap a batch with the given axis at the level of a `vmap`. Public: `register_vmap`, but only for operations."""

unwrap_grad: Callable[[Array, int], Array] = _function("torch._C._functorch:_unwrap_for_grad")
"""Return an array below the level of a derivative; unchanged if this level does not wrap it. Public: none."""

wrap_grad: Callable[[Array, int], Array] = _function("torch._C._functorch:_wrap_for_grad")
"""Wrap an array at the level of a derivative. Public: none."""

interpreter: Callable[[], Any] = _function("torch._functorch.pyfunctorch:retrieve_current_functorch_interpreter")
"""Return the innermost level: an object with `level()`, `lower()`, `batch_size()` and `randomness()`. Public: none."""


@_needs("torch._C._functorch:TransformType.Vmap")
def is_vmap(level: Any) -> bool:
    """Return whether a level that `interpreter` returned is a `vmap`. Public: none."""
    return level.key() == torch._C._functorch.TransformType.Vmap


without_levels: Callable[[], AbstractContextManager[Any]] = _function(
    "torch._functorch.pyfunctorch:temporarily_clear_interpreter_stack"
)
"""Leave all levels in a `with` block. Public: none."""

unobserved: Callable[[], AbstractContextManager[Any]] = _function("torch._C:DisableTorchFunction")
"""Hide operations in a `with` block from modes and subclasses, which can't use unwrapped arrays. Public: none."""

SingleLevelFunction: Any = _class("torch.autograd.function:_SingleLevelFunction")
"""The class of derivatives at one level. Public: `torch.autograd.Function`, which acts on all levels."""

allow_single_level: Callable[[], AbstractContextManager[Any]] = _function(
    "torch._functorch.utils:enable_single_level_autograd_function"
)
"""Allow `SingleLevelFunction.apply` in a `with` block. Public: none."""


# ---------------------------------------------------------------------------------------------------------------------
# Forward mode, saved tensors and storages


@_needs("torch.autograd.forward_ad:_current_level")
def in_forward_mode() -> bool:
    """Return whether forward mode is running. Public: none; `unpack_dual` looks at one array."""
    return forward_ad._current_level >= 0


set_forward_mode: Callable[[bool], AbstractContextManager[Any]] = _function(
    "torch.autograd.forward_ad:_set_fwd_grad_enabled"
)
"""Switch forward mode on or off in a `with` block. Public: none; `torch.set_grad_enabled` is for reverse mode."""


def load_forward_rules() -> None:
    """Import PyTorch's Python rules of forward mode, and hide its own deprecation warnings. Public: none.

    PyTorch imports them when forward mode is first used. If they are missing, there are no warnings either.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(ImportError):
            import_module("torch._decomp.decompositions_for_jvp")


are_hooks_allowed: Callable[[], bool] = _function("torch._C._autograd:_saved_tensors_hooks_is_enabled")
"""Return whether `saved_tensors_hooks` can be used: levels of torch.func may forbid it. Public: none."""


@_needs("torch._C._autograd:_top_saved_tensors_default_hooks")
def are_hooks_set() -> bool:
    """Return whether `saved_tensors_hooks` are in use, such as those of a checkpoint. Public: none."""
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


@_needs("torch._C:_storage_Use_Count", "torch:UntypedStorage._cdata")
def count_uses(storage: Any) -> int:
    """Count the tensors and objects that use a storage. Public: none."""
    return torch._C._storage_Use_Count(storage._cdata)


is_view: Callable[[Array], bool] = _function("torch:Tensor._is_view")
"""Return whether an array is a view of another tensor. Public: none."""

is_zero_tensor: Callable[[Array], bool] = _function("torch:Tensor._is_zerotensor")
"""Return whether an array is one of PyTorch's zeros without memory. Public: none."""

sparse_indices: Callable[[Array], Array] = _function("torch:Tensor._indices")
"""Return the indices of a sparse tensor with duplicates. Public: `Tensor.indices`, only for coalesced tensors."""

sparse_values: Callable[[Array], Array] = _function("torch:Tensor._values")
"""Return the values of a sparse tensor with duplicates. Public: `Tensor.values`, only for coalesced tensors."""


# ---------------------------------------------------------------------------------------------------------------------
# The dispatcher

count_modes: Callable[[], int] = _function("torch._C:_len_torch_dispatch_stack")
"""Count the active modes that handle operations, such as traces. Public: none."""

count_function_modes: Callable[[], int] = _function("torch._C:_len_torch_function_stack")
"""Count the active modes that handle functions, such as a default device. Public: none."""

is_autocast_active: Callable[[], bool] = _function("torch._C:_is_any_autocast_enabled")
"""Return whether `torch.autocast` is in use for any device. Public: `torch.is_autocast_enabled`, for one device."""


@_needs("torch._C:_get_dispatch_mode", "torch._C:_TorchDispatchModeKey.FAKE", "torch._C:_TorchDispatchModeKey.PROXY")
def is_graph_mode_active() -> bool:
    """Return whether this thread makes a graph, or uses tensors without values.

    Public: none; `torch.compiler.is_compiling` is True in all threads while one of them compiles.
    """
    mode, key = torch._C._get_dispatch_mode, torch._C._TorchDispatchModeKey
    return mode(key.FAKE) is not None or mode(key.PROXY) is not None


def has_kernel(operation: str, key: str) -> bool:
    """Return whether an operation has its own rule. Public: `torch.library.get_kernel`, which also finds fallbacks.

    Called on import. True if the name is missing: PyTorch then raises or warns where it has no rule.
    """
    has_kernel = getattr(torch._C, "_dispatch_has_kernel_for_dispatch_key", None)
    return has_kernel is None or bool(has_kernel(operation, key))


@_needs("torch._C:_ExcludeDispatchKeyGuard", "torch._C:DispatchKeySet", "torch._C:DispatchKey.FuncTorchBatched")
def without_mapping() -> AbstractContextManager[Any]:
    """Apply no rules of `vmap` in a `with` block. Public: none."""
    c = torch._C
    return c._ExcludeDispatchKeyGuard(c.DispatchKeySet(c.DispatchKey.FuncTorchBatched))


# ---------------------------------------------------------------------------------------------------------------------
# Tracing and compiling

FakeTensor: Any = _class("torch._subclasses.fake_tensor:FakeTensor")
"""The class of tensors without values. Public: none."""

FakeTensorMode: Any = _class("torch._subclasses.fake_tensor:FakeTensorMode")
"""The class of modes in which tensors have no values. Public: none; tensors on "meta" lose their device."""

DataDependentOutputException: Any = _exception("torch._subclasses.fake_tensor:DataDependentOutputException")
"""The error of Python code that reads the value of a tensor without values. Public: none."""

DynamicOutputShapeException: Any = _exception("torch._subclasses.fake_tensor:DynamicOutputShapeException")
"""The error of a shape that depends on values. Public: none."""

fake_mode_of: Callable[[Any], Any] = _function("torch._guards:detect_fake_mode")
"""Return the mode of the tensors without values among the given ones, or None. Public: none."""

without_functional_mode: Callable[[], AbstractContextManager[Any]] = _function(
    "torch._subclasses.functional_tensor:disable_functional_mode"
)
"""Leave the mode that replaces writes in place, in a `with` block. Public: none."""

FAKE_LOGGER: Final = "torch._subclasses.fake_tensor"
"""The logger of errors of tensors without values. Public: none; `torch._logging` only sets whole components."""


try:
    _thread_flag: Any = _look_up("torch.fx._symbolic_trace:_is_fx_tracing_context")  # PyTorch 2.15
except (ImportError, AttributeError):
    _thread_flag = None


@_needs("torch.fx._symbolic_trace:_is_fx_tracing_flag")
@contextmanager
def _process_flag_hidden() -> Iterator[None]:
    module = torch.fx._symbolic_trace
    before = module._is_fx_tracing_flag
    module._is_fx_tracing_flag = False
    try:
        yield
    finally:
        module._is_fx_tracing_flag = before


def fx_tracing_hidden() -> AbstractContextManager[Any]:
    """Hide in a `with` block that torch.fx is tracing, so that compiled functions can be called. Public: none."""
    return _process_flag_hidden() if _thread_flag is None else _thread_flag(False)


def register_node(cls: type, flatten: Callable[..., Any], unflatten: Callable[..., Any]) -> None:
    """Register a class as a container in PyTorch's trees. Public: none, though PyTorch's documentation uses this one.

    Called on import. If the name is missing, PyTorch's own transformations raise for the containers.
    """

    def split(x: Any) -> tuple[list[Any], Any]:
        # None is a leaf for PyTorch, and leaves must be tensors.
        children, static = flatten(x)
        return [each for each in children if each is not None], ([each is not None for each in children], static)

    def joined(children: Any, context: Any) -> Any:
        is_there, static = context
        found = iter(children)
        return unflatten(static, [next(found) if each else None for each in is_there])

    with suppress(ImportError, AttributeError):
        register = _look_up("torch.utils._pytree:register_pytree_node")
        register(cls, split, joined, serialized_type_name=f"{cls.__module__}.{cls.__name__}")


compile_lock = _late("torch._dynamo.convert_frame:compile_lock")
"""Return the lock that torch.compile holds while it compiles. Public: none."""

inductor_compile = _late("torch._inductor:compile", "torch._inductor.compile_fx")
"""Return the function that compiles a graph. Public: `torch.compile`, which reads bytecode and adds guards."""

inductor_error = _late("torch._inductor.exc:InductorError")
"""Return the class of TorchInductor's errors. Public: none."""

inductor_kernels = _late("torch._inductor.compile_fx:compile_fx_inner")
"""Return the function that compiles a graph of ATen's operations. Public: none."""

inductor_rules = _late("torch._inductor.decomposition:select_decomp_table")
"""Return the function that returns TorchInductor's decompositions of operations. Public: none."""

aot_function = _late("torch._functorch.aot_autograd:aot_function")
"""Return the function that compiles a function with its derivative. Public: `torch.compile`, as above."""

aot_partition = _late("torch._functorch.partitioners:min_cut_rematerialization_partition")
"""Return the function that chooses the residuals of a derivative. Public: none."""

aot_uncompiled = _late("torch._functorch.compilers:nop")
"""Return the compiler that returns graphs unchanged. Public: none."""
