"""Rules for batches and shapes of operations of other packages, from their axis signatures."""

import inspect
from typing import Any, NamedTuple

from xpand import trees

from ..._dispatch import Operation
from .._signature import Signature, parse
from ._derived import Axes, Function, Params
from ._derived_batches import applied_by_name, batching_rule
from ._derived_shapes import shape_rule


class OwnAxes(NamedTuple):
    """The axis signature of an operation, with the rules that follow from it."""

    signature: Signature
    batching: Function
    shape: Function


def own_axes(operation: Operation[..., Any], text: str) -> OwnAxes:
    """Read an axis signature. Arguments without names are the first parameters of the operation.

    Raises:
        ValueError: The signature doesn't follow the grammar or fit the operation.
    """
    signature, parameters = parse(text), inspect.signature(operation.facade).parameters
    names = list(parameters)

    def error(what: str) -> ValueError:
        return ValueError(f"register_rules: axes={text!r} of {operation.name}: {what}")

    if len(signature.arguments) > len(names):
        raise error(f"it has {len(signature.arguments)} arrays, but the operation has {len(names)} arguments")
    if any(each.repeated or not each.broadcasts for each in signature.arguments):
        raise error("each array must begin with '...', for the axes of batches, and none may be repeated by '*'")
    arguments = [each._replace(name=each.name or name) for each, name in zip(signature.arguments, names)]
    axes = [axis for each in (*arguments, *signature.results) for axis in each.axes]
    named = {axis.name for axis in axes if axis.kind != "letter"} | {str(each.name) for each in arguments}
    if unknown := sorted(named - set(names)):
        raise error(f"{unknown[0]} is no argument; the arguments are {', '.join(names)}")
    known = {letter for each in arguments for letter in each.letters}
    new = {letter for each in signature.results for letter in each.letters} - known
    if new or any(axis.size is not None for axis in axes):
        raise error("an axis that only a result has must get its size from an argument: write {argument}")
    signature = signature._replace(arguments=tuple(arguments))
    found = Axes(text)
    found.signature = signature
    positional = [each.name for each in parameters.values() if each.kind is each.POSITIONAL_ONLY]
    found.call = lambda xp: lambda **given: applied_by_name(operation.facade, positional, given)
    rule = batching_rule(operation.path, found)

    def batching(xp: Any, mapped: Params, /, **given: Any) -> Any:
        others = mapped.keys() - {each.name for each in arguments}
        if wrong := sorted(name for name in others if any(x is True for x in trees.leaves(mapped[name]))):
            raise ValueError(f"{operation.name}: {wrong[0]} has a batch axis, but no axes in the signature {text!r}")
        return rule(xp, {name: mapped.get(name, False) for name in given}, **given)

    return OwnAxes(signature, batching, shape_rule(operation.path, found))
