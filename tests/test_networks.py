"""Neural networks: whose an object is, and where those of a library are."""

import sys
from pathlib import Path

import pytest

from xpand import UnsupportedError, networks


def test_networks_over_jax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of packages that are no array libraries, on stand-ins for them."""
    monkeypatch.setattr(networks, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="no neural networks for jax are installed; .* of flax, equinox"):
        networks.nn_library("jax")
    monkeypatch.undo()
    for name, code in {
        "flax/nnx": "class Module: ...",
        "flax/__init__": "",
        "equinox/__init__": "class Module: ...",
    }.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(code)
    for name in [each for each in sys.modules if each.partition(".")[0] in ("flax", "equinox")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    module = networks.nn_library("jax")
    assert module.__name__ == "flax.nnx"
    import equinox

    for network in (module.Module(), equinox.Module()):
        assert networks.is_module(network)
        assert networks.is_module(network, xp="jax")
        assert not networks.is_module(network, xp="torch")
    for name in ("flax", "flax.nnx", "equinox"):
        monkeypatch.delitem(sys.modules, name)


def test_bad_input() -> None:
    with pytest.raises(UnsupportedError, match="nn_library: numpy has no neural networks"):
        networks.nn_library("numpy")
    with pytest.raises(TypeError, match="is_module: xp must be a namespace or a library's name"):
        networks.is_module(3, xp=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="nn_library: xp must be a namespace or a library's name"):
        networks.nn_library(3)  # type: ignore[arg-type]
