"""Analyse temperatures on a grid with named axes: from xarray and back, on NumPy, PyTorch and JAX from one source.

The data are made up: seasons, a warming trend that is stronger in the north, an oscillation, and noise. Run
`python docs/examples/named_climate.py`.
"""

from typing import Any

import numpy as np
import xarray

from xpand import convert, named as hax
from xpand_extensions.named import Axis

STATIONS = {"Oslo": (59.9, 10.8), "Nairobi": (-1.3, 36.8), "Lima": (-12.0, 282.9), "Sydney": (-33.9, 151.2)}


def observations(years: int = 20, seed: int = 0) -> xarray.DataArray:
    """Return monthly mean temperatures on a grid of 10 by 20 degrees."""
    rng = np.random.default_rng(seed)
    time: Any = np.arange("2000-01", 12 * years, dtype="datetime64[M]").astype("datetime64[ns]")
    latitude, longitude = np.arange(-80.0, 81.0, 10.0), np.arange(0.0, 360.0, 20.0)
    month = np.arange(12 * years)[:, None, None]
    north, east = np.radians(latitude)[:, None], np.radians(longitude)
    seasons = 30.0 * np.cos(north) - 5.0 - 12.0 * np.sin(north) * np.cos(2 * np.pi * month / 12)
    warming = month / 120 * (0.2 + 0.3 * (north > 0) * np.sin(north))
    oscillation = np.sin(2 * np.pi * month / 44) * np.exp(-((latitude / 20.0) ** 2))[:, None] * np.cos(east)
    values = seasons + warming + oscillation + 0.3 * rng.normal(size=(12 * years, len(latitude), len(longitude)))
    return xarray.DataArray(
        values.astype("float32"),
        dims=("time", "latitude", "longitude"),
        coords={"time": time, "latitude": latitude, "longitude": longitude},
        name="temperature",
    )


def analyse(temperature: xarray.DataArray, stations: dict[str, tuple[float, float]], library: str) -> xarray.Dataset:
    """Return climate, anomalies, trends and the leading pattern of a field, computed by a library."""
    x, coords = hax.from_xarray(temperature)
    t = convert(x, library)

    def like(values: Any, axis: str, dtype: str = "float32") -> hax.NamedArray:
        """Name an array, and convert it to the library."""
        found: hax.NamedArray = convert(hax.named(np.asarray(values, dtype=dtype), axis), library)
        return found

    # The mean of each calendar month, and what differs from it.
    month = like(temperature.time.dt.month.values - 1, "time", "int32")
    climate = hax.scatter.segment_mean(t, month, Axis("month", 12))
    anomaly = t - climate["month", month]

    # Means over the globe, where cells count by their area, and over a year.
    weights = hax.cos(hax.radians(like(temperature.latitude.values, "latitude")))
    mean = hax.dot(anomaly, weights / weights.sum(), axis="latitude").mean("longitude")
    yearly = hax.statistics.window_mean(mean, {"time": 12}, padding="same")

    # A straight line through the anomalies of each cell.
    years = like(np.arange(x.axis_size("time")) / 12.0, "time")
    terms = hax.stack("term", [hax.ones_like(years), years - years.mean()])
    line = hax.linear_solve.lstsq(terms, anomaly, axes=("time", "term")).x
    trend = 10.0 * line["term", 1]  # in a decade

    # The pattern that explains most of the rest.
    rest = (anomaly - hax.dot(terms, line, axis="term")) * hax.sqrt(weights)
    places = rest.flatten_axes(("latitude", "longitude"), "place")
    covariance = hax.dot(places, places.rename({"place": "other"}), axis="time") / x.axis_size("time")
    variances, patterns = hax.linalg.eigh(covariance, axes=("place", "other"))
    pattern = patterns["other", -1].unflatten_axis("place", x.resolve_axis(("latitude", "longitude")))
    pattern = pattern / hax.sqrt(weights)
    pattern = pattern / pattern["latitude", 8, "longitude", 0]  # 1 at the equator and longitude 0
    explained = variances["other", -1] / variances.sum()

    # Trends at stations, between the points of the grid; the last longitude meets the first.
    latitudes, longitudes = (like(values, "station") for values in zip(*stations.values()))
    positions = {"latitude": (latitudes + 80.0) / 10.0, "longitude": longitudes / 20.0}
    local = hax.interpolation.grid_sample(trend, positions, extrapolation="periodic")

    found: dict[str, Any] = {
        "climate": climate,
        "anomaly": anomaly,
        "mean": mean,
        "yearly": yearly,
        "trend": trend,
        "pattern": pattern,
        "explained": explained,
        "local": local,
    }
    dataset = {name: hax.to_xarray(convert(x, "numpy"), coords=coords) for name, x in found.items()}
    return xarray.Dataset(dataset).assign_coords(station=list(stations), month=range(1, 13))


def picture(field: xarray.DataArray) -> str:
    """Draw a field on the globe with characters, north up."""
    marks = " .:-=+*#%@"
    levels = (field - field.min()) / (field.max() - field.min()) * (len(marks) - 1)
    rows: Any = levels.transpose("latitude", "longitude").values.round().astype(int)[::-1]
    return "\n".join("".join(2 * marks[level] for level in row) for row in rows)


if __name__ == "__main__":
    temperature = observations()
    for library in ("numpy", "torch", "jax"):
        found = analyse(temperature, STATIONS, library)
        warming = found["mean"].polyfit("time", 1).polyfit_coefficients.sel(degree=1).item() * 1e9 * 3600 * 24 * 3652.5
        print(f"{library}: {warming:.2f} degrees in a decade; the pattern explains {found['explained'].item():.0%}")
    print(found["local"].to_series().round(2).to_string())
    print(picture(found["pattern"]))
