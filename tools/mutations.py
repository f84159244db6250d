"""Break rules, kernels and checks one at a time, and report which test fails: `make test-mutations`.

`tests/mutations.toml` lists the mutations. The tool makes each one in a copy of the working tree and runs its tests
until one fails. Slow tests are omitted, because `make test` omits most of them. If no test notices a mutation, a test
is missing. At the end, the tests that failed run on the unbroken tree, where they must pass.
"""

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TABLE: Final = ROOT / "tests" / "mutations.toml"
PACKAGE: Final = "extensions/xpand_extensions"
FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (tests/\S+::.+?|tests/\S+)(?: - .*)?$", re.MULTILINE)
SURVIVED: Final = "survived"
CRASHED: Final = "the process ended"


@dataclass(frozen=True)
class Mutation:
    """One mistake, and the tests that must notice it."""

    file: str
    old: str
    new: str
    tests: str

    @property
    def path(self) -> str:
        """The file, from the root of the repository."""
        return self.file if self.file.startswith("src/") else f"{PACKAGE}/{self.file}"

    def applied(self, source: str) -> str:
        """Insert the mistake into a source.

        Raises:
            ValueError: The text to replace doesn't occur exactly once.
        """
        if (count := source.count(self.old)) != 1:
            raise ValueError(f"tests/mutations.toml: this occurs {count} times in {self.path}, not once: {self.old}")
        return source.replace(self.old, self.new)

    def __str__(self) -> str:
        """Name the file and the broken line."""
        line = (ROOT / self.path).read_text().partition(self.old)[0].count("\n") + 1
        first = (self.new or self.old).strip().partition("\n")[0]
        return f"{self.path}:{line}  {'' if self.new else 'without '}{first}"


def mutations() -> list[Mutation]:
    """Read the table."""
    return [Mutation(**each) for each in tomllib.loads(TABLE.read_text())["mutation"]]


def copied(folder: Path) -> Path:
    """Copy the files of the repository into a folder, also those that are not committed."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def pytest(tree: Path, arguments: list[str]) -> tuple[int, str]:
    """Run the tests of a tree until one fails; return the exit status and the output."""
    paths = [str(tree / name) for name in ("src", "extensions", ".")]
    program = f"import sys; sys.path[:0] = {paths!r}; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    options = ["-q", "-x", "--tier", "quick", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command = [sys.executable, "-c", program, *options, *arguments]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def noticing(mutation: Mutation, tree: Path) -> str:
    """Return the name of the test that notices a mutation, `CRASHED` or `SURVIVED`.

    Raises:
        RuntimeError: The tests didn't run.
    """
    path = tree / mutation.path
    source = path.read_text()
    path.write_text(mutation.applied(source))
    try:
        status, output = pytest(tree, shlex.split(mutation.tests))
    finally:
        path.write_text(source)
    if status == 0:
        return SURVIVED
    found = FAILED.search(output)
    if status < 0:
        return CRASHED
    if found is None:
        raise RuntimeError(f"pytest ended with {status} for {mutation}\n{output[-3000:]}")
    return found[1]


def main() -> int:
    """Run the tests of each mutation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="run only mutations whose file or text contains one of these words")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = [
        each
        for each in mutations()
        if not options.words or any(word in f"{each.path} {each.old}" for word in options.words)
    ]
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            trees.put(copied(Path(folder, str(number))))

        def run(mutation: Mutation) -> str:
            tree = trees.get()
            try:
                found = noticing(mutation, tree)
            finally:
                trees.put(tree)
            print(f"{mutation}\n    {found}", flush=True)
            return found

        with ThreadPoolExecutor(options.jobs) as pool:
            found = list(pool.map(run, chosen))
        survivors = [mutation for mutation, test in zip(chosen, found) if test == SURVIVED]
        tests = sorted(set(found) - {SURVIVED, CRASHED})
        status, output = pytest(trees.get(), tests) if tests else (0, "")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutations were noticed")
    for mutation in survivors:
        print(f"survived: {mutation}")
    if status:
        print(f"A test that noticed a mutation also fails without it:\n{output[-3000:]}")
    return int(bool(survivors or status))


if __name__ == "__main__":
    sys.exit(main())
