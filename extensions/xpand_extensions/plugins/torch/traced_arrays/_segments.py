"""Reverse mode of PyTorch's functions on tensors with values: PyTorch's own graph, in segments between records.

Functions in a row form one graph. A result that other operations use as well is differentiated on its own, so no part
of a graph is evaluated twice. Edges of the graph, not tensors, are stored: the graph stores what it needs.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import torch
from torch.autograd.graph import GradientEdge

from xpand_extensions.tracing._batching import Batching
from xpand_extensions.tracing._core import Aval, LeakedArrayError, TracedArray, TracedError, aval_of, bare, bind
from xpand_extensions.tracing._fit import zeros
from xpand_extensions.tracing._tape import ORDER, Node, Opaque, Part

from ._calls import Mapped, Pull, Push, conj, is_floating, repeated
from ._generators import evaluated


class Segment(Opaque):
    """The results of a call in PyTorch's graph. If the call has one result, this is its tangent, else `Part`s are."""

    __slots__ = ("edges", "given", "inputs", "is_part", "maps", "namespace", "uses")

    def __init__(
        self,
        namespace: Any,
        edges: list[Any],
        outs: Sequence[Any],
        inputs: list[Any],
        maps: tuple[Any, ...],
        given: Any,
    ) -> None:
        """Make the record of a call.

        Args:
            namespace: The traced namespace.
            edges: The edges of the results in the graph, None for constant ones.
            outs: The results.
            inputs: The tangents of the arguments, with their edges or tensors.
            maps: The interpreters of the maps whose lanes the graph computes together.
            given: The call, its arguments, and which of these are differentiated; needed only with maps.
        """
        self.order = next(ORDER)
        self.back, self.pushforward, self.symbolic_zeros = _unused, None, True
        self.avals = [Aval(x.shape, x.dtype, x.device) for x in outs]
        self.nodes = [node for node, _ in inputs]
        self.namespace, self.edges, self.inputs, self.maps, self.given = namespace, edges, inputs, maps, given
        self.is_part = False
        """Whether PyTorch differentiates arguments of the call."""
        self.uses = 0
        """The number of calls that use the results, or more."""
        self.shape, self.dtype = (outs[0].shape, outs[0].dtype) if len(outs) == 1 else ((), None)

    def frontier(self) -> list[tuple[Node, Any]]:
        """Return the inputs of the segment that ends here."""
        found = []
        stack = list(self.inputs)
        seen = set()
        while stack:
            node, edge = stack.pop()
            if type(edge) is GradientEdge:
                whole = _whole(node)
                if whole.uses == 1:
                    stack += whole.inputs
                    continue
                if node in seen:
                    continue
                seen.add(node)
            found.append((node, edge))
        return found

    def pull(self, namespace: Any, ct: Any) -> Any:
        """Return the contributions of cotangents to the cotangents of the inputs of the segment."""
        cts = ct if isinstance(ct, list) else [ct]
        chosen = [i for i, c in enumerate(cts) if c is not None and self.edges[i] is not None]
        if not chosen:
            return []
        frontier = self.frontier()
        along = Along([self.edges[i] for i in chosen], frontier, self.is_part)
        given = [cts[i] for i in chosen]
        if self.maps:
            given = [_over_lanes(c, self.maps) for c in given]
            if any(isinstance(c, TracedArray) for c in given):
                return self.pulled_again(cts)
        if any(isinstance(c, TracedArray) for c in given):
            found = map(bare, bind(self.namespace.operations["torch"], given, {"call": along}))
            return list(zip([node for node, _ in frontier], found))
        return [
            (node, of_lanes(namespace, c, self.maps))
            for (node, _), c in zip(frontier, along.pulled(given))
            if c is not None
        ]

    def pulled_again(self, cts: Sequence[Any]) -> Any:
        """Return the contributions to the direct inputs, by a second evaluation of the call."""
        call, primals, wanted = self.given
        full = [zeros(self.namespace, aval) if c is None else c for c, aval in zip(cts, self.avals)]
        full = [c for c, aval in zip(full, self.avals) if is_floating(aval)]
        again, state = repeated(call)
        pulled = Pull(again, (*[False] * len(state), *wanted))
        found = bind(self.namespace.operations["torch"], [*state, *primals, *full], {"call": pulled})
        return list(zip([node for node, _ in self.inputs], map(bare, found)))

    def push(self, namespace: Any, tangents: dict[Node, Any]) -> Any:
        """Compute the tangents of the results."""
        pairs = [(node, edge) for node, edge in self.inputs if tangents.get(node) is not None]
        if not pairs:
            return None
        if self.maps:
            return self.pushed_again(tangents)
        chosen = [i for i, edge in enumerate(self.edges) if edge is not None]
        across = Across([self.edges[i] for i in chosen], pairs, [self.avals[i] for i in chosen])
        given = [tangents[node] for node, _ in pairs]
        found = iter(list(map(bare, bind(self.namespace.operations["torch"], given, {"call": across}))))
        moved = [next(found) if edge is not None else None for edge in self.edges]
        return moved[0] if len(self.edges) == 1 else moved

    def pushed_again(self, tangents: dict[Node, Any]) -> Any:
        """Compute the tangents of the results by a second evaluation of the call."""
        call, primals, wanted = self.given
        along = iter([tangents.get(node) for node, _ in self.inputs])
        given = [next(along) if each else None for each in wanted]
        again, state = repeated(call)
        pushed = Push(again, (*[False] * len(state), *[t is not None for t in given]))
        args = [*state, *primals, *(t for t in given if t is not None)]
        found = iter(list(bind(self.namespace.operations["torch"], args, {"call": pushed}))[len(self.avals) :])
        moved = [bare(next(found)) if is_floating(aval) else None for aval in self.avals]
        return moved[0] if len(self.edges) == 1 else moved


