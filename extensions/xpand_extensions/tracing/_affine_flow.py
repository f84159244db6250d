"""Rules of affine functions for loops and for functions with custom rules: their steps are traced one by one."""

from collections.abc import Sequence
from typing import Any

from ._affine import Affine
from ._core import Op, bare
from ._flow import split


def scan_affine(trace: Affine, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, graph = trace.namespace, params["body"].graph
    fixed, carried, xs = split(args, params["constants"], params["carry"])
    rows, columns = [namespace.wrap(x) for x in xs], []
    for i in range(params["length"]):
        out = graph.run(*fixed, *carried, *[bare(x[i, ...]) for x in rows])
        carried = list(out[: params["carry"]])
        columns.append([namespace.wrap(x) for x in out[params["carry"] :]])
    if columns:
        return (*carried, *(bare(namespace.stack(list(each))) for each in zip(*columns)))
    avals = params["body"].avals[params["carry"] :]
    return (*carried, *(bare(namespace.zeros((0, *x.shape), dtype=x.dtype)) for x in avals))


def while_affine(trace: Affine, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    of_test, of_body, carried = split(args, params["tested"], params["constants"])
    test, body = params["test"].graph, params["body"].graph
    steps = 0
    while params["limit"] is None or steps < params["limit"]:
        if not bool(trace.namespace.wrap(test.run(*of_test, *carried)[0])):
            break
        carried = list(body.run(*of_body, *carried))
        steps += 1
    return tuple(carried)


def checkpoint_affine(trace: Affine, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    return params["body"].graph.run(*args)


def custom_affine(trace: Affine, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    return tuple(map(bare, params["run"](*map(trace.namespace.wrap, args))))
