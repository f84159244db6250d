"""Train a small attention model on handwritten digits, with named axes, on NumPy, PyTorch and JAX from one source.

Each row of an image is a token. Run `python docs/examples/named_attention.py`.
"""

from typing import Any

from sklearn.datasets import load_digits

import xpand
from xpand import jit, named as hax
from xpand.extend import Array, Namespace
from xpand_extensions.named import Axis, NamedArray
from xpand_extensions.random import key, split

Row, Column = Axis("row", 8), Axis("column", 8)
Embed, Head, Size = Axis("embed", 16), Axis("head", 2), Axis("size", 8)
Class = Axis("class", 10)

Parameters = dict[str, NamedArray]


def load(xp: Namespace, start: int, stop: int) -> tuple[NamedArray, NamedArray]:
    """Return images and their digits, as arrays of a library."""
    digits: Any = load_digits()
    images = xp.asarray(digits.images[start:stop] / 16.0, dtype=xp.float32)
    labels = xp.asarray(digits.target[start:stop])
    return hax.named(images, ("batch", Row, Column)), hax.named(labels, "batch")


def initial(seed: Array) -> Parameters:
    """Return random parameters of a key."""
    shapes: dict[str, tuple[Axis, ...]] = {
        "embed": (Column, Embed),
        "position": (Row, Embed),
        "query": (Embed, Head, Size),
        "key": (Embed, Head, Size),
        "value": (Embed, Head, Size),
        "output": (Head, Size, Embed),
        "class": (Embed, Class),
    }
    keys = split(seed, len(shapes))
    float32 = xpand.array_namespace(seed).float32
    return {
        name: 0.3 * hax.random.normal(keys[i, ...], shape, dtype=float32)
        for i, (name, shape) in enumerate(shapes.items())
    }


def softmax(x: NamedArray, axis: str) -> NamedArray:
    """Return positive numbers whose sum along an axis is 1."""
    powers = hax.exp(x - x.max(axis))
    return powers / powers.sum(axis)


def attention(parameters: Parameters, x: NamedArray) -> NamedArray:
    """Return, for each token, a mean of the values of all tokens, weighted by how well they fit."""
    query = hax.dot(x, parameters["query"], axis=Embed)
    other = x.rename({Row: "other"})
    keys = hax.dot(other, parameters["key"], axis=Embed)
    values = hax.dot(other, parameters["value"], axis=Embed)
    weights = softmax(hax.dot(query, keys, axis=Size) / Size.size**0.5, "other")
    return hax.dot(hax.dot(weights, values, axis="other"), parameters["output"], axis=(Head, Size))


def scores(parameters: Parameters, images: NamedArray) -> NamedArray:
    """Return a score for each image and class."""
    x = hax.dot(images, parameters["embed"], axis=Column) + parameters["position"]
    x = hax.tanh(x + attention(parameters, x))
    return hax.dot(x.mean(Row), parameters["class"], axis=Embed)


def loss(parameters: Parameters, images: NamedArray, labels: NamedArray) -> NamedArray:
    """Return the mean of the negative logarithms of the probabilities of the labels."""
    found = scores(parameters, images)
    found = found - found.max(Class)
    return (hax.log(hax.exp(found).sum(Class)) - found["class", labels]).mean()


def accuracy(parameters: Parameters, images: NamedArray, labels: NamedArray) -> float:
    """Return the part of the images whose class has the highest score."""
    hits = hax.argmax(scores(parameters, images), Class) == labels
    return float(hits.sum()) / labels.size


def train(xp: Namespace, steps: int, count: int = 500, compiled: bool = True) -> tuple[Parameters, list[float]]:
    """Train by gradient descent with momentum; return the parameters and the loss before each step."""
    images, labels = load(xp, 0, count)

    def step(parameters: Parameters, velocities: Parameters) -> tuple[Any, Parameters, Parameters]:
        value, gradients = hax.value_and_grad(loss)(parameters, images, labels)
        velocities = {name: 0.9 * velocities[name] - 0.1 * gradient for name, gradient in gradients.items()}
        parameters = {name: parameters[name] + velocity for name, velocity in velocities.items()}
        return value, parameters, velocities

    make, call = (jit(initial), jit(step)) if compiled else (initial, step)
    parameters = make(key(0, xp=xp))
    velocities = {name: hax.zeros_like(x) for name, x in parameters.items()}
    losses: list[float] = []
    for _ in range(steps):
        value, parameters, velocities = call(parameters, velocities)
        losses.append(float(value))
    return parameters, losses


if __name__ == "__main__":
    for library in ("numpy", "torch", "jax"):
        xp = xpand.namespace(library)
        parameters, losses = train(xp, 200)
        right = accuracy(parameters, *load(xp, 500, 1000))  # images that it has not seen
        print(f"{library}: loss {losses[0]:.3f} to {losses[-1]:.3f}, {right:.1%} right")
