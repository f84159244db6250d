"""Reverse mode of PyTorch's functions on tensors with values: PyTorch's own graph, in segments between records.

Functions in a row form one graph, which is differentiated at once. Edges of the graph, not tensors, are stored: the
graph stores what it needs.
"""

from collections.abc import Sequence
from itertools import compress
from operator import attrgetter
from typing import Any

import torch
from torch.autograd.graph import GradientEdge

from xpand_extensions.tracing._batching import Batching
from xpand_extensions.tracing._core import Aval, LeakedArrayError, TracedArray, TracedError, bare, bind
from xpand_extensions.tracing._fit import plus, zeros
from xpand_extensions.tracing._tape import Node, Opaque, Part, Sum

from .._gradients import conjugated, is_floating
from ._calls import Mapped, Pull, Push, own, repeated
from ._generators import evaluated


class Segment(Opaque):
    """Calls in one graph of PyTorch. Their results have `Part`s as tangents.

    An operation joins the segment of its arguments if the other arguments are older than the segment. So all
    cotangents of its results are known when the segment is differentiated, at once.
    """

    __slots__ = ("calls", "edges", "is_part", "leaves", "maps", "namespace")

    def __init__(self, namespace: Any, maps: tuple[Any, ...]) -> None:
        """Start a segment. `maps`: the interpreters of the maps whose lanes the graph computes together."""
        super().__init__([], [], _unused, None, symbolic_zeros=True)
        self.avals: list[Any] = []
        self.nodes: list[Any] = []
        self.namespace, self.maps = namespace, maps
        self.edges: list[Any] = []
        """The edges of the results in the graph, None for constant ones."""
        self.leaves: dict[Node, tuple[Any, torch.Tensor]] = {}
        """The value of each argument from outside, and the tensor in the graph, by its tangent."""
        self.is_part = False
        """Whether PyTorch differentiates arguments of the call. It is the only one then."""
        self.calls: list[Any] = []
        """With maps, the calls: with their arguments, the tangents of these, and the position of the first result."""

    def takes(self, args: Sequence[Any], nodes: Sequence[Any], maps: tuple[Any, ...]) -> bool:
        """Return whether a call of these arguments can join the segment."""
        if self.maps != maps:
            return False
        for x, node in zip(args, nodes):
            if node is not None and node.order >= self.order and not self.has(x, node):
                return False
        return True

    def has(self, x: Any, node: Any) -> bool:
        """Return whether an argument is a result of the segment."""
        own = x._graphed
        return own is not None and own[0] is node and own[2] is self

    def made(self, node: Any) -> bool:
        """Return whether a tangent is one of a result of the segment."""
        return type(node) is Part and node.whole is self

    def leaf(self, node: Node, x: torch.Tensor) -> torch.Tensor:
        """Return the tensor in the graph for an argument from outside."""
        known = self.leaves.get(node)
        if known is not None and known[0] is x:
            return known[1]
        tensor = x.view_as(x) if x.requires_grad else x.detach().requires_grad_()
        if known is None:
            self.leaves[node] = x, tensor
        else:  # another array with the same tangent
            copy: Any = Sum(node.shape, node.dtype, [(node, 1)])
            copy.order = self.order - 1 / (2 + len(self.leaves))  # between the older tangent and the segment
            node = copy
            self.leaves[node] = x, tensor
        self.nodes.append(node)
        return tensor

    def add(self, trace: Any, x: torch.Tensor, out: Any, edge: Any) -> Any:
        """Make the array of a result, from its tensor in the graph, its value and its edge."""
        aval = Aval(out.shape, out.dtype, out.device)
        self.avals.append(aval)
        self.edges.append(edge)
        if edge is None:
            return out
        node = Part(aval, self, len(self.edges) - 1)
        array = trace.array(trace, out, node)
        array._graphed = node, x, self
        return array

    def pull(self, namespace: Any, ct: Any) -> Any:
        """Return the contributions of cotangents to the cotangents of the arguments."""
        chosen = [i for i, c in enumerate(ct) if c is not None and self.edges[i] is not None]
        if not chosen:
            return []
        along = Along(
            [self.edges[i] for i in chosen], [(node, x) for node, (_, x) in self.leaves.items()], self.is_part
        )
        cotangents = [ct[i] for i in chosen]
        if self.maps:
            cotangents = [_over_lanes(c, self.maps) for c in cotangents]
        if any(isinstance(c, TracedArray) for c in cotangents):
            if self.maps:
                return self.pulled_again(ct)
            contributions = bind(self.namespace.operations["torch"], cotangents, {"call": along})
            return list(zip(self.leaves, map(bare, contributions)))
        return [
            (node, _of_lanes(namespace, c, self.maps))
            for node, c in zip(self.leaves, along.pulled(cotangents))
            if c is not None
        ]

    def pulled_again(self, ct: Sequence[Any]) -> Any:
        """Return the contributions to the arguments, by a second evaluation of each call."""
        op = self.namespace.operations["torch"]
        cts = {i: c for i, c in enumerate(ct) if c is not None}
        contributions = []
        for call, primals, nodes, wanted, first, count in reversed(self.calls):
            if not any(i in cts for i in range(first, first + count)):
                continue
            cotangents = [
                cts[i] if i in cts else zeros(self.namespace, self.avals[i])
                for i in range(first, first + count)
                if is_floating(self.avals[i])
            ]
            again, state = repeated(call)
            pulled = Pull(again, (*[False] * len(state), *wanted))
            rest = iter(list(map(bare, bind(op, [*state, *primals, *cotangents], {"call": pulled}))))
            for node in compress(nodes, wanted):
                c = next(rest)
                if self.made(node):
                    cts[node.position] = plus(cts[node.position], c) if node.position in cts else c
                else:
                    contributions.append((node, c))
        return contributions

    def push(self, namespace: Any, tangents: dict[Node, Any]) -> Any:
        """Compute the tangents of the results."""
        if self.maps:
            return self.pushed_again(tangents)
        pairs = [(node, x) for node, (_, x) in self.leaves.items() if tangents.get(node) is not None]
        if not pairs:
            return None
        chosen = [i for i, edge in enumerate(self.edges) if edge is not None]
        across = Across([self.edges[i] for i in chosen], pairs, [self.avals[i] for i in chosen])
        moved = bind(self.namespace.operations["torch"], [tangents[node] for node, _ in pairs], {"call": across})
        rest = iter(list(map(bare, moved)))
        return [next(rest) if edge is not None else None for edge in self.edges]

    def pushed_again(self, tangents: dict[Node, Any]) -> Any:
        """Compute the tangents of the results by a second evaluation of each call."""
        op = self.namespace.operations["torch"]
        moved: list[Any] = [None] * len(self.edges)
        for call, primals, nodes, wanted, first, count in self.calls:
            along = [
                None if not is_wanted else moved[node.position] if self.made(node) else tangents.get(node)
                for node, is_wanted in zip(nodes, wanted)
            ]
            if all(t is None for t in along):
                continue
            again, state = repeated(call)
            pushed = Push(again, (*[False] * len(state), *[t is not None for t in along]))
            args = [*state, *primals, *(t for t in along if t is not None)]
            rest = iter(list(map(bare, bind(op, args, {"call": pushed})))[count:])
            for i in range(first, first + count):
                if is_floating(self.avals[i]):
                    moved[i] = next(rest)
        return moved


