"""The gradient of a climate index.

The index is that of El Niño: the mean temperature of a part of the Pacific, relative to the mean of each calendar
month. It is computed with xarray, whose arrays `grad` takes and returns with their dimensions and coordinates. The
gradient shows on which months and places the peak of the index depends: positively on the peak itself, negatively on
the same calendar months of all other years, which are its reference.
"""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from xpand.extend import Namespace
from xpand_extensions.autodiff import grad

from . import Results, Values

LIBRARIES = ("numpy", "jax")
SMALL = {"years": 3, "lats": 7, "lons": 8}
PEAK = slice("1991-11", "1992-01")


def el_nino(temperature: xr.DataArray) -> xr.DataArray:
    """Return the index, one number for each month."""
    by_month = temperature.groupby("time.month")
    anomaly = by_month - by_month.mean("time")
    region = anomaly.sel(lat=slice(-5, 5), lon=slice(190, 240))
    return region.weighted(np.cos(np.deg2rad(region.lat))).mean(("lat", "lon"))


def peak(temperature: xr.DataArray) -> xr.DataArray:
    """Return the mean of the index over the months of the peak."""
    return el_nino(temperature).sel(time=PEAK).mean()


def pacific(xp: Namespace, years: int, lats: int, lons: int) -> xr.DataArray:
    """Make monthly temperatures of the Pacific: seasons, and a warm event at the equator at the end of 1991."""
    time = xr.date_range("1990-01", periods=12 * years, freq="MS")
    lat, lon = np.linspace(-15.0, 15.0, lats), np.linspace(150.0, 270.0, lons)
    months = np.arange(12 * years)[:, None, None]
    place = np.exp(-((lat[:, None] / 6) ** 2) - ((lon - 215) / 35) ** 2)
    seasons = 2 * np.cos(2 * np.pi * months / 12) * lat[:, None] / 15
    values = 28 - (lat[:, None] / 15) ** 2 + seasons + 2.5 * place * np.exp(-(((months - 23) / 4) ** 2))
    coords = {"time": time, "lat": lat, "lon": lon}
    return xr.DataArray(xp.asarray(values), coords, dims=("time", "lat", "lon"), name="temperature")


def compute(xp: Namespace, years: int = 8, lats: int = 31, lons: int = 49) -> Results:
    """Compute the index and the gradient of its peak."""
    temperature = pacific(xp, years, lats, lons)
    gradient: xr.DataArray = grad(peak)(temperature)
    return {
        "index": el_nino(temperature).data,
        "by_month": gradient.sum(("lat", "lon")).data,
        "by_place": gradient.sel(time=PEAK).sum("time").data,
    }


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    by_month = r["by_month"]
    return (
        f"The peak of the index is {r['index'].max():.1f} K. If the region had been 1 K warmer in the three months of "
        f"the peak, it would be {by_month[by_month > 0].sum():.2f} K higher."
    )


def draw(figure: Figure, r: Values) -> None:
    """Draw the index, its gradient in time, and its gradient in space."""
    left, right = figure.subplots(1, 2)
    years = np.linspace(1990.0, 1990.0 + (len(r["index"]) - 1) / 12, len(r["index"]))
    left.plot(years, r["index"], label="index (K)")
    left.bar(years, r["by_month"], width=0.08, color="C1", label="gradient of the peak")
    left.legend()
    size = abs(r["by_place"]).max()
    right.imshow(
        r["by_place"], extent=(150, 270, -15, 15), origin="lower", cmap="RdBu_r", vmin=-size, vmax=size, aspect="auto"
    )
    right.set(title="gradient with respect to the peak", xlabel="longitude", ylabel="latitude")
