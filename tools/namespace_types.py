"""Write the types of the standard's namespaces, `src/xpand/_standard.pyi`: python tools/namespace_types.py

The signatures are those of array-api-strict, the standard's reference implementation.
"""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import array_api_strict

ROOT: Final = Path(__file__).parents[1]
PATH: Final = ROOT / "src" / "xpand" / "_standard.pyi"

_HEADER: Final = '''"""The types of the namespaces of the array API standard {version}, for type checkers.

`tools/namespace_types.py` writes this file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from .typing import Array, Device, DType

_Boolean = bool  # in a namespace, `bool` is a data type

class EigResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array

class FloatInfo(Protocol):
    """The result of `finfo`."""

    @property
    def bits(self) -> int: ...
    @property
    def eps(self) -> float: ...
    @property
    def max(self) -> float: ...
    @property
    def min(self) -> float: ...
    @property
    def smallest_normal(self) -> float: ...
    @property
    def dtype(self) -> DType: ...

class IntegerInfo(Protocol):
    """The result of `iinfo`."""

    @property
    def bits(self) -> int: ...
    @property
    def max(self) -> int: ...
    @property
    def min(self) -> int: ...
    @property
    def dtype(self) -> DType: ...

class NamespaceInfo(Protocol):
    """The result of `__array_namespace_info__`."""

    def capabilities(self) -> Mapping[str, Any]: ...
    def default_device(self) -> Device: ...
    def default_dtypes(self, *, device: Device | None = None) -> Mapping[str, DType]: ...
    def devices(self) -> Sequence[Device]: ...
    def dtypes(
        self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None
    ) -> Mapping[str, DType]: ...
'''

_PROPERTIES: Final = {
    "__name__": "str",
    "__array_api_version__": "str",
    **dict.fromkeys(("e", "inf", "nan", "pi"), "float"),
    "newaxis": "None",
    "linalg": "LinalgNamespace",
    "fft": "FFTNamespace",
}

_NAMES: Final = {
    "finfo_object": "FloatInfo",
    "iinfo_object": "IntegerInfo",
    "bool": "_Boolean",
    "SupportsDLPack": "Any",
    "NoneType": "None",
}

_WITHOUT_TYPES: Final = {"__array_namespace_info__": "NamespaceInfo"}
"""Functions of array-api-strict whose result has no type there, or a class of its own."""

_CORRECTED: Final = {("expand_dims", "axis"): "int | tuple[int, ...]"}
"""Parameters whose types are narrower in array-api-strict than in the standard."""

_ADDED: Final = {
    "LinalgNamespace": (
        "    def eig(self, x: Array, /) -> EigResult: ...",
        "    def eigvals(self, x: Array, /) -> Array: ...",
    )
}
"""Functions of the standard that array-api-strict lacks."""

_OMITTED: Final = frozenset(
    {
        "ArrayAPIStrictFlags",
        "Device",
        "__version__",
        "get_array_api_strict_flags",
        "reset_array_api_strict_flags",
        "set_array_api_strict_flags",
    }
)
"""Names of array-api-strict that are not of the standard."""


def text() -> str:
    """Return the content of the file, formatted."""
    parts = [_HEADER.format(version=array_api_strict.__array_api_version__)]
    namespaces = {
        "LinalgNamespace": (array_api_strict.linalg, "The extension `xp.linalg` of a namespace."),
        "FFTNamespace": (array_api_strict.fft, "The extension `xp.fft` of a namespace."),
        "StandardNamespace": (
            array_api_strict,
            "A namespace of the standard.",
        ),
    }
    results = sorted({result for xp, _ in namespaces.values() for result in _results(xp)}, key=lambda r: r.__name__)
    parts += [_result_class(result) for result in results]
    parts += [_namespace_class(name, xp, summary) for name, (xp, summary) in namespaces.items()]
    command = [sys.executable, "-m", "ruff", "format", f"--config={ROOT / 'pyproject.toml'}", "--stdin-filename=x.pyi"]
    return subprocess.run([*command, "-"], input="\n".join(parts), capture_output=True, text=True, check=True).stdout


def _functions(xp: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in sorted({*xp.__all__} - _OMITTED):
        value = getattr(xp, name)
        if inspect.isfunction(value):
            yield name, value


def _results(xp: Any) -> Iterator[type]:
    """Find the named tuples that functions return."""
    for _, function in _functions(xp):
        result = inspect.signature(function).return_annotation
        if isinstance(result, type) and issubclass(result, tuple) and hasattr(result, "_fields"):
            yield result


def _result_class(result: type) -> str:
    fields = "\n".join(f"    {name}: {_annotation(kind)}" for name, kind in inspect.get_annotations(result).items())
    return f"class {result.__name__}(NamedTuple):\n{fields}\n"


def _namespace_class(name: str, xp: Any, summary: str) -> str:
    lines = [f"class {name}(Protocol):", f'    """{summary}"""', ""]
    for attribute in sorted({"__name__", *xp.__all__} - _OMITTED):
        value = getattr(xp, attribute)
        if not inspect.isfunction(value):
            kind = _PROPERTIES.get(attribute, "DType")
            lines += ["    @property", f"    def {attribute}(self) -> {kind}: ..."]
    lines += [_method(function, value) for function, value in _functions(xp)]
    lines += _ADDED.get(name, ())
    return "\n".join(lines) + "\n"


def _method(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    parameters = [_parameter(name, parameter) for parameter in signature.parameters.values()]
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    if kinds.count(inspect.Parameter.POSITIONAL_ONLY):
        parameters.insert(kinds.count(inspect.Parameter.POSITIONAL_ONLY), "/")
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(len(parameters) - kinds.count(inspect.Parameter.KEYWORD_ONLY), "*")
    result = _WITHOUT_TYPES.get(name) or _annotation(signature.return_annotation)
    return f"    def {name}({', '.join(['self', *parameters])}) -> {result}: ..."


def _parameter(function: str, parameter: inspect.Parameter) -> str:
    star = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else ""
    annotation = _CORRECTED.get((function, parameter.name)) or _annotation(parameter.annotation)
    written = f"{star}{parameter.name}: {annotation}"
    if parameter.default is inspect.Parameter.empty:
        return written
    plain = parameter.default is None or isinstance(parameter.default, (bool, int, float, str))
    return f"{written} = {parameter.default!r}" if plain else f"{written} = ..."


def _annotation(annotation: Any) -> str:
    """Write a type of array-api-strict as one of xpand."""
    written = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    written = re.sub(r"\b(?:array_api_strict|collections|typing)\.(?:\w+\.)*(\w+)", r"\1", written)
    written = re.sub(r" \| Undef\b", "", written)
    if "NestedSequence" in written:  # of `asarray`, which takes anything
        return "Any"
    if written.startswith("Union["):
        written = " | ".join(re.split(r", (?![^\[]*\])", written[6:-1]))
    return re.sub(r"\w+", lambda match: _NAMES.get(match.group(), match.group()), written)


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
