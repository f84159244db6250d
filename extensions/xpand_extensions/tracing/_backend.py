"""The interface between graphs and compilers.

`jit` traces a function to a graph, simplifies the graph, and offers its equations to a backend. The backend compiles
groups of equations that it accepts. The library's own functions compute the rest.
"""

import pkgutil
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from importlib import import_module
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias, TypeVar

from xpand.extend import Array, describe

from ..jit._calls import NUMBERS, unknown_compiler
from ._graph import Equation, Graph, graphs_within
from ._simplify import simplified

Run: TypeAlias = Callable[..., Any]
R = TypeVar("R")


class Direct(NamedTuple):
    """A call of a library's function for an operation: `function(*inputs, **params)`."""

    function: Callable[..., Any]
    inputs: Sequence[Any]
    """Variables, numbers, constant arrays, and lists and tuples of these."""
    params: dict[str, Any]


class Backend:
    """A compiler of graphs. This base class accepts nothing, so the library's own functions compute everything.

    A subclass overrides `accepts` and `lower`, and other methods if their defaults don't fit. Backends have no state of
    a program: several threads may compile at the same time.
    """

    priority: ClassVar[int] = 0
    """The backend with the highest priority is the default. A backend with a negative priority is only used by name."""

    name: ClassVar[str] = ""
    """The name by which `jit(function, compiler=name)` selects the backend."""

    warns: ClassVar[bool] = True
    """Whether programs may give NumPy's warnings, which those with derivatives hide."""

    needs: ClassVar[str] = ""
    """The requirement of the backend and the command that installs it, for the error if it isn't available."""

    def __str__(self) -> str:
        return self.name or describe(self)

    def is_available(self) -> bool:
        """Return whether the backend can be used on this machine."""
        return True

    def accepts(self, equation: Equation) -> bool:
        """Return whether the backend can compute an operation with these parameters, shapes and data types.

        Operations with side effects are always left to the library. An accepted loop or branch is one equation of a
        group, with the graphs of its bodies as parameters. If it is not accepted, the library's own loop runs, and the
        graphs of its bodies are offered separately.
        """
        return False

    def left(self, graph: Graph) -> dict[int, str]:
        """Return the reasons why operations of a graph are left to the library, by the `id` of their equation.

        By default, these are the operations that `accepts` refuses. A backend overrides this to consider neighbouring
        operations or to give reasons.
        """
        return {id(each): "not accepted" for each in graph.equations if not self.accepts(each)}

    def improved(self, graph: Graph, run: Run, compile_graph: Callable[[], Run]) -> Run:
        """Return the default backend's program, or one that calls it and later changes to this backend's program.

        By default, the program does not change, and this backend is used only if users name it.

        Args:
            graph: The graph of the program.
            run: The program of the default backend.
            compile_graph: Makes the program of this backend.
        """
        return run

    def plan(self, graph: Graph) -> dict[int, str]:
        """Return the operations for which `improved` replaces a program, by the `id` of their equation, and when."""
        return {}

    def accepts_bodies(self, equation: Equation) -> bool:
        """Return whether all operations in a loop or branch are accepted."""
        return all(self.accepts(each) for _, graph in graphs_within(equation.params) for each in graph.equations)

    def group_of(self, equation: Equation) -> Hashable:
        """Return the kind of group for an accepted equation. Neighbours of the same kind are lowered together.

        By default there is one kind.
        """
        return None

    def reads_whole(self, equation: Equation) -> bool:
        """Return whether an accepted operation reads elements at other positions than that of its result.

        Such an operation is not grouped with the operations that compute its arrays.
        """
        return False

    def direct(self, equation: Equation) -> Direct | None:
        """Return a faster call with the same values for an operation that is left to the library, or None.

        The data types and shapes of its arrays are known, so the call needs none of the checks of the namespace.
        """
        return None

    def takes(self, arrays: Sequence[Any], graph: Graph | None = None) -> bool:
        """Return whether programs compute functions of these arrays and numbers. If not, functions run as they are.

        Args:
            arrays: The arguments of a call.
            graph: The graph that was traced for them, if it was. Its constants may matter, too.
        """
        return True

    def lower(self, graph: Graph) -> Callable[..., Sequence[Array]] | None:
        """Compile a group of accepted equations.

        Args:
            graph: The group as a graph, with the constants of the program that it uses.

        Returns:
            A function that takes arrays like `graph.inputs` and then `graph.constants`, and returns arrays like
            `graph.outputs`, or None to leave the equations to the library. The function must not write to its
            arguments, and several threads may call it. A result may share memory with an argument only if its operation
            does so by definition.
        """
        raise NotImplementedError(f"{type(self).__name__} accepts equations, and so must define `lower`")

    @staticmethod
    def signature(leaves: Sequence[Any]) -> Hashable:
        """Return the key of the cached program for arrays and Python numbers.

        By default, the key contains the class, shape, data type and device of each array, and the class of each number.
        """
        try:
            return tuple([(type(x), x.shape, x.dtype, x.device) for x in leaves])
        except AttributeError:
            return signature_of_any(leaves)


