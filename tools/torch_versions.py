"""Run the PyTorch tests on several releases of PyTorch: `make test-torch-versions VERSIONS="2.11.0 2.13.0"`.

Each release is installed into its own virtual environment, with its dependencies. All other packages come from the
Python that runs this tool. PyPI's builds for Linux contain CUDA and take 5 GB of disk each; those of
`--index https://download.pytorch.org/whl/cpu` take 1 GB. The default releases are the oldest that xpand supports and
the newest that pip finds. `tests/torch_<release>.txt` lists tests that are known to fail with a release.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SELECTED: Final = ("--libraries", "torch", "--tier", "quick", "-k", "torch")
"""Options that select the tests of PyTorch, without slow ones."""


def oldest() -> str:
    """Read the oldest release that xpand supports from pyproject.toml."""
    found = re.search(r'"torch>=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert found is not None, "pyproject.toml names the oldest release of PyTorch as torch>=..."
    return found[1]


def install(folder: Path, requirement: str, index: str | None) -> Path:
    """Make an environment with PyTorch and this Python's packages; return its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        options = [] if index is None else ["--extra-index-url", index]
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", requirement, *options], check=True)
        own = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
        (own / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def run(python: Path, arguments: Sequence[str]) -> int:
    """Run the tests; return pytest's exit status."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT / "extensions", ROOT)))}
    command = [str(python), "-c", "import torch; print(torch.__version__)"]
    version = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    failing = known_failures(version)
    print(f"PyTorch {version}, without {len(failing)} tests that are known to fail", flush=True)
    options = [option for name in failing for option in ("--deselect", name)]
    command = [str(python), "-m", "pytest", "-q", *SELECTED, *options, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def known_failures(version: str) -> list[str]:
    """Return the names of tests that are known to fail with a release."""
    path = ROOT / "tests" / f"torch_{'.'.join(version.split('.')[:2])}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", help="releases, such as 2.11.0, or `newest`")
    parser.add_argument("--index", help="a further package index")
    parser.add_argument("--environments", type=Path, help="a folder that keeps the environments for the next run")
    parser.add_argument("--pytest", default="", help='arguments of pytest: --pytest="tests/test_vmap.py -x"')
    options = parser.parse_args()
    folder = options.environments or Path(tempfile.mkdtemp(prefix="torch-versions-"))
    failed = []
    try:
        for version in options.versions or [f"{oldest()}.0", "newest"]:
            requirement = "torch" if version == "newest" else f"torch=={version}"
            python = install(folder / version, requirement, options.index)
            if run(python, shlex.split(options.pytest)):
                failed.append(version)
    finally:
        if options.environments is None:
            shutil.rmtree(folder)
    if failed:
        print(f"The tests fail with PyTorch {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
