"""Calls of small packages for the standard or for NumPy: array-api-signal, einops, opt_einsum, autoray, ipax."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

import xpand
from tests.clients.verdicts import Call

_on = xpand.array_namespace
CONSTANT: Final = np.linspace(0.1, 1.0, 6)
MATRIX: Final = np.asarray([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])
Calls = Mapping[str, Call | Callable[[Any], Any]]


def _rows(x: Any) -> Any:
    return _on(x).reshape(x, (2, 3))


def of_array_api_signal() -> Calls:
    """Return the calls of array-api-signal: its functions, and those of its namespace."""
    import array_api_signal as signal

    kernel = np.asarray([1.0, 2.0, 1.0])
    return {
        "trapezoid": signal.trapezoid,
        "trapezoid at constants": lambda x: signal.trapezoid(x, x=CONSTANT),
        "simpson": signal.simpson,
        "simpson at constants": lambda x: signal.simpson(x, x=CONSTANT),
        "gaussian_filter1d": lambda x: signal.gaussian_filter1d(x, 1.0),
        "gaussian_filter1d with mode='constant'": lambda x: signal.gaussian_filter1d(x, 1.0, mode="constant"),
        "convolve with a constant": lambda x: signal.convolve(x, kernel, mode="constant"),
        "convolve of a constant": lambda x: signal.convolve(CONSTANT, x[:3], mode="constant"),
        "convolve with a part of itself": lambda x: signal.convolve(x, x[:3], mode="constant"),
        "i0e": signal.i0e,
        "ndtr": signal.ndtr,
        "logsumexp": signal.logsumexp,
        "interp at traced points": lambda x: signal.interp(x, 3.0 * CONSTANT, CONSTANT**2),
        "interp of traced values": lambda x: signal.interp(np.asarray([0.15, 0.5]), CONSTANT, x),
        "windows.tukey times an array": lambda x: x * signal.windows.tukey(6, xp=_on(x)),
        "windows.hann times an array": lambda x: x * signal.windows.hann(6, xp=_on(x)),
        "array_namespace(x).simpson": lambda x: signal.array_namespace(x).simpson(x),
        "array_namespace(x).sinc": lambda x: signal.array_namespace(x).sinc(x),
    }


def of_einops() -> Calls:
    """Return the calls of einops: its functions for the standard, and those for the libraries that it knows."""
    import einops
    import einops.array_api as standard

    pattern = "(a b) -> b a"
    calls: dict[str, Callable[[Any], Any]] = {}
    for module, name in ((standard, "einops.array_api"), (einops, "einops")):
        calls |= {
            f"{name}.rearrange": lambda x, module=module: module.rearrange(x, pattern, a=2),
            f"{name}.reduce by mean": lambda x, module=module: module.reduce(x, "(a b) -> b", "mean", a=2),
            f"{name}.reduce by max": lambda x, module=module: module.reduce(x, "(a b) -> b", "max", a=2),
            f"{name}.repeat": lambda x, module=module: module.repeat(x, "a -> (a r)", r=2),
            f"{name}.pack": lambda x, module=module: module.pack([_rows(x), x[:2]], "i *")[0],
        }
    calls["einops.einsum"] = lambda x: einops.einsum(_rows(x), MATRIX, "i j, j k -> i k")
    return calls


def of_opt_einsum() -> Calls:
    """Return the calls of opt_einsum, which looks for functions in the package that defines an array's class."""
    import opt_einsum

    expression = opt_einsum.contract_expression("ij,jk,lk->il", (2, 3), MATRIX.shape, (2, 3))
    return {
        "contract": lambda x: opt_einsum.contract("ij,jk,lk->il", _rows(x), MATRIX, _rows(x)),
        "contract of one array": lambda x: opt_einsum.contract("ij->j", _rows(x)),
        "contract with backend='numpy'": lambda x: opt_einsum.contract(
            "ij,jk,lk->il", _rows(x), MATRIX, _rows(x), backend="numpy"
        ),
        "contract_expression": lambda x: expression(_rows(x), MATRIX, _rows(x)),
        "contract_expression with backend='numpy'": lambda x: expression(_rows(x), MATRIX, _rows(x), backend="numpy"),
    }


def of_autoray() -> Calls:
    """Return the calls of autoray, which quimb and cotengra use. One line says whose functions traced arrays have."""
    import autoray
    from autoray.autoray import register_backend_alias

    register_backend_alias("xpand_extensions", "numpy")
    do = autoray.do
    return {
        "do('exp')": lambda x: do("exp", x),
        "do('sum')": lambda x: do("sum", x),
        "do('tensordot') with a constant": lambda x: do("tensordot", _rows(x), MATRIX, 1),
        "do('einsum')": lambda x: do("einsum", "ij,jk->ik", _rows(x), MATRIX),
        "do('stack')": lambda x: do("stack", (x, 2.0 * x)),
        "do('transpose')": lambda x: do("transpose", _rows(x)),
        "do('linalg.norm')": lambda x: do("linalg.norm", x),
        "do('linalg.svd')": lambda x: do("linalg.svd", _rows(x))[1],
        "do('linalg.qr')": lambda x: do("linalg.qr", _rows(x))[1],
        "do('linalg.solve')": lambda x: do("linalg.solve", MATRIX, x[:3]),
        "do('zeros', like=x)": lambda x: x + do("zeros", (6,), like=x),
        "do('array', like=x)": lambda x: x * do("array", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], like=x),
        "numpy.where": lambda x: autoray.numpy.where(x > 1.0, x, -x),
    }


def of_ipax() -> Calls:
    """Return the calls of ipax, an interior-point solver."""
    import ipax

    quadratic = ipax.QuadraticProblem(MATRIX, CONSTANT[:3])
    start = np.zeros(3)

    def minimum(target: Any) -> Any:
        xp = _on(target)
        problem = ipax.FunctionProblem(
            3, lambda z: xp.sum((z - target[:3]) ** 2), gradient=lambda z: 2.0 * (z - target[:3])
        )
        return ipax.solve(problem, xp.asarray(start)).x

    return {
        "QuadraticProblem.objective": lambda x: quadratic.objective(x[:3]),
        "QuadraticProblem.gradient": lambda x: quadratic.gradient(x[:3]),
        "QuadraticProblem of a traced linear term": lambda x: ipax.QuadraticProblem(MATRIX, x[:3]).objective(
            CONSTANT[:3]
        ),
        "solve": minimum,
    }
