"""Drawings of programs as SVG, without other packages: operations in layers, each below its inputs.

The layout is that of K. Sugiyama, S. Tagawa and M. Toda (1981): a node lies below all its inputs, an edge over several
layers has a point in each of them, and points are placed at the means of their neighbours.
"""

import os
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, Literal, NamedTuple

from xpand.extend import describe

Kind = Literal["input", "constant", "operation", "output"]

_COLOURS: Final[dict[Kind, str]] = {
    "input": "#2a9fc9",
    "constant": "#8a7fd1",
    "operation": "#6b7a83",
    "output": "#e0842c",
}
_CHARACTER: Final = 7.3
"""The width of a character of the font, in pixels."""
_HEIGHT, _LAYER, _GAP, _MARGIN = 34.0, 64.0, 14.0, 12.0
_SWEEPS: Final = 8


class Node(NamedTuple):
    """An operation, an input, a constant or an output."""

    label: str
    kind: Kind
    inputs: tuple[int, ...] = ()
    """The positions of the nodes whose results this node takes. They come before it."""
    types: str = ""
    """The types of the results."""


class Drawing(NamedTuple):
    """A program to draw, and the programs within its loops and branches."""

    title: str
    nodes: Sequence[Node]
    parts: Sequence["Drawing"] = ()


class SVG(str):
    """A picture: the text of an SVG file, which notebooks show."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Write the picture to a file.

        Raises:
            TypeError: The path is no path.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"SVG.save: path must be a path, got {describe(path)}")
        from pathlib import Path  # slow to import

        Path(path).write_text(self, encoding="utf-8")

    def _repr_html_(self) -> str:
        return str(self)


def drawn(drawing: Drawing) -> SVG:
    """Draw a program, and below it the programs within its loops and branches."""
    pictures = list(_pictures(drawing, ""))
    width = max(w for w, _, _ in pictures) + 2 * _MARGIN
    y, body = _MARGIN, []
    for _, height, lines in pictures:
        body += [f'<g transform="translate({_MARGIN:g} {y:g})">', *lines, "</g>"]
        y += height + 2 * _MARGIN
    style = 'font-family="ui-monospace, monospace" font-size="12" fill="currentColor" text-anchor="middle"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {y:g}" width="{width:g}" {style}>'
    title = f"<title>{escape(drawing.title)}</title>"
    return SVG("\n".join([head, title, *body, "</svg>"]))


def _pictures(drawing: Drawing, within: str) -> Iterator[tuple[float, float, list[str]]]:
    """Yield the width, the height and the SVG elements of a program and its parts."""
    title = f"{within}{drawing.title}"
    width, height, lines = _picture(drawing.nodes)
    heading = f'<text x="0" y="12" text-anchor="start" font-weight="bold">{escape(title)}</text>'
    moved = [heading, '<g transform="translate(0 24)">', *lines, "</g>"]
    yield max(width, _CHARACTER * len(title) * 1.1), height + 24, moved
    for part in drawing.parts:
        yield from _pictures(part, f"{title} › ")


def _picture(nodes: Sequence[Node]) -> tuple[float, float, list[str]]:
    """Return the width, the height and the SVG elements of one program."""
    layers, chains = _layers(nodes)
    widths = [max(_CHARACTER * len(node.label), _CHARACTER * len(node.types) * 10 / 12) + 24 for node in nodes]
    centres = _centres(layers, chains, widths)
    sizes = {point: widths[point] if point < len(nodes) else 0.0 for layer in layers for point in layer}
    left = min((centres[point] - sizes[point] / 2 for point in centres), default=0.0)
    right = max((centres[point] + sizes[point] / 2 for point in centres), default=0.0)
    rows = {point: number for number, layer in enumerate(layers) for point in layer}
    lines = []
    for above, below in chains:
        x, y = centres[above] - left, rows[above] * _LAYER + (_HEIGHT if above < len(nodes) else _HEIGHT / 2)
        to_x, to_y = centres[below] - left, rows[below] * _LAYER + (0 if below < len(nodes) else _HEIGHT / 2)
        middle = (y + to_y) / 2
        path = f"M{x:.1f} {y:.1f}C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
        lines.append(f'<path d="{path}" fill="none" stroke="{_COLOURS["operation"]}" stroke-opacity="0.7"/>')
    for number, node in enumerate(nodes):
        x, y, colour = centres[number] - left, rows[number] * _LAYER, _COLOURS[node.kind]
        radius = _HEIGHT / 2 if node.kind == "operation" else 3
        lines += [
            f'<rect x="{x - widths[number] / 2:.1f}" y="{y:g}" width="{widths[number]:.1f}" height="{_HEIGHT:g}" '
            f'rx="{radius:g}" fill="{colour}" fill-opacity="0.15" stroke="{colour}"/>',
            f'<text x="{x:.1f}" y="{y + (15 if node.types else 21):g}">{escape(node.label)}</text>',
        ]
        if node.types:
            lines.append(
                f'<text x="{x:.1f}" y="{y + 28:g}" font-size="10" fill-opacity="0.75">{escape(node.types)}</text>'
            )
    return right - left, len(layers) * _LAYER - (_LAYER - _HEIGHT), lines


def _layers(nodes: Sequence[Node]) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Return the points of each layer, and the edges between neighbouring layers.

    A point is the number of a node; points of edges over several layers have higher numbers.
    """
    depth: list[int] = []
    for node in nodes:
        depth.append(1 + max((depth[i] for i in node.inputs), default=-1))
    last = max(depth, default=0)
    users: dict[int, list[int]] = {}
    for number, node in enumerate(nodes):
        for i in node.inputs:
            users.setdefault(i, []).append(number)
    for number, node in enumerate(nodes):
        if node.kind == "output":
            depth[number] = last
        elif not node.inputs and number in users and node.kind != "input":
            depth[number] = min(depth[user] for user in users[number]) - 1
    layers: list[list[int]] = [[] for _ in range(last + 1)]
    for number, row in enumerate(depth):
        layers[row].append(number)
    edges: dict[tuple[int, int], None] = {}
    count = len(nodes)
    for number, below in users.items():
        point = number
        points = {depth[number]: number}
        for row in range(depth[number] + 1, max(depth[user] for user in below)):
            layers[row].append(count)
            edges[point, count] = None
            points[row] = point = count
            count += 1
        for user in below:
            edges[points[depth[user] - 1], user] = None
    return layers, list(edges)


