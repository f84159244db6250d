"""Compile a graph to machine code by LLVM, and call it with NumPy arrays."""

import ctypes
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Final
from uuid import uuid4

import llvmlite
import numpy as np
from llvmlite import binding as llvm, ir

from .....tracing._backend import QUIET, attempted
from .....tracing._compile import compiled
from .....tracing._forward import without_warnings
from .....tracing._graph import Graph, Variable, graphs_within
from ._emit import POINTER, Emitter
from ._expansions import expanded
from ._flags import AGAIN, STATUS, clear_flags, keep_flags
from ._loops import lowered
from ._scalars import literal
from ._shares import TEAM, Share, finish, start_frame, store_arguments, write_help
from ._support import Support, order_of, support_of
from ._threads import follow_threadpoolctl, rest, team
from ._ufuncs import HEAD
from ._values import SMALL, Buffer, Node, Order, Small

_DATA: Final = HEAD
_FLAGS: Final = HEAD + 48
_LAYOUT: Final = 0x101
"""The flags of an array with aligned and adjacent elements, row by row."""
MISPLACED: Final = 1 << 8
"""The status of a call with an array in another layout."""
_REACTIONS: Final = {1: "invalid", 4: "divide", 8: "over", 16: "under"}
_WARNED: Final = sum(_REACTIONS)
_LOCK: Final = Lock()
MOST_ORDERS: Final = 8
"""The maximum number of memory orders of inputs for which a program is compiled."""
LARGEST_SAVED: Final = 1 << 24
"""The maximum size in bytes of a workspace that is saved for the next call."""


