"""Run every public function on a device that is not the default: the cases, and the check on JAX.

The cases are those of the other test files, and `MORE` for other operations. JAX has several devices on a CPU only if a
flag is set before it starts:

    XLA_FLAGS=--xla_force_host_platform_device_count=2 python -m tests.wrong_device
"""

import importlib
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

import xpand
from tests.cases import Case
from xpand import trees
from xpand_extensions import (
    autodiff,
    convert,
    devices,
    jit,
    linear_solve,
    named as hax,
    optimize,
    random,
    scatter,
    sparse,
    special,
    vmap,
)
from xpand_extensions._capabilities import import_facades
from xpand_extensions._dispatch import OPERATIONS
from xpand_extensions.linear_solve._levels import solve_levels
from xpand_extensions.linear_solve._solve import solve_dense

X = np.asarray([0.5, 1.5, 2.5])
KEY = np.asarray([0, 7], dtype=np.uint32)
SPD = np.asarray([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])

Function = Callable[..., Any]


def total(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    return xp.sum(xp.sin(x) * x)


def with_rule(make: Function) -> Function:
    """Differentiate x**3 by a custom rule."""

    def differentiated(x: Any) -> Any:
        if make is autodiff.custom_jvp:
            cube = autodiff.custom_jvp(lambda x: x**3)
            cube.defjvp(lambda primals, tangents: (primals[0] ** 3, 3.0 * primals[0] ** 2 * tangents[0]))
        else:
            cube = autodiff.custom_vjp(lambda x: x**3)
            cube.defvjp(lambda x: (x**3, x), lambda x, ct: (3.0 * x**2 * ct,))
        return autodiff.grad(lambda x: xpand.array_namespace(x).sum(cube(x)))(x)

    return differentiated


def square_root(x: Any) -> Any:
    root = lambda x: autodiff.custom_root(lambda y, x: y * y - x, x, solve=lambda y, x: x**0.5, args=(x,))
    return autodiff.grad(lambda x: xpand.array_namespace(x).sum(root(x)))(x)


def rooted(x: Any) -> Any:
    found = optimize.root(lambda y, x: y**3 - x, x, args=(x,))
    return xpand.array_namespace(x).sum(found.x)


def csr(x: Any) -> Any:
    xp, device = xpand.array_namespace(x), xpand.device(x)
    indices, indptr = (xp.asarray(each, device=device) for each in ([0, 2, 1], [0, 1, 3]))
    return sparse.CSR(x, indices, indptr, (2, 3))


def collective(function: Function) -> Function:
    return lambda x: vmap.vmap(lambda each: function(each, "i"), axis_name="i")(x)


def beside(x: Any) -> Any:
    """Make three elements from one."""
    return xpand.array_namespace(x).stack([x, 2.0 * x, 3.0 * x])


def of_random(name: str, *args: Any, **options: Any) -> tuple[Function, np.ndarray]:
    return lambda key: getattr(random, name)(key, *args, **options), KEY


def as_bytes(x: Any) -> Any:
    return convert.from_bytes(
        convert.to_bytes(x), "float64", x.shape, device=xpand.device(x), xp=xpand.array_namespace(x)
    )


ONE_PARAMETER = ("chisquare", "dirichlet", "gamma", "loggamma", "lognormal", "pareto", "poisson")
TWO_PARAMETERS = ("beta", "f", "weibull_min")
SHAPED = ("cauchy", "exponential", "gumbel", "laplace", "logistic", "maxwell", "normal", "rademacher", "uniform")

MORE: dict[str, tuple[Any, ...]] = {
    "checkpoint": (lambda x: autodiff.grad(autodiff.checkpoint(total))(x), X),
    "custom_jvp": (with_rule(autodiff.custom_jvp), X),
    "custom_vjp": (with_rule(autodiff.custom_vjp), X),
    "custom_root": (square_root, X),
    "jvp": (lambda x: autodiff.jvp(total, (x,), (x,)), X),
    "vjp": (lambda x: autodiff.vjp(total, x)[1](total(x)), X),
    "linearize": (lambda x: autodiff.linearize(total, x)[1](x), X),
    "linear_transpose": (lambda x: autodiff.linear_transpose(lambda y: y + y, x)(x), X),
    "value_and_grad": (lambda x: autodiff.value_and_grad(total)(x), X),
    "hessian": (lambda x: autodiff.hessian(total)(x), X),
    "from_bytes": (as_bytes, X),
    "to_device": (lambda x: devices.to_device(x, xpand.device(x), copy=True), X),
    "jit": (lambda x: jit.jit(total)(x), X),
    "krylov": (lambda a, b: linear_solve.solve(a, b, method="cg").x, SPD, X),
    # JAX has no implementation of its own, and uses the generic one.
    "solve_dense": (lambda a, b: (b, solve_dense(a, b, None, 0.0)), SPD, X),
    "solve_levels": (
        solve_levels,
        np.asarray([2.0, 9.0]),
        np.asarray([[[0.0]], [[1.0]]]),
        np.asarray([[[0]], [[0]]]),
        np.asarray([[2.0], [4.0]]),
        np.asarray([[0], [1]]),
        np.asarray([0, 1]),
    ),
    "minimize": (lambda x: optimize.minimize(lambda y: xpand.array_namespace(y).sum((y - 1.0) ** 2), x).x, X),
    "root": (rooted, X),
    "root, differentiated": (lambda x: autodiff.grad(rooted)(x), X),
    "segment_mean": (lambda x: scatter.segment_mean(x, scatter_ids(x), num_segments=2), X),
    "segment_min": (lambda x: scatter.segment_min(x, scatter_ids(x), num_segments=2), X),
    "segment_prod": (lambda x: scatter.segment_prod(x, scatter_ids(x), num_segments=2), X),
    "csr": (lambda x: sparse.todense(csr(x)), X),
    "csr product": (lambda x, y: csr(x) @ y, X, X),
    "product of two csr": (lambda x: sparse.todense(csr(x) @ csr(x).T), X),
    "expit": (special.expit, X),
    "vmap": (lambda x: vmap.vmap(lambda each: each * 2.0)(x), X),
    "psum": (collective(vmap.psum), X),
    "pmax": (collective(vmap.pmax), X),
    "pmin": (collective(vmap.pmin), X),
    "psum_scatter": (collective(lambda x, i: vmap.psum_scatter(beside(x), i)), X),
    "all_to_all": (collective(lambda x, i: vmap.all_to_all(beside(x), i, 0, 0)), X),
    "custom_vmap": (lambda x: vmap.vmap(vmap.sequential_vmap(lambda each: each * 2.0))(x), X),
    "all_gather": (collective(vmap.all_gather), X),
    "ppermute": (collective(lambda x, i: vmap.ppermute(x, i, [(0, 1), (1, 2), (2, 0)])), X),
    **{name: of_random(name, shape=(3,)) for name in SHAPED},
    **{name: (lambda key, x, name=name: getattr(random, name)(key, x), KEY, X) for name in ONE_PARAMETER},
    **{name: (lambda key, x, name=name: getattr(random, name)(key, x, x + 1.0), KEY, X) for name in TWO_PARAMETERS},
    "ball": of_random("ball", 2),
    "bernoulli": (lambda key, x: random.bernoulli(key, x / 4.0), KEY, X),
    "binomial": (lambda key, x: random.binomial(key, 5.0, x / 4.0), KEY, X),
    "bits": of_random("bits", (3,)),
    "categorical": (random.categorical, KEY, X),
    "choice": (lambda key, x: random.choice(key, x, (2,), p=x / 4.5), KEY, X),
    "choice without replacement": (lambda key, x: random.choice(key, x, (2,), replace=False), KEY, X),
    "double_sided_maxwell": (lambda key, x: random.double_sided_maxwell(key, x, x, (3,)), KEY, X),
    "fold_in": of_random("fold_in", 3),
    "generalized_normal": (lambda key, x: random.generalized_normal(key, x, (3,)), KEY, X),
    "geometric": (lambda key, x: random.geometric(key, x / 4.0), KEY, X),
    "key": (lambda x: random.key(x[0], device=xpand.device(x)), KEY.astype("int64")),
    "key_data": of_random("key_data"),
    "multinomial": (lambda key, x: random.multinomial(key, 5.0, x / 4.5), KEY, X),
    "multivariate_normal": (random.multivariate_normal, KEY, X, SPD),
    "orthogonal": of_random("orthogonal", 2),
    "permutation": (random.permutation, KEY, X),
    "randint": of_random("randint", (3,), 0, 10),
    "rayleigh": (random.rayleigh, KEY, X),
    "shuffle": (random.shuffle, KEY, X),
    "split": of_random("split", 3),
    "t": (random.t, KEY, X),
    "triangular": (lambda key, x: random.triangular(key, x - 1.0, x, x + 1.0), KEY, X),
    "truncated_normal": (lambda key, x: random.truncated_normal(key, -x, x), KEY, X),
    "wald": (random.wald, KEY, X),
}
"""By name, a function of arrays, and the arrays' values. It returns an array, or a tree of arrays."""


PAIR = hax.Axis("b", 2)
NAMED: dict[str, Function] = {
    "sum of all": lambda x: hax.sum(x, where=True),
    "sum of some": lambda x: hax.sum(x, "a", where=x > 1.0),
    "mean of all": lambda x: hax.mean(x, "a", where=True),
    "std of some": lambda x: hax.std(x, where=x > 1.0, ddof=1),
    "nanmax of some": lambda x: hax.nanmax(x, where=x > 1.0),
    "list": lambda x: x["a", [2, 0]],
    "reversed": lambda x: x["a", ::-1],
    "part": lambda x: x["a", hax.dslice(1, 2)],
    "parts": lambda x: x["a", hax.dslice(hax.argsort(x, "a")["a", :2].rename({"a": "i"}), 1)],
    "filled part": lambda x: x.at["a", hax.dslice(2, 2)].get(mode="fill", fill_value=1.0),
    "mask": lambda x: x["a", x > 1.0],
    "set": lambda x: x.at["a", 1].set(2.0),
    "added": lambda x: x.at["a", [0, 0]].add(2.0),
    "updated slice": lambda x: hax.updated_slice(x, {"a": 1}, x["a", :2]),
    "where": lambda x: hax.where(x > 1.0, x, 0.0),
    "arithmetic": lambda x: 2.0 - x * 3 + x**2,
    "clip": lambda x: hax.clip(x, 1.0, 2.0),
    "isclose": lambda x: hax.isclose(x, 1.5),
    "searchsorted": lambda x: hax.searchsorted(x, 1.0),
    "polyval": lambda x: hax.polyval(x, 2.0),
    "polymul": lambda x: hax.polymul(x, [1.0, 2.0]),
    "polyfit": lambda x: hax.polyfit(x, x, 1),
    "vander": lambda x: hax.vander(x, "b"),
    "bincount": lambda x: hax.bincount(hax.argsort(x, "a"), hax.Axis("b", 3)),
    "segment_sum": lambda x: hax.scatter.segment_sum(x, hax.argsort(x, "a") % 2, PAIR),
    "dot": lambda x: hax.dot(x, x, axis="a"),
    "einsum": lambda x: hax.einsum("a, a -> ", x, x),
    "tril": lambda x: hax.tril(x * x.rename({"a": "c"}), "a", "c"),
    "cumsum": lambda x: hax.cumsum(x, "a"),
    "pad": lambda x: hax.pad(x, {"a": (1, 1)}, constant_values=2.0),
    "full_like": lambda x: hax.full_like(x, 2.0),
    "zeros_like": hax.zeros_like,
    "quantile": lambda x: hax.statistics.quantile(x, [0.2, 0.5], "a"),
    "window_mean": lambda x: hax.statistics.window_mean(x, {"a": 2}),
    "nonzero": lambda x: hax.nonzero(x > 1.0, size=PAIR, fill_value=-1),
    "softmax": lambda x: hax.special.softmax(x, "a"),
    "stack": lambda x: hax.stack("b", [x, x]),
    "concatenate": lambda x: hax.concatenate("a", [x, x]),
    "interp": lambda x: hax.interpolation.interp(x.rename({"a": "b"}), x, x, "a"),
    "convolve": lambda x: hax.convolution.convolve(x, x, "a"),
    "fft": lambda x: hax.fft.fft(x, "a"),
    "vmap": lambda x: hax.vmap(lambda each: each * 2.0, "a")(x),
    "scan": lambda x: hax.scan(lambda total, each: (total + each, total), "a")(x["a", 0], x),
    "map": lambda x: hax.map(lambda each: each + 1.0, "a")(x),
    "reference": lambda x: (lambda ref: (ref.__setitem__({"a": 0}, 1.0), ref.value())[1])(hax.new_ref(x)),
}
"""By name, functions of a named array with the axis "a" of three elements."""


def scatter_ids(x: Any) -> Any:
    return xpand.array_namespace(x).asarray([0, 1, 0], device=xpand.device(x))


def modules() -> list[str]:
    """List the test files with cases, except those of rules, which are about traced arrays and make constants."""
    folder = Path(__file__).parent
    files = sorted(folder.glob("test_*.py"))
    return [
        path.stem for path in files if "Case(" in path.read_text("utf-8") and not path.stem.startswith("test_rules")
    ]


def cases(module: str) -> dict[str, Case]:
    """Collect the cases of a test file from all its tables, each once."""
    found: dict[str, Case] = {}
    for table in vars(importlib.import_module(f"tests.{module}")).values():
        if isinstance(table, dict):
            for name, row in table.items():
                for number, case in enumerate(row if isinstance(row, tuple) else (row,)):
                    if isinstance(case, Case):
                        found.setdefault(f"{name} {number}", case)
    return found


def more() -> dict[str, Case]:
    return {name: Case(function, arrays) for name, (function, *arrays) in MORE.items()}


def named() -> dict[str, Case]:
    return {name: Case(_of_named(function), (X,)) for name, function in NAMED.items()}


def _of_named(function: Function) -> Function:
    """Return a function of an array that calls one of a named array."""

    def of_array(x: Any) -> Any:
        found = function(hax.named(x, "a"))
        return [part.array if isinstance(part, hax.NamedArray) else part for part in trees.leaves(found, is_leaf=_is)]

    return of_array


def _is(x: Any) -> bool:
    return isinstance(x, hax.NamedArray)


def every() -> dict[str, Case]:
    return {f"{module}: {name}": case for module in modules() for name, case in cases(module).items()} | more()


def assert_there(result: Any, device: Any) -> None:
    arrays = [leaf for leaf in trees.leaves(result) if hasattr(leaf, "device")]
    assert all(x.device == device for x in arrays), f"on {[str(x.device) for x in arrays]}, not on {device}"


def failures(cases: dict[str, Case], check: Callable[[Case], None]) -> list[str]:
    """Check all cases, and describe failures with the lines that led there."""
    found = []
    for name, case in cases.items():
        try:
            check(case)
        except Exception as error:  # errors of libraries about two devices
            frames = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)]
            found.append(f"{name}: {' '.join(frames[-6:])}: {type(error).__name__}: {str(error)[:300]}")
    return found


