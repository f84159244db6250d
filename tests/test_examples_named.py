"""The examples of docs/examples with named axes: from one source, alike on three libraries."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import mypy.api
import numpy as np
import pytest
import xarray

import xpand

FOLDER = Path(__file__).parent.parent / "docs" / "examples"
sys.path.insert(0, str(FOLDER))
example: ModuleType = importlib.import_module("named_attention")
climate: ModuleType = importlib.import_module("named_climate")


@pytest.fixture(scope="module")
def reference() -> list[float]:
    losses: list[float] = example.train(xpand.namespace("numpy"), 12, count=200)[1]
    return losses


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_training_lowers_the_loss_alike_on_every_library(library: str, reference: list[float]) -> None:
    xp = xpand.namespace(library)
    # Single steps on JAX would compile each operation; Inductor takes longer than the steps.
    parameters, losses = example.train(xp, 12, count=200, compiled=library == "jax")
    assert losses[-1] < losses[0] - 0.3
    assert losses == pytest.approx(reference, rel=1e-4)
    assert all(xpand.array_namespace(x.array) is xp for x in parameters.values())


def test_the_model_learns_digits() -> None:
    xp = xpand.namespace("numpy")
    parameters, _ = example.train(xp, 150)
    assert example.accuracy(parameters, *example.load(xp, 500, 1000)) > 0.7


STATIONS = {"Oslo": (59.9, 10.8), "Sydney": (-33.9, 151.2)}


@pytest.fixture(scope="module")
def temperature() -> xarray.DataArray:
    found: xarray.DataArray = climate.observations(years=8)
    return found


def analysed(temperature: xarray.DataArray, library: str) -> xarray.Dataset:
    found: xarray.Dataset = climate.analyse(temperature, STATIONS, library)
    return found


@pytest.fixture(scope="module")
def by_numpy(temperature: xarray.DataArray) -> xarray.Dataset:
    return analysed(temperature, "numpy")


def test_an_analysis_equals_that_of_xarray(temperature: xarray.DataArray, by_numpy: xarray.Dataset) -> None:
    found = by_numpy
    months = temperature.groupby("time.month")
    expected = months - months.mean("time")
    np.testing.assert_allclose(found["climate"].transpose("month", ...), months.mean("time"), atol=1e-4)
    np.testing.assert_allclose(found["anomaly"], expected, atol=1e-4)
    weights = np.cos(np.radians(temperature.latitude))
    mean = expected.weighted(weights).mean(("latitude", "longitude"))
    np.testing.assert_allclose(found["mean"], mean, atol=1e-5)
    slope = expected.assign_coords(time=np.arange(96) / 12.0).polyfit("time", 1).polyfit_coefficients.sel(degree=1)
    np.testing.assert_allclose(found["trend"], 10.0 * slope, atol=1e-4)
    inner = {"latitude": 59.9, "longitude": 10.8}
    assert found["local"].sel(station="Oslo").item() == pytest.approx(found["trend"].interp(inner).item(), abs=1e-4)
    assert list(found["pattern"].coords) == ["latitude", "longitude"]
    assert found["explained"].item() > 0.2
    wave = np.cos(np.radians(found["pattern"].longitude)).values
    assert np.corrcoef(found["pattern"].sel(latitude=0.0), wave)[0, 1] > 0.99
    assert len(climate.picture(found["pattern"]).splitlines()) == 17


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_the_analysis_is_the_same_on_other_libraries(
    library: str, temperature: xarray.DataArray, by_numpy: xarray.Dataset
) -> None:
    found = analysed(temperature, library)
    for name in by_numpy:
        np.testing.assert_allclose(found[name], by_numpy[name], atol=2e-3)


def test_type_checkers_accept_the_examples() -> None:
    out, error, status = mypy.api.run(["--strict", *map(str, FOLDER.glob("named_*.py"))])
    assert not status, out + error