def _machine() -> Any:
    """Make the description of this machine. Each engine needs its own, which it frees."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
    )


@cache
def _data_layout() -> str:
    return str(_machine().target_data)


def is_supported() -> bool:
    """Return whether compiled code supports this machine and this version of NumPy."""
    if not llvm.get_process_triple().startswith("x86_64"):
        return False
    x = np.arange(6.0).reshape(2, 3)[:, :1]
    flags = ctypes.c_int.from_address(id(x) + _FLAGS).value
    known = x.flags.c_contiguous + 0x100 * x.flags.aligned
    return ctypes.c_void_p.from_address(id(x) + _DATA).value == x.ctypes.data and flags & _LAYOUT == known


class Program:
    """A graph as machine code."""

    def __init__(self, graph: Graph, orders: Sequence[Order] | None = None) -> None:
        """Compile a graph for inputs in memory orders, by default `DENSE`. It takes transposes of `COLUMNS`."""
        arguments = [*graph.inputs, *graph.constants]
        given = [np.require(x, requirements=("C", "A")) for x in graph.constants.values()]
        self.graph = Graph(graph.namespace, arguments, {}, graph.equations, graph.outputs)
        known = [Order.DENSE] * len(graph.inputs) if orders is None else orders
        self._turned = [*map(_is_transposed, known), *[False] * len(given)]
        self._support = support_of(self.graph, [*known, *map(order_of, graph.constants.values())])
        transposed = self._transposed(self._support)
        self.results = [(x.shape, np.dtype(x.dtype), each) for x, each in zip(graph.outputs, transposed)]
        with _LOCK:
            found = _written(self.graph, self._support, self._turned)
            self.text, self.size, loops, self.shares, self.constants = found
            self._engine = _engine(self.text)
        self.constants = [*given, *self.constants]
        self.addresses = np.asarray([x for loop in loops for x in loop] or [0], dtype=np.int64)
        self.count = len(graph.inputs)
        count = len(graph.inputs) + len(self.results) + len(self.constants) + (5 if self.shares else 2)
        self._run = self._compiled("run", ctypes.c_int, count)
        self._workspaces: list[Any] = []
        """The workspace of the last call, since new memory costs more than operations on it."""
        self._library: Callable[..., Any] | None = None
        self._others: dict[tuple[Order, ...], Callable[..., Sequence[Any]]] = {}
        """The functions that run instead for inputs in other memory orders."""

    def _compiled(self, name: str, result: Any, count: int) -> Any:
        """Return a compiled function that takes Python objects."""
        return ctypes.CFUNCTYPE(result, *[ctypes.py_object] * count)(self._engine.get_function_address(name))

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        """Run the program."""
        return self.function()(*arrays)

    def function(self) -> Callable[..., Sequence[Any]]:
        """Return the function that runs the program."""
        found = self._function(self._after)
        setattr(found, QUIET, self._function(self._quietly_after))
        return found

    def _function(self, after: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        """Write the function that runs the program, without loops over arguments: a call takes a microsecond."""
        scope: dict[str, Any] = {"empty": np.empty, "ndarray": np.ndarray, "asarray": np.asarray, "bytes": np.uint8}
        scope |= {"run": self._run, "addresses": self.addresses, "spaces": self._workspaces, "after": after}
        given, results = [f"x{i}" for i in range(self.count)], [f"y{i}" for i in range(len(self.results))]
        lines = [f"    if type({x}) is not ndarray: {x} = asarray({x})" for x in given]
        for i, (shape, dtype, is_transposed) in enumerate(self.results):
            scope[f"d{i}"] = dtype
            rows = (*shape[:-2], shape[-1], shape[-2]) if is_transposed else shape
            lines.append(f"    y{i} = empty({rows!r}, d{i}){'.mT' if is_transposed else ''}")
        scope |= {f"c{i}": x for i, x in enumerate(self.constants)}
        constants = [f"c{i}" for i in range(len(self.constants))]
        found = "".join(f"{y}, " if shape else f"{y}[()], " for y, (shape, *_) in zip(results, self.results))
        memory = ["space", "addresses"]
        if self.shares:
            follow_threadpoolctl()
            frame, of_thread = (max(sizes) for sizes in zip(*self.shares))
            help_ = self._compiled("help", None, 2)
            scope |= {"words": np.int64, "team": team, "help": help_, "engine": self._engine}
            lines.append(f"    frame = empty({frame}, words); job = help, frame, {of_thread}, engine")
            memory += ["team()", "frame", "job"]
            scope["rest"] = rest
        lines += [
            "    try: space = spaces.pop()",
            f"    except IndexError: space = empty({self.size}, bytes)",
            f"    status = run({', '.join([*given, *constants, *results, *memory])})",
            f"    if not frame[{TEAM}]: rest()" if self.shares else "",
            "    if not spaces: spaces.append(space)" if self.size <= LARGEST_SAVED else "",
            f"    if status: return after(status, ({found}), ({''.join(f'{x}, ' for x in given)}*others))",
            f"    return ({found})",
        ]
        exec("\n".join([f"def call({''.join(f'{x}, ' for x in given)}*others):", *lines]), scope)
        call: Callable[..., Sequence[Any]] = scope.pop("call")
        return call

    def _after(self, status: int, results: Sequence[Any], arrays: Sequence[Any]) -> Sequence[Any]:
        """Return the results of a call, or recompute them if the status requires it."""
        if status & MISPLACED:
            return self._rearranged(arrays)
        if status & AGAIN or self._reacts(status):
            return self.by_library(*arrays)
        return results

    def _quietly_after(self, status: int, results: Sequence[Any], arrays: Sequence[Any]) -> Sequence[Any]:
        with without_warnings():
            return self._after(status, results, arrays)

    @staticmethod
    def _reacts(status: int) -> bool:
        """Return whether `np.errstate` reacts to the floating-point flags."""
        reactions = np.geterr()
        return any(status & flag and reactions[name] != "ignore" for flag, name in _REACTIONS.items())  # type: ignore[literal-required]

    def _rearranged(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Run the function with NumPy's results for arrays in their memory order."""
        given = list(map(np.asarray, arrays))
        orders = tuple(map(order_of, given))
        if orders not in self._others:
            make = partial(self._for_orders, orders)
            self._others[orders] = attempted(self.graph, "native", make, lambda: self.by_library)
        return self._others[orders](*given)

    def _for_orders(self, orders: tuple[Order, ...]) -> Callable[..., Sequence[Any]]:
        """Return this program for copies, another program for arrays by columns, or the library."""
        support = support_of(self.graph, orders)
        if support.reasons:
            return self.by_library
        is_same = self._transposed(support) == self._transposed(self._support)
        program = self
        if not (is_same and self._support.facts.cover(support.facts)):
            if not any(map(_is_transposed, orders)) or len(self._others) >= MOST_ORDERS:
                return self.by_library
            program = Program(self.graph, orders)
        run = program.function()
        return lambda *given: run(*[np.require(x, requirements=("C", "A")) for x in program.turned(given)])

    def turned(self, arrays: Sequence[Any]) -> list[Any]:
        """Transpose the arrays whose transposes the program takes."""
        return [x.mT if is_turned else x for x, is_turned in zip(arrays, self._turned, strict=True)]

    def _transposed(self, support: Support) -> list[bool]:
        """Return which results NumPy stores by columns."""
        return [_is_transposed(support.orders.get(x, Order.DENSE)) for x in self.graph.outputs]

    def by_library(self, *arrays: Any) -> Sequence[Any]:
        """Run the graph by NumPy's own functions, which also warn."""
        if self._library is None:
            self._library = compiled(self.graph)
        found: Sequence[Any] = self._library(*self.turned(arrays))
        return found


