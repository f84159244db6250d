"""Attention with named axes.

A small attention model learns to read handwritten digits; each row of an image is a token. Axes have names in place of
positions: `dot(query, keys, axis=Size)` sums over one axis by its name, whatever the order of the axes is. The model's
source is `docs/examples/named_attention.py`.
"""

from matplotlib.figure import Figure
from named_attention import Class, Column, Embed, Parameters, Row, Size, accuracy, load, scores, softmax, train

from xpand import library_name, named as hax
from xpand.extend import Namespace
from xpand_extensions.named import NamedArray

from . import Results, Values

LIBRARIES = ("numpy", "torch", "jax")
SMALL = {"steps": 2, "count": 20}


def weights(parameters: Parameters, images: NamedArray) -> NamedArray:
    """Return how much each row of an image attends to each other row, as a mean over heads."""
    x = hax.dot(images, parameters["embed"], axis=Column) + parameters["position"]
    query = hax.dot(x, parameters["query"], axis=Embed)
    keys = hax.dot(x.rename({Row: "other"}), parameters["key"], axis=Embed)
    return softmax(hax.dot(query, keys, axis=Size) / Size.size**0.5, "other").mean("head")


def compute(xp: Namespace, steps: int = 150, count: int = 500) -> Results:
    """Train the model; return its losses, and what it makes of images that it has not seen."""
    parameters, losses = train(xp, steps, count=count, compiled=library_name(xp) == "jax")
    images, labels = load(xp, 500, 1000)
    first = images["batch", 0:3]
    return {
        "losses": xp.asarray(losses),
        "accuracy": xp.asarray(accuracy(parameters, images, labels)),
        "images": first.rearrange(("batch", Row, Column)).array,
        "weights": weights(parameters, first).rearrange(("batch", Row, "other")).array,
        "digits": hax.argmax(scores(parameters, first), Class).array,
    }


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    first, last = r["losses"][0], r["losses"][-1]
    return f"The loss falls from {first:.2f} to {last:.2f}; {r['accuracy']:.0%} of new images are read right."


def draw(figure: Figure, r: Values) -> None:
    """Draw the loss, and for two images the weights between their rows."""
    axes = figure.subplots(1, 5)
    axes[0].plot(r["losses"])
    axes[0].set(title="Loss", xlabel="step")
    for i in range(2):
        image, rows = axes[1 + 2 * i], axes[2 + 2 * i]
        image.imshow(r["images"][i], cmap="gray_r")
        image.set_title(f"Read as {int(r['digits'][i])}")
        rows.imshow(r["weights"][i], cmap="viridis")
        rows.set_title("Attention")
        for picture in (image, rows):
            picture.set_axis_off()
