"""Rules of convolutions, which are linear in the input and in the kernel.

The transpose in the input is a transposed convolution with the same kernel. The transpose in the kernel convolves the
input with the cotangent, with channels and batch exchanged. For few taps, it is one matrix product for each tap.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

from xpand_extensions import convolution
from xpand_extensions.convolution._geometry import Geometry, part_of, span, transposed_sizes
from xpand_extensions.convolution._pieces import dilated, padded, reached, result_shape

from ...extend._derivatives import LINEAR
from .._core import Aval
from .products import device_of, zeros_of
from .scatter import native


def _taps(kernel: Any, n: int) -> tuple[int, ...]:
    return tuple(kernel.shape[len(kernel.shape) - n :])


def _geometry(
    strides: Any, padding: Any, kernel_dilation: Any, feature_groups: int, input_dilation: Any = None, **_: Any
) -> Geometry:
    return Geometry(strides, padding, input_dilation or (1,) * len(strides), kernel_dilation, feature_groups)


# Transposed in the input


def _input_of_conv(xp: Any, ct: Any, x: Any, kernel: Any, **options: Any) -> Any:
    what = _geometry(**options)
    if 0 in ct.shape or 0 in x.shape or 0 in kernel.shape or what.cuts_all(x.shape[2:]):
        return zeros_of(xp, ct, x)
    spans = what.spans(_taps(kernel, len(what.strides)))
    wholes = [span(size, step) for size, step in zip(x.shape[2:], what.input_dilation)]
    ends = [
        (low, (points - 1) * stride + covered - low - whole)
        for (low, _), points, stride, covered, whole in zip(what.padding, ct.shape[2:], what.strides, spans, wholes)
    ]
    found = native(
        convolution.conv_transpose,
        ct,
        kernel,
        strides=what.strides,
        padding=tuple(ends),
        output_padding=(0,) * len(what.strides),
        kernel_dilation=what.kernel_dilation,
        feature_groups=what.groups,
    )
    if all(step == 1 for step in what.input_dilation):
        return found
    return found[(..., *[slice(None, None, step) for step in what.input_dilation])]


def _input_of_transposed(xp: Any, ct: Any, x: Any, kernel: Any, output_padding: Any, **options: Any) -> Any:
    if 0 in ct.shape:
        return zeros_of(xp, ct, x)
    one = (1,) * len(options["strides"])
    return native(convolution.conv, ct, kernel, input_dilation=one, batch_groups=1, **options)


# Transposed in the kernel


def _kernel(xp: Any, what: Geometry, x: Any, ct: Any, kernel: Any) -> Any:
    """Sum, for each tap, the input elements that it multiplies, times the cotangent, over batch and points."""
    if 0 in ct.shape or 0 in x.shape or 0 in kernel.shape or what.cuts_all(x.shape[2:]):
        return zeros_of(xp, ct, kernel)
    n = len(what.strides)
    taps = _taps(kernel, n)
    if kernel.ndim > n + 2 and kernel.shape[0] > 1:
        # Lanes with different kernels become channel groups of one lane.
        x, ct = (xp.reshape(each, (1, each.shape[0] * each.shape[1], *each.shape[2:])) for each in (x, ct))
        what = what._replace(groups=kernel.shape[0] * what.groups)
    into = kernel.shape[kernel.ndim - n - 1]
    row = n == into == x.shape[0] == 1 and what.strides == what.kernel_dilation == (1,)
    many = row or math.prod(taps) > math.prod(ct.shape[2:])
    found = (_by_convolution if many else _by_taps)(xp, what, x, ct, into, taps)
    return xp.reshape(found, tuple(kernel.shape))


def _by_taps(xp: Any, what: Geometry, x: Any, ct: Any, into: int, taps: Sequence[int]) -> Any:
    groups, sizes = what.groups, tuple(ct.shape[2:])
    x = padded(xp, dilated(xp, x, what.input_dilation), what.padding)
    x = xp.moveaxis(xp.reshape(x, (x.shape[0], groups, into, *x.shape[2:])), 0, 2)
    ct = xp.moveaxis(xp.reshape(ct, (ct.shape[0], groups, -1, *sizes)), 0, 2)
    ct = xp.reshape(ct, (*ct.shape[:2], -1))
    parts = []
    for tap in itertools.product(*map(range, taps)):
        met = xp.reshape(x[(..., *reached(what, sizes, tap))], (groups, into, -1))
        parts.append(xp.matmul(ct, xp.matrix_transpose(met)))
    return xp.stack(parts, axis=-1)


def _by_convolution(xp: Any, what: Geometry, x: Any, ct: Any, into: int, taps: Sequence[int]) -> Any:
    batch, points = x.shape[0], ct.shape[2:]
    x = xp.moveaxis(xp.reshape(x, (batch, what.groups, into, *x.shape[2:])), 0, 2)
    x = xp.moveaxis(x, 1, 0)
    ends = [
        (low, (count - 1) * apart + span(size, stride) - span(whole, step) - low)
        for (low, _), count, apart, size, stride, whole, step in zip(
            what.padding, taps, what.kernel_dilation, points, what.strides, x.shape[3:], what.input_dilation
        )
    ]
    found = native(
        convolution.conv,
        xp.reshape(x, (into, what.groups * batch, *x.shape[3:])),
        xp.moveaxis(ct, 0, 1),
        strides=what.kernel_dilation,
        padding=tuple(ends),
        input_dilation=what.input_dilation,
        kernel_dilation=what.strides,
        feature_groups=what.groups,
        batch_groups=1,
    )
    return xp.moveaxis(found, 0, 1)


def _in_groups_of_features(xp: Any, x: Any, kernel: Any, feature_groups: int, batch_groups: int, **options: Any) -> Any:
    """Convolve batch groups as channel groups."""
    return native(
        convolution.conv,
        _batch_to_features(xp, x, batch_groups),
        kernel,
        feature_groups=batch_groups,
        batch_groups=1,
        **options,
    )


def _batch_to_features(xp: Any, x: Any, groups: int) -> Any:
    batch, channels, *spatial = x.shape
    x = xp.moveaxis(xp.reshape(x, (groups, batch // groups, channels, *spatial)), 0, 1)
    return xp.reshape(x, (batch // groups, groups * channels, *spatial))


_BILINEAR: Final = {"x": LINEAR, "kernel": LINEAR}

DERIVATIVES: Final[dict[str, Any]] = {
    "convolution.conv": lambda static: None if static.get("batch_groups", 1) > 1 else _BILINEAR,
    "convolution.conv_transpose": _BILINEAR,
}

TRANSPOSES: Final[dict[str, Any]] = {
    "convolution.conv": {
        "x": _input_of_conv,
        "kernel": lambda xp, ct, x, kernel, **options: _kernel(xp, _geometry(**options), x, ct, kernel),
    },
    "convolution.conv_transpose": {
        "x": _input_of_transposed,
        "kernel": lambda xp, ct, x, kernel, **options: _kernel(xp, _geometry(**options), ct, x, kernel),
    },
}

DECOMPOSITIONS: Final[dict[str, Any]] = {"convolution.conv": _in_groups_of_features}


# Batches


def _batched_conv(
    xp: Any, mapped: Any, x: Any, kernel: Any, feature_groups: int, batch_groups: int = 1, **options: Any
) -> Any:
    if batch_groups > 1:
        if mapped["x"]:
            lanes, batch, *rest = x.shape
            x = xp.moveaxis(xp.reshape(x, (lanes, batch_groups, batch // batch_groups, *rest)), 1, 2)
            x = xp.reshape(x, (lanes, batch // batch_groups, batch_groups * rest[0], *rest[1:]))
        else:
            x = _batch_to_features(xp, x, batch_groups)
        feature_groups = batch_groups
    return _batched(xp, convolution.conv, 0, mapped, x, kernel, feature_groups, {**options, "batch_groups": 1})


def _batched(
    xp: Any, facade: Any, given: int, mapped: Any, x: Any, kernel: Any, groups: int, options: dict[str, Any]
) -> Any:
    """Convolve all lanes in one call, as elements of the convolution's own batch or as channels.

    `given` is the axis of the kernel with the channels of the result.
    """
    n = len(options["strides"])
    own = kernel.ndim - mapped["kernel"] == n + 3
    if not mapped["kernel"]:
        lanes, batch = x.shape[:2]
        if own and kernel.shape[0] > 1:
            kernel = _merged(xp, xp.broadcast_to(kernel, (lanes, *kernel.shape)))
        found = native(facade, _merged(xp, x), kernel, feature_groups=groups, **options)
        return xp.reshape(found, (lanes, batch, *found.shape[1:]))
    lanes = kernel.shape[0]
    if own:
        # Each element of each lane has its own kernel.
        x = x if mapped["x"] else xp.broadcast_to(x, (lanes, *x.shape))
        batch = x.shape[1]
        kernel = xp.broadcast_to(kernel, (lanes, batch, *kernel.shape[2:]))
        found = native(facade, _merged(xp, x), _merged(xp, kernel), feature_groups=groups, **options)
        return xp.reshape(found, (lanes, batch, *found.shape[1:]))
    if mapped["x"]:
        batch, channels, *spatial = x.shape[1:]
        x = xp.reshape(xp.moveaxis(x, 0, 1), (batch, lanes * channels, *spatial))
        found = native(facade, x, _merged(xp, kernel), feature_groups=lanes * groups, **options)
        found = xp.reshape(found, (batch, lanes, kernel.shape[1 + given] * (groups if given else 1), *found.shape[2:]))
        return xp.moveaxis(found, 1, 0)
    # All lanes have the same input, so they become more channels of the result in each group.
    out, into, *taps = kernel.shape[1:]
    if given:
        kernel = xp.reshape(xp.moveaxis(kernel, 0, 1), (out, lanes * into, *taps))
    else:
        kernel = xp.moveaxis(xp.reshape(kernel, (lanes, groups, out // groups, into, *taps)), 0, 1)
        kernel = xp.reshape(kernel, (lanes * out, into, *taps))
    found = native(facade, x, kernel, feature_groups=groups, **options)
    batch, channels, *spatial = found.shape
    # Use the sizes of the kernel, since the number of lanes may be 0.
    share = into if given else out // groups
    found = xp.reshape(found, (batch, groups, lanes, share, *spatial))
    return xp.reshape(xp.moveaxis(found, 2, 0), (lanes, batch, groups * share, *spatial))


def _merged(xp: Any, x: Any) -> Any:
    return xp.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def _batched_signals(name: str) -> Any:
    facade = getattr(convolution, name)

    def rule(xp: Any, mapped: Any, x: Any, kernel: Any, axes: Any, **options: Any) -> Any:
        x = x if mapped["x"] else xp.expand_dims(x, axis=0)
        kernel = kernel if mapped["kernel"] else xp.expand_dims(kernel, axis=0)
        return native(facade, x, kernel, axes=tuple([axis + 1 for axis in axes]), **options)

    return rule


BATCHING: Final[dict[str, Any]] = {
    "convolution.conv": _batched_conv,
    "convolution.conv_transpose": lambda xp, mapped, x, kernel, feature_groups, **options: _batched(
        xp, convolution.conv_transpose, 1, mapped, x, kernel, feature_groups, options
    ),
    "convolution.convolve": _batched_signals("convolve"),
    "convolution.correlate": _batched_signals("correlate"),
}


# Shapes


def _conv_shape(namespace: Any, x: Any, kernel: Any, batch_groups: int = 1, **options: Any) -> Aval:
    n = len(options["strides"])
    sizes = _geometry(**options).sizes(x.shape[2:], _taps(kernel, n))
    channels = kernel.shape[kernel.ndim - n - 2]
    return Aval((x.shape[0] // batch_groups, channels, *sizes), x.dtype, device_of(x, kernel))


def _transposed_shape(namespace: Any, x: Any, kernel: Any, output_padding: Any, **options: Any) -> Aval:
    n, what = len(options["strides"]), _geometry(**options)
    channels = kernel.shape[kernel.ndim - n - 1] * what.groups
    return Aval(
        (x.shape[0], channels, *transposed_sizes(what, x.shape[2:], _taps(kernel, n))), x.dtype, device_of(x, kernel)
    )


def _signal_shape(namespace: Any, x: Any, kernel: Any, mode: Any, axes: Any, **options: Any) -> Aval:
    parts = [part_of(mode, x.shape[axis], kernel.shape[axis]) for axis in axes]
    return Aval(result_shape(x, kernel, axes, parts), x.dtype, device_of(x, kernel))


SHAPES: Final[dict[str, Any]] = {
    "convolution.conv": _conv_shape,
    "convolution.conv_transpose": _transposed_shape,
    **dict.fromkeys(["convolution.convolve", "convolution.correlate"], _signal_shape),
}
