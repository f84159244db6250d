"""Pictures: what they show, not how they look. matplotlib draws without a display."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library
from tests.test_optional import BLOCK
from xpand import array_namespace, namespace
from xpand_extensions import optimize, plot, random, sparse
from xpand_extensions._drawing import Drawing, Node, drawn
from xpand_extensions.control_flow import while_loop
from xpand_extensions.jit import ShapeDtype, jit, make_graph
from xpand_extensions.linear_solve import solve
from xpand_extensions.profile import profile
from xpand_extensions.scatter import segment_sum

MATRIX = np.diag([2.0, 3.0, 4.0, 5.0]) + np.diag([1.0, 0.0, 1.0], 1)


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(params=EAGER_LIBRARIES, ids=str)
def eager(request: pytest.FixtureRequest) -> Library:
    return request.param


def saved(axes: Any, path: Any) -> str:
    """Write the figure of axes as SVG; return its text."""
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        axes.figure.savefig(path)
    return path.read_text(encoding="utf-8")


def test_the_pattern_of_a_matrix(eager: Library, tmp_path: Any) -> None:
    a = eager.asarray(MATRIX)
    axes = plot.sparsity(a)
    np.testing.assert_array_equal(axes.images[0].get_array(), MATRIX != 0)
    assert "4 × 4, 6 entries" in saved(axes, tmp_path / "a.svg")
    np.testing.assert_array_equal(plot.sparsity(sparse.from_dense(a), ax=axes).images[1].get_array(), MATRIX != 0)


def test_the_pattern_of_a_large_or_empty_matrix() -> None:
    image = plot.sparsity(sparse.eye(5120)).images[0]
    assert image.get_array().shape == (512, 512)
    np.testing.assert_array_equal(image.get_array(), np.eye(512))
    assert image.get_extent() == [-0.5, 5119.5, 5119.5, -0.5]
    assert plot.sparsity(np.zeros((3, 2))).get_title() == "3 × 2, 0 entries"
    assert plot.sparsity(np.zeros((0, 2))).get_title() == "0 × 2, 0 entries"
    coo = sparse.to_native(sparse.from_dense(MATRIX))
    np.testing.assert_array_equal(plot.sparsity(coo).images[0].get_array(), MATRIX != 0)


def test_the_pattern_of_a_matrix_with_millions_of_rows() -> None:
    size = 5_000_000
    corners = np.asarray([0, size - 1], dtype=np.int32)
    (image,) = plot.sparsity(sparse.COO(np.ones(2), (corners, corners), (size, size))).images
    shares = image.get_array()
    assert np.sum(shares) == shares[0, 0] + shares[-1, -1] == 2.0


def test_the_convergence_of_a_solver(eager: Library, tmp_path: Any) -> None:
    a, b = eager.asarray(MATRIX @ MATRIX.T), eager.asarray([[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 0.0]])
    found = solve(a, b, axis=-1, method="cg", record_history=True)
    axes = plot.convergence(found)
    for line, history in zip(axes.lines, eager.to_numpy(found.history), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), history)
    assert (axes.get_yscale(), axes.get_ylabel()) == ("log", "residual")
    text = saved(axes, tmp_path / "a.svg")
    assert "problem 0" in text
    assert "problem 1" in text
    plot.convergence(found.history[0, ...], label="first", ax=axes)
    assert len(axes.lines) == 3


def test_the_convergence_of_an_optimizer() -> None:
    f = lambda x: (x**2).sum() - 1.0
    found = optimize.minimize(f, np.ones(2), record_history=True)
    axes = plot.convergence(found, quantity="objective", label="bfgs")
    assert (axes.get_yscale(), axes.get_ylabel()) == ("linear", "objective")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["bfgs"]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), found.history.objective)
    np.testing.assert_array_equal(plot.convergence(found).lines[0].get_ydata(), found.history.optimality)


def test_a_timeline_has_a_bar_for_each_call() -> None:
    xp = namespace("numpy")
    with profile() as p:
        segment_sum(np.ones(3), np.asarray([0, 0, 1]), num_segments=2)
        xp.sin(np.ones(3))
    axes = plot.timeline(p)
    bars = [bar for container in axes.containers for bar in container]
    assert sorted(bar.get_width() for bar in bars) == sorted(entry.duration for entry in p.walk())
    labels = {container.get_label() for container in axes.containers}
    assert labels == {entry.kind for entry in p.walk()}
    assert "scatter.segment_sum" in {text.get_text().strip() for text in axes.texts}


def test_the_memory_of_a_profile() -> None:
    xp = namespace("numpy")
    with profile(memory=True) as p:
        x = xp.ones(100_000)
        y = xp.sin(x)
    assert y.shape == x.shape
    axes = plot.memory(p)
    kept = axes.lines[0].get_ydata()
    assert kept[0] == 0
    np.testing.assert_allclose(kept[-1], 1_600_000, rtol=0.01)
    with profile() as p:
        xp.sin(x)
    with pytest.raises(ValueError, match=r"memory: .* `profile\(memory=True\)`"):
        plot.memory(p)


def test_samples_against_their_density(eager: Library, tmp_path: Any) -> None:
    x = random.normal(random.key(0, xp=eager.xp, device=eager.device), (4, 250))
    axes = plot.samples(x, lambda t: eager.xp.exp(-(t**2) / 2) / (2 * np.pi) ** 0.5, bins=7)
    area = sum(bar.get_width() * bar.get_height() for bar in axes.patches)
    np.testing.assert_allclose(area, 1.0, rtol=1e-6)
    curve = axes.lines[0]
    np.testing.assert_allclose(curve.get_ydata(), np.exp(-(curve.get_xdata() ** 2) / 2) / np.sqrt(2 * np.pi), rtol=1e-5)
    assert "1000 samples" in saved(axes, tmp_path / "a.svg")


def test_samples_that_are_integers() -> None:
    axes = plot.samples(np.asarray([0, 1, 1, 3]), lambda k: np.where(k < 4, 0.25, 0.0))
    assert [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in axes.patches] == [
        (0.0, 0.25),
        (1.0, 0.5),
        (3.0, 0.25),
    ]
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [0, 1, 2, 3])


def labels_of(picture: str) -> list[str]:
    root = ElementTree.fromstring(picture)
    return [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_samples_of_a_wide_range_of_integers() -> None:
    x = np.asarray([0, 2**32 - 1, 0], dtype=np.uint32)
    axes = plot.samples(x, lambda t: np.full(t.shape, 0.5))
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [0, 2**32 - 1])


def test_the_graph_of_a_function(eager: Library, tmp_path: Any) -> None:
    def f(x: Any) -> Any:
        xp = array_namespace(x)
        return while_loop(lambda c: xp.sum(c) < 10.0, lambda c: 2.0 * c, xp.sin(x) + xp.cos(x))

    picture = plot.graph(f, eager.asarray([1.0, 2.0]))
    labels = labels_of(picture)
    assert labels[0] == "f"
    assert labels.count("output") >= 1
    for name in ("sin", "cos"):
        assert sum(name in label for label in labels) == 1
    picture.save(tmp_path / "f.svg")
    assert (tmp_path / "f.svg").read_text(encoding="utf-8") == picture
    if not eager.id.startswith("torch"):  # whose program of a loop is one operation
        assert any(re.search(" › (body|body_jaxpr) of while", label) for label in labels)


def test_the_graph_shows_types_and_needs_no_values() -> None:
    picture = plot.graph(lambda x: x * 2.0 < 3.0, ShapeDtype((2, 3), np.float32))
    assert {"float32[2,3]", "multiply", "less", "bool[2,3]"} <= set(labels_of(picture))
    graph = make_graph(lambda x: x * 2.0)(np.ones(3))
    assert {"multiply", "input", "output"} <= set(labels_of(graph._repr_html_()))


def test_nodes_of_a_layer_do_not_overlap_and_lie_below_their_inputs() -> None:
    rng = np.random.default_rng(0)
    nodes = [Node("input", "input")] + [
        Node("x" * int(rng.integers(1, 9)), "operation", tuple({int(j) for j in rng.integers(0, i, 2)}))
        for i in range(1, 40)
    ]
    root = ElementTree.fromstring(drawn(Drawing("<random> & more", nodes)))
    boxes = [{k: float(v) for k, v in each.attrib.items() if k in ("x", "y", "width")} for each in root.iter()]
    boxes = [box for box in boxes if "width" in box and "x" in box]
    assert len(boxes) == 40
    for node, box in zip(nodes, boxes):
        assert all(boxes[i]["y"] < box["y"] for i in node.inputs)
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
            assert a["y"] != b["y"] or apart
    assert root[0].text == "<random> & more"


def test_errors_name_the_argument() -> None:
    result = solve(MATRIX @ MATRIX.T, np.ones(4), method="cg")
    for error, match, call in (
        (TypeError, "sparsity: a must be", lambda: plot.sparsity("a")),
        (ValueError, r"sparsity: a must be a matrix, got the shape \(3,\)", lambda: plot.sparsity(np.ones(3))),
        (
            ValueError,
            "convergence: the result has no history; .* `record_history=True`",
            lambda: plot.convergence(result),
        ),
        (TypeError, "convergence: result must be", lambda: plot.convergence(3)),
        (ValueError, "convergence: quantity must be", lambda: plot.convergence(result, quantity="x")),
        (TypeError, "graph: takes a function", lambda: plot.graph(np.ones(3))),
        (TypeError, "timeline: takes a finished profile", lambda: plot.timeline(3)),
        (TypeError, "samples: x must be real", lambda: plot.samples(np.ones(3, dtype=complex))),
        (TypeError, "samples: density must be", lambda: plot.samples(np.ones(3), 3)),
        (ValueError, "samples: x must have samples", lambda: plot.samples(np.ones(0))),
        (ValueError, r"samples: x must be finite; draw `x\[", lambda: plot.samples(np.asarray([1.0, np.nan]))),
        (ValueError, r"convergence: .* got the shape \(\)", lambda: plot.convergence(np.asarray(1.0))),
        (ValueError, r"convergence: .* got the shape \(2, 0\)", lambda: plot.convergence(np.ones((2, 0)))),
        (TypeError, "samples: ax must be axes", lambda: plot.samples(np.ones(3), ax=3)),
        (ValueError, "samples: x has no values", lambda: jit(plot.samples)(np.ones(3))),
        (TypeError, "SVG.save: path", lambda: plot.graph(lambda x: x, np.ones(3)).save(3)),
    ):
        with pytest.raises(error, match=match):
            call()


def test_lazy_arrays_are_not_computed() -> None:
    x = next(library for library in LIBRARIES if library.id == "dask").asarray([1.0, 2.0])
    with pytest.raises(ValueError, match="samples: x has no values, since it is lazy"):
        plot.samples(x)


def test_without_matplotlib_the_error_names_the_extra() -> None:
    code = """
import numpy as np
from xpand_extensions import plot
assert plot.graph(lambda x: x * x, np.ones(3)).startswith("<svg")
try:
    plot.samples(np.ones(3))
except ModuleNotFoundError as error:
    print(error)
"""
    program = f"PACKAGES = {{'matplotlib'}}\n{BLOCK}{code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (
        done.stdout == "plot.samples: needs matplotlib, which is not installed; `pip install 'xpand[plot]'` adds it\n"
    )
