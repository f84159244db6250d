"""A gradient as an ONNX model.

Arrays of ndonnx that have no values yet record operations as an ONNX graph. `grad` of a function of such an array is a
graph of the gradient: a model that an ONNX runtime evaluates, without Python. Here ONNX Runtime evaluates a network and
its gradient, and other libraries evaluate the same functions directly.
"""

from typing import Any

from matplotlib.figure import Figure

from xpand import array_namespace, grad, library_name, namespace, random
from xpand.extend import Array, Namespace

from . import Results, Values

LIBRARIES = ("ndonnx", "numpy", "torch", "jax")
SMALL = {"n": 4}


def network(x: Array, first: Array, bias: Array, second: Array) -> Array:
    """Return the outputs of a network for points, (n, 2)."""
    xp = array_namespace(x)
    return xp.tanh(x @ first + bias) @ second


def total(x: Array, *weights: Array) -> Array:
    """Return the sum of the outputs: its gradient has the gradient of each output, since each depends on one point."""
    return array_namespace(x).sum(network(x, *weights))


def model(weights: list[Any], n: int) -> Any:
    """Return an ONNX model of the outputs and their gradients."""
    import ndonnx

    x: Any = ndonnx.argument(shape=(n, 2), dtype=ndonnx.float32)
    constants: list[Any] = [ndonnx.asarray(w) for w in weights]
    outputs: dict[str, Any] = {"outputs": network(x, *constants), "gradients": grad(total)(x, *constants)}
    return ndonnx.build({"x": x}, outputs)


def compute(xp: Namespace, n: int = 24) -> Results:
    """Evaluate a network and its gradient on a grid of n by n points; on ndonnx, by ONNX Runtime."""
    recorded = library_name(xp) == "ndonnx"
    lib = namespace("numpy") if recorded else xp
    keys = random.split(random.key(4, xp=lib), 3)
    shapes = ((2, 12), (12,), (12,))
    weights = [0.8 * random.normal(keys[i, ...], shape, dtype=lib.float32) for i, shape in enumerate(shapes)]
    line = lib.linspace(-2.0, 2.0, n, dtype=lib.float32)
    x = lib.reshape(lib.stack(lib.meshgrid(line, line), axis=-1), (n * n, 2))
    if recorded:
        import onnxruntime  # type: ignore[import-untyped]

        session: Any = onnxruntime.InferenceSession(model(weights, n * n).SerializeToString())
        outputs, gradients = session.run(["outputs", "gradients"], {"x": x})
    else:
        outputs, gradients = network(x, *weights), grad(total)(x, *weights)
    return {"x": x, "outputs": outputs, "gradients": gradients}


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    return f"{r['outputs'].shape[0]} points. The largest output is {r['outputs'].max():.2f}."


def draw(figure: Figure, r: Values) -> None:
    """Draw the outputs, and the gradients as arrows."""
    axes = figure.subplots()
    n = round(r["outputs"].shape[0] ** 0.5)
    x, y = r["x"].reshape(n, n, 2)[..., 0], r["x"].reshape(n, n, 2)[..., 1]
    axes.contourf(x, y, r["outputs"].reshape(n, n), levels=14, cmap="viridis")
    arrows = r["gradients"].reshape(n, n, 2)[::2, ::2]
    axes.quiver(x[::2, ::2], y[::2, ::2], arrows[..., 0], arrows[..., 1], color="white", width=0.003)
    axes.set_aspect("equal")
    axes.set_axis_off()
