"""The exchange of memory by DLPack."""

from typing import Any


def exportable(x: Any, copy: bool | None) -> Any:
    """Return an array whose memory holds its values.

    PyTorch negates and conjugates some tensors only when they are read, such as `z.conj().imag`. It exports the first
    without the sign, and refuses to export the second.

    Raises:
        BufferError: `copy` is False, and `x` is such a tensor.
    """
    if not hasattr(x, "resolve_neg") or not (x.is_neg() or x.is_conj()):
        return x
    if copy is False:
        raise BufferError(
            "from_dlpack: x is negated or conjugated only when it is read; this needs a copy, which copy=False forbids"
        )
    return x.resolve_conj().resolve_neg()
