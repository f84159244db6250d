"""The command `xpand`: what it prints, its exit codes, and what it says of what is missing, broken or misspelt."""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import xpand
from xpand_extensions import capabilities, cli
from xpand_extensions.cli import _info, _libraries, load_tour, main
from xpand_extensions.plugins.numpy.jit import native
from xpand_extensions.plugins.torch.jit import inductor

_tour: Any = load_tour()
from xpand_extensions.cli.tour import report  # noqa: E402
from xpand_extensions.cli.tour.results import TASKS, Column, Result, Task  # noqa: E402

COMMAND = [sys.executable, "-c", "import sys; from xpand_extensions.cli import main; sys.exit(main())"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command in this process; return the exit code, and what was written to output and error."""
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    return code, *capsys.readouterr()


def one_line(text: str) -> str:
    return " ".join(text.split())


def set_tasks(monkeypatch: pytest.MonkeyPatch, *tasks: Task) -> None:
    for module in (_tour, report):
        monkeypatch.setattr(module, "TASKS", tasks)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tour have two short tasks."""
    set_tasks(monkeypatch, TASKS[0], TASKS[5])


@pytest.fixture
def broken_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Install a library that can't be imported, under the name of one that xpand wraps."""
    (tmp_path / "cupy.py").write_text("raise ImportError('libcuda.so.1: no such file')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    return "cupy"


class TestInfo:
    def test_tables(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "200")
        code, out, _ = run(capsys, "info")
        assert code == 0
        import torch

        for text in (xpand.__version__, "2025.12", "xpand.torch", torch.__version__, "dask", "array_api_strict"):
            assert text in out
        for function in capabilities():
            assert function in out
        for support in ("● native", "◐ traced", "○ generic"):
            assert support in out

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _ = run(capsys, "info", "--json")
        assert code == 0
        report = json.loads(out)
        assert report["capabilities"] == capabilities()
        libraries = {library["name"]: library for library in report["libraries"]}
        assert set(xpand.wrapped_libraries()) < set(libraries)
        import numpy as np

        assert libraries["numpy"]["version"] == np.__version__
        assert libraries["numpy"]["namespace"] == "xpand.numpy"
        assert libraries["numpy"]["devices"] == ["cpu"]
        assert libraries["numpy"]["compilers"] == {"numpy": True, "native": native.BACKEND.is_available(), "xla": True}
        assert libraries["jax"]["compilers"] == {"xla": True}
        assert libraries["torch"]["compilers"] == {"torch": True, "inductor": inductor.BACKEND.is_available()}
        assert libraries["dask"]["compilers"] == {}
        assert libraries["array_api_strict"]["status"] == "ready"

    @pytest.mark.parametrize("form", [[], ["--json"]])
    def test_missing_library(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: list[str]
    ) -> None:
        monkeypatch.setattr(_libraries, "find_spec", lambda name: None if name in ("torch", _libraries.STRICT) else 1)
        monkeypatch.setattr(_libraries, "known_names", lambda: ["numpy", "torch", _libraries.STRICT])
        monkeypatch.setattr(_info, "known_names", _libraries.known_names)
        code, out, _ = run(capsys, "info", *form)
        assert code == 0
        assert "pip install 'xpand[torch]'" in out
        assert "pip install 'xpand[strict]'" in out

    def test_missing_compiler(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "300")
        monkeypatch.setattr(native.Native, "is_available", lambda self: False)
        _, out, _ = run(capsys, "info")
        assert "numpy, native (llvmlite: pip install 'xpand[native]')" in out

    @pytest.mark.parametrize("form", [[], ["--json"]])
    def test_broken_library_is_shown(
        self, capsys: pytest.CaptureFixture[str], broken_library: str, form: list[str]
    ) -> None:
        code, out, _ = run(capsys, "info", *form)
        assert code == 1
        assert "ImportError: libcuda.so.1: no such file" in one_line(out)
        assert "broken" in out


class TestTour:
    def test_table(self, capsys: pytest.CaptureFixture[str], quick: None) -> None:
        code, out, err = run(capsys, "tour", "--library", "numpy", "torch", "--no-picture")
        assert code == 0
        for text in ("standardise", "2-d histogram by scatter", "numpy", "torch", "exact", "JAX_ENABLE_X64=1"):
            assert text in out
        assert "jax" not in out
        # Progress goes to the standard error: in a log, a line a step.
        assert "torch: 2-d histogram by scatter ..." in err

    def test_library_may_be_repeated(self, capsys: pytest.CaptureFixture[str], quick: None) -> None:
        arguments = ("--library", "torch", "--library", "numpy", "torch", "--no-picture", "--json", "--repeats", "1")
        code, out, _ = run(capsys, "tour", *arguments)
        assert code == 0
        report = json.loads(out)
        assert [library["name"] for library in report["libraries"]] == ["torch", "numpy"]
        assert report["repeats"] == 1
        assert report["picture"] is None

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--library", "touch"], "'touch' is no known array library; did you mean 'torch'?"),
            (["--library", "xyzzy"], "'xyzzy' is no known array library; known are numpy, torch"),
            (["--library", "math"], "'math' is no known array library"),
            (["--library"], "expected at least one argument"),
            (["--repeats", "0"], "takes a whole number from 1, got '0'"),
            (["--repeats", "two"], "takes a whole number from 1, got 'two'"),
            (["--repeat-s", "2"], "unrecognized arguments"),
            (["--output", "no/such/folder/tour.png"], "there is no folder no/such/folder"),
            (["--output", "x.png", "--no-picture"], "not allowed with argument"),
        ],
    )
    def test_bad_arguments(self, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
        code, out, err = run(capsys, "tour", *arguments)
        assert code == 2
        assert message in one_line(err)
        assert out == ""

    def test_unknown_format_of_picture(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """It is known before the tour."""
        path = tmp_path / "tour.xyz"
        code, _, err = run(capsys, "tour", "--library", "nonsense", "--repeats", "1", "--output", str(path))
        assert code == 2
        assert re.search(r"--output: the ending of .*tour\.xyz must be one of .*pdf, .*png, .*webp", one_line(err))
        assert not path.exists()

    def test_threads(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Libraries are limited to one thread, unless more are given. The environment stays unchanged."""
        before = dict(os.environ)
        for given, text in (([], "on one thread"), (["--threads", "2"], "on 2 threads")):
            options = ("--library", "numpy", "--no-picture", "--repeats", "1")
            code, out, _ = run(capsys, "tour", *options, *given)
            assert code == 0
            assert text in one_line(out)
        assert {name: value for name, value in os.environ.items() if name in before or "THREADS" in name} == before
        program = (
            "import contextlib, io, os, sys\n"
            "from xpand_extensions.cli import main\n"
            "with contextlib.redirect_stdout(io.StringIO()):\n"
            "    main(['tour', '--library', 'torch', '--no-picture', '--json', '--repeats', '1'])\n"
            "import threadpoolctl, torch\n"
            "print(torch.get_num_threads(), *{each['num_threads'] for each in threadpoolctl.threadpool_info()})"
        )
        env = {name: value for name, value in os.environ.items() if "THREADS" not in name}
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["1", "1"]

    def test_asked_for_library_is_missing(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_libraries, "find_spec", lambda name: None)
        code, _, err = run(capsys, "tour", "--library", "jax", "--no-picture")
        assert code == 2
        assert "jax is not installed; `pip install 'xpand[jax]'` adds it" in err

    def test_asked_for_library_is_broken(self, capsys: pytest.CaptureFixture[str], broken_library: str) -> None:
        code, _, err = run(capsys, "tour", "--library", broken_library, "--no-picture")
        assert code == 2
        assert "installed and can't be used: ImportError: libcuda.so.1" in err

    def test_libraries_that_are_missing_or_broken_are_told(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        quick: None,
        broken_library: str,
    ) -> None:
        monkeypatch.setattr(_tour, "known_names", lambda: ["numpy", "no_such_library", broken_library])
        monkeypatch.setattr(_libraries, "known_names", lambda: ["numpy", "no_such_library", broken_library])
        code, out, _ = run(capsys, "tour", "--no-picture")
        assert code == 1
        assert "no_such_library is not installed; to add it: pip install no_such_library" in out
        assert "cupy is installed and can't be used: ImportError: libcuda.so.1" in one_line(out)

    @pytest.mark.parametrize("form", [[], ["--json"]])
    def test_result_that_differs(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: list[str]
    ) -> None:
        reference = []

        def drift(data: Any) -> tuple[Any]:
            reference.append(1)
            return (data["cancer"] * (1.0 if len(reference) == 1 else 1.001),)

        set_tasks(monkeypatch, replace(TASKS[0], run=drift))
        code, out, _ = run(capsys, "tour", "--library", "torch", "--no-picture", *form)
        assert code == 1
        if form:
            report = json.loads(out)
            assert report["agrees"] is False
            assert report["tasks"][0]["results"]["torch"]["agrees"] is False
        else:
            assert "✗ 1e-03" in out

    @pytest.mark.parametrize(("form", "says"), [([], "failed"), (["--json"], "RuntimeError: no luck")])
    def test_task_that_fails(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: list[str], says: str
    ) -> None:
        def fail_on_torch(data: Any) -> tuple[Any]:
            if xpand.is_torch_array(data["cancer"]):
                raise RuntimeError("no luck")
            return (data["cancer"],)

        set_tasks(monkeypatch, replace(TASKS[0], run=fail_on_torch))
        code, out, _ = run(capsys, "tour", "--library", "numpy", "torch", "--no-picture", *form)
        assert code == 1
        assert says in out
        assert "RuntimeError: no luck" in out

    def test_picture_of_a_failed_task(self, tmp_path: Path) -> None:
        from xpand_extensions.cli.tour.picture import draw

        failed = Result(error="RuntimeError: no luck")
        column = Column(_libraries.find("numpy"), "float64", (failed,) * len(TASKS))
        draw(column).savefig(tmp_path / "tour.svg")
        assert (tmp_path / "tour.svg").read_text().count("RuntimeError: no luck") == len(TASKS)

    @pytest.mark.parametrize(
        ("module", "arguments", "says"),
        [
            ("sklearn", [], "needs scikit-learn"),
            ("matplotlib", [], "needs matplotlib"),
            ("sklearn", ["--no-picture"], "needs scikit-learn"),
        ],
    )
    def test_missing_requirement(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        module: str,
        arguments: list[str],
        says: str,
    ) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        code, _, err = run(capsys, "tour", *arguments)
        assert code == 2
        assert says in err
        assert "pip install 'xpand[tour]'" in err

    def test_infinity_and_nan_are_no_agreement(self) -> None:
        import numpy as np

        assert _tour._difference(np.asarray([np.nan, 1.0]), np.asarray([1.0, 1.0])) == float("inf")
        assert _tour._difference(np.asarray([3]), np.asarray([2.0])) == 0.5
        with pytest.raises(ValueError, match="shape"):
            _tour._difference(np.ones(2), np.ones(3))


def in_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_help_and_version_import_no_array_library() -> None:
    program = """
        import sys
        from xpand_extensions.cli import main
        for arguments in (["--help"], ["tour", "--help"], ["info", "--help"], ["--version"]):
            try:
                main(arguments)
            except SystemExit as end:
                assert end.code == 0
        assert not {"numpy", "torch", "rich"} & set(sys.modules), "imported too much"
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    for text in ("--library", "--repeats", "--json", "--no-picture", "--output", f"xpand {xpand.__version__}"):
        assert text in result.stdout


def test_no_command_prints_help() -> None:
    """It was an error: whoever types the name alone asks what there is."""
    result = in_process()
    assert result.returncode == 0
    assert "COMMAND" in result.stdout


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "xpand", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == f"xpand {xpand.__version__}\n"


def test_jax_has_single_precision_where_the_user_asks_for_it() -> None:
    arguments = ("tour", "--library", "jax", "--no-picture", "--json", "--repeats", "1")
    result = in_process(*arguments, JAX_ENABLE_X64="0")
    assert result.returncode == 0, result.stdout + result.stderr
    report = json.loads(result.stdout)
    assert report["libraries"][0]["dtype"] == "float32"
    assert report["tasks"][0]["results"]["jax"]["difference"] > 1e-9


def test_output_without_unicode() -> None:
    result = in_process("info", PYTHONIOENCODING="ascii", COLUMNS="200")
    assert result.returncode == 0, result.stderr
    assert "xpand.numpy" in result.stdout


@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix closes the output")
@pytest.mark.parametrize("command", ["info", "tour --no-picture", "--help"])
def test_closed_output(command: str) -> None:
    line = f"{shlex.join(COMMAND)} {command} >&-"
    done = subprocess.run(line, shell=True, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode in (0, 141)
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix closes the output")
def test_closed_messages() -> None:
    line = f"{shlex.join(COMMAND)} info --json 2>&-"
    done = subprocess.run(line, shell=True, stdout=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 0
    assert json.loads(done.stdout)["libraries"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a file of Linux that is always full")
def test_full_disk() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "info"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.endswith("xpand info: error: the output can't be written: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_reader_that_leaves_early() -> None:
    process = subprocess.Popen([*COMMAND, "info", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    error = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=120) == 141
    assert "Traceback" not in error
    assert "BrokenPipe" not in error


@pytest.mark.parametrize(("system", "code", "is_closed"), [("nt", 22, True), ("posix", 22, False), ("posix", 32, True)])
def test_errors_of_a_closed_output(monkeypatch: pytest.MonkeyPatch, system: str, code: int, is_closed: bool) -> None:
    """Windows has a code of its own."""
    monkeypatch.setattr(cli, "os", SimpleNamespace(name=system))
    assert cli._is_of_closed_output(OSError(code, "closed")) is is_closed


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Handle SIGINT, here and in child processes, also where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupt() -> None:
    process = subprocess.Popen(
        [*COMMAND, "tour", "--library", "dask", "--no-picture"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    line = b""
    while b"dask: " not in line:
        line = process.stderr.readline()
        assert line, "ended before it was interrupted"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert error.decode().endswith("xpand tour: interrupted\n")
    assert b"Traceback" not in error


@pytest.mark.usefixtures("interruptible")
def test_interrupt_that_a_library_catches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command goes on, and its exit code is that of the failure."""

    def run(arguments: object) -> int:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return 1

    monkeypatch.setattr("xpand_extensions.cli._run", run)
    assert main(["info"]) == 1
