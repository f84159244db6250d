"""Tests for the rows of docs/coverage/phiml.toml about profiles."""

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import xpand
from tests.coverage import Row
from tests.libraries import Library
from xpand_extensions import profile

X = np.arange(6.0).reshape(2, 3)


def made(library: Library) -> profile.Profile:
    x = library.asarray(X)
    with profile.profile() as p:
        library.xp.sin(x)
    return p


def name(library: Library) -> str:
    return f"{xpand.library_name(library.xp)}.sin"


def of_a_block(library: Library) -> None:
    p = made(library)
    assert [(entry.name, [str(x) for x in entry.outputs]) for entry in p.entries] == [
        (name(library), ["float64(2, 3)"])
    ]


def of_a_function(library: Library) -> None:
    p = profile.profile_function(library.xp.sin, [library.asarray(X)], repeats=2)
    assert p.duration > 0.0
    p = profile.profile_function(lambda x: library.xp.sin(x), [library.asarray(X)])
    assert [entry.name for entry in p.entries] == [name(library)]


def the_current_one(library: Library) -> None:
    assert profile.get_current_profile() is None
    with profile.profile() as p:
        assert profile.get_current_profile() is p


def called(library: Library) -> None:
    x = library.asarray(X)
    with profile.profile() as p:
        result = profile.call(library.xp.sin, x, name="mine")
    library.assert_equal(result, np.sin(X), rtol=1e-15)
    assert p.entries[0].name == "mine"


def duration(library: Library) -> None:
    p = made(library)
    assert p.duration >= p.entries[0].duration > 0.0


def printed(library: Library) -> None:
    file = io.StringIO()
    made(library).print(file=file)
    assert name(library) in file.getvalue()


def saved(library: Library) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        made(library).save(file)
        events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    assert name(library) in [event["name"] for event in events]


def retimed(library: Library) -> None:
    p = made(library)
    x, before = library.asarray(X), p.entries[0].stop
    with p.retime():
        library.xp.sin(x)
    assert p.entries[0].stop != before


def message(library: Library) -> None:
    p = made(library)
    p.add_external_message("of another profiler")
    assert p.messages == ("of another profiler",)


CHECKS: dict[str, Row] = {
    "Backend.call": called,
    "profile": of_a_block,
    "profile_function": of_a_function,
    "get_current_profile": the_current_one,
    "Profile.duration": duration,
    "Profile.print": printed,
    "Profile.save": saved,
    "Profile.save_trace": saved,
    "Profile.retime": retimed,
    "Profile.add_external_message": message,
}
