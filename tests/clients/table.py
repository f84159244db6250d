"""The clients, and what is known of them: the verdicts that the docs show."""

import importlib.metadata
import importlib.util
import json
from pathlib import Path
from typing import Any, Final

from tests.clients import deepmd_calls, extra_calls, glass_calls, scipy_calls, sklearn_calls, small_packages
from tests.clients.verdicts import Client

TABLE: Final = Path(__file__).parents[2] / "docs" / "existing_code.json"

CLIENTS: Final = {
    client.name: client
    for client in (
        Client(
            "scikit-learn",
            "scikit-learn",
            "sklearn",
            sklearn_calls.calls,
            "All estimators and metrics with array API support, with `array_api_dispatch=True, assume_finite=True`. "
            "scikit-learn converts arrays to the namespace of `X`, so give it constants as `xp.asarray(constant)`. "
            "Most metrics return a Python `float`, which has no derivative. Those with `multioutput` return an "
            "array for `multioutput='raw_values'`.",
        ),
        Client(
            "SciPy",
            "scipy",
            "scipy",
            scipy_calls.calls,
            "Functions with array API support, with `SCIPY_ARRAY_API=1` set before SciPy is imported.",
        ),
        Client("array-api-extra", "array-api-extra", "array_api_extra", extra_calls.calls),
        Client("array-api-signal", "array-api-signal", "array_api_signal", small_packages.of_array_api_signal),
        Client(
            "einops",
            "einops",
            "einops",
            small_packages.of_einops,
            "`einops.rearrange` has a fixed list of libraries; `einops.array_api.rearrange` takes arrays of any.",
        ),
        Client("opt_einsum", "opt_einsum", "opt_einsum", small_packages.of_opt_einsum),
        Client(
            "autoray",
            "autoray",
            "autoray",
            small_packages.of_autoray,
            'After `autoray.autoray.register_backend_alias("xpand_extensions", "numpy")`, once.',
        ),
        Client("ipax", "ipax", "ipax", small_packages.of_ipax),
        Client(
            "DeePMD-kit",
            "deepmd-kit",
            "deepmd",
            deepmd_calls.calls,
            "`dpmodel`, with six descriptors. The derivatives of energies are forces, those of forces are Hessians.",
            in_tests=False,
        ),
        Client("GLASS", "glass", "glass", glass_calls.calls, in_tests=False),
    )
}


def stored() -> dict[str, Any]:
    """Read what is known."""
    return json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {"clients": {}, "suites": {}}


def store(part: str, name: str, entry: dict[str, Any]) -> None:
    """Replace what is known of a client, or of a suite of tests."""
    known = stored()
    known[part][name] = entry
    known["clients"] = {name: known["clients"][name] for name in CLIENTS if name in known["clients"]}
    TABLE.write_text(_written(known), encoding="utf-8")


def _written(known: dict[str, Any]) -> str:
    """Write JSON with one line for each call, so that a difference shows the calls that changed."""

    def write(value: Any, depth: int) -> str:
        if not depth or not isinstance(value, dict):
            return json.dumps(value, ensure_ascii=False)
        indent = " " * (5 - depth)
        lines = (f"{indent}{json.dumps(key)}: {write(inner, depth - 1)}" for key, inner in value.items())
        return "{\n" + ",\n".join(lines) + "\n" + indent[1:] + "}"

    return write(known, 4) + "\n"


def is_installed(client: Client) -> bool:
    """Return whether a client can be imported."""
    return importlib.util.find_spec(client.module) is not None


def version_of(client: Client) -> str:
    """Return the installed version of a client."""
    return importlib.metadata.version(client.distribution)
