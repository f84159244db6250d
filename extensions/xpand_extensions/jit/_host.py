"""Host functions inside compiled functions, and names for parts of programs."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from typing import Any

from xpand import array_namespace, choose_namespace, is_concrete, namespace, trees
from xpand.extend import checks, describe, same_structure, trace_instead

from .._dispatch import pluggable, untraceable
from .._signatures import keeps_signature
from .._transforms import arrays_of
from .._where import clean_tracebacks
from ._graph import ShapeDtype, dtype_name, dtype_of
from ._statics import name_of


@keeps_signature
@pluggable
def named_call(function: Callable[..., Any], /, *, name: str | None = None) -> Callable[..., Any]:
    """Name the operations of a function in graphs and in the library's profiler.

    Args:
        function: Takes and returns any objects. The arrays in its arguments select the library.
        name: The name. By default: the function's own.

    Returns:
        A function of the same arguments.

    Raises:
        TypeError: `function` isn't callable, or `name` is not a string.

    Source: `jax.named_call`.

    >>> import torch
    >>> "square" in named_call(lambda x: x * x, name="square").__name__
    True
    """
    checks.function("named_call", function)
    if not (name is None or isinstance(name, str)):
        raise TypeError(f"named_call: name must be a string, got {describe(name)}")
    known = name_of(function) if name is None else name

    def named(*args: Any, **kwargs: Any) -> Any:
        array = next((x for x in trees.leaves((args, kwargs)) if checks.is_array(x)), None)
        if array is None:
            return function(*args, **kwargs)
        return named_call.native(array)(function, name=known)(*args, **kwargs)

    if hasattr(function, "__name__"):
        wraps(function)(named)
    named.__name__ = known
    trace_instead(named, function, wraps=True)
    return named


@untraceable
@clean_tracebacks
@pluggable
def pure_callback(
    function: Callable[..., Any],
    result_shape_dtypes: Any,
    /,
    *args: Any,
    vmap_method: str = "sequential",
    **kwargs: Any,
) -> Any:
    """Call a function of NumPy arrays, on the host, from code that may be compiled.

    Args:
        function: Takes NumPy arrays, in the trees of `args` and `kwargs`, and returns a tree of NumPy arrays. It may
            write into its arguments. It must be pure: the same arguments give the same results, without side effects,
            because the number of calls is unspecified.
        result_shape_dtypes: The types of its results: a tree of `ShapeDtype`, or of other objects with a `shape` and a
            `dtype`. The data type may be of any library, or a name.
        *args: Trees of arrays and Python numbers.
        vmap_method: How to call the function under `vmap`. "sequential": once for each lane. "expand_dims": once, with
            an additional first axis on each array, of size 1 for arrays that are not mapped. "broadcast_all": once,
            with an additional first axis of the mapped size on each array.
        **kwargs: Keyword arguments of the function, also trees of arrays and numbers.

    Returns:
        The tree of results, as arrays of the library of `args`, on their device. They have no derivative. On Dask, the
        function is called with whole arrays when a result is computed, and its errors are raised then. JAX raises them
        within a `JaxRuntimeError`.

    Raises:
        TypeError: `function` isn't callable; a declared result has no shape or data type; or the function returns
            another structure or data type than declared.
        ValueError: The function returns other shapes than declared, or `vmap_method` is unknown.

    Source: `jax.pure_callback`; PhiML's `numpy_call`.

    >>> import numpy as np, torch
    >>> from xpand_extensions.jit import ShapeDtype
    >>> x = torch.tensor([3.0, 4.0])
    >>> pure_callback(lambda x: np.cumsum(x[::-1]), ShapeDtype((2,), torch.float32), x)
    tensor([4., 7.])
    """
    checks.choice("pure_callback", "vmap_method", vmap_method, ("sequential", "expand_dims", "broadcast_all"))
    host, native, arrays, of_result = prepared("pure_callback", function, result_shape_dtypes, args, kwargs)
    found = pure_callback.native(*arrays)(host, native, *arrays, vmap_method=vmap_method)
    return trees.unflatten(of_result, found)


@untraceable
@clean_tracebacks
@pluggable
def io_callback(
    function: Callable[..., Any], result_shape_dtypes: Any, /, *args: Any, ordered: bool = False, **kwargs: Any
) -> Any:
    """Call a function of NumPy arrays that has side effects, on the host, from code that may be compiled.

    Unlike for `pure_callback`, the function is called each time the program reaches it, even if its results are not
    used. So it may read from a file, count, or use a random generator.

    Args:
        function: As in `pure_callback`, except that it need not be pure.
        result_shape_dtypes: As in `pure_callback`; None or an empty tuple if it returns nothing.
        *args: Trees of arrays and Python numbers.
        ordered: Whether calls keep the program's order. Libraries other than JAX always keep it. JAX does not map
            ordered calls by `vmap`.
        **kwargs: Keyword arguments of the function, also trees of arrays and numbers.

    Returns:
        The tree of results, as arrays of the library of `args`, on their device. Under `vmap`, the function is called
        once for each lane, in order. Without array arguments, the library is the default one. On Dask, the function is
        called each time a result is computed.

    Raises:
        TypeError: As `pure_callback`; or a derivative is needed: host functions have none.
        ValueError: As `pure_callback`.
        UnsupportedError: On Dask, the function returns nothing, so it would never be computed.

    Source: `jax.experimental.io_callback`.

    >>> import torch
    >>> from xpand_extensions.jit import ShapeDtype
    >>> seen = []
    >>> io_callback(lambda x: seen.append(float(x)), None, torch.tensor(3.0))
    >>> seen
    [3.0]
    """
    checks.boolean("io_callback", "ordered", ordered)
    host, native, arrays, of_result = prepared("io_callback", function, result_shape_dtypes, args, kwargs)
    found = io_callback.native(*arrays)(host, native, *arrays, ordered=ordered)
    return trees.unflatten(of_result, found)


def prepared(
    name: str, function: Callable[..., Any], result_shape_dtypes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[ShapeDtype, ...], list[Any], trees.Structure]:
    """Check a call of a host function for the operation `name`.

    Returns:
        The function, which takes NumPy arrays and returns a tuple of them; the types of the results; the arrays; and
        the structure of the result.
    """
    checks.function(name, function)
    declared, of_result = trees.flatten(result_shape_dtypes)
    for each in declared:
        if not (hasattr(each, "shape") and hasattr(each, "dtype")):
            raise TypeError(
                f"{name}: result_shape_dtypes must hold objects with a shape and a dtype (ShapeDtype), got "
                f"{describe(each)}"
            )
    # PyTorch's compiler can't read dictionaries in trees, not even empty ones.
    given: tuple[Any, ...] = (args, kwargs) if kwargs else (args,)
    count = len(trees.leaves(given))
    arrays = arrays_of(name, "the arguments", given)[0] if count else [choose_namespace().zeros(0)]

    numbers = iter(range(count))
    positions = trees.map(lambda _: next(numbers), given)
    of_results = trees.map(lambda _: 0, result_shape_dtypes)
    shapes = tuple([tuple(each.shape) for each in declared])
    xp = array_namespace(*arrays)
    native = tuple([ShapeDtype(shape, dtype_of(name, x.dtype, xp)) for shape, x in zip(shapes, declared)])
    dtypes = tuple([dtype_name(each.dtype) for each in declared])
    return partial(_called, function, positions, of_results, shapes, dtypes, name), native, arrays, of_result


@clean_tracebacks
def lazy_apply(
    func: Callable[..., Any], /, *args: Any, shape: Any = None, dtype: Any = None, as_numpy: bool = False, **kwargs: Any
) -> Any:
    """Call a function that needs concrete arrays, now or as soon as their values are available.

    Args:
        func: Takes the arrays and returns one array, or a tuple of several. It must be pure.
        *args: Arrays, numbers and None.
        shape: The shape of the result, or a list of shapes of several results. By default: the arrays' shapes,
            broadcast.
        dtype: The data type of the result, or a list of data types. By default: the arrays' data types, promoted.
        as_numpy: Whether `func` takes and returns NumPy arrays for concrete arrays, too. For traced or lazy arrays, it
            always does.
        **kwargs: Further arguments of `func`, passed unchanged.

    Returns:
        The results of `func`, as arrays of the library of `args`. With concrete arrays, `func` is called directly. With
        traced or lazy arrays, `pure_callback` calls it, and it has no derivative.

    Raises:
        TypeError: `func` is not a function, or there is no array; or as `pure_callback`.
        ValueError: `shape` and `dtype` are lists of different lengths.

    Source: `array_api_extra.lazy_apply`.

    >>> import numpy as np
    >>> lazy_apply(np.cumsum, np.asarray([1.0, 2.0]), as_numpy=True)
    array([1., 3.])
    """
    checks.function("lazy_apply", func)
    arrays = {f"args[{i}]": x for i, x in enumerate(args) if checks.is_array(x)}
    if not arrays:
        raise TypeError("lazy_apply: an argument must be an array, got none")
    xp = checks.namespace_of("lazy_apply", **arrays)
    host = namespace("numpy")
    several = isinstance(shape, list) or isinstance(dtype, list)
    if all(map(is_concrete, arrays.values())):
        if not as_numpy:
            return func(*args, **kwargs)
        from ..convert._arrays import to_numpy  # the import loads sparse arrays

        found = func(*[to_numpy(x) if checks.is_array(x) else x for x in args], **kwargs)
        device = checks.device_of(next(iter(arrays.values())))
        if isinstance(found, (tuple, list)):
            return tuple([xp.asarray(host.asarray(x), device=device) for x in found])
        return xp.asarray(host.asarray(found), device=device)
    count = len(dtype) if isinstance(dtype, list) else len(shape) if isinstance(shape, list) else 1
    if shape is None:
        shape = checks.broadcast(*[tuple(x.shape) for x in arrays.values()])
    if dtype is None:
        dtype = xp.result_type(*arrays.values())
    shapes = shape if isinstance(shape, list) else [shape] * count
    dtypes = dtype if isinstance(dtype, list) else [dtype] * count
    if len(shapes) != len(dtypes):
        raise ValueError(
            f"lazy_apply: got {len(shapes)} shapes and {len(dtypes)} data types; give the same number of both"
        )
    declared = tuple([ShapeDtype(tuple(size), each) for size, each in zip(shapes, dtypes)])

    def call(*values: Any) -> tuple[Any, ...]:
        given = iter(values)
        found = func(*[next(given) if checks.is_array(x) else x for x in args], **kwargs)
        return tuple(map(host.asarray, found if several else (found,)))

    results = pure_callback(call, declared, *arrays.values())
    return tuple(results) if several else results[0]


def _called(
    function: Callable[..., Any],
    positions: trees.Tree,
    of_results: trees.Tree,
    shapes: tuple[tuple[int, ...], ...],
    dtypes: tuple[str, ...],
    name: str,
    *values: Any,
) -> tuple[Any, ...]:
    """Call the host function; check its results, and return their arrays."""
    xp = namespace("numpy")
    # Copy: otherwise the function might write into an argument of the call, or into an array that the program still
    # needs.
    given = [xp.asarray(x, copy=True) for x in values]
    args, *named = trees.map(given.__getitem__, positions)
    leaves, structure = trees.flatten(function(*args, **(named[0] if named else {})))
    of_result = trees.structure(of_results)
    if not same_structure(structure, of_result):
        raise TypeError(f"{name}: the function must return the structure declared, {of_result}, got {structure}")
    arrays = tuple(xp.asarray(leaf) for leaf in leaves)
    for x, shape, dtype in zip(arrays, shapes, dtypes):
        if x.shape[x.ndim - len(shape) :] != shape:
            raise ValueError(f"{name}: the function must return the shape declared, {shape}, got {x.shape}")
        if str(x.dtype) != dtype:
            raise TypeError(f"{name}: the function must return the data type declared, {dtype}, got {x.dtype}")
    return arrays


def of_shapes(found: Sequence[Any], shapes: Iterable[Sequence[int]]) -> None:
    """Check that the results of one call of the host function, of possibly many, have the declared shapes."""
    for x, shape in zip(found, shapes):
        if x.shape != tuple(shape):
            raise ValueError(
                f"pure_callback: the function must return the shape declared, {tuple(shape)}, got {x.shape}"
            )
