"""Printing of a profile in the terminal, as a tree of calls."""

import os
from typing import IO, Final

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from ._tree import Node, seconds, size

_STYLES: Final = {
    "namespace": "cyan",
    "extension": "green",
    "call": "bold",
    "compiled": "magenta",
    "compilation": "yellow",
}

_WIDTH_OF_A_LOG: Final = 120


def print_tree(root: Node, total: float, messages: list[str], min_duration: float, file: IO[str] | None) -> None:
    """Print a tree of calls, each with its time and its share of the total."""
    console = Console(file=file, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OF_A_LOG
    calls = sum(node.calls for node in root.walk())
    console.print(
        f"Profile: {seconds(total)}, of which {seconds(root.duration)} in {calls} recorded call{'s' * (calls != 1)}",
        markup=False,
    )
    for message in messages:
        console.print(f"  {message}", markup=False)
    for child in _longest_first(root):
        if child.duration >= min_duration:
            made = Tree(_line(child, total), guide_style="dim")
            _grow(made, child, total, min_duration)
            console.print(made)


def _grow(tree: Tree, node: Node, total: float, min_duration: float) -> None:
    children = _longest_first(node)
    shown = [child for child in children if child.duration >= min_duration]
    for child in shown:
        _grow(tree.add(_line(child, total)), child, total, min_duration)
    if len(shown) < len(children):
        left_out = children[len(shown) :]
        text = f"… {len(left_out)} shorter, {seconds(sum(child.duration for child in left_out))}"
        tree.add(Text(text, style="dim"))


def _longest_first(node: Node) -> list[Node]:
    return sorted(node.children.values(), key=lambda child: -child.duration)


def _line(node: Node, total: float) -> Text:
    text = Text(f"{seconds(node.duration):>8} {node.duration / total if total else 0.0:4.0%}  ", end="")
    text.no_wrap, text.overflow = True, "ellipsis"
    entry = node.entry
    text.append(node.name, style="" if entry is None else _STYLES[entry.kind])
    if node.calls > 1:
        text.append(f" ×{node.calls}")
    if node.place is not None:
        line = f":{node.place.line}" if entry is not None else ""
        text.append(f"  {os.path.basename(node.place.file)}{line}", style="blue")
    if entry is not None:
        if entry.error is not None:
            text.append(f"  {entry.error}", style="red")
        if not entry.is_concrete:
            text.append("  no values", style="yellow")
        if entry.memory is not None:
            text.append(f"  {size(entry.memory.allocated)}, peak {size(entry.memory.peak)}")
        outputs = ", ".join(map(str, entry.outputs))
        text.append(f"  {entry.arguments}" + (f" → {outputs}" if outputs else ""), style="dim")
    return text
