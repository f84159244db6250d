"""Run the tests of changed files, in about two minutes: `make quick`, or `make quick BASE=main` for a whole branch.

The names of the changed files determine capabilities (`scatter`, `linalg`, ...), libraries and test modules. The tests
of a capability are the modules named after it, then those that import it, the quickest first, while time remains. Slow
tests are omitted (`tests/slow_tests.txt`). Omitted modules are printed; `make test` runs them.
"""

import argparse
import ast
import json
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = ROOT / "tests"
SECONDS: Final = TESTS / "module_seconds.json"
BUDGET: Final = 180.0
"""The seconds of tests to run, summed over all processes."""
UNMEASURED: Final = 5.0
LIBRARIES: Final = ("numpy", "torch", "jax", "cupy", "dask")
TRANSFORMATIONS: Final = ("autodiff", "vmap", "jit", "control_flow")
RELATED: Final = {"tracing": TRANSFORMATIONS, "_transforms": TRANSFORMATIONS, "_dispatch": ("dispatch",)}
"""Parts of the package that other capabilities test."""


@dataclass
class Change:
    """The capabilities, test modules and libraries of a set of files."""

    capabilities: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    libraries: set[str] = field(default_factory=set)
    every_library: bool = False


def change_of(files: list[str]) -> Change:
    """Find the capabilities, test modules and libraries to which files belong."""
    change = Change()
    for file in files:
        parts = Path(file).with_suffix("").parts
        if file.startswith("tests/") and file.endswith(".py"):
            helper = not parts[1].startswith("test_")
            change.modules |= modules_importing(f"tests.{parts[1]}") if helper else {parts[1]}
            change.every_library = True
        elif file.startswith("extensions/xpand_extensions/") and file.endswith(".py"):
            names = list(parts[2:])
            if names[0] == "plugins" and len(names) > 2:
                change.libraries.add(names[1])
                names = names[2:]
            else:
                change.every_library = True
                names = names[1:] if names[0] == "generic" and len(names) > 1 else names
            if names[0] == "tracing" and "rules" in names:
                change.modules |= {path.stem for path in TESTS.glob(f"test_rules_{names[-1]}*.py")}
            change.capabilities |= {names[0], *RELATED.get(names[0], ())}
        elif file.startswith("src/xpand/") and file.endswith(".py"):
            if parts[2] in LIBRARIES:
                change.libraries.add(parts[2])
                change.modules.add(f"test_namespace_{parts[2]}")
            else:
                change.every_library = True
                change.capabilities.add(parts[2])
                change.modules |= {path.stem for path in TESTS.glob("test_namespace*.py")}
        elif file.startswith(("docs/", "README")):
            change.modules.add("test_docs")
            change.every_library = True
    return change


@cache
def imports(path: Path) -> set[str]:
    """Find the names of the modules that a test module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def modules_importing(name: str) -> set[str]:
    """Find the test modules that import a module, or something from it."""
    word = name.rpartition(".")[2]  # parsing all modules takes seconds
    return {path.stem for path in TESTS.glob("test_*.py") if word in path.read_text() and name in imports(path)}


def selected(change: Change, seconds: dict[str, float]) -> tuple[list[str], list[str]]:
    """Return the test modules to run, and those for which time is too short."""
    named = change.modules | {
        path.stem
        for name in change.capabilities
        for path in (*TESTS.glob(f"test_{name}.py"), *TESTS.glob(f"test_{name}_*.py"))
    }
    importing: set[str] = set()
    for name in change.capabilities:
        importing |= modules_importing(f"xpand_extensions.{name}") | modules_importing(f"xpand.{name}")
    cost = lambda module: (seconds.get(module, UNMEASURED), module)
    order = [*sorted(named, key=cost), *sorted(importing - named, key=cost)]
    run: list[str] = []
    total = 0.0
    for module in order:
        total += cost(module)[0]
        if total <= BUDGET or not run:
            run.append(module)
    return run, [module for module in order if module not in run]


def main() -> int:
    """Run the tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="HEAD", help="the commit that the working tree is compared with")
    parser.add_argument("--jobs", default="2")
    options = parser.parse_args()
    git = lambda *args: subprocess.run(["git", *args], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = [*git("diff", "--name-only", options.base).split(), *git("ls-files", "-o", "--exclude-standard").split()]
    change = change_of(files)
    seconds = json.loads(SECONDS.read_text()) if SECONDS.exists() else {}
    run, left = selected(change, seconds)
    if not run:
        print(f"no tests for the {len(files)} changed files")
        return 0
    arguments = [] if change.every_library else ["--libraries", ",".join(sorted(change.libraries))]
    if change.libraries == {"numpy"} and not change.every_library:
        arguments.append("--alone")
    print(f"tests of: {', '.join(run)}" + ("" if change.every_library else f"; on {', '.join(change.libraries)} alone"))
    if left:
        print(f"left out: {', '.join(left)}")
    paths = [f"tests/{module}.py" for module in run]
    command = [sys.executable, "-m", "pytest", "-n", options.jobs, "--dist", "worksteal", "-q", "--tier", "quick"]
    return subprocess.run([*command, *arguments, *paths], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
