"""Tensors of PyTorch that are distributed over processes: two of them, which exchange values over loopback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch.distributed.tensor")

PROGRAM = """
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from xpand_extensions import named, scatter
from xpand_extensions.autodiff import grad, hessian, jacfwd, jacrev, jvp

def by_name(x):
    x = named.named(x, ("a", "b"))
    y = named.exp(-x) + x.mean("a") * x.rearrange(("b", "a"))
    return (y.sum("b") + x["b", 1]).array


rank = int(sys.argv[1])
store = dist.FileStore(sys.argv[2], 2)
dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=60))
mesh = init_device_mesh("cpu", (2,))
values = torch.arange(12.0, dtype=torch.float64).reshape(6, 2)
ids = torch.asarray([0, 2, 1, 0, 2, 2])
x = torch.asarray([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
cube = lambda x: torch.sum(x * x * x)
CALLS = {
    **{
        name: lambda make, name=name: getattr(scatter, name)(make(values), make(ids), num_segments=4)
        for name in ("segment_sum", "segment_prod", "segment_min", "segment_max", "segment_mean")
    },
    **{
        f"at.{name}": lambda make, name=name: getattr(scatter.at(make(values))[make(ids)], name)(make(-values))
        for name in ("set", "add", "multiply", "min", "max")
    },
    "grad": lambda make: grad(cube)(make(x)),
    "jacrev": lambda make: jacrev(lambda x: x * x)(make(x)),
    "jacfwd": lambda make: jacfwd(lambda x: x * x)(make(x)),
    "second derivatives": lambda make: jacrev(grad(cube))(make(x)),
    "named": lambda make: by_name(make(values)),
    "gradient of named": lambda make: grad(lambda x: by_name(x).sum())(make(values)),
    "hessian": lambda make: hessian(cube)(make(x)),
    "jvp": lambda make: jvp(grad(cube), (make(x),), (make(x + 1),))[1],
    "jvp of jvp": lambda make: jvp(lambda x: jvp(torch.sin, (x,), (x,))[1], (make(x),), (make(x + 1),))[1],
}
for place in (Replicate(), Shard(0)):
    for name, call in CALLS.items():
        found = call(lambda x: distribute_tensor(x, mesh, [place]))
        assert isinstance(found, DTensor), (name, place)
        message = lambda text: f"{name}, {place}: {text}"
        torch.testing.assert_close(found.full_tensor(), call(lambda x: x), equal_nan=True, msg=message)
dist.barrier()
dist.destroy_process_group()
"""


def test_two_processes(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "store")],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    try:
        ends = [(process.communicate(timeout=120)[1].decode(), process.returncode) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [code for _, code in ends] == [0, 0], ends[0][0] + ends[1][0]
