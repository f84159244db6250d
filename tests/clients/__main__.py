"""Judges clients, each in a process of its own: python -m tests.clients [--write] [NAME ...].

Without `--write`, it prints how the verdicts differ from the table of the docs. With one name and `--json`, it judges
the client in this process, which has the switches of `environment`, and prints the verdicts.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.clients.table import CLIENTS, is_installed, store, stored, version_of
from tests.clients.verdicts import Verdict, judge, quiet

ROOT = Path(__file__).resolve().parents[2]
Verdicts = dict[str, dict[str, Verdict]]


def environment() -> dict[str, str]:
    """Return the variables of a client's process: SciPy's switch, one thread, and tracebacks with all lines."""
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONPATH": paths, "SCIPY_ARRAY_API": "1", "XPAND_TRACEBACK": "full"}


def judged(name: str) -> Verdicts:
    """Judge a client in a process of its own.

    Raises:
        RuntimeError: A call fails on NumPy's arrays, without a transformation.
    """
    command = [sys.executable, "-m", "tests.clients", "--json", name]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr}")
    verdicts: Verdicts = json.loads(done.stdout)
    return verdicts


def differences(known: Verdicts, found: Verdicts) -> list[str]:
    """List what differs. Messages and code may differ between versions of Python; files and types of errors do not."""
    texts = []
    for call in dict.fromkeys([*known, *found]):
        if call not in known or call not in found:
            texts.append(f"{call}: {'judged, but not in the table' if call in found else 'not judged'}")
            continue
        texts += [
            f"{call}: {name}: is {found[call][name]}, in the table {verdict}"
            for name, verdict in known[call].items()
            if _key(verdict) != _key(found[call][name])
        ]
    return texts


def _key(verdict: Verdict) -> Any:
    return verdict if isinstance(verdict, str) else (verdict.get("file"), verdict["error"])


def wrong(verdicts: Verdicts) -> list[str]:
    """List the results that are wrong without a reason, which no table may have."""
    return [
        f"{call}: {name}: {verdict}"
        for call, row in verdicts.items()
        for name, verdict in row.items()
        if isinstance(verdict, str) and verdict.startswith(("wrong: ", "right, although"))
    ]


def main(arguments: list[str]) -> int:
    """Judge clients, and compare with the table or write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.clients", description=__doc__)
    parser.add_argument("names", nargs="*", help="clients; by default, all that are installed")
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--json", action="store_true", help="print the verdicts of one client, judged in this process")
    options = parser.parse_args(arguments)
    if options.json:
        quiet()
        json.dump(judge(CLIENTS[options.names[0]]), sys.stdout)
        return 0
    status = 0
    for name in options.names or [name for name, client in CLIENTS.items() if is_installed(client)]:
        found = judged(name)
        if options.write and not wrong(found):
            client = CLIENTS[name]
            store("clients", name, {"version": version_of(client), "about": client.about, "calls": found})
        texts = wrong(found) or differences(stored()["clients"].get(name, {"calls": {}})["calls"], found)
        right = sum(verdict == "right" for row in found.values() for verdict in row.values())
        total = sum(map(len, found.values()))
        sys.stdout.write("\n".join([f"{name}: {right} of {total} right", *(f"  {text}" for text in texts), ""]))
        status |= bool(texts)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