def _over_lanes(x: Any, maps: Sequence[Any]) -> Any:
    """Return the values of all lanes of maps, the last map first; it is traced if others trace the array."""
    for trace in maps:
        x = trace.lifted(x)
    return x


def of_lanes(namespace: Any, x: Any, maps: Sequence[Any]) -> Any:
    """Make the array of one lane from the values of all."""
    for trace in reversed(maps):
        x = namespace.array(trace, x)
    return x


def _without_maps(call: Any, primals: list[Any], wanted: Sequence[bool]) -> tuple[Any, list[Any], tuple[Any, ...]]:
    """Return a call for all lanes of the maps that trace arguments, its arguments, and the interpreters of the maps.

    Differentiated arguments get the lanes as well, since their gradients have them.
    """
    maps: list[Any] = []
    while True:
        traces = {x._trace for x in primals if isinstance(x, TracedArray)}
        top = max(traces, key=attrgetter("level"), default=None)
        if not isinstance(top, Batching):
            return call, primals, tuple(maps)
        mapped = tuple(each or top.owns(x) for x, each in zip(primals, wanted))
        primals = [top.lifted(x) if each else bare(x) for x, each in zip(primals, mapped)]
        call = Mapped(call, mapped)
        maps.append(top)


def _unused(*cotangents: Any) -> Any:
    raise AssertionError("a segment has its own pull")


def _whole(node: Any) -> Any:
    return node.whole if type(node) is Part else node


class _Linear:
    """A linear map in PyTorch's graph, as a call."""

    name: str
    state: Sequence[Any] = ()
    watched = False
    count = 0
    result: Any = None

    def constants(self) -> list[torch.Tensor]:
        """Return nothing: the graph isn't an argument."""
        return []

    def generators(self) -> list[torch.Generator]:
        """Return nothing: nothing is drawn."""
        return []

    def count_primals(self) -> int:
        """Return 0: all arguments are derivatives."""
        return 0

    def with_constants(self, of: Any) -> Any:
        """Return the map."""
        return self

    def again(self) -> Any:
        """Return the map."""
        return self

    def __repr__(self) -> str:
        return self.name


def _zeros(node: Any, like: Any) -> torch.Tensor:
    return torch.zeros(tuple(node.shape), dtype=node.dtype, device=like.device)


