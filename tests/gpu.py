"""Run the tests, the official suite and the benchmarks on a GPU, with the installed packages: `make test-gpu`.

    python -m tests.gpu [--suite path/to/array-api-tests] [--examples 200] [--jobs 2] [--only tests suite benchmarks]

Nothing is installed or downloaded. Parts that can't run are reported with the reason, and are no failure: no GPU on the
machine or for a library, a missing package, no path to the suite.
"""

import argparse
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]

NEEDED: Final = ("array_api_compat", "array_api_extra", "scipy", "opt_einsum", "optree", "rich")
"""The dependencies of xpand."""
FOR_TESTS: Final = (
    *("pytest", "hypothesis", "mpmath", "matplotlib", "sklearn", "ml_dtypes", "cloudpickle"),
    "packaging",
    *("array_api_strict", "dask", "torch", "jax", "numpy"),
)
"""The packages that the tests need, including the libraries on the CPU."""
WITHOUT: Final = tuple(
    f"tests/test_{name}.py"
    for name in (
        "conforming",
        "docs",
        "examples_backends",
        "examples_gallery",
        "examples_named",
        "examples_notebook",
        "examples_phiml",
        "layers",
        "named_interop",
        "named_wrapped",
        "packaging",
        "torch_versions",
        "types",
    )
)
"""Test files that can't be imported without further packages or tools. None of them tests a library on a GPU."""
FOR_SUITE: Final = ("pytest", "hypothesis", "ndindex", "pytest_jsonreport")

LIBRARIES: Final = {"torch": "torch-cuda", "jax": "jax-cuda", "cupy": "cupy"}
"""The libraries that support GPUs, and their names in the tests."""

PARTS: Final = ("tests", "suite", "benchmarks")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    missing = absent(NEEDED)
    if missing:
        return skipped("everything", f"xpand needs {', '.join(missing)}, which this Python doesn't have")
    environment = {
        **os.environ,
        **_absolute("PYTHONPATH"),
        "JAX_PLATFORMS": "cpu,cuda",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
    # Look for GPUs first: JAX raises an error if JAX_PLATFORMS names CUDA and CUDA is missing.
    found = {name: gpu_of(name) for name in LIBRARIES}
    for name, (described, reason) in found.items():
        say(f"{name} {_version(name)}: {described}" if described else f"{name}: skipped, {reason}")
    present = [name for name, (described, _) in found.items() if described]
    if not present:
        return skipped("everything", "no library has a GPU here")
    if "jax" not in present:
        environment["JAX_PLATFORMS"] = "cpu"
    say(f"Python {platform.python_version()}, NumPy {_version('numpy')}")
    codes = [PART[part](options, present, environment) for part in PARTS if part in options.only]
    return max(codes)


def gpu_of(library: str) -> tuple[str, str]:
    """Describe a library's first GPU, or say why there is none. A separate process may fail without harm."""
    if absent([library]):
        return "", "it is not installed"
    code = f"from xpand_extensions.devices import devices; print(devices({library!r}, 'gpu')[0].description)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    lines = (run.stdout if run.returncode == 0 else run.stderr).strip().splitlines() or [""]
    return (lines[-1], "") if run.returncode == 0 else ("", lines[-1])


def run_tests(options: argparse.Namespace, present: Sequence[str], environment: dict[str, str]) -> int:
    """Run all tests of a library on the GPU, and the tests of devices, which cover all libraries."""
    missing = absent(FOR_TESTS)
    if missing:
        return skipped("the tests", f"they need {', '.join(missing)}, which this Python doesn't have")
    names = [LIBRARIES[name] for name in present]
    chosen = " or ".join([*names, "test_devices"])
    command = [sys.executable, "-m", "pytest", "-q", "-k", chosen, "tests"]
    command += [f"--ignore={file}" for file in WITHOUT]
    if options.jobs > 1 and not absent(["xdist"]):
        command += ["-n", str(options.jobs), "--dist", "worksteal"]
    return run(command, environment)


def run_suite(options: argparse.Namespace, present: Sequence[str], environment: dict[str, str]) -> int:
    """Run the official suite on CuPy, and on the other libraries with the GPU as the default device."""
    if not options.suite:
        return skipped("the official suite", "its folder isn't given: SUITE=path")
    missing = absent(FOR_SUITE)
    if missing:
        return skipped("the official suite", f"it needs {', '.join(missing)}, which this Python doesn't have")
    code = 0
    with tempfile.TemporaryDirectory() as folder:
        # Python runs this file at its start. PyTorch has no environment variable for the default device.
        (Path(folder) / "sitecustomize.py").write_text("import torch\ntorch.set_default_device('cuda')\n", "utf-8")
        own = {
            "torch": {"PYTHONPATH": os.pathsep.join((folder, environment.get("PYTHONPATH", "")))},
            "jax": {"JAX_PLATFORMS": "cuda,cpu"},
            "cupy": {},
        }
        for name in present:
            command = [sys.executable, "array-api-tests/run.py", "--suite", options.suite, "--library", name]
            command += ["--examples", str(options.examples), "--jobs", str(options.jobs)]
            code = max(code, run(command, {**environment, **own[name]}))
    return code


def run_benchmarks(options: argparse.Namespace, present: Sequence[str], environment: dict[str, str]) -> int:
    """Measure xpand's functions and the libraries' own on the GPU."""
    missing = absent(["jax", "autograd"])
    if missing:
        return skipped("the benchmarks", f"they need {', '.join(missing)}, which this Python doesn't have")
    return run([sys.executable, "-m", "benchmarks", "--only", "gpu"], environment)


PART: Final[dict[str, Callable[[argparse.Namespace, Sequence[str], dict[str, str]], int]]] = {
    "tests": run_tests,
    "suite": run_suite,
    "benchmarks": run_benchmarks,
}


def absent(modules: Sequence[str]) -> list[str]:
    """List the modules that aren't installed."""
    return [name for name in modules if importlib.util.find_spec(name) is None]


def _absolute(variable: str) -> dict[str, str]:
    """Make the paths in a variable absolute, because the official suite and some tests run in other folders."""
    folders = filter(None, os.environ.get(variable, "").split(os.pathsep))
    found = os.pathsep.join(str(Path(each).absolute()) for each in folders)
    return {variable: found} if found else {}


def skipped(what: str, reason: str) -> int:
    say(f"skipped {what}: {reason}")
    return 0


def run(command: Sequence[str], environment: dict[str, str]) -> int:
    say(" ".join(command))
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _version(library: str) -> str:
    for name in (library, f"{library}-cuda13x", f"{library}-cuda12x"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "of unknown version"


def _parse(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(prog="make test-gpu", description=__doc__.partition("\n")[0])
    parser.add_argument("--suite", default="", help="the folder of the official test suite")
    parser.add_argument(
        "--examples", type=int, default=200, help="examples that hypothesis tries per test of the suite"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="the parts to run")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