def _engine(text: str) -> Any:
    target, path = _machine(), path_of(text)
    known = None if path is None else read(path)
    module = llvm.parse_assembly(text)
    if known is None:
        _optimize(module, target)
    engine = llvm.create_mcjit_compiler(module, target)
    if path is not None:
        engine.set_object_cache(lambda _, code: write(path, code), lambda _: known)
    engine.finalize_object()
    return engine


def _optimize(module: Any, target: Any) -> None:
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    # Don't vectorize straight-line code: LLVM 22.1 moves a gather before the store of its values. Vectorization gains
    # nothing on the benchmarks, and takes up to half of the compile time.
    options.slp_vectorization = False
    passes = llvm.create_pass_builder(target, options)
    manager = passes.getModulePassManager()
    manager.run(module, passes)
    with suppress(AttributeError):  # llvmlite 0.50 keeps 80 kB: an empty method hides the one that frees the manager
        llvm.newpassmanagers.NewPassManager._dispose(manager)
        manager.detach()


def _large_constants(graph: Graph) -> list[Any]:
    """Return the constants of loops and branches that are not written into the code."""
    found: dict[int, Any] = {}

    def visit(each: Graph) -> None:
        for equation in each.equations:
            step = expanded(equation)
            for inner in (*(each for _, each in graphs_within(equation.params)), *([] if step is None else [step])):
                found.update((id(x), x) for x in inner.constants.values() if np.size(x) > SMALL)
                visit(inner)

    visit(graph)
    return list(found.values())


def _is_transposed(order: Order) -> bool:
    return Order.COLUMNS in order and Order.DENSE not in order


def _memory(like: Any, pointer: Any, is_turned: bool) -> Buffer:
    """Return the memory of an argument or result, or of its transpose if `is_turned`."""
    if not is_turned:
        return Buffer(like.shape, like.dtype, pointer)
    rows = (*like.shape[:-2], like.shape[-1], like.shape[-2])
    return Buffer(rows, like.dtype, pointer).viewed(np.matrix_transpose)


