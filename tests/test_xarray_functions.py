"""xarray's functions on traced arrays: values, labels, derivatives, batches, programs, against xarray on NumPy."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from tests.libraries import LIBRARIES, Library
from xpand import array_namespace
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

BY_NAME: Final = {library.id: library for library in LIBRARIES}
TIME: Final = pd.date_range("2000-01-01", periods=12, freq="2MS")
VALUES: Final = np.random.default_rng(0).random((12, 4)) + 0.5
DIRECTION: Final = np.random.default_rng(1).standard_normal((12, 4))
X: Final = [0.0, 1.0, 2.0, 4.0]
W: Final = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="x", coords={"x": X})
OTHER: Final = xr.DataArray(np.random.default_rng(2).random(12), dims="time", coords={"time": TIME})


def data(values: Any = VALUES) -> xr.DataArray:
    coords = {"time": TIME, "x": X, "site": ("x", list("aabb"))}
    return xr.DataArray(values, dims=("time", "x"), coords=coords, name="speed", attrs={"units": "m/s"})


def with_row(d: xr.DataArray) -> xr.DataArray:
    d = d.copy()
    d[0] = 0.0
    d.loc[{"x": 1.0}] = d.loc[{"x": 2.0}] * 2
    return d


SCOPE: Final = {"np": np, "pd": pd, "xr": xr, "TIME": TIME, "W": W, "OTHER": OTHER, "with_row": with_row}

EVERYWHERE: Final = (
    *("d + 1", "1 - d", "d * W", "W / d", "d**2", "d // 0.3", "d % 0.3", "-d", "abs(d)", "(d > 1) * d"),
    *("d.isel(time=slice(2, None)) + d", "d * OTHER * W"),
    *(f"d.{name}('time')" for name in ("sum", "mean", "max", "min", "std", "var", "prod", "cumsum", "argmax")),
    *("d.sum()", "d.std('time', ddof=1)", "d.where(d > 0.8).mean('time')", "d.mean('time', skipna=False)"),
    *("d.where(d > 1)", "d.where(d > 1, 0.0)", "xr.where(d > 1, d, -d)", "d.where(d > 1).fillna(2.0)"),
    *("d.clip(0.7, 1.2)", "d.isnull() * d", "d.where(d.x > 0.5, drop=True)", "d[2:5]", "d[:, W.values > 2]"),
    *("d.isel(time=3)", "d.isel(time=[0, 3, 5])", "d.sel(x=1.2, method='nearest')", "d.sel(time='2000-05')"),
    *("d.sel(time=slice('2000-05', '2001-02'))", "d.reindex(x=[0.0, 1.0, 7.0])", "d.sortby('x', ascending=False)"),
    *("d.groupby('time.month').mean()", "d.groupby('site').var()", "d.groupby_bins('x', [-1, 1.5, 5]).mean()"),
    "d.groupby('time.month') - d.groupby('time.month').mean()",
    *("d.resample(time='QS').mean()", "d.coarsen(time=3).mean()", "d.coarsen(time=5, boundary='trim').max()"),
    *("d.weighted(W).mean('x')", "d.weighted(W).sum()", "d.weighted(W).var('x')"),
    *("d.diff('time')", "d.shift(time=2)", "d.roll(time=2)", "d.integrate('x')", "d.cumulative_integrate('x')"),
    *("xr.concat([d, d * 2], dim='n')", "xr.merge([d.rename('a'), (d * 2).rename('b')])['b']"),
    *("d.stack(z=('time', 'x'))", "d.stack(z=('time', 'x')).unstack('z')", "d.T", "d.expand_dims(q=3)"),
    *("d.pad(time=2, constant_values=0)", "d.dot(W)", "d @ W", "xr.cov(d, OTHER, dim='time')"),
    *("xr.corr(d, OTHER, dim='time')", "xr.apply_ufunc(lambda a: a * 2, d)", "(d * (1 + 2j)).imag"),
    *("xr.Dataset({'a': d, 'b': d * 2}).sum().a", "xr.Dataset({'a': d, 'b': d * 2}).to_array('v')"),
    *("d.copy(deep=True) * 2", "xr.zeros_like(d) + d", "sum(row.sum() for row in d)", "d * d.time.dt.days_in_month"),
    "d.rename(x='x_in').dot(xr.DataArray(np.eye(4), coords=[('x', X), ('x_in', X)]).interp(x=[0.5, 3.0]))",
)
"""Calls on NumPy and JAX."""
SCOPE["X"] = X

ON_NUMPY: Final = (
    *("np.sin(d)", "np.exp(d)", "np.maximum(d, 1)", "np.sum(d)", "d.pipe(np.cos)", "with_row(d)"),
    *("d.median('time')", "d.quantile(0.3, 'time')", "d.cumprod('time')", "d.weighted(W).std('x')"),
    *(f"d.rolling(time=3).{name}()" for name in ("mean", "sum", "max", "std", "count", "median")),
    *("d.rolling(time=3, center=True, min_periods=1).mean()", "d.rolling(time=3, x=2).mean()"),
    *("d.rolling(time=3).construct('w')", "d.rolling(time=3).reduce(np.sum)", "d.cumulative('time').sum()"),
    *("d.differentiate('x')", "d.differentiate('time', datetime_unit='D')", "d.pad(time=2, mode='wrap')"),
    *("d.groupby('time.year').max()", "d.groupby('site').median()", "d.groupby('site').map(lambda g: g / g.mean())"),
    "xr.apply_ufunc(lambda a: np.mean(a, axis=-1), d, input_core_dims=[['time']])",
    "xr.cross(d.isel(x=[0, 1, 2]), d.isel(x=[0, 1, 2]) * 2 + 1, dim='x')",
)
"""Calls that xarray makes with NumPy's functions, which JAX's traced arrays do not support."""

NOT_COMPILED: Final = {
    "d.transpose('x', 'time').polyfit('x', 1, skipna=False).polyfit_coefficients": "bool",
    "d if bool(d.sum() > 0) else -d": "conversion to NumPy",
    "d.where(d > 0.8).dropna('time')": "conversion to NumPy",
}
"""Calls with control flow that depends on values, and a part of the error of `jit`."""

CONVERTED: Final = (
    *("d.values", "d.to_numpy()", "d.to_pandas()", "float(d[0, 0])", "np.where(d > 1, d, 0)"),
    *("d.interp(x=[0.5, 3.0])", "d.interpolate_na('time')", "d.resample(time='15D').interpolate('linear')"),
    *("d.groupby('site').first()", "xr.apply_ufunc(np.sum, d, input_core_dims=[['time']], vectorize=True)"),
)
"""Calls in which xarray, SciPy or pandas ask for the values."""


def function_of(text: str) -> Callable[[xr.DataArray], Any]:
    found: Callable[[xr.DataArray], Any] = eval(f"lambda d: {text}", dict(SCOPE))
    return found


def values_of(x: Any) -> Any:
    return x.data if isinstance(x, xr.DataArray) else x


def total(x: Any) -> Any:
    """Return one number that depends on all elements differently."""
    array = values_of(x)
    xp = array_namespace(array)
    weights = xp.asarray(np.cos(np.arange(array.size)).reshape(array.shape))
    return xp.sum(xp.sin(xp.where(xp.isnan(array), xp.zeros_like(array), array)) * weights)


def assert_same(result: Any, expected: Any, leading: tuple[str, ...] = ()) -> None:
    np.testing.assert_allclose(np.asarray(values_of(result)), values_of(expected), rtol=1e-10, atol=1e-12)
    if isinstance(expected, xr.DataArray):
        assert result.dims == (*leading, *expected.dims)
        assert set(result.coords) == set(expected.coords) | set(leading)
        assert (result.name, result.attrs) == (expected.name, expected.attrs)
        for name, coordinate in expected.coords.items():
            assert result.coords[name].equals(coordinate), name


def check_program(library: Library, function: Callable[..., Any]) -> None:
    program = jit(function)
    for factor in (1.0, 1.1):
        assert_same(program(data(library.asarray(VALUES * factor))), function(data(VALUES * factor)))


def check_gradient(library: Library, function: Callable[..., Any]) -> None:
    if np.asarray(values_of(function(data()))).dtype.kind != "f":
        return
    gradient = grad(lambda d: total(function(d)))(data(library.asarray(VALUES)))
    assert gradient.dims == ("time", "x")
    step = 1e-6
    up, down = (float(total(function(data(VALUES + h * DIRECTION)))) for h in (step, -step))
    derivative = float((np.asarray(gradient.data) * DIRECTION).sum())
    np.testing.assert_allclose(derivative, (up - down) / (2 * step), rtol=1e-4, atol=1e-6)


def check_batch(library: Library, function: Callable[..., Any]) -> None:
    lanes = [VALUES, VALUES * 1.1]
    batch = xr.concat([data(values) for values in lanes], dim=pd.Index([10, 20], name="lane"))
    result = vmap(function)(batch.copy(data=library.asarray(batch.values)))
    expected = [function(data(values)) for values in lanes]
    if isinstance(expected[0], xr.DataArray):
        assert_same(result.isel(lane=1, drop=True), expected[1])
        assert result.dims == ("lane", *expected[0].dims)
        assert result.coords["lane"].values.tolist() == [10, 20]
    np.testing.assert_allclose(np.asarray(values_of(result)), np.stack([values_of(x) for x in expected]), atol=1e-12)


@pytest.mark.parametrize("text", EVERYWHERE + ON_NUMPY)
def test_functions_on_numpy(text: str) -> None:
    for check in (check_program, check_gradient, check_batch):
        check(BY_NAME["numpy"], function_of(text))


@pytest.mark.parametrize("text", EVERYWHERE)
def test_functions_on_jax(text: str) -> None:
    for check in (check_program, check_gradient):
        check(BY_NAME["jax"], function_of(text))


@pytest.mark.parametrize("text", NOT_COMPILED)
def test_functions_that_depend_on_values(text: str) -> None:
    check_gradient(BY_NAME["numpy"], function_of(text))
    with pytest.raises(TypeError, match=NOT_COMPILED[text]):
        jit(function_of(text))(data())


@pytest.mark.parametrize("text", CONVERTED)
@pytest.mark.parametrize("transformation", [jit, vmap, grad])
def test_conversions_raise(text: str, transformation: Any) -> None:
    with pytest.raises(TypeError, match=f"conversion to NumPy: `{transformation.__name__}` traces this array"):
        transformation(function_of(text))(xr.concat([data()], dim="lane") if transformation is vmap else data())


def test_limits_of_xarray() -> None:
    index = "xr.DataArray([0, 3], dims='p')"
    with pytest.raises(TypeError, match="Vectorized indexing is not supported"):
        jit(function_of(f"d.isel(time={index}, x={index})"))(data())
    points = "d.stack(z=('time', 'x')).isel(z=[0 * 4 + 1, 3 * 4 + 2])"  # what to write instead
    np.testing.assert_array_equal(jit(function_of(points))(data()), VALUES[[0, 3], [1, 2]])
