"""The tests that are left out on older releases of PyTorch exist."""

import re
import sys

from tests.test_docs import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import torch_versions

sys.path.remove(str(ROOT / "tools"))


def test_known_failures_are_tests() -> None:
    names = torch_versions.known_failures(f"{torch_versions.oldest()}.0+cpu")
    assert names
    for name in names:
        path, _, test = name.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {test.partition('[')[0]}\(", source, re.MULTILINE), name


def test_no_failures_are_known_of_other_releases() -> None:
    assert torch_versions.known_failures("1000.0.0") == []