def _written(
    graph: Graph, support: Support, turned: Sequence[bool]
) -> tuple[str, int, list[Any], list[Share], list[Any]]:
    """Return a program's text, the size of its workspace, NumPy's loops, shared loops, and large constants."""
    large = _large_constants(graph)
    module = ir.Module(name="program", context=ir.Context())
    module.triple = llvm.get_process_triple()
    module.data_layout = _data_layout()
    counts = len(graph.inputs), len(large), len(graph.outputs)
    total = sum(counts) + 3
    body = ir.Function(module, ir.FunctionType(STATUS, [POINTER] * total), "body")
    body.linkage = "internal"
    body.attributes.add("noinline")
    for x in body.args[:-1]:
        x.add_attribute("noalias")
    emitter = Emitter(module, body)
    emitter.counted, emitter.orders = support.facts
    clear_flags(emitter)
    given = [_memory(x, pointer, is_turned) for x, pointer, is_turned in zip(graph.inputs, body.args, turned)]
    inputs: list[Node] = list(map(emitter.in_registers, given))
    pointers = {id(x): pointer for x, pointer in zip(large, body.args[counts[0] :])}

    def constant(value: Any) -> Node:
        value = np.asarray(value)
        if value.size > SMALL:
            return Buffer(value.shape, value.dtype, pointers[id(value)])
        return Small(value.shape, value.dtype, [literal(x, value.dtype) for x in value.ravel()])

    results = [
        _memory(x, pointer, _is_transposed(support.orders.get(x, Order.DENSE)))
        for x, pointer in zip(graph.outputs, body.args[sum(counts[:2]) :])
    ]
    targets = {x: each for x, each in zip(graph.outputs, results) if isinstance(x, Variable) and each.size > SMALL}
    found = lowered(emitter, graph, inputs, constant, targets)
    for node, target in zip(found, results):
        if node is not target:
            emitter.store(node, target)
    keep_flags(emitter)
    b = emitter.b
    if emitter.shares:
        finish(b, body.args[-1])
    b.ret(b.and_(b.load(emitter.status, typ=STATUS), ir.Constant(STATUS, _WARNED | AGAIN)))
    if emitter.shares:
        store_arguments(emitter.entry, body)
        write_help(module, _DATA)
    emitter.entry.branch(body.blocks[1])
    _write_entry(module, body, len(graph.inputs), bool(emitter.shares))
    constants = [np.ascontiguousarray(x) for x in large]
    return str(module), sum(emitter.sizes), list(emitter.loops), emitter.shares, constants


def _write_entry(module: ir.Module, body: ir.Function, count: int, shares: bool) -> None:
    """Write the function that takes Python arrays, checks their layout, and calls the program with their data.

    If there are loops to share, the last arguments are the result of `team`, a frame, and the job for helpers.
    """
    total = len(body.args)
    kind = ir.FunctionType(STATUS, [POINTER] * (total + 2 if shares else total - 1))
    entry = ir.Function(module, kind, "run")
    b = ir.IRBuilder(entry.append_basic_block())
    byte = ir.IntType(8)
    layout: Any = ir.Constant(STATUS, _LAYOUT)
    for x in entry.args[:count]:
        flags = b.load(b.gep(x, [ir.Constant(STATUS, _FLAGS)], source_etype=byte), typ=STATUS)
        layout = b.and_(layout, flags)
    arrays = entry.args[:-1] if shares else entry.args
    data = [b.load(b.gep(x, [ir.Constant(STATUS, _DATA)], source_etype=byte), typ=POINTER) for x in arrays]
    frame: Any = ir.Constant(POINTER, None)
    if shares:
        *data, team, frame = data
        start_frame(b, frame, team, entry.args[-1])
    with b.if_then(b.icmp_unsigned("!=", layout, ir.Constant(STATUS, _LAYOUT)), likely=False):
        b.ret(ir.Constant(STATUS, MISPLACED))
    b.ret(b.call(body, [*data, frame]))


VARIABLE: Final = "XPAND_CACHE_DIR"
_DIGEST: Final = 32


def path_of(text: str) -> Path | None:
    """Return the path of a program's object, or None if nothing is written to disk."""
    folder = os.path.expanduser(os.environ.get(VARIABLE, ""))
    if not folder:
        return None
    machine = llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    versions = llvmlite.__version__, str(llvm.llvm_version_info)
    key = sha256("\0".join((*machine, *versions, text)).encode()).hexdigest()
    return Path(folder) / "native" / f"{key}.o"


def read(path: Path) -> bytes | None:
    """Return the object in a file, or None if there is none or the file was changed."""
    try:
        found = path.read_bytes() if path.is_file() else b""  # a pipe would never end
    except OSError:
        return None
    digest, code = found[:_DIGEST], found[_DIGEST:]
    return code if digest == _digest(path, code) else None


def write(path: Path, code: bytes) -> None:
    """Write an object to a file atomically. Ignore errors, for example if the folder is read-only.

    The file has the permissions of any new file, since several people may share the folder.
    """
    part = path.with_suffix(f".{uuid4().hex}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(_digest(path, code) + code)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _digest(path: Path, code: bytes) -> bytes:
    return sha256(path.name.encode() + code).digest()
