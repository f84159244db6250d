"""The interface between graphs and compilers.

`jit` traces a function to a graph, simplifies it, and offers its equations to a backend. The backend compiles groups of
those that it accepts; the library's own functions do the rest.
"""

import pkgutil
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from importlib import import_module
from typing import Any, ClassVar, Final, TypeAlias

from xpand.extend import Array

from ..jit._calls import NUMBERS, unknown_compiler
from ._graph import Equation, Graph, graphs_within

Run: TypeAlias = Callable[..., Any]


class Backend:
    """A compiler of graphs. This one accepts nothing, and so leaves all to the library's own functions.

    A subclass overrides `accepts` and `lower`, and the other methods where their defaults don't fit. Its objects hold
    no state of a program; several threads may compile at the same time.
    """

    priority: ClassVar[int] = 0
    """The backend with the highest priority is used by default; one with a negative priority only by name."""

    name: ClassVar[str] = ""
    """The name by which `jit(function, compiler=name)` selects the backend."""

    needs: ClassVar[str] = ""
    """The requirement of the backend and the command that installs it, for the error where it isn't available."""

    def is_available(self) -> bool:
        """Return whether the backend can be used on this machine."""
        return True

    def accepts(self, equation: Equation) -> bool:
        """Return whether the backend can do an operation, by its name, parameters, shapes and data types.

        Operations with side effects are always left to the library. A loop or a branch that is accepted is
        one equation of a group, with the graphs of its bodies in its parameters. Where it is not accepted, the
        library's own loop runs, and the graphs of its bodies are offered by themselves.
        """
        return False

    def left(self, graph: Graph) -> dict[int, str]:
        """Return why operations of a graph are left to the library, by the `id` of their equation.

        By default they are those that `accepts` refuses. A backend overrides it to look at the operations around each
        one, or to give reasons.
        """
        return {id(each): "not accepted" for each in graph.equations if not self.accepts(each)}

    def improved(self, graph: Graph, run: Run, compile_graph: Callable[[], Run]) -> Run:
        """Return a program of the default backend, or one that calls it and becomes this backend's after a while.

        By default it stays as it is, and this backend is used only if users name it.

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
        """Return whether all operations within a loop or a branch are accepted."""
        return all(self.accepts(each) for _, graph in graphs_within(equation.params) for each in graph.equations)

    def group_of(self, equation: Equation) -> Hashable:
        """Return the kind of group that an accepted equation belongs to: neighbours of one kind are lowered together.

        By default there is one kind.
        """
        return None

    def reads_whole(self, equation: Equation) -> bool:
        """Return whether an accepted operation reads other elements of its arrays than those at its own position.

        It is then not in one group with the operations that compute these arrays.
        """
        return False

    def lower(self, graph: Graph) -> Callable[..., Sequence[Array]] | None:
        """Compile a group of accepted equations.

        Args:
            graph: The group as a graph, with those constants of the program that it uses.

        Returns:
            A function that takes arrays like `graph.inputs`, and then `graph.constants`, and returns arrays like
            `graph.outputs`; or None to leave the equations to the library. It must not write into its arguments, and
            may be called by several threads. A result shares memory with an argument only where the operation that
            defines it does.
        """
        raise NotImplementedError(f"{type(self).__name__} accepts equations, and so must define `lower`")

    @staticmethod
    def signature(leaves: Sequence[Any]) -> Hashable:
        """Return the key under which a program for arrays and Python numbers is cached.

        By default it holds the class, shape, data type and device of each array, and the class of each number.
        """
        try:
            return tuple([(type(x), x.shape, x.dtype, x.device) for x in leaves])
        except AttributeError:
            return signature_of_any(leaves)


def signature_of_any(leaves: Sequence[Any]) -> Hashable:
    """Return the signature where some leaves are numbers, or arrays without a device."""
    return tuple(
        [
            type(x) if type(x) in NUMBERS else (type(x), tuple(x.shape), x.dtype, getattr(x, "device", None))
            for x in leaves
        ]
    )


QUIET: Final = "quiet"
"""The attribute of a function that `lower` returns, for the same function without warnings, if it has one.

Programs with derivatives don't warn. Without the attribute, `np.errstate` is entered at each call, which takes 3 µs.
"""

LIBRARY: Final = Backend()
"""The backend that leaves all to the library's own functions."""


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
        """Return the names of the backends, each with its requirement where it isn't available, and "" where it is."""
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
