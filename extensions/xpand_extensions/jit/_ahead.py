"""Programs compiled ahead of their first call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xpand import trees
from xpand.extend import describe

from .._where import clean_tracebacks


class Executable(NamedTuple):
    """A program that a library has compiled, as a function of the leaves of the arguments."""

    run: Callable[..., Any]
    text: str
    cost: Mapping[str, float] | None = None
    memory: Any = None


class Lowering(NamedTuple):
    """The result of an implementation of `lower`: the text, and the compiler if it is not `jit`."""

    text: str
    compile: Callable[[], Executable] | None = None


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A function compiled for certain shapes and data types: the result of `lower(f)(x).compile()`.

    Call it with the arguments of the function, without the static ones.
    """

    executable: Executable = field(repr=False)
    name: str
    """The name of the function."""
    structure: trees.Structure = field(repr=False)
    signature: tuple[Any, ...]
    """The shape and data type of each array in the arguments, or the type of a number."""

    @clean_tracebacks
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises:
            TypeError: The arguments differ in structure, shape or data type from those for which it was compiled.
        """
        leaves, structure = trees.flatten((args, kwargs))
        if structure != self.structure:
            raise TypeError(
                f"{self.name}: compiled for arguments of the structure {self.structure}, got {structure}; static "
                "arguments are part of the program and not passed"
            )
        for x, expected in zip(leaves, self.signature):
            if signature_of(x) != expected:
                raise TypeError(
                    f"{self.name}: compiled for an argument of {_written(expected)}, got one of "
                    f"{_written(signature_of(x))}; compile it again for that, or use `jit`, which does so automatically"
                )
        return self.executable.run(*leaves)

    def as_text(self) -> str:
        """Return the program as text: XLA's on JAX, elsewhere the text of `Lowered`."""
        return self.executable.text

    def cost_analysis(self) -> Mapping[str, float] | None:
        """Return an estimate of the cost of a call, such as "flops" and "bytes accessed"; None if there is none.

        Only JAX has one, by XLA.
        """
        return self.executable.cost

    def memory_analysis(self) -> Any:
        """Return an estimate of the memory that a call takes; None if there is none.

        Only JAX has one, by XLA, with `argument_size_in_bytes`, `output_size_in_bytes`, `temp_size_in_bytes` and
        others.
        """
        return self.executable.memory


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program that a library would compile."""

    text: str
    compile_now: Callable[[], CompiledProgram] = field(repr=False, compare=False)

    def as_text(self) -> str:
        """Return the program as text: StableHLO on JAX, xpand's graph elsewhere."""
        return self.text

    def compile(self) -> CompiledProgram:
        """Compile the program: on JAX now, elsewhere at the first call."""
        return self.compile_now()


def signature_of(x: Any) -> Any:
    """Return the shape and data type of a concrete or abstract array; for anything else, return its type."""
    return (tuple(x.shape), x.dtype) if hasattr(x, "shape") and hasattr(x, "dtype") else type(x)


def _written(signature: Any) -> str:
    if isinstance(signature, tuple):
        shape, dtype = signature
        return f"shape {shape} and data type {getattr(dtype, '__name__', dtype)}"
    return describe(signature)
