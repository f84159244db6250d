"""Calls of DeePMD-kit: energies of twelve atoms in a periodic box, by its `dpmodel` for the standard."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tests.clients.verdicts import Call
from xpand_extensions.autodiff import grad

_RNG: Final = np.random.default_rng(5)
COUNT: Final = 12
BOX: Final = 8.0 * np.eye(3).reshape(1, 9)
TYPES: Final = np.arange(COUNT)[None, :] % 2
POSITIONS: Final = np.stack(np.meshgrid([1.0, 3.5, 6.0], [1.2, 4.8], [2.0, 5.5], indexing="ij"), axis=-1).reshape(
    COUNT, 3
) + 0.3 * _RNG.normal(size=(COUNT, 3))
NEARBY: Final = POSITIONS + 0.05 * _RNG.normal(size=POSITIONS.shape)
CUTOFF: Final = {"rcut": 4.0, "rcut_smth": 1.0}


def descriptors() -> dict[str, Any]:
    """Make one descriptor of each kind, with few neurons."""
    from deepmd.dpmodel import descriptor
    from deepmd.dpmodel.descriptor.dpa2 import RepformerArgs, RepinitArgs
    from deepmd.dpmodel.descriptor.dpa3 import RepFlowArgs

    sel = [20, 20]
    small: dict[str, Any] = {"neuron": [4, 8], "axis_neuron": 2}
    repinit = RepinitArgs(4.0, 1.0, 40, **small, tebd_dim=4, set_davg_zero=False)
    repformer = RepformerArgs(
        3.5, 1.0, 20, nlayers=2, g1_dim=8, g2_dim=4, axis_neuron=2, attn1_hidden=4, attn1_nhead=2, attn2_hidden=4,
        attn2_nhead=2, set_davg_zero=False,
    )  # fmt: skip
    repflow = RepFlowArgs(
        n_dim=8, e_dim=4, a_dim=4, nlayers=2, e_rcut=4.0, e_rcut_smth=1.0, e_sel=40, a_rcut=3.5, a_rcut_smth=1.0,
        a_sel=20, axis_neuron=2,
    )  # fmt: skip
    return {
        "se_e2_a": descriptor.DescrptSeA(**CUTOFF, sel=sel, **small, seed=1),
        "se_e2_r": descriptor.DescrptSeR(**CUTOFF, sel=sel, neuron=[4, 8], seed=1),
        "se_e3": descriptor.DescrptSeT(**CUTOFF, sel=sel, neuron=[2, 4], seed=1),
        "DPA1": descriptor.DescrptDPA1(**CUTOFF, sel=40, ntypes=2, **small, attn=4, attn_layer=1, tebd_dim=4, seed=1),
        "DPA2": descriptor.DescrptDPA2(2, repinit, repformer, seed=1),
        "DPA3": descriptor.DescrptDPA3(2, repflow, seed=1),
    }


def energy_of(descriptor: Any) -> Callable[[Any], Any]:
    """Make a model, and return its energy as a function of the positions of all atoms."""
    from deepmd.dpmodel.fitting import EnergyFittingNet
    from deepmd.dpmodel.model.ener_model import EnergyModel

    fitting = EnergyFittingNet(2, descriptor.get_dim_out(), neuron=[8, 8], mixed_types=descriptor.mixed_types(), seed=2)
    model = EnergyModel(descriptor, fitting, type_map=["A", "B"])
    return lambda x: model.call(x[None, :, :], TYPES, BOX)["energy"][0, 0]


def calls() -> Mapping[str, Call]:
    """Return the energy of each model, whose derivatives are the forces, and forces, whose derivatives are Hessians."""
    found = {}
    for name, descriptor in descriptors().items():
        energy = energy_of(descriptor)
        found[f"energy of {name}"] = Call(_scaled(energy), POSITIONS, NEARBY)
        if name.startswith("se_"):
            found[f"forces of {name}"] = Call(_forces(energy), POSITIONS, NEARBY)
    return found


def _scaled(energy: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Scale an energy, so that forces are about 1: untrained models have forces of 1e-4 to 1e-2."""
    return lambda x: 100.0 * energy(x)


def _forces(energy: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: -1000.0 * grad(energy)(x)
