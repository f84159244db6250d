"""The tour's computations, against scikit-learn and NumPy, on every library; and the tour as a whole."""

import ast
import importlib
import inspect
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from sklearn import cluster, decomposition, linear_model, preprocessing

import xpand
from tests.libraries import LIBRARIES, Library, unless
from xpand_extensions.cli import load_tour, main

tour = load_tour()
tasks = importlib.import_module("xpand_extensions.cli.tour.tasks")

DATA = tour.load_data()


def run(library: Library, function: Callable[..., Any], *names: str, **parameters: Any) -> list[np.ndarray]:
    """Run a task's function on the tour's data; return its results as NumPy arrays, still on the library before."""
    results = function(*(library.asarray(DATA[name]) for name in names), **parameters)
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        assert xpand.array_namespace(result) is library.xp
        assert xpand.device(result) == library.expected_device
    return [np.asarray(library.to_numpy(result)) for result in results]


def test_standardise(library: Library) -> None:
    (result,) = run(library, tasks.standardise, "digits")  # of its columns some are constant
    np.testing.assert_allclose(result, preprocessing.StandardScaler().fit_transform(DATA["digits"]), atol=1e-12)


def test_principal_components(library: Library) -> None:
    coordinates, explained = run(library, tasks.principal_components, "digits", count=3)
    reference = decomposition.PCA(3, svd_solver="full").fit(DATA["digits"])
    np.testing.assert_allclose(coordinates, reference.transform(DATA["digits"]), atol=1e-10)
    np.testing.assert_allclose(explained, reference.explained_variance_ratio_, rtol=1e-10)


def test_ridge_path(library: Library) -> None:
    (weights,) = run(library, tasks.ridge_path, "diabetes", "progression", "penalties")
    for i in (0, 30, 59):
        reference = linear_model.Ridge(DATA["penalties"][i], solver="cholesky").fit(
            DATA["diabetes"], DATA["progression"]
        )
        np.testing.assert_allclose(weights[i], reference.coef_, rtol=1e-6)


def test_logistic_regression(library: Library) -> None:
    x = preprocessing.StandardScaler().fit_transform(DATA["cancer"])
    results = tasks.logistic_regression(library.asarray(x), library.asarray(DATA["malignant"]), penalty=2.0, steps=9)
    weights, log_odds = (np.asarray(library.to_numpy(result)) for result in results)
    reference = linear_model.LogisticRegression(C=0.5, tol=1e-12, solver="newton-cg", max_iter=1000)
    reference.fit(x, DATA["malignant"])
    np.testing.assert_allclose(weights[:-1], reference.coef_[0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(weights[-1], reference.intercept_[0], rtol=1e-5)
    np.testing.assert_allclose(log_odds, reference.decision_function(x), rtol=1e-5, atol=1e-6)


def test_probability_of_any_log_odds(library: Library) -> None:
    result = library.to_numpy(tasks.probability(library.asarray([-1e4, -1.0, 0.0, 1.0, 1e4])))
    np.testing.assert_allclose(result, [0, 1 / (1 + np.e), 0.5, np.e / (1 + np.e), 1], atol=1e-15)


def test_k_means(library: Library) -> None:
    x, start = DATA["digits"][:300], DATA["start"]
    results = tasks.k_means(library.asarray(x), library.asarray(start), steps=12)
    centres, groups = (np.asarray(library.to_numpy(result)) for result in results)
    reference = cluster.KMeans(10, init=start, n_init=1, tol=0, algorithm="lloyd").fit(x)
    np.testing.assert_allclose(centres, reference.cluster_centers_, atol=1e-12)
    np.testing.assert_array_equal(groups, reference.labels_)


def test_no_image_lies_between_two_centres() -> None:
    """Or libraries would differ by how they break the tie, and by their rounding."""
    x, centres = DATA["digits"], DATA["start"]
    for _ in range(20):
        nearest, second = np.sort(np.sum(centres**2, axis=1) - 2 * x @ centres.T, axis=1)[:, :2].T
        assert np.min(second - nearest) > 1e-4
        centres, _ = tasks.k_means(x, centres, steps=1)


def test_k_means_keeps_a_centre_without_rows(library: Library) -> None:
    x = library.asarray([[0.0], [1.0]])
    centres, groups = tasks.k_means(x, library.asarray([[0.4], [99.0]]), steps=2)
    library.assert_equal(centres, np.asarray([[0.5], [99.0]]))
    np.testing.assert_array_equal(library.to_numpy(groups), [0, 0])


def test_histogram_2d(library: Library) -> None:
    (counts,) = run(library, tasks.histogram_2d, "left", "right", bins=17, low=-0.5, high=16.5)
    reference, _, _ = np.histogram2d(DATA["left"], DATA["right"], bins=17, range=[(-0.5, 16.5)] * 2)
    np.testing.assert_array_equal(counts, reference)


def test_histogram_2d_has_its_last_cell_closed(library: Library) -> None:
    edge = library.asarray([0.0, 0.5, 1.0])
    counts = tasks.histogram_2d(edge, edge, bins=2, low=0.0, high=1.0)
    library.assert_equal(counts, np.asarray([[1.0, 0.0], [0.0, 2.0]]))


def test_influences(library: Library) -> None:
    x, w = preprocessing.StandardScaler().fit_transform(DATA["cancer"])[:40], DATA["weights"]
    y = DATA["malignant"][:40]
    found = library.to_numpy(tasks.influences(library.asarray(x), library.asarray(y), library.asarray(w)))
    np.testing.assert_allclose(found, np.abs(1 / (1 + np.exp(-x @ w)) - y) * np.linalg.norm(x, axis=1), atol=1e-12)


@unless(lambda library: library.id.startswith("torch"))  # which takes Inductor half a minute; the whole tour has it
def test_diffusion(library: Library) -> None:
    image, spreads = DATA["sheet"], []
    for _ in range(3):
        spreads.append(np.std(image))
        padded = np.pad(image, 1)
        around = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
        image = 0.6 * image + 0.1 * around
    found, contrast = run(library, tasks.diffusion, "sheet", steps=3)
    np.testing.assert_allclose(found, image, atol=1e-14)
    np.testing.assert_allclose(contrast, spreads, atol=1e-14)


def test_smoothed_images_and_their_convergence(library: Library) -> None:
    image, steps = DATA["sheet"][:6, :5], 3 if library.lazy else 25
    found, history = (library.to_numpy(x) for x in tasks.smoothed(library.asarray(image), steps=steps))
    second = [2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1) for size in image.shape]
    a = np.eye(30) + 2 * (np.kron(second[0], np.eye(5)) + np.kron(np.eye(6), second[1]))
    residual = image.ravel() - a @ found.ravel()
    np.testing.assert_allclose(history[0], np.linalg.norm(image))
    assert history.shape == (steps + 1,)
    if not library.lazy:
        np.testing.assert_allclose(residual, 0, atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(residual), history[-1], atol=1e-7)


def test_row_products(library: Library) -> None:
    (found,) = run(library, tasks.row_products, "images")
    centred = DATA["images"] - DATA["images"].mean(axis=0)
    np.testing.assert_allclose(found, np.einsum("kic,kjc->ij", centred, centred) / (1797 * 8), atol=1e-14)


def test_the_source_names_no_library() -> None:
    tree = ast.parse(inspect.getsource(tasks))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module.partition(".")[0] for module in modules} == {"functools", "xpand", "xpand_extensions"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {*xpand.wrapped_libraries(), "np", "jnp"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any], Path]:
    """Run the whole tour once; return the exit code, its JSON and its picture."""
    picture = tmp_path_factory.mktemp("tour") / "tour.png"
    with pytest.MonkeyPatch.context() as patch:
        written: list[str] = []
        patch.setattr("sys.stdout.write", written.append)
        code = main(["tour", "--repeats", "1", "--json", "--output", str(picture)])
    return code, json.loads("".join(written)), picture


