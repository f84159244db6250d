"""Objects as readable texts, and as HTML in notebooks."""

import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
import torch

from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library
from xpand import array_namespace, namespace
from xpand_extensions import capabilities, named, random, sparse
from xpand_extensions._display import array_text
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.linear_solve import solve
from xpand_extensions.optimize import minimize
from xpand_extensions.profile import profile
from xpand_extensions.scatter import segment_sum

MATRIX = np.asarray([[4.0, 1.0], [1.0, 3.0]])


def cells(value: Any) -> list[list[str]]:
    """Return the rows of the table that a notebook shows, and check that the HTML is well-formed."""
    root = ElementTree.fromstring(value._repr_html_())
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_elements_are_numbers_of_python(library: Library) -> None:
    assert array_text(library.asarray([True, False])) == "bool[2]: True, False"
    assert array_text(library.asarray(True)) == "True"
    assert array_text(library.asarray([1.0 + 2.0j])) == "complex128[1]: (1+2j)"
    assert array_text(library.asarray(np.asarray([3, -4]))) == "int64[2]: 3, -4"
    assert array_text(library.asarray(np.ones(0))) == "float64[0]"


def test_elements_of_tensors_with_a_gradient() -> None:
    assert array_text(torch.ones(2, requires_grad=True)) == "float32[2]: 1, 1"


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_results_of_solvers(library: Library) -> None:
    found = solve(library.asarray(MATRIX), library.asarray([1.0, 2.0]), method="cg")
    rows = dict(cells(found))
    assert rows["x"] == "float64[2]: 0.0909091, 0.636364"
    assert rows["iterations"] == "2"
    assert "history" not in rows
    lines = str(found).splitlines()
    assert lines[0] == "SolveResult, cg: converged"
    assert lines[1].split() == ["x", "float64[2]:", "0.0909091,", "0.636364"]
    large = solve(library.asarray(np.eye(9)), {"a": library.asarray(np.ones(9))}["a"], record_history=True, method="cg")
    assert dict(cells(large))["x"] == "float64[9]"


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_results_of_optimizers(library: Library) -> None:
    steps = {"max_steps": 2} if library.lazy else {}
    x0 = {"a": library.asarray([1.0, 2.0])}
    f = lambda x: array_namespace(x["a"]).sum((x["a"] - 1.0) ** 2)
    found = minimize(f, x0, method="gradient-descent", throw=False, **steps)
    rows = dict(cells(found))
    assert rows["x"] == ("float64[2]" if library.lazy else "float64[2]: 1, 1")
    assert "status" not in rows
    start = "OptimizeResult: not known before" if library.lazy else "OptimizeResult: converged\n"
    assert str(found).startswith(start)


def test_results_within_transformations() -> None:
    texts = []
    jit(lambda a: (texts.append(str(solve(a, a[0, :], method="cg"))), a)[1])(MATRIX)
    assert texts[0].splitlines()[0] == "SolveResult, cg: not known yet"


@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
def test_sparse_containers(format: Any) -> None:
    a = sparse.from_dense(np.asarray([[1.0, 0.0], [0.0, 2.0]]), format=format)
    rows = cells(a)
    assert rows[:2] == [["entries", "0.5 of all elements"], ["values", "float64[2]: 1, 2"]]
    assert f"{format.upper()} of shape (2, 2), 2 entries of float64" in a._repr_html_()


def test_named_arrays() -> None:
    x = named.named(np.asarray([[1.0, 2.0, 3.0]]), ("place", "<time>"))
    assert cells(x) == [["axis", "size"], ["place", "1"], ["<time>", "3"]]
    assert "[[1. 2. 3.]]" in x._repr_html_()
    ElementTree.fromstring(named.NamedArray.tree_unflatten(("a",), (None,))._repr_html_())


def test_profiles() -> None:
    xp = namespace("numpy")
    with profile() as p:
        assert "being recorded" in p._repr_html_()
        assert str(p) == repr(p)
        xp.sin(np.ones(3))
        xp.sin(np.ones(3))
        segment_sum(np.ones(3), np.asarray([0, 0, 1]), num_segments=2)
    rows = {row[0]: row[1] for row in cells(p)}
    assert rows["function"] == "calls"
    assert rows["numpy.sin"] == "2"
    assert rows["scatter.segment_sum"] == "1"
    assert str(p).startswith("Profile: ")
    assert len(str(p).splitlines()) == len(rows)


def test_capabilities() -> None:
    table = capabilities()
    assert isinstance(table, dict)
    rows = cells(table)
    assert rows[0][:2] == ["function", "numpy"]
    assert len(rows) == len(table) + 1
    row = next(row for row in rows if row[0] == "scatter.segment_sum")
    assert row[1:] == list(table["scatter.segment_sum"].values())
    (line,) = [line for line in str(table).splitlines() if line.split()[0] == "autodiff.vjp"]
    assert "traced: numpy" in line


def test_graphs() -> None:
    graph = make_graph(lambda x: x * 2.0)(np.ones(3))
    root = ElementTree.fromstring(graph._repr_html_())
    assert "multiply" in "".join(root.itertext())


def test_generators_show_their_key() -> None:
    assert repr(random.Generator(random.key(3, xp=np))) == "Generator: key uint32[2]: 0, 3, 0 keys taken"
