"""The data types of results."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from .._core import Aval
from .._functions import BINARY, UNARY

_ELEMENTWISE: Final = frozenset((*UNARY, *BINARY, "clip", "where"))


def dtype_of_result(namespace: Any, name: str, args: tuple[Any, ...], params: Mapping[str, Any]) -> Any:
    """Find the data type of a function's result: that of the function on an example, remembered.

    The example has single elements, or, where the function acts element by element, none, of which nothing can warn.
    """
    key = (name, tuple([_kind(x) for x in args]), tuple(map(repr, params.items())))
    found = namespace.dtypes_of_results.get(key)
    if found is None:
        length = 0 if name in _ELEMENTWISE else 1
        given = [x for x in args if isinstance(x, Aval)]
        least = 1 if not length and not any(x.ndim for x in given) else 0
        ones = [
            namespace.base.ones((length,) * max(least, min(x.ndim, 1)), dtype=x.dtype) if isinstance(x, Aval) else x
            for x in args
        ]
        found = namespace.dtypes_of_results[key] = namespace.operations[name].function(*ones, **params).dtype
    return found


def _kind(x: Any) -> Any:
    if isinstance(x, Aval):
        return type(x.dtype), x.dtype, min(x.ndim, 1)
    # Whether a number fits depends on the number itself only for integers.
    return (int, x) if type(x) is int else type(x)


def dtypes_of_matrix_function(namespace: Any, name: str, *avals: Any) -> tuple[Any, ...]:
    """Find the data types of the results of a function of matrices: those for matrices of one element, remembered."""
    key = (name, *((type(x.dtype), x.dtype) for x in avals))
    found: tuple[Any, ...] | None = namespace.dtypes_of_results.get(key)
    if found is None:
        ones = [namespace.base.ones((1, 1), dtype=x.dtype) for x in avals]
        results = namespace.operations[f"linalg.{name}"].function(*ones)
        several = results if isinstance(results, tuple) else (results,)
        found = namespace.dtypes_of_results[key] = tuple(x.dtype for x in several)
    return found


def of_example(name: str) -> Callable[..., Any]:
    """Say that the data type is that of an example; of the parameters only `dtype` has a say."""

    def dtype(namespace: Any, avals: Any, params: Mapping[str, Any]) -> Any:
        given = {"dtype": params["dtype"]} if params.get("dtype") is not None else {}
        return dtype_of_result(namespace, name, tuple(avals), given)

    return dtype


def same(namespace: Any, avals: Any, params: Mapping[str, Any]) -> Any:
    """Say that the result has the data type of the first array."""
    return avals[0].dtype


def promoted(namespace: Any, avals: Any, params: Mapping[str, Any]) -> Any:
    """Say that the result has the data type that those of the arrays promote to."""
    dtypes = [x.dtype for x in avals if isinstance(x, Aval)]
    return dtypes[0] if len(dtypes) == 1 else namespace.base.result_type(*dtypes)