def _public(facade: Any) -> Any:
    """Return the object that a facade's body calls by its name. Decorators copy the attributes of a facade."""
    found = getattr(sys.modules[facade.__module__], facade.__name__, facade)
    return found if hasattr(found, "native") else facade


@contextmanager
def recorded() -> Iterator[set[str]]:
    """Record the operations that are called."""
    import_facades()
    called: set[str] = set()
    # A plan calls the facade itself, and the facade's body the object of its name.
    operations = [operation for operation in OPERATIONS.values() for _ in range(2)]
    facades: list[Any] = [each for x in OPERATIONS.values() for each in (x.facade, _public(x.facade))]
    originals = [(facade.native, facade.native_for) for facade in facades]

    def noting(name: str, find: Function) -> Function:
        def noted(*args: Any) -> Any:
            called.add(name)
            return find(*args)

        return noted

    for operation, facade, (native, native_for) in zip(operations, facades, originals, strict=True):
        operation.forget_types()  # a planned call would not look up the implementation
        facade.native = noting(operation.qualified_name, native)
        facade.native_for = noting(operation.qualified_name, native_for)
    try:
        yield called
    finally:
        for facade, (native, native_for) in zip(facades, originals):
            facade.native, facade.native_for = native, native_for


# JAX


CREATION = ("empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like")
"""Functions with which JAX makes arrays on the default device and then moves them; xpand's namespace does not."""