def signature_of_any(leaves: Sequence[Any]) -> Hashable:
    """Return the signature for leaves with numbers, or arrays without a device."""
    return tuple(
        [
            type(x) if type(x) in NUMBERS else (type(x), tuple(x.shape), x.dtype, getattr(x, "device", None))
            for x in leaves
        ]
    )


QUIET: Final = "quiet"
"""The optional attribute of a function from `lower`: the same function without warnings.

Programs with derivatives don't warn. Without the attribute, each call enters `np.errstate`, which takes 3 µs.
"""

LIBRARY: Final = Backend()
"""The backend that leaves everything to the library's own functions."""


class Automatic(Backend):
    """A backend that users have not named, so it must not fail: the library computes what it can't compile."""

    def __init__(self, backend: Backend) -> None:
        """Store the backend."""
        self.backend = backend

    def direct(self, equation: Equation) -> Direct | None:
        return self.backend.direct(equation)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Automatic) and other.backend is self.backend

    def __hash__(self) -> int:
        return hash((Automatic, self.backend))


FAILURES: Final[dict[str, str]] = {}
"""The reasons why automatic backends did not compile graphs, by the text of the simplified graph, for `lower`."""
_MOST_FAILURES: Final = 256


def attempted(graph: Graph, backend: str, make: Callable[[], R], otherwise: Callable[[], R]) -> R:
    """Return the result of `make`, in which a backend compiles a graph. If it fails, return that of `otherwise`."""
    try:
        return make()
    except Exception as error:
        report(graph, backend, error)
        return otherwise()


def report(graph: Graph, backend: str, error: Exception) -> None:
    """Store the reason why a backend did not compile a graph."""
    if len(FAILURES) >= _MOST_FAILURES:
        FAILURES.clear()
    message = f": {error}" if str(error) else ""
    FAILURES[str(simplified(graph))] = f"{backend} raised {describe(error)}{message}".splitlines()[0]


def failures(graph: Graph) -> dict[int, str]:
    """Return notes for the equations of simplified graphs that automatic backends did not compile, by `id`."""
    found: dict[int, str] = {}
    for inner in (graph, *(inner for equation in graph.equations for _, inner in graphs_within(equation.params))):
        if FAILURES and str(inner) in FAILURES:
            found |= dict.fromkeys(map(id, inner.equations), f"not compiled: {FAILURES[str(inner)]}")
        if inner is not graph:
            found |= failures(inner)
    return found


class Backends:
    """The backends of a library: the public modules of a package, each with a `BACKEND`."""

    def __init__(self, package: str, path: Iterable[str]) -> None:
        """Find the backends of a package with the given `__path__`."""
        names = [info.name for info in pkgutil.iter_modules(path) if not info.name.startswith("_")]
        found = [import_module(f"{package}.{name}").BACKEND for name in sorted(names)]
        self.all: list[Backend] = [backend for backend in found if backend is not None]

    def with_another(self, backend: Backend) -> "Backends":
        """Return these backends and another one, which improves their programs."""
        found = copy(self)
        found.all = [*self.all, backend]
        return found

    def preferred(self) -> Backend:
        """Return the available backend with the highest priority."""
        by_default = [backend for backend in self.all if backend.priority >= 0]
        ordered = sorted(by_default, key=lambda backend: backend.priority, reverse=True)
        return next((backend for backend in ordered if backend.is_available()), LIBRARY)

    def names(self) -> dict[str, str]:
        """Return the names of the backends, with "" for available ones and the requirement for others."""
        named = [backend for backend in self.all if backend.name]
        return {backend.name: "" if backend.is_available() else backend.needs for backend in named}

    def named(self, name: str) -> Backend:
        """Return the backend with a name.

        Raises:
            ValueError: There is none.
            ImportError: It isn't available.
        """
        for backend in self.all:
            if backend.name == name:
                if not backend.is_available():
                    raise ImportError(f"jit: compiler={name!r} needs {backend.needs}")
                return backend
        raise unknown_compiler(name, [backend.name for backend in self.all if backend.name])
