"""Mapping on any library, by tracing."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import array_namespace, default_namespace
from xpand.extend import Array, checks

from .._dispatch import forwards_to
from ..devices import to_device
from ..tracing import traced_namespace
from ..tracing._batching import batched, collective, spread_out
from ..tracing._captured import called_with_captured
from ..vmap import _names as names, vmap as vmap_of_trees
from ..vmap._collectives import gathered
from ..vmap._lanes import own_entry
from ..vmap._parallel import devices_of_replicas, pmap as pmap_of_trees


def vmap(
    function: Callable[..., Any],
    /,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    def over_axes(*arrays: Array) -> Any:
        xp = array_namespace(*arrays) if arrays else default_namespace()
        size = axis_size
        if size is None:
            size = next(x.shape[axis] for x, axis in zip(arrays, in_axes) if axis is not None)
        count, alone = 0, False

        def flat(*given: Array) -> tuple[Array, ...]:
            nonlocal count, alone
            found = function(*given)
            own, same = (found, ()) if out_axes == 0 else found
            alone = not isinstance(own, tuple)
            if alone:
                own = (own,)
            count = len(own)
            return (*own, *same)

        namespace = traced_namespace(xp)
        outs, mapped = batched(namespace, flat, arrays, in_axes, size, axis_name)
        own = tuple(x if is_mapped else spread_out(namespace, x, size) for x, is_mapped in zip(outs[:count], mapped))
        if out_axes == 0:
            return own[0] if alone else own
        if any(mapped[count:]):
            raise ValueError("vmap: out_axes has None for a result that differs between calls; give it an axis")
        return own, outs[count:]

    return over_axes


class _CustomVmap:
    """A function of arrays with its own rule for batches."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def def_vmap(self, rule: Callable[..., Any]) -> None:
        """Register the rule."""
        self.rule = rule

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        """Call the function."""
        namespace = traced_namespace(array_namespace(*arrays))
        return called_with_captured(namespace, "custom_vmap", self.function, arrays, {"batches": self.rule})


def custom_vmap(function: Callable[..., Any], /) -> _CustomVmap:
    return _CustomVmap(function)


@forwards_to(pmap_of_trees)
def pmap(
    function: Any,
    /,
    axis_name: Any,
    *,
    in_axes: Any,
    out_axes: Any,
    devices: Any,
    backend: Any,
    axis_size: Any,
    **rest: Any,
) -> Any:
    def alone(*leaves: Any) -> Any:
        arrays = [x for x in leaves if checks.is_array(x)]
        (device,) = devices_of_replicas(size, devices, backend, array_namespace(*arrays), arrays[0], most=1)
        return mapped(*to_device(leaves, device))

    size = axis_size or 0
    mapped = vmap_of_trees(function, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name, axis_size=axis_size)
    return alone


def psum(x: Array, /, axis_name: Any) -> Array:
    for name in axis_name:
        x = collective(x, names.axis_of("psum", name), "sum")
    return x


def all_gather(x: Array, /, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Array:
    found = collective(x, names.axis_of("all_gather", axis_name), "gather")
    xp = array_namespace(found)
    found = xp.moveaxis(found, 0, axis)
    if not tiled:
        return found
    shape = found.shape
    return xp.reshape(found, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def ppermute(x: Array, /, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Array:
    sources = tuple(source for source, _ in sorted(perm, key=lambda pair: pair[1]))
    return collective(x, names.axis_of("ppermute", axis_name), "permute", sources)


def pmax(x: Array, /, axis_name: Any) -> Array:
    return _extreme("pmax", x, axis_name, "any", "max")


def pmin(x: Array, /, axis_name: Any) -> Array:
    return _extreme("pmin", x, axis_name, "all", "min")


def _extreme(function: str, x: Array, axis_name: Any, of_booleans: str, of_numbers: str) -> Array:
    everything = gathered(function, x, axis_name, 0, False)
    xp = array_namespace(everything)
    reduce = of_booleans if checks.kind(xp, x.dtype) == "bool" else of_numbers
    found: Array = getattr(xp, reduce)(everything, axis=0)
    return found


def psum_scatter(x: Array, /, axis_name: Any, *, scatter_dimension: int = 0, tiled: bool = False) -> Array:
    return collective(x, names.axis_of("psum_scatter", axis_name), "scatter")


def all_to_all(x: Array, /, axis_name: Any, split_axis: int, concat_axis: int, *, tiled: bool = False) -> Array:
    position = names.axis_of("all_to_all", axis_name).position()
    # The first axis has the senders, the second one the receivers. All lanes share one array.
    everything = gathered("all_to_all", x, (axis_name,), 0, False)
    xp = array_namespace(everything, position)
    return own_entry(xp, xp.moveaxis(everything, 1, 0), position)


def axis_around(name: Any, /, *, xp: Any = None) -> names.Axis | None:
    return None
