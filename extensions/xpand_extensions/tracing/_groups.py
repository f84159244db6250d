"""Group the elementwise operations of a graph, for libraries that can run several in one pass."""

from collections.abc import Callable
from typing import Any, TypeAlias

from ._compile import Step, step_of
from ._graph import Equation, Graph, Variable

Users: TypeAlias = dict[Variable, list[Any]]
"""The equations that use each variable; None stands for the outputs of the graph."""


class Group:
    """Operations whose results have one shape, in order of dependency, with the group's inputs and outputs."""

    __slots__ = ("equations", "inputs", "outputs", "users")

    def __init__(self, equations: list[Equation], users: Users) -> None:
        """Make a group of operations of a graph in which variables have these users."""
        inside = set(map(id, equations))
        made = {equation.outputs[0]: None for equation in equations}
        given = (x for equation in equations for x in equation.inputs if isinstance(x, Variable) and x not in made)
        self.equations, self.users = equations, users
        self.inputs = list(dict.fromkeys(given))
        self.outputs = [x for x in made if any(id(user) not in inside for user in users.get(x, ()))]


def grouped(
    graph: Graph, joins: Callable[[Equation], bool], steps_of_group: Callable[[Group], list[Step]]
) -> list[Step]:
    """Make the steps of a graph, with operations that stand alone as steps of their own.

    Args:
        graph: The graph.
        joins: Says whether an operation can be one of a group.
        steps_of_group: Makes the steps of a group of two operations or more.
    """
    users = _users(graph)
    steps: list[Step] = []
    groups: dict[tuple[int, ...], list[Equation]] = {}  # those not done yet, by the shape of their results
    where: dict[Variable, tuple[int, ...]] = {}

    def flush(shape: tuple[int, ...]) -> None:
        equations = groups.pop(shape, [])
        for equation in equations:
            where.pop(equation.outputs[0], None)
        steps.extend(steps_of_group(Group(equations, users)) if len(equations) > 1 else map(step_of, equations))

    for equation in graph.equations:
        shape = equation.outputs[0].shape if equation.outputs else ()
        joined = joins(equation)
        for x in equation.inputs:
            if isinstance(x, Variable) and x in where and not (joined and where[x] == shape):
                flush(where[x])
        if joined:
            groups.setdefault(shape, []).append(equation)
            where[equation.outputs[0]] = shape
        else:
            steps.append(step_of(equation))
    for shape in list(groups):
        flush(shape)
    return steps


def _users(graph: Graph) -> Users:
    users: Users = {}
    for equation in graph.equations:
        for x in equation.inputs:
            if isinstance(x, Variable):
                users.setdefault(x, []).append(equation)
    for x in graph.outputs:
        if isinstance(x, Variable):
            users.setdefault(x, []).append(None)
    return users
