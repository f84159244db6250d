"""Named arrays around arrays of libraries that xpand does not wrap, and lazy ones; graphs of named programs."""

from typing import Any

import dask
import dask.array as da
import marray
import numpy as np
import pytest

from tests.conforming import Conforming, libraries
from xpand import array_namespace, namespace
from xpand_extensions import named as hax, special
from xpand_extensions.jit import make_graph

VALUES = np.random.default_rng(0).normal(size=(2, 3))
NAMES = ("row", "column")

PROGRAMS: dict[str, Any] = {
    "arithmetic": (lambda x: 2.0 * x + x * x, 2 * VALUES + VALUES**2),
    "reordered": (lambda x: x + x.rearrange(("column", "row")), 2 * VALUES),
    "reductions": (lambda x: x.sum("column") - x.max("column"), VALUES.sum(1) - VALUES.max(1)),
    "centred": (lambda x: x - x.mean("row"), VALUES - VALUES.mean(0)),
    "index": (lambda x: x[{"column": slice(1, 3)}]["row", 1], VALUES[1, 1:3]),
    "exp": (lambda x: hax.exp(x).rename({"row": "new"}), np.exp(VALUES)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("library", [each for each in libraries() if each.name != "sparse"], ids=str)
def test_other_libraries(library: Conforming, name: str) -> None:
    program, expected = PROGRAMS[name]
    found = program(hax.named(library.asarray(VALUES), NAMES))
    np.testing.assert_allclose(library.to_numpy(found.array), expected, rtol=1e-6)


def test_pydata_sparse() -> None:
    (library,) = [each for each in libraries() if each.name == "sparse"]
    values = np.where(VALUES > 0, VALUES, 0.0)
    x = hax.named(library.asarray(values), NAMES)
    np.testing.assert_allclose(library.to_numpy((2.0 * x).sum("column").array), 2 * values.sum(1))
    np.testing.assert_allclose(library.to_numpy((x * x["row", 0]).array), values * values[0])


def test_masks_are_kept() -> None:
    masked = marray.masked_namespace(np)
    x = hax.named(masked.asarray(VALUES, mask=VALUES > 0), NAMES)
    total = x.sum("column").array
    np.testing.assert_allclose(total.data, np.where(VALUES > 0, 0, VALUES).sum(1))
    np.testing.assert_array_equal(total.mask, np.all(VALUES > 0, axis=1))


def test_dask_computes_nothing() -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("computed while it was being built")

    with dask.config.set(scheduler=refuse):
        x = hax.named(da.from_array(VALUES, chunks=(1, 2)), NAMES)
        product = hax.dot(x, x.rename({"row": "other"}), axis="column")
        found = hax.exp(product - product.mean("other")).rearrange("other row -> row other")
        gradient = hax.grad(lambda x: (x * x.sum("row")).sum())(x)
        assert repr(found.axes)
    expected = VALUES @ VALUES.T
    np.testing.assert_allclose(found.array, np.exp(expected - expected.mean(1, keepdims=True)).T)
    np.testing.assert_allclose(gradient.array, np.broadcast_to(2 * VALUES.sum(0), VALUES.shape))


GRAPHS: dict[str, Any] = {
    "operator": (lambda x: x + x, lambda x: x + x),
    "function": (lambda x: hax.exp(x), lambda x: array_namespace(x).exp(x)),
    "reduction": (lambda x: x.sum("column"), lambda x: array_namespace(x).sum(x, axis=1)),
    "broadcasting": (lambda x: x - x.mean("row"), lambda x: x - array_namespace(x).mean(x, axis=0)),
    "transpose": (
        lambda x: x.rearrange("row column -> column row"),
        lambda x: array_namespace(x).permute_dims(x, (1, 0)),
    ),
    "nothing": (lambda x: x.rearrange(("row", "column")), lambda x: x),
    "merge": (
        lambda x: x.rearrange("row column -> (all: row column)"),
        lambda x: array_namespace(x).reshape(x, (6,)),
    ),
    "index": (lambda x: x["row", 0], lambda x: x[0, :]),
    "special": (lambda x: hax.special.erf(x), lambda x: special.erf(x)),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_graphs_are_those_of_the_positional_program(library: str, name: str) -> None:
    by_name, by_position = GRAPHS[name]
    x = namespace(library).asarray(VALUES)
    found = make_graph(lambda x: by_name(hax.named(x, NAMES)).array)(x)
    expected = make_graph(by_position)(x)
    assert getattr(found, "code", str(found)) == getattr(expected, "code", str(expected))
