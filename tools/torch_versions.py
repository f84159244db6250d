"""Run the PyTorch tests on several releases of PyTorch: `make test-torch-versions VERSIONS="2.11.0 2.13.0"`.

Each release is installed into its own virtual environment, with its dependencies. All other packages are those
of the Python that runs this. PyPI's builds for Linux come with CUDA and take 5 GB on the disk each; those of
`--index https://download.pytorch.org/whl/cpu` take 1 GB. By default the releases are the oldest that xpand supports and
the newest that pip finds. Tests that are known to fail with a release are in `tests/torch_<release>.txt`.
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
"""All tests of PyTorch except slow ones."""


def oldest() -> str:
    """Return the oldest release that xpand supports, as pyproject.toml says."""
    found = re.search(r'"torch>=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert found is not None, "pyproject.toml names the oldest release of PyTorch as torch>=..."
    return found[1]


def install(folder: Path, requirement: str, index: str | None) -> Path:
    """Make an environment with PyTorch, and with this Python's packages; return its Python."""
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
    """Return the names of the tests that fail with a release."""
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
