"""The default namespace: global, in a block, across threads and tasks; the choice among values."""

import asyncio
import threading

import numpy as np
import pytest
import torch

import xpand
from xpand import choose_namespace, default_namespace, set_default_namespace, use


@pytest.fixture(autouse=True)
def _restore():
    yield
    set_default_namespace(None)
    assert default_namespace() is xpand.namespace("numpy")


def test_numpy_at_first():
    assert default_namespace() is xpand.namespace("numpy")


def test_set_and_unset():
    for given in ("torch", xpand.namespace("torch"), torch):
        set_default_namespace(given)
        assert default_namespace() is xpand.namespace("torch")
    set_default_namespace(None)
    assert default_namespace() is xpand.namespace("numpy")


def test_use_nests_and_restores(library):
    with use("torch") as outer:
        assert default_namespace() is outer is xpand.namespace("torch")
        with use(library.xp) as inner:
            assert default_namespace() is inner is library.xp
        assert default_namespace() is outer
        with pytest.raises(RuntimeError, match="inside"), use(library.xp):
            raise RuntimeError("inside")
        assert default_namespace() is outer


def test_use_checks_the_name_at_once():
    """A typo is found where it is written, not where the block begins."""
    with pytest.raises(ValueError, match="'pytorch' is no known array library; .*; did you mean 'torch'"):
        use("pytorch")


def test_use_wins_over_the_global_default():
    set_default_namespace("jax")
    with use("torch"):
        assert default_namespace() is xpand.namespace("torch")
        set_default_namespace("numpy")
        assert default_namespace() is xpand.namespace("torch")
    assert default_namespace() is xpand.namespace("numpy")


def test_threads_do_not_see_each_other():
    names = ["torch", "jax", "numpy", "array_api_strict"]
    start = threading.Barrier(len(names))
    seen = {}

    def work(name):
        start.wait()
        for _ in range(100):
            with use(name) as xp:
                seen.setdefault(name, set()).add(default_namespace() is xp)
        seen[name].add(default_namespace() is xpand.namespace("numpy"))

    with use("torch"):
        threads = [threading.Thread(target=work, args=(name,)) for name in names]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert default_namespace() is xpand.namespace("torch")
    assert seen == {name: {True} for name in names}


def test_tasks_do_not_see_each_other():
    async def work(name):
        with use(name) as xp:
            for _ in range(20):
                await asyncio.sleep(0)
                assert default_namespace() is xp
        return default_namespace()

    async def main():
        return await asyncio.gather(*[work(name) for name in ("torch", "jax", "numpy")])

    assert asyncio.run(main()) == [xpand.namespace("numpy")] * 3


@pytest.mark.parametrize(
    ("bad", "error"), [("torhc", ValueError), (3, TypeError), ([], TypeError), (threading, ValueError)]
)
def test_bad_input(bad, error):
    before = default_namespace()
    with pytest.raises(error, match="set_default_namespace|namespace:"):
        set_default_namespace(bad)
    with pytest.raises(error), use(bad):
        pytest.fail("the block must not be entered")
    assert default_namespace() is before


def test_choose_by_array(library):
    x = library.asarray([1.0])
    assert choose_namespace(x, 2.0, None, [1, (2, 3)]) is library.xp
    assert choose_namespace([x, 1.0]) is library.xp


def test_plain_values_take_the_default():
    for name in ("torch", "numpy", "array_api_strict"):
        with use(name) as xp:
            assert choose_namespace() is xp
            assert choose_namespace(1, 2.0, 3j, True, None, [1, [2.0]]) is xp


def test_numpy_arrays_go_where_the_default_can_serve():
    x = np.ones(2)
    assert choose_namespace(x) is xpand.namespace("numpy")
    with use("torch") as xp:
        assert choose_namespace(x, 1.0) is xp
        assert choose_namespace(np.float32(1)) is xp
    with use("array_api_strict"):
        assert choose_namespace(x) is xpand.namespace("numpy")
    assert choose_namespace(x, torch.ones(2)) is xpand.namespace("torch")


def test_the_default_does_not_override_an_array():
    with use("jax"):
        assert choose_namespace(torch.ones(2), 1.0) is xpand.namespace("torch")


def test_no_choice():
    import jax.numpy as jnp

    with pytest.raises(TypeError, match=r"choose_namespace: no library can serve both torch\.Tensor and"):
        choose_namespace(torch.ones(2), jnp.ones(2))
    for bad in ("x", object(), {1: 2}, ["x"]):
        with pytest.raises(TypeError, match="choose_namespace: no library takes a value of type"):
            choose_namespace(1.0, bad)