def _centres(layers: list[list[int]], edges: list[tuple[int, int]], widths: Sequence[float]) -> dict[int, float]:
    """Place the points of each layer near the means of their neighbours, in this order and without overlap."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for i, j in edges:
        below.setdefault(i, []).append(j)
        above.setdefault(j, []).append(i)
    centres: dict[int, float] = {}

    def place(layer: list[int], neighbours: dict[int, list[int]]) -> None:
        near = {
            point: sum(found) / len(found) if (found := [centres[i] for i in neighbours.get(point, ())]) else None
            for point in layer
        }
        wanted = {point: centres.get(point, 0.0) if x is None else x for point, x in near.items()}
        if neighbours:
            layer.sort(key=wanted.__getitem__)
        edge, placed = float("-inf"), {}
        for point in layer:
            half = (widths[point] if point < len(widths) else 0.0) / 2
            placed[point] = max(wanted[point], edge + half)
            edge = placed[point] + half + _GAP
        shift = sum(wanted[point] - placed[point] for point in layer) / max(len(layer), 1)
        centres.update({point: x + shift for point, x in placed.items()})

    for layer in layers:
        place(layer, above)
    for sweep in range(_SWEEPS):
        for layer in layers[::-1] if sweep % 2 == 0 else layers:
            place(layer, below if sweep % 2 == 0 else above)
    return centres
