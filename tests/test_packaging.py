"""The wheel in an environment with NumPy only, the source distribution, the conda recipe, and the metadata."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
import rattler_build
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

PROGRAM = """
import sys

import numpy as np

from xpand_extensions import linear_solve, scatter, sparse
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

x = np.asarray([1.0, 2.0])
assert jit(vmap(grad(lambda x: x**3)))(x).tolist() == [3.0, 12.0]
assert scatter.segment_sum(x, np.asarray([1, 1]), num_segments=2).tolist() == [0.0, 3.0]
a = sparse.from_dense(np.asarray([[2.0, 0.0], [0.0, 4.0]]))
assert np.allclose(linear_solve.solve(a, x, positive_definite=True).x, [0.5, 0.5])
assert not {"torch", "jax", "dask", "scipy", "rich", "opt_einsum"} & set(sys.modules)
"""


def _run(*command: Any, cwd: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_works_with_numpy_only(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    clean = tmp_path / "clean"
    venv.create(clean, with_pip=False)
    python = clean / "bin" / "python"
    install = ("-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check")
    _run(sys.executable, *install, "-c", ROOT / "constraints.txt", wheel, cwd=tmp_path)
    _run(python, "-W", "error", "-c", PROGRAM, cwd=tmp_path)


def test_a_clone_installs_with_extras(tmp_path: Path) -> None:
    """As all pages say. Further extras are then added by the name of the package, as errors say, without an index."""
    clean = tmp_path / "clean"
    venv.create(clean, with_pip=False)
    install = ("-m", "pip", "--python", clean / "bin" / "python", "install", "--quiet", "--disable-pip-version-check")
    constraints = ("-c", ROOT / "constraints.txt")
    _run(sys.executable, *install, *constraints, ".[cli]", cwd=ROOT)
    assert _run(clean / "bin" / "xpand", "--version", cwd=tmp_path).split() == ["xpand", PROJECT["version"]]
    assert "Libraries" in _run(clean / "bin" / "xpand", "info", cwd=tmp_path, COLUMNS="200")
    _run(sys.executable, *install, *constraints, "xpand[einsum]", cwd=tmp_path)
    _run(clean / "bin" / "python", "-c", "import opt_einsum, rich, xpand", cwd=tmp_path)


def test_no_page_installs_from_an_index_before_a_release_is_there() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    commands = [
        line for page in pages for line in _blocks(page.read_text()) if re.search(r"pip install [^#]*\bxpand\b", line)
    ]
    assert not commands
    for name in ("README.md", "docs/index.md", "docs/start.md"):
        assert re.search(r"pip install '\.\[scipy(,native)?\]'", (ROOT / name).read_text())


def _blocks(text: str) -> list[str]:
    """Return the lines of code blocks."""
    return [line for block in re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()]


def test_the_wheel_has_the_package_and_nothing_else(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {
        "xpand",
        "xpand_extensions",
        f"xpand-{PROJECT['version']}.dist-info",
    }
    assert {"xpand/py.typed", "xpand_extensions/py.typed"} <= set(names)
    assert not [name for name in names if name.endswith((".pyc", ".so", ".orig"))]
    _run(sys.executable, "-m", "check_wheel_contents", wheel, cwd=ROOT)
    _run(sys.executable, "-m", "twine", "check", "--strict", wheel, cwd=tmp_path)


def test_the_source_distribution_runs_its_own_tests(tmp_path: Path) -> None:
    (source,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    root = tmp_path / f"xpand-{PROJECT['version']}"
    needed = (
        "Makefile",
        "constraints.txt",
        "mkdocs.yml",
        "tools",
        "benchmarks",
        "array-api-tests",
        "docs",
        "tests",
        "changes",
        "recipe",
    )
    assert not [name for name in needed if not (root / name).exists()]
    _run(sys.executable, "-m", "twine", "check", "--strict", source, cwd=tmp_path)
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_inspection.py")
    _run(*command, "--libraries", "numpy", cwd=root, PYTHONPATH=f"{root / 'src'}:{root / 'extensions'}:{root}")


def test_the_conda_recipe_has_the_metadata_of_the_project() -> None:
    (variant,) = rattler_build.Stage0Recipe.from_file(ROOT / "recipe" / "recipe.yaml").render()
    recipe = variant.recipe.to_dict()
    assert (recipe["package"]["name"], recipe["package"]["version"]) == (PROJECT["name"], PROJECT["version"])
    needed = {re.sub(r"\s", "", text) for text in recipe["requirements"]["run"]}
    assert needed == {*PROJECT["dependencies"], "python" + PROJECT["requires-python"]}
    scripts = recipe["build"]["python"]["entry_points"]
    assert scripts == [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]


def test_fragments_become_a_section_of_the_changelog(tmp_path: Path) -> None:
    for file in ("pyproject.toml", "CHANGELOG.md", "changes/README.md"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / "changes" / "12.fixed.md").write_text("`f` takes `x`.\n")
    (tmp_path / "changes" / "+g.added.md").write_text("`g`.\n")
    _run(sys.executable, "-m", "towncrier", "build", "--yes", "--version", "9.0", "--date", "2030-01-02", cwd=tmp_path)
    text = (tmp_path / "CHANGELOG.md").read_text()
    assert "\n## 9.0 (2030-01-02)\n\n### Added\n\n- `g`.\n\n### Fixed\n\n- `f` takes `x`. (#12)\n" in text
    assert text.index("## 9.0") < text.index(f"## {PROJECT['version']}")
    assert [path.name for path in (tmp_path / "changes").iterdir()] == ["README.md"]


def test_classifiers_name_the_versions_of_python_that_are_tested() -> None:
    named = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text}
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    tested = set(re.findall(r'"(3\.\d+)"', workflow))
    assert tested <= named
    assert {min(named, key=_minor), max(named, key=_minor)} <= tested
    assert PROJECT["requires-python"] == f">={min(named, key=_minor)}"


def _minor(version: str) -> int:
    return int(version.partition(".")[2])


@pytest.mark.parametrize("file", ["CITATION.cff", "CHANGELOG.md"])
def test_files_name_the_version(file: str) -> None:
    line = {"CITATION.cff": f"version: {PROJECT['version']}\n", "CHANGELOG.md": f"\n## {PROJECT['version']} "}[file]
    assert line in (ROOT / file).read_text()
