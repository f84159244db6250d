"""The parts that `make test-gpu` runs, and its messages without a GPU."""

import ast
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import gpu


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str]]]:
    """Note commands and their environments in place of running them; all libraries seem to have a GPU."""
    commands: list[tuple[str, dict[str, str]]] = []

    def run(command: Any, environment: dict[str, str]) -> int:
        path = environment.get("PYTHONPATH", "").split(os.pathsep)[0]
        startup = Path(path) / "sitecustomize.py"
        commands.append((" ".join(command[1:]), environment | {"startup": startup.read_text() if path else ""}))
        return 0

    monkeypatch.setattr(gpu, "run", run)
    monkeypatch.setattr(gpu, "gpu_of", lambda name: ("a GPU", ""))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return commands


def test_everything_is_run(ran: list[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "absent", lambda modules: [])  # the benchmarks need what tests don't
    assert gpu.main(["--suite", "there", "--jobs", "1"]) == 0
    commands = [command for command, _ in ran]
    assert commands == [
        "-m pytest -q -k torch-cuda or jax-cuda or cupy or test_devices tests "
        + " ".join(f"--ignore={file}" for file in gpu.WITHOUT),
        *(
            f"array-api-tests/run.py --suite there --library {name} --examples 200 --jobs 1"
            for name in ("torch", "jax", "cupy")
        ),
        "-m benchmarks --only gpu",
    ]
    tests, torch, jax, _, _ = (environment for _, environment in ran)
    assert tests["JAX_PLATFORMS"] == "cpu,cuda", "arrays lie on the processor where no device is named"
    assert "set_default_device('cuda')" in torch["startup"]
    assert jax["JAX_PLATFORMS"] == "cuda,cpu"
    assert "torch" in capsys.readouterr().out


def test_parts(ran: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--only", "suite"]) == 0
    assert not ran
    assert "skipped the official suite: its folder isn't given" in capsys.readouterr().out


def test_a_library_without_a_gpu(ran: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "gpu_of", lambda name: ("a GPU", "") if name == "torch" else ("", "none"))
    assert gpu.main(["--only", "tests", "--jobs", "1"]) == 0
    ((command, environment),) = ran
    assert "-k torch-cuda or test_devices" in command
    assert environment["JAX_PLATFORMS"] == "cpu", "JAX would raise for a platform that there is not"


def test_a_failure_is_told(ran: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "run", lambda command, environment: "pytest" in command)
    assert gpu.main([]) == 1


@pytest.mark.parametrize("table", ["NEEDED", "FOR_TESTS", "FOR_SUITE"])
def test_missing_packages(
    ran: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], table: str
) -> None:
    monkeypatch.setattr(gpu, table, ("nothing_of_this_name",))
    assert gpu.main(["--suite", "there"]) == 0
    assert "nothing_of_this_name, which this Python doesn't have" in capsys.readouterr().out


def test_nothing_else_is_needed_to_read_the_tests() -> None:
    """A module that isn't there would end the run before the first test."""
    known = {*gpu.NEEDED, *gpu.FOR_TESTS, *sys.stdlib_module_names, "xpand", "xpand_extensions", "tests", "benchmarks"}
    needed: dict[str, str] = {}
    for path in sorted((gpu.ROOT / "tests").glob("test_*.py")):
        if f"tests/{path.name}" in gpu.WITHOUT:
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Import):
                needed |= {each.name.partition(".")[0]: path.name for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                needed[node.module.partition(".")[0]] = path.name
    assert {name: where for name, where in needed.items() if name not in known} == {}


def test_folders_are_found_from_everywhere(ran: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """`make` names them from the root, and the official suite runs in its own folder."""
    monkeypatch.chdir(gpu.ROOT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("src", "extensions", ".", "")))
    monkeypatch.setattr(gpu, "run", lambda command, environment: ran.append((command, environment)) or 0)
    assert gpu.main(["--only", "tests", "suite", "--suite", "there", "--jobs", "1"]) == 0
    for _, environment in ran:
        folders = environment["PYTHONPATH"].split(os.pathsep)
        own = [each for each in folders if Path(each).is_relative_to(gpu.ROOT)]
        assert own == [str(gpu.ROOT / each) for each in ("src", "extensions", "")]


def test_the_reason_is_the_librarys() -> None:
    import torch

    if not torch.cuda.is_available():
        described, reason = gpu.gpu_of("torch")
        assert not described
        assert "torch has no device of kind 'gpu' here" in reason
    assert gpu.gpu_of("nothing_of_this_name") == ("", "it is not installed")