CUMULATIVE = ("cumulative_prod", "cumulative_sum")
"""Functions of JAX that make their initial value in this way."""


def check_jax(chosen: dict[str, Case]) -> list[str]:
    """Run cases on the second of two devices. JAX must not copy anything between devices by itself."""
    import jax
    import jax.numpy as jnp

    def allowing(function: Function) -> Function:
        @wraps(function)
        def allowed(*args: Any, **kwargs: Any) -> Any:
            with jax.transfer_guard_device_to_device("allow"):
                return function(*args, **kwargs)

        return allowed

    own = (*CREATION, *CUMULATIVE)
    for namespace, names in ((jnp, own), (jax.lax, own), (xpand.namespace("jax"), CUMULATIVE)):
        for name in names:
            if hasattr(namespace, name):
                setattr(namespace, name, allowing(getattr(namespace, name)))
    device = jax.devices()[1]

    def check(case: Case) -> None:
        with jax.transfer_guard_device_to_device("disallow"):
            assert_there(case.function(*(jax.device_put(np.asarray(x), device) for x in case.arrays)), device)

    return failures(chosen, check)


COMPILED = ("special.", "random.")
"""Operations that JAX compiles whole, so that no array has a device while they are traced."""

OF_JAX = {
    "all_to_all": "JAX makes the positions along a mapped axis on the default device",
    "custom_root": "within derivatives, JAX doesn't report the device of arrays",
    "hessian": "the same",
    "root, differentiated": "the same",
}
"""Cases in which JAX must copy, because the device for a new array is unknown."""


def covering(cases: dict[str, Case], library: Any) -> dict[str, Case]:
    """Select cases that together call every operation. A case is omitted if earlier ones call all its operations."""
    seen: set[str] = set()
    chosen = {}
    for name, case in cases.items():
        with recorded() as called:
            case.function(*(library.asarray(x) for x in case.arrays))
        new = {operation for operation in called - seen if not operation.startswith(COMPILED)}
        if new and name not in OF_JAX:
            seen |= new
            chosen[name] = case
    return chosen


def main() -> int:
    from tests.libraries import LIBRARIES

    numpy = next(library for library in LIBRARIES if library.id == "numpy")
    chosen = covering(every(), numpy)
    found = check_jax(chosen)
    sys.stdout.write("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
