"""The tiers of the test suite: which slow tests `make quick` and `make test` leave out; `make test-deep` runs all.

`slow_tests.txt` lists the tests that take `SLOW` seconds or longer, each with its time. `make test` runs a tenth of
them, another tenth each day, and all tenths take about the same time; `make quick` runs none. Of the slow tests of one
function, the fastest isn't listed unless it takes `DEAR` seconds or longer: so every run checks each property, on all
libraries where that takes less than `SLOW` seconds, and on one where that takes less than `DEAR`. A test that isn't in
the list always runs. So does one with the mark `every_run` in `make test`, such as checks of the whole repository.
`module_seconds.json` has the time that the other tests of each module take, for `make quick`. To write both files:

    make unit-deep ARGS=--junitxml=results.xml
    python -m tests.tiers results.xml

To add the tests that have become slow, from a run of `make unit`, in which the other slow tests keep their times:

    make unit ARGS=--junitxml=results.xml
    python -m tests.tiers results.xml --partial
"""

import datetime
import heapq
import json
import os
import sys
import xml.etree.ElementTree
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

SLOW: Final = 0.3
DEAR: Final = 1.0
TENTHS: Final = 10
LIST: Final = Path(__file__).with_name("slow_tests.txt")
MODULES: Final = Path(__file__).with_name("module_seconds.json")
VARIABLE: Final = "XPAND_TEST_TENTH"


def tenth_of_today() -> int:
    """Return which tenth of the slow tests runs: that of the variable XPAND_TEST_TENTH, by default that of the day."""
    return int(os.environ.setdefault(VARIABLE, str(datetime.date.today().toordinal() % TENTHS)))


def left_out(names: Iterable[str], tenth: int | None) -> set[str]:
    """Return which tests don't run: the slow ones, but for a tenth of them, or for none."""
    tenths = tenth_of_each(recorded())
    return {name for name in names if name in tenths and tenths[name] != tenth}


def recorded() -> dict[str, float]:
    """Read the slow tests and their seconds."""
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    return {name: float(seconds) for seconds, _, name in (line.partition(" ") for line in lines)}


def tenth_of_each(seconds: dict[str, float]) -> dict[str, int]:
    """Return the tenth of each slow test: the dearest first, each in the tenth that is shortest so far."""
    tenths = [(0.0, tenth) for tenth in range(TENTHS)]
    found = {}
    for name in sorted(seconds, key=lambda name: (-seconds[name], name)):
        total, tenth = heapq.heappop(tenths)
        heapq.heappush(tenths, (total + seconds[name], tenth))
        found[name] = tenth
    return found


def slow_tests(seconds: dict[str, float]) -> list[str]:
    """Return the tests for the list: the slow ones, but for the fastest test of a function where it isn't dear."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in seconds:
        groups[name.partition("[")[0]].append(name)
    always = {min(names, key=lambda name: (seconds[name], name)) for names in groups.values()}
    return sorted(name for name, cost in seconds.items() if cost >= (DEAR if name in always else SLOW))


def main(results: str, partial: bool = False) -> int:
    """Write the files from the durations of a run; of a partial run, tests in the list that didn't run stay there."""
    seconds: dict[str, float] = {}
    for case in xml.etree.ElementTree.parse(results).iter("testcase"):
        module, *classes = case.attrib["classname"].removeprefix("tests.").split(".")
        name = "::".join([f"tests/{module}.py", *classes, case.attrib["name"]])
        seconds[name] = seconds.get(name, 0.0) + float(case.attrib["time"])
    if partial:
        seconds = recorded() | seconds
    found = slow_tests(seconds)
    LIST.write_text("".join(f"{seconds[name]:.1f} {name}\n" for name in found))
    modules: Counter[str] = Counter()
    for name in seconds.keys() - set(found):
        modules[Path(name.partition("::")[0]).stem] += seconds[name]
    MODULES.write_text(json.dumps({name: round(modules[name], 1) for name in sorted(modules)}, indent=0) + "\n")
    total, saved = sum(seconds.values()), sum(seconds[name] for name in found) * (TENTHS - 1) / TENTHS
    sys.stdout.write(f"{len(found)} of {len(seconds)} tests are slow; `make test` saves {saved:.0f} of {total:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], partial="--partial" in sys.argv[2:]))
