# %% [markdown]
# # Results in a notebook
#
# Results, containers, graphs, profiles and tables have a readable form in notebooks. This page is a notebook in the
# percent format, `docs/examples/notebooks/results.py`, which VS Code, PyCharm, Spyder and Jupytext open. It is run when
# this site is built.

# %%
import numpy as np

from xpand import array_namespace, capabilities, named, plot, profile, random, sparse
from xpand_extensions.jit import make_graph
from xpand_extensions.linear_solve import jacobi, solve
from xpand_extensions.optimize import minimize

# %% [markdown]
# ## A sparse system
#
# The matrix of heat conduction on a line, with a different conductivity in its middle:

# %%
n = 60
conductivity = np.where(np.abs(np.arange(n + 1) - n / 2) < 10, 30.0, 1.0)
a = sparse.diags([conductivity[:-1] + conductivity[1:], -conductivity[1:-1], -conductivity[1:-1]], offsets=[0, 1, -1])
a

# %%
plot.sparsity(a)

# %% [markdown]
# `record_history=True` keeps the residual after each step:

# %%
heat = np.ones(n)
plain = solve(a, heat, method="cg", record_history=True)
plain

# %%
scaled = solve(a, heat, method="cg", preconditioner=jacobi(a), record_history=True)
axes = plot.convergence(plain, label="cg")
plot.convergence(scaled, label="cg, scaled by the diagonal", ax=axes)

# %% [markdown]
# ## A minimum


# %%
def valley(x):
    return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2


found = minimize(valley, np.asarray([-1.0, 1.0]), record_history=True)
found

# %%
plot.convergence(found, quantity="objective")

# %% [markdown]
# ## A program


# %%
def loss(w, x):
    xp = array_namespace(w, x)
    return xp.mean((xp.tanh(x @ w) - 1.0) ** 2)


make_graph(loss)(np.ones(3), np.ones((5, 3)))

# %% [markdown]
# ## Named arrays and samples

# %%
named.named(np.asarray([[15.1, 16.0, 14.2], [3.3, 4.1, 2.0]]), ("place", "day"))

# %%
generator = random.Generator(0)
generator

# %%
plot.samples(generator.normal((2000,)), lambda t: np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi))

# %% [markdown]
# ## Time and memory

# %%
with profile(memory=True) as recorded:
    solve(a, heat, method="cg")

recorded

# %%
plot.timeline(recorded)

# %%
plot.memory(recorded)

# %% [markdown]
# ## What works where

# %%
print(str(capabilities())[:400])
