"""Run the tests of NumPy with each dependency at its lower bound in pyproject.toml: `make test-oldest`.

The packages are installed into a virtual environment of their own. Other libraries are not installed.
`tests/oldest.txt` lists tests that can't pass there.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
EXTRAS: Final = ("amg", "cli", "einsum", "native", "scipy", "strict")
TOOLS: Final = ("hypothesis", "mpmath", "ndindex", "pytest", "pytest-xdist", "sparse", "threadpoolctl")
"""The packages of the extra `test` that tests of NumPy import."""
BOUND: Final = re.compile(r"([\w-]+)>=([\w.]+)")


def lower_bounds(project: dict[str, Any]) -> list[str]:
    """Return the oldest releases of the dependencies of NumPy's part, and of its tests."""
    extras = project["optional-dependencies"]
    given = [*project["dependencies"], *(each for name in EXTRAS for each in extras[name])]
    tools = [each for each in extras["test"] if each.partition(">")[0] in TOOLS]
    bounds = [BOUND.match(each) for each in (*given, *tools)]
    assert all(bounds), "each dependency has a lower bound"
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound is not None]


def omitted() -> list[str]:
    """Return the names of tests that need other packages, or fail with the oldest releases."""
    lines = (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, help="a folder that keeps the environment for the next run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--pytest", default="", help='arguments of pytest: --pytest="tests/test_native.py -x"')
    options = parser.parse_args()
    folder = options.environment or Path(tempfile.mkdtemp(prefix="oldest-"))
    python = folder / "bin" / "python"
    packages = lower_bounds(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"])
    paths = os.pathsep.join(str(ROOT / name) for name in ("src", "extensions", "."))
    try:
        if not python.exists():
            venv.create(folder, with_pip=True)
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        print(*packages, flush=True)
        command = [str(python), "-m", "pytest", "-q", "-n", str(options.jobs), "--dist", "worksteal", "--tier", "ci"]
        command += ["--libraries", "numpy", "--alone", *(f"--deselect={name}" for name in omitted())]
        command += shlex.split(options.pytest)
        return subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}).returncode
    finally:
        if options.environment is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
