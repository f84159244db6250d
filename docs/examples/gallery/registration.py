"""Image registration.

An image is a rotated, scaled and shifted version of another. `grid_sample` reads an image at any coordinates, and its
result is differentiable with respect to these: so `least_squares` finds the four parameters of the motion.
"""

import math

from matplotlib.figure import Figure

from xpand import array_namespace
from xpand.extend import Array, Namespace
from xpand_extensions.interpolation import grid_sample
from xpand_extensions.optimize import least_squares

from . import Results, Values

LIBRARIES = ("numpy", "torch", "jax")
SMALL = {"n": 16}
MOTION = (0.35, 1.15, 2.0, -3.0)


def moved(image: Array, motion: Array) -> Array:
    """Return an image after a rotation by an angle, a scaling and a shift in pixels."""
    xp = array_namespace(image, motion)
    n = image.shape[0]
    line = xp.arange(n, dtype=image.dtype) - (n - 1) / 2
    y, x = xp.meshgrid(line, line, indexing="ij")
    cos, sin = xp.cos(motion[0]) / motion[1], xp.sin(motion[0]) / motion[1]
    y, x = y - motion[2], x - motion[3]
    coordinates = xp.stack([cos * y + sin * x, cos * x - sin * y]) + (n - 1) / 2
    places = xp.permute_dims(coordinates, (1, 2, 0))[None, ...]  # a batch of one
    return grid_sample(image[None, ..., None], places, extrapolation="zeros")[0, ..., 0]


def compute(xp: Namespace, n: int = 48) -> Results:
    """Register a moved image of three blobs to the original."""
    line = xp.linspace(-1.0, 1.0, n, dtype=xp.float64)
    y, x = xp.meshgrid(line, line, indexing="ij")
    image = xp.zeros((n, n), dtype=xp.float64)
    for a, b, width in ((-0.3, -0.2, 0.05), (0.2, 0.3, 0.03), (0.35, -0.3, 0.02)):
        image = image + xp.exp(-((y - a) ** 2 + (x - b) ** 2) / width)
    size = n / 48
    target = moved(image, xp.asarray([*MOTION[:2], size * MOTION[2], size * MOTION[3]], dtype=xp.float64))

    def difference(motion: Array) -> Array:
        xp = array_namespace(motion)
        return xp.reshape(moved(image, motion) - target, (-1,))

    start = xp.asarray([0.0, 1.0, 0.0, 0.0], dtype=xp.float64)
    found = least_squares(difference, start)
    return {"image": image, "target": target, "registered": moved(image, found.x), "motion": found.x}


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    angle, scale, down, right = r["motion"]
    shift = f"{down:.1f} and {right:.1f} pixels"
    return f"Found: a rotation by {math.degrees(angle):.1f}°, a scaling by {scale:.2f}, a shift by {shift}."


def draw(figure: Figure, r: Values) -> None:
    """Draw both images, and what differs before and after registration."""
    images = {
        "Image": r["image"],
        "Target": r["target"],
        "Difference before": r["image"] - r["target"],
        "Difference after": r["registered"] - r["target"],
    }
    for i, (axes, (title, image)) in enumerate(zip(figure.subplots(1, 4), images.items())):
        limits = {"cmap": "viridis"} if i < 2 else {"cmap": "RdBu", "vmin": -1.0, "vmax": 1.0}
        axes.imshow(image, **limits)
        axes.set_title(title)
        axes.set_axis_off()
