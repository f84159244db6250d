"""Print the lines of the package: in total, of each part, and of the largest modules.

Code lines contain a token of the program. Blank lines, comments and docstrings are no code lines.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ("src/xpand", "extensions/xpand_extensions")
LARGEST = 15
_NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def code_lines(source: str) -> int:
    """Count the code lines of a source."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NOT_CODE and token.string:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - docstrings)


def part_of(path: Path) -> str:
    """Name the part that a module belongs to: `xpand/torch`, `plugins/jax`, `generic`, `sparse`."""
    names = path.relative_to(ROOT).parts[1:]
    if names[0] == "xpand":
        return f"xpand/{names[1]}" if len(names) > 2 else "xpand"
    if len(names) == 2:
        return "extensions"
    return "/".join(names[1:3]) if names[1] == "plugins" and len(names) > 3 else names[1]


def main() -> int:
    """Print the table."""
    lines: Counter[str] = Counter()
    code: Counter[str] = Counter()
    modules: list[tuple[int, int, str]] = []
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text()
            total, coded, part = source.count("\n"), code_lines(source), part_of(path)
            lines[part] += total
            code[part] += coded
            modules.append((total, coded, str(path.relative_to(ROOT))))
    print(f"{'lines':>7} {'code':>7}  part")
    for part, total in lines.most_common():
        print(f"{total:7,} {code[part]:7,}  {part}")
    print(f"{lines.total():7,} {code.total():7,}  total, in {len(modules)} modules")
    print(f"\n{'lines':>7} {'code':>7}  largest modules")
    for total, coded, name in sorted(modules, reverse=True)[:LARGEST]:
        print(f"{total:7,} {coded:7,}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
