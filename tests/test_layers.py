"""The layers of the package: no module imports itself by way of others."""

import graphlib

import grimp


def test_no_import_cycles() -> None:
    """Imports inside functions count, those that only type checkers see do not."""
    graph = grimp.build_graph("xpand", "xpand_extensions", exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError, with the cycle
