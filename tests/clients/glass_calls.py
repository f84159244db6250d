"""Calls of GLASS, a generator of skies for cosmology, at arrays of redshifts, spectra and coordinates."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

import xpand

Z: Final = np.linspace(0.0, 2.0, 6)
WINDOW: Final = np.linspace(0.1, 1.0, 6)
AT: Final = np.asarray([0.1, 1.5])

_on = xpand.array_namespace


def calls() -> Mapping[str, Callable[[Any], Any]]:
    """Return all calls: of what is traced alone, and of what is traced beside arrays of NumPy."""
    import glass
    from glass import algorithm, arraytools, fields, grf, harmonics, lensing, observations, points, shapes, shells

    window = shells.RadialWindow(Z, WINDOW, 1.0)
    windows = [window, shells.RadialWindow(Z, WINDOW**2, 1.5)]
    lognormal = grf.Lognormal(1.0)
    positions = np.linspace(-40.0, 40.0, 6), np.linspace(-20.0, 20.0, 6)
    return {
        "arraytools.broadcast_first": lambda x: arraytools.broadcast_first(x, x[:, None] * 2.0)[1],
        "arraytools.ndinterp of traced values": lambda x: arraytools.ndinterp(AT, Z, x),
        "arraytools.ndinterp at traced points": lambda x: arraytools.ndinterp(x, Z, WINDOW**2),
        "arraytools.trapezoid_product": lambda x: arraytools.trapezoid_product((Z, x), (Z, WINDOW)),
        "arraytools.cumulative_trapezoid": lambda x: arraytools.cumulative_trapezoid(x, Z),
        "algorithm.nnls": lambda x: algorithm.nnls(_on(x).stack([x, x**2], axis=-1), WINDOW),
        "algorithm.cov_clip": lambda x: algorithm.cov_clip(_matrix(x)),
        "algorithm.cov_nearest": lambda x: algorithm.cov_nearest(_matrix(x)),
        "algorithm.nearcorr": lambda x: algorithm.nearcorr(_correlations(x)),
        "fields.discretized_cls": lambda x: fields.discretized_cls([x], lmax=4)[0],
        "fields.discretized_cls with ncorr": lambda x: fields.discretized_cls([x, 2.0 * x, x**2], lmax=4, ncorr=1)[2],
        "fields.effective_cls": lambda x: fields.effective_cls([x, 2.0 * x, x**2], np.ones((2, 1)))[0],
        "fields.cov_from_spectra": lambda x: fields.cov_from_spectra([x, 0.1 * x, x**2]),
        "fields.regularized_spectra by clipping": lambda x: fields.regularized_spectra(
            [x, 0.1 * x, x**2 + 0.1], method="clip"
        )[0],
        "fields.getcl": lambda x: fields.getcl([x, 2.0 * x, x**2], 1, 0),
        "fields.compute_gaussian_spectra": lambda x: fields.compute_gaussian_spectra([lognormal], [0.1 * x])[0],
        "fields.solve_gaussian_spectra": lambda x: fields.solve_gaussian_spectra([grf.Normal()], [x])[0],
        "fields.glass_to_healpix_spectra": lambda x: fields.glass_to_healpix_spectra([x, 2.0 * x, x**2])[1],
        "grf.corr of lognormal fields": lambda x: grf.corr(lognormal, lognormal, x),
        "grf.icorr of lognormal fields": lambda x: grf.icorr(lognormal, lognormal, x),
        "grf.dcorr of lognormal fields": lambda x: grf.dcorr(lognormal, lognormal, x),
        "grf.Lognormal of an array": lambda x: lognormal(x, 0.3),
        "grf.SquaredNormal of an array": lambda x: grf.SquaredNormal(0.5)(x, 0.3),
        "harmonics.multalm": lambda x: harmonics.multalm(x, WINDOW[:3]),
        "lensing.deflect": lambda x: lensing.deflect(*positions, 0.1 * x + 0.02j)[0],
        "observations.gaussian_nz of traced means": lambda x: observations.gaussian_nz(Z, x, 0.1),
        "observations.gaussian_nz of a traced width": lambda x: observations.gaussian_nz(Z, 1.0, x[0]),
        "observations.smail_nz": lambda x: observations.smail_nz(x, 0.5, 2.0, 1.5),
        "observations.smail_nz of a traced mode": lambda x: observations.smail_nz(Z, x[0], 2.0, 1.5),
        "observations.tomo_nz_gausserr": lambda x: observations.tomo_nz_gausserr(Z, x, 0.1, [(0.0, 1.0), (1.0, 2.0)]),
        "observations.equal_dens_zbins": lambda x: _on(x).stack(observations.equal_dens_zbins(Z, x, 2)[1]),
        "points.effective_bias": lambda x: points.effective_bias(Z, x, window),
        "points.linear_bias": lambda x: points.linear_bias(x, 0.8),
        "points.loglinear_bias": lambda x: points.loglinear_bias(x, 0.8),
        "points.position_weights": lambda x: points.position_weights(x, 0.8),
        "points.displace": lambda x: points.displace(*positions, 0.1 * x + 0.02j)[0],
        "points.displacement": lambda x: _on(x).real(points.displacement(*positions, positions[0] + x, positions[1])),
        "galaxies.gaussian_phz without noise": lambda x: glass.gaussian_phz(x, 0.0, rng=np.random.default_rng(0)),
        "shapes.triaxial_axis_ratio": lambda x: shapes.triaxial_axis_ratio(
            0.3 * x, 0.5, rng=np.random.default_rng(0), xp=_on(x)
        ),
        "shells.DistanceWeight": lambda x: shells.DistanceWeight(_Cosmology())(x),
        "shells.VolumeWeight": lambda x: shells.VolumeWeight(_Cosmology())(x),
        "shells.linear_windows": lambda x: shells.linear_windows(_on(x).sort(x))[1].wa[:3],
        "shells.cubic_windows": lambda x: shells.cubic_windows(_on(x).sort(x))[1].wa[:3],
        "shells.tophat_windows": lambda x: shells.tophat_windows(_on(x).sort(x))[1].za[:3],
        "shells.restrict": lambda x: shells.restrict(Z, x, window)[1],
        "shells.partition by nnls": lambda x: shells.partition(Z, x, windows),
        "shells.partition by lstsq": lambda x: shells.partition(Z, x, windows, method="lstsq"),
        "shells.partition by restrict": lambda x: shells.partition(Z, x, windows, method="restrict"),
        "shells.combine": lambda x: shells.combine(Z, x[:2], windows),
        "shells.redshift_grid": lambda x: shells.redshift_grid(x[1], x[0], num=4),
    }


def _matrix(x: Any) -> Any:
    """Make a symmetric matrix with negative eigenvalues."""
    xp = _on(x)
    values = xp.stack([x, xp.roll(x, 1), xp.roll(x, 2), xp.roll(x, 3), xp.roll(x, 4), xp.roll(x, 5)])
    return values + values.T + xp.eye(6)


def _correlations(x: Any) -> Any:
    """Make a matrix like one of correlations, with a negative eigenvalue."""
    xp = _on(x)
    one = xp.ones_like(x[0])
    a, b, c = 0.7 * x[0], 0.5 * x[2], -0.5 * x[3]
    return xp.stack([xp.stack([one, a, b]), xp.stack([a, one, c]), xp.stack([b, c, one])])


class _Cosmology:
    """A cosmology with distances that are polynomials of the redshift."""

    h = 0.7
    hubble_distance = 4000.0
    critical_density0 = 1.0
    Omega_m0 = 0.3

    def comoving_distance(self, z: Any, z2: Any = None) -> Any:
        return z * (3.0 - 0.4 * z) if z2 is None else self.comoving_distance(z2) - self.comoving_distance(z)

    def transverse_comoving_distance(self, z: Any, z2: Any = None) -> Any:
        return self.comoving_distance(z, z2)

    def hubble_parameter(self, z: Any) -> Any:
        return 70.0 + 30.0 * z

    def H_over_H0(self, z: Any) -> Any:
        return 1.0 + 0.4 * z

    def Omega_m(self, z: Any) -> Any:
        return 0.3 + 0.1 * z
