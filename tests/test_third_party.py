"""A library that xpand doesn't know, plugged in by a distribution from outside the repository tree.

`tests/third_party` is that distribution: a small array library, and its plug-in package. Each test installs it into a
fresh directory and looks at it from a process of its own, as a user's machine would.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "third_party"


def _install(source: Path, site: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    # All that the build needs is here already: nothing is fetched.
    command += ["--no-index", "--no-deps", "--no-build-isolation", "--no-compile", "--target", str(site), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution, built outside the tree and installed into a directory."""
    folder = tmp_path_factory.mktemp("outside")
    shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    _install(folder / "source", folder / "site")
    return folder / "site"


@pytest.fixture
def site(installed: Path, tmp_path: Path) -> Path:
    """A copy of the installation that a test may spoil."""
    return Path(shutil.copytree(installed, tmp_path / "site"))


def _python(site: Path, code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=site.parent, env=environment, capture_output=True, text=True)


def _succeeds(site: Path, code: str) -> None:
    done = _python(site, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1:] == ["done"], done.stdout


def _fails(site: Path, code: str) -> str:
    done = _python(site, code)
    assert done.returncode != 0, done.stdout
    return done.stderr.strip().splitlines()[-1]


def test_it_is_outside(installed: Path) -> None:
    assert not installed.is_relative_to(SOURCE.parent.parent)
    names = {path.name for path in installed.iterdir()}
    assert {"tinyarray", "xpand_tinyarray", "xpand_tinyarray-1.0.0.dist-info"} <= names
    done = subprocess.run([sys.executable, "-c", "import tinyarray"], cwd=installed.parent, capture_output=True)
    assert done.returncode != 0, "tinyarray is importable without the installation: the tests would show nothing"


def test_native_where_it_is_and_generic_elsewhere(installed: Path) -> None:
    _succeeds(
        installed,
        """
import numpy as np, tinyarray, xpand
import xpand_tinyarray.scatter
from xpand_extensions import scatter

calls = []
native = xpand_tinyarray.scatter.segment_sum
def spy(*args, **kwargs):
    calls.append(kwargs)
    return native(*args, **kwargs)
xpand_tinyarray.scatter.segment_sum = spy

values = np.asarray([[1.0, 2.0], [4.0, 8.0], [16.0, 32.0], [64.0, 128.0]])
ids = np.asarray([0, 2, 0, 3])
x, i = tinyarray.asarray(values), tinyarray.asarray(ids)
assert xpand.array_namespace(x) is tinyarray

def same(actual, expected):
    assert type(actual) is tinyarray.Array, type(actual)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual._data, expected)

def compare(function, transpose=False, **options):
    arrays = (x.T, i), (values.T, ids)
    actual, expected = (function(*each, **options) for each in (arrays if transpose else ((x, i), (values, ids))))
    same(actual, expected)

compare(scatter.segment_sum)
assert len(calls) == 1
for mode in ("drop", "clip", "wrap"):
    compare(scatter.segment_sum, num_segments=3, mode=mode)
compare(scatter.segment_sum, transpose=True, num_segments=4, axis=1)
assert len(calls) == 5
for name in ("segment_prod", "segment_min", "segment_max", "segment_mean"):
    function = getattr(scatter, name)
    compare(function, num_segments=5)
    assert function.native(x).__module__ == "xpand_extensions.generic.scatter"
same(scatter.at(x)[i].add(1.0), scatter.at(values)[ids].add(1.0))
assert len(calls) == 5
for array, index in ((x, i), (values, ids)):
    try:
        scatter.segment_sum(array, index, num_segments=3)
    except IndexError as error:
        assert "segment_sum" in str(error) and "3" in str(error), error
    else:
        raise AssertionError("an index out of bounds passed")
print("done")
""",
    )


def test_it_is_in_the_table(installed: Path) -> None:
    _succeeds(
        installed,
        """
import sys
from xpand_extensions import capabilities, check_plugin

table = capabilities()
assert table["scatter.segment_sum"]["tinyarray"] == "native"
assert table["scatter.segment_max"]["tinyarray"] == "generic"
assert all("tinyarray" in row for row in table.values())
assert "tinyarray" not in sys.modules, "the table is read, not imported"
check_plugin("xpand_tinyarray")
print("done")
""",
    )


@pytest.mark.every_run
def test_it_is_a_library_like_the_others(installed: Path) -> None:
    _succeeds(
        installed,
        """
import tinyarray, torch, xpand
from xpand_extensions import scatter

with xpand.use("tinyarray") as xp:
    assert xp is tinyarray and xpand.default_namespace() is tinyarray
assert xpand.library_name(tinyarray) == "tinyarray"
x = tinyarray.asarray([1.0, 2.0])
assert xpand.is_concrete(x)
xpand.check(x > 0.0, "all positive")
try:
    scatter.segment_sum(x, torch.tensor([0, 1]))
except TypeError as error:
    assert "tinyarray" in str(error) and "torch.Tensor" in str(error), error
else:
    raise AssertionError("arrays of two libraries passed")
print("done")
""",
    )


USE = "import tinyarray; from xpand_extensions import scatter\n"
SUM = "scatter.segment_sum(tinyarray.asarray([1.0, 2.0]), tinyarray.asarray([0, 1]))"
CHECK = "from xpand_extensions import check_plugin; check_plugin('xpand_tinyarray')"


@pytest.mark.parametrize("module", ["scatter.py", "__init__.py"])
def test_a_missing_dependency_raises(site: Path, module: str) -> None:
    path = site / "xpand_tinyarray" / module
    path.write_text("import tinyarray_kernels\n" + path.read_text())
    # Twice, since a failed import must not turn into "no plug-in" the second time.
    code = f"{USE}try:\n    {SUM}\nexcept ImportError:\n    {SUM}"
    assert _fails(site, code) == "ModuleNotFoundError: No module named 'tinyarray_kernels'"
    assert "tinyarray_kernels" in _fails(site, CHECK)


def test_a_plugin_package_that_is_gone_raises(site: Path) -> None:
    shutil.rmtree(site / "xpand_tinyarray")
    message = _fails(site, USE + SUM)
    assert "Error: " in message
    assert "xpand_tinyarray" in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def segment_sum(", "def segment_sun(", "scatter.segment_sun overrides nothing"),
        ("axis: int = 0", "axes: int = 0", "differs from the facade's segment_sum"),
        ("axis: int = 0", "axis: int = -1", "differs from the facade's segment_sum"),
    ],
)
def test_a_misspelt_override_is_found(site: Path, old: str, new: str, message: str) -> None:
    path = site / "xpand_tinyarray" / "scatter.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    line = _fails(site, CHECK)
    assert line.startswith("AssertionError: xpand_tinyarray: scatter.seg")
    assert message in line


def test_a_misspelt_capability_is_found(site: Path) -> None:
    (site / "xpand_tinyarray" / "scatter.py").rename(site / "xpand_tinyarray" / "scater.py")
    assert "module 'scater' is no capability" in _fails(site, CHECK)


def test_two_distributions_for_one_library_raise(site: Path) -> None:
    other = site / "another_tinyarray-1.0.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: another-tinyarray\nVersion: 1.0.0\n")
    (other / "entry_points.txt").write_text("[xpand.plugins]\ntinyarray = another_tinyarray\n")
    for code in (USE + SUM, "from xpand_extensions import capabilities; capabilities()"):
        message = _fails(site, code)
        assert message.startswith("RuntimeError: two installed distributions bring xpand plug-ins for 'tinyarray'")
        assert "another_tinyarray" in message
        assert "xpand_tinyarray" in message
