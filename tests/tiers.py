"""The tiers of the test suite: `make quick` and `make test` omit slow tests; `make test-deep` runs all.

`slow_tests.txt` lists the tests that take at least `SLOW` seconds, with their times. `make test` runs a tenth of them,
another tenth each day; all tenths take about the same time. `make quick` runs none. The fastest test of a function is
listed only if it takes at least `COSTLY` seconds. So every run checks each property, on all libraries that take less
than `SLOW` seconds, and on one that takes less than `COSTLY`. Tests that aren't listed always run. In `make test`, so
do tests with the mark `every_run`, such as checks of the whole repository. `module_seconds.json` has the time of the
other tests of each module, for `make quick`. To write both files:

    make unit-deep ARGS=--junitxml=results.xml
    python -m tests.tiers results.xml

To add tests that have become slow, from a run of `make unit`, and keep the times of the other slow tests:

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
COSTLY: Final = 1.0
TENTHS: Final = 10
LIST: Final = Path(__file__).with_name("slow_tests.txt")
MODULES: Final = Path(__file__).with_name("module_seconds.json")
VARIABLE: Final = "XPAND_TEST_TENTH"


def tenth_of_today() -> int:
    """Return the tenth of the slow tests that runs: the variable XPAND_TEST_TENTH, by default from the date."""
    return int(os.environ.setdefault(VARIABLE, str(datetime.date.today().toordinal() % TENTHS)))


def omitted(names: Iterable[str], tenth: int | None) -> set[str]:
    """Return the slow tests to omit: all except a tenth, or all."""
    tenths = tenth_of_each(recorded())
    return {name for name in names if name in tenths and tenths[name] != tenth}


def recorded() -> dict[str, float]:
    """Read the slow tests and their seconds."""
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    return {name: float(seconds) for seconds, _, name in (line.partition(" ") for line in lines)}


def tenth_of_each(seconds: dict[str, float]) -> dict[str, int]:
    """Assign each slow test to a tenth: the longest first, each to the tenth with the least time so far."""
    tenths = [(0.0, tenth) for tenth in range(TENTHS)]
    found = {}
    for name in sorted(seconds, key=lambda name: (-seconds[name], name)):
        total, tenth = heapq.heappop(tenths)
        heapq.heappush(tenths, (total + seconds[name], tenth))
        found[name] = tenth
    return found


def slow_tests(seconds: dict[str, float]) -> list[str]:
    """Return the tests to list: the slow ones, except the fastest test of a function unless it is costly."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in seconds:
        groups[name.partition("[")[0]].append(name)
    always = {min(names, key=lambda name: (seconds[name], name)) for names in groups.values()}
    return sorted(name for name, cost in seconds.items() if cost >= (COSTLY if name in always else SLOW))


def main(results: str, partial: bool = False) -> int:
    """Write the files from the durations of a run. After a partial run, listed tests that didn't run stay listed."""
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