def _over_lanes(x: Any, maps: Sequence[Any]) -> Any:
    """Return the values of all lanes of maps, the last map first; it is traced if others trace the array."""
    for trace in maps:
        x = trace.lifted(x)
    return x


def _of_lanes(namespace: Any, x: Any, maps: Sequence[Any]) -> Any:
    """Make the array of one lane from the values of all."""
    for trace in reversed(maps):
        x = namespace.array_type(trace, x)
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


class _Linear:
    """A linear map in PyTorch's graph, as a call."""

    name: str
    state: Sequence[Any] = ()
    watched = False
    count = 0
    result: Any = None

    def __reduce__(self) -> Any:
        raise TypeError(
            "pickle: a pullback or pushforward through PyTorch's own functions contains PyTorch's graph, which can't "
            "be pickled or copied; pickle the transformed function, such as `grad(f)`, or the arrays instead"
        )

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
            gradients = torch.autograd.grad(
                self.edges,
                [edge for _, edge in self.frontier],
                list(map(conjugated, cts)),
                create_graph=create,
                retain_graph=True,
                allow_unused=True,
            )
        except LeakedArrayError as error:
            raise TracedError(
                "PyTorch evaluates a part of the function again, by `torch.utils.checkpoint` or hooks of saved "
                "tensors, after the transformation has traced it; use `autodiff.checkpoint` of `xpand_extensions`"
            ) from error
        return [None if x is None else own(x) for x in gradients]

    def __call__(self, *cts: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the cotangents of the inputs."""
        self.result = None, (None,) * len(self.frontier), (True,) * len(self.frontier)
        if cts[0].device.type == "meta":
            return tuple(_zeros(node, cts[0]) for node, _ in self.frontier)
        gradients = self.pulled(cts)
        return tuple(_zeros(node, cts[0]) if x is None else x for (node, _), x in zip(self.frontier, gradients))


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
        pairs = [(x, conjugated(t)) for x, t in zip(self.back, tangents) if x is not None and x.requires_grad]
        if not pairs:
            return tuple(torch.zeros_like(x) for x in self.cts)
        moved = torch.autograd.grad(
            [x for x, _ in pairs],
            self.cts,
            [t for _, t in pairs],
            create_graph=torch.is_grad_enabled() and any(t.requires_grad for t in tangents),
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        return tuple(map(own, moved))


def graphed(trace: Any, call: Any, args: Sequence[Any], nodes: list[Any], primals: list[Any]) -> Any:
    """Apply a call to tensors with values, and add it to PyTorch's graph. Return None if others trace an argument."""
    maps: tuple[Any, ...] = ()
    of_lane = None
    nodes = [None if node is None or not is_floating(x) else node for node, x in zip(nodes, primals)]
    for x in primals:
        if isinstance(x, TracedArray):
            wanted = tuple([node is not None for node in nodes])
            of_lane = call, primals, nodes, wanted
            call.watched = True
            call, primals, maps = _without_maps(call, primals, wanted)
            break
    for x in primals:
        if isinstance(x, TracedArray) or (isinstance(x, torch.Tensor) and x.is_inference()):
            return None
    is_recorded = torch.is_grad_enabled()
    # If PyTorch differentiates the arguments or the constants, too, its graph continues to them.
    is_part = is_recorded and _is_differentiated(primals, call.constants())
    segment = _joined(trace.namespace, args, nodes, maps, is_part)
    primals = list(primals)
    for i, node in enumerate(nodes):
        if node is not None:
            primals[i] = args[i]._graphed[1] if segment.has(args[i], node) else segment.leaf(node, primals[i])
    if is_recorded:
        made = evaluated(call, *primals)
    else:
        with torch.enable_grad():
            made = evaluated(call, *primals)
    if of_lane is not None:
        of_lane[0].state = call.state
        segment.calls.append((*of_lane, len(segment.edges), len(made)))
    results = []
    for x in made:
        out = x if is_part else _of_lanes(trace.namespace, x.detach(), maps)
        results.append(segment.add(trace, x, out, _edge(x)))
    return tuple(results)


def _joined(namespace: Any, args: Sequence[Any], nodes: Sequence[Any], maps: tuple[Any, ...], is_part: bool) -> Segment:
    """Return the segment of a call: that of its arguments, or a new one."""
    if not is_part:
        latest = None
        for x, node in zip(args, nodes):
            own = x._graphed if node is not None else None
            if own is not None and own[0] is node and (latest is None or own[2].order > latest.order):
                latest = own[2]
        if latest is not None and not latest.is_part and latest.takes(args, nodes, maps):
            return latest
    segment = Segment(namespace, maps)
    segment.is_part = is_part
    return segment


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