class Along(_Linear):
    """The map from cotangents of the results to cotangents of the inputs of a segment."""

    name = "pullback"

    def __init__(self, edges: list[Any], frontier: list[Any], is_part: bool) -> None:
        """Take the edges of results, the inputs, and whether PyTorch differentiates them."""
        self.edges, self.frontier, self.is_part = edges, frontier, is_part

    def pulled(self, cts: Sequence[Any]) -> Any:
        """Return the cotangents of the inputs, None for zero."""
        create = torch.is_grad_enabled() and (self.is_part or any(ct.requires_grad for ct in cts))
        try:
            found = torch.autograd.grad(
                self.edges,
                [edge for _, edge in self.frontier],
                list(map(conj, cts)),
                create_graph=create,
                retain_graph=True,
                allow_unused=True,
            )
        except LeakedArrayError as error:
            raise TracedError(
                "PyTorch evaluates a part of the function again, by `torch.utils.checkpoint` or hooks of saved "
                "tensors, after the transformation has traced it; use `autodiff.checkpoint` of `xpand_extensions`"
            ) from error
        return [None if x is None else conj(x) for x in found]

    def __call__(self, *cts: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the cotangents of the inputs."""
        self.result = None, (None,) * len(self.frontier), (True,) * len(self.frontier)
        if cts[0].device.type == "meta":
            return tuple(_zeros(node, cts[0]) for node, _ in self.frontier)
        found = self.pulled(cts)
        return tuple(_zeros(node, cts[0]) if x is None else x for (node, _), x in zip(self.frontier, found))


class Across(_Linear):
    """The map from tangents of inputs to tangents of results: the transpose of the pullback of one call."""

    name = "pushforward"

    def __init__(self, edges: list[Any], inputs: list[Any], avals: list[Any]) -> None:
        """Take the edges of results, the inputs, and the shapes of results."""
        with torch.enable_grad():
            self.cts = [_zeros(aval, aval).requires_grad_() for aval in avals]
            self.back = torch.autograd.grad(
                edges,
                [edge for _, edge in inputs],
                self.cts,
                create_graph=True,
                retain_graph=True,
                allow_unused=True,
            )

    def __call__(self, *tangents: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the tangents of the results."""
        self.result = None, (None,) * len(self.cts), (True,) * len(self.cts)
        if tangents[0].device.type == "meta":
            return tuple(x.detach().to("meta") for x in self.cts)
        pairs = [(x, conj(t)) for x, t in zip(self.back, tangents) if x is not None and x.requires_grad]
        if not pairs:
            return tuple(torch.zeros_like(x) for x in self.cts)
        found = torch.autograd.grad(
            [x for x, _ in pairs],
            self.cts,
            [t for _, t in pairs],
            create_graph=torch.is_grad_enabled() and any(t.requires_grad for t in tangents),
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        return tuple(map(conj, found))


def graphed(trace: Any, call: Any, args: Sequence[Any], nodes: list[Any], primals: list[Any]) -> Any:
    """Apply a call to tensors with values, and add it to PyTorch's graph. Return None if others trace an argument."""
    maps: tuple[Any, ...] = ()
    given = None
    for x in primals:
        if isinstance(x, TracedArray):
            wanted = tuple([node is not None and is_floating(x) for node, x in zip(nodes, primals)])
            given = call, primals, wanted
            call.watched = True
            call, primals, maps = _without_maps(call, primals, wanted)
            break
    for x in primals:
        if isinstance(x, TracedArray) or (isinstance(x, torch.Tensor) and x.is_inference()):
            return None
    is_recorded = torch.is_grad_enabled()
    # If PyTorch differentiates the arguments or the constants, too, its graph continues to them.
    is_part = is_recorded and _is_differentiated(primals, call.constants())
    primals = list(primals)
    inputs: list[tuple[Node, Any]] = []
    for i, node in enumerate(nodes):
        if node is None:
            continue
        x = primals[i]
        own = args[i]._graphed
        if own is not None and own[0] is node and own[1] is not None and own[2] == maps and not is_part:
            primals[i] = tensor = own[1]
            _whole(node).uses += 1
            inputs.append((node, GradientEdge(tensor.grad_fn, tensor.output_nr)))
        elif is_floating(x):
            mark(node)
            primals[i] = tensor = x.view_as(x) if is_part and x.requires_grad else x.detach().requires_grad_()
            inputs.append((node, tensor))
    if is_recorded:
        made = evaluated(call, *primals)
    else:
        with torch.enable_grad():
            made = evaluated(call, *primals)
    if given is not None:
        given[0].state = call.state
    edges = [_edge(x) for x in made]
    outs = made if is_part else tuple([x.detach() for x in made])
    if maps:
        outs = tuple([of_lanes(trace.namespace, x, maps) for x in outs])
    if edges.count(None) == len(edges):
        return outs
    segment = Segment(trace.namespace, edges, outs, inputs, maps, given)
    segment.is_part = is_part
    results = []
    for i, edge in enumerate(edges):
        out = outs[i]
        if edge is None:
            results.append(out)
            continue
        node = segment if len(outs) == 1 else Part(aval_of(out), segment, i)
        array = trace.array(trace, out, node)
        if edge is not made[i]:
            array._graphed = node, None if is_part else made[i], maps
        results.append(array)
    return tuple(results)


def _is_differentiated(*groups: Sequence[Any]) -> bool:
    for group in groups:
        for x in group:
            if getattr(x, "requires_grad", False):
                return True
    return False


def _edge(x: torch.Tensor) -> Any:
    if not x.requires_grad:
        return None
    return x if x.grad_fn is None else GradientEdge(x.grad_fn, x.output_nr)


def mark(node: Any) -> None:
    """Note that a record uses the tangent of a result. Its segment ends there."""
    whole = _whole(node)
    if type(whole) is Segment:
        whole.uses += 2