def test_all_libraries_agree(whole: tuple[int, dict[str, Any], Path]) -> None:
    code, report, _ = whole
    assert code == 0
    assert report["agrees"] is True
    ready = [library["name"] for library in report["libraries"] if library["status"] == "ready"]
    assert {library.id.partition("-")[0].replace("strict", "array_api_strict") for library in LIBRARIES} <= set(ready)
    assert len(report["tasks"]) == 10
    for task in report["tasks"]:
        assert list(task["results"]) == ready
        for name, result in task["results"].items():
            assert result["error"] is None
            assert 0 < result["seconds"] < 60
            assert result["difference"] <= 1e-10, (task["name"], name)
    histogram = report["tasks"][5]["results"]
    assert {result["difference"] for result in histogram.values()} == {0.0}


def test_the_picture_shows_something(whole: tuple[int, dict[str, Any], Path]) -> None:
    _, report, picture = whole
    assert report["picture"] == str(picture)
    pixels = matplotlib.image.imread(picture)
    height, width, _ = pixels.shape
    assert width >= 1500
    assert height >= 1300
    # Each of the ten panels has ink.
    for start in (0, 410, 820, 1230):
        assert np.mean(np.any(pixels[960:, start : start + 400, :3] < 0.9, axis=-1)) > 0.02
    for part in (pixels[:600, :700], pixels[650:, :600], pixels[:450, 750:1200], pixels[:450, 1250:]):
        assert np.mean(np.any(part[..., :3] < 0.9, axis=-1)) > 0.02
    for part in (pixels[550:, 750:1150], pixels[550:, 1250:1550]):
        assert np.mean(np.any(part[..., :3] < 0.9, axis=-1)) > 0.3


def test_wheels_have_the_tour(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    (wheel,) = WheelBuilder(str(Path(__file__).parent.parent)).build(directory=str(tmp_path), versions=["standard"])
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    program = "from xpand_extensions.cli import load_tour; print(load_tour().__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == unpacked / "xpand_extensions" / "cli" / "tour" / "__init__.py"
