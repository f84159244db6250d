"""JAX as it is by default, without 64-bit types: no function of xpand asks for them, of which JAX would warn."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("jax")

PROGRAM = """
import jax.numpy as jnp

import xpand_extensions as xe
from xpand_extensions import histograms, linear_solve, optimize, random, scatter, sorting, sparse

dense = jnp.asarray([[2.0, 0, 1], [0, 3, 0], [1, 0, 4]])
b, index, key = jnp.asarray([1.0, 2, 3]), jnp.asarray([0, 2, 0]), random.key(0, xp="jax")
a = sparse.from_dense(dense)
calls = {
    "from_dense": lambda: xe.jit(lambda x: sparse.from_dense(x, nse=6))(dense),
    "eye": lambda: sparse.eye(3, xp="jax"),
    "diags": lambda: sparse.diags([b], offsets=[0]),
    "index": lambda: a[1:],
    "reduce": lambda: (sparse.sum(a, axis=0), sparse.max(a, axis=0), sparse.count_nonzero(a), sparse.diagonal(a)),
    "add": lambda: xe.jit(lambda x: sparse.todense(x + x))(a),
    "kron": lambda: sparse.kron(a, a),
    "concat": lambda: sparse.concat([a, a]),
    "product": lambda: (a @ a, a @ b),
    "traced product": lambda: xe.vmap(lambda x: sparse.todense(a.with_values(x) @ a))(a.values[None]),
    "fixed pattern": lambda: xe.grad(lambda x: jnp.sum(sparse.todense(a.with_values(x) @ a)))(a.values),
    "sum_duplicates": lambda: xe.jit(lambda x: sparse.sum_duplicates(x, nse=6))(a),
    "solve": lambda: linear_solve.solve(a, b, method="cg"),
    "gradient": lambda: xe.grad(lambda x: jnp.sum((a @ x) ** 2))(b),
    "root": lambda: optimize.root(lambda x: x - b, b * 0.0),
    "segments": lambda: scatter.segment_sum(b, index, num_segments=3),
    "at": lambda: scatter.at(b)[index].add(1.0),
    "top_k": lambda: sorting.top_k(b, 2),
    "bincount": lambda: histograms.bincount(index),
    "categorical": lambda: random.categorical(key, b),
    "choice": lambda: random.choice(key, b, (2,)),
    "randint": lambda: random.randint(key, (3,), 0, 5),
}
for name, call in calls.items():
    try:
        call()
    except Exception as error:
        print(name, repr(error))
try:
    large = sparse.COO(b, (index, index), (2**17, 2**17))
    xe.jit(lambda x: sparse.reshape(x, (2**18, 2**16)))(large)
except ValueError as error:
    assert "set `jax_enable_x64`" in str(error), error
else:
    print("reshape: no error")
"""


def test_nothing_asks_for_types_of_64_bits():
    environment = {**os.environ, "JAX_ENABLE_X64": "0", "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert not done.stdout
    assert done.returncode == 0, done.stderr
