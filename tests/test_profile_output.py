"""Output of a profile: a tree in the terminal, tables, the trace event format, a page."""

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpand
from xpand_extensions import scatter
from xpand_extensions.profile import Profile, call, profile

XP = xpand.namespace("numpy")
X = np.ones((2, 3))
HOSTILE = "</script><b>&amp; [red]"


def helper() -> None:
    for _ in range(3):
        XP.sin(X)
    XP.add(X, X)


def example() -> Profile:
    with profile() as p:
        call(helper, name=HOSTILE)
        helper()
        with pytest.raises(TypeError):
            scatter.segment_sum(3)
    p.add_external_message(HOSTILE)
    return p


@pytest.fixture(scope="module")
def p() -> Profile:
    return example()


def printed(p: Profile, **options: Any) -> str:
    file = io.StringIO()
    p.print(file=file, **options)
    return file.getvalue()


def test_print(p: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    text = printed(p)
    lines = text.splitlines()
    assert re.fullmatch(r"Profile: [\d.]+ [mµ]?s, of which [\d.]+ [mµ]?s in 10 recorded calls", lines[0])
    assert HOSTILE.splitlines()[0] in text, "no markup is taken from names and messages"
    assert re.search(r"numpy\.sin ×3  test_profile_output\.py:\d+  float64\(2, 3\) → float64\(2, 3\)", text)
    assert re.search(r"segment_sum  test_profile_output\.py:\d+  TypeError  3", text)
    assert text.index("example") < text.index("helper") < text.index("numpy.sin")


def test_print_to_the_standard_output(p: Profile, capsys: pytest.CaptureFixture[str]) -> None:
    p.print()
    assert "numpy.sin" in capsys.readouterr().out


def test_print_leaves_out_what_is_short(p: Profile) -> None:
    assert "numpy.sin" not in printed(p, min_duration=10.0)
    longest = max(entry.duration for entry in p.walk())
    text = printed(p, min_duration=longest)
    assert "numpy.sin" not in text
    assert "shorter" in text


@pytest.mark.parametrize(
    ("value", "error"), [("1", TypeError), (True, TypeError), (-1, ValueError), (np.nan, ValueError)]
)
def test_print_refuses(p: Profile, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"Profile\.print: min_duration"):
        p.print(min_duration=value)


def test_table_of_calls(p: Profile) -> None:
    rows = p.table()
    assert [row["name"] for row in rows][:2] == [HOSTILE, "numpy.sin"]
    assert [row["depth"] for row in rows] == [0, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    sin = rows[1]
    assert (sin["bytes_in"], sin["bytes_out"], sin["inputs"], sin["device"]) == (48, 48, ["float64(2, 3)"], "cpu")
    assert sin["function"] == "helper"
    assert Path(sin["file"]).name == "test_profile_output.py"
    assert rows[-1]["error"] == "TypeError"
    assert json.loads(json.dumps(rows)) == rows
    assert len({tuple(row) for row in rows}) == 1, "the columns are the same"


def test_table_by_function(p: Profile) -> None:
    rows = {row["name"]: row for row in p.table(by="function")}
    assert {name: row["calls"] for name, row in rows.items()} == {
        HOSTILE: 1,
        "numpy.sin": 6,
        "numpy.add": 2,
        "scatter.segment_sum": 1,
    }
    assert rows["numpy.add"]["bytes_in"] == 2 * 96
    assert sum(row["own_duration"] for row in rows.values()) == pytest.approx(sum(e.duration for e in p.entries))
    own = [row["own_duration"] for row in p.table(by="function")]
    assert own == sorted(own, reverse=True)


def test_table_by_caller(p: Profile) -> None:
    rows = p.table(by="caller")
    assert sorted(row["calls"] for row in rows) == [1, 1, 2, 6]
    assert {row["function"] for row in rows} == {"example", "helper"}
    assert sum(row["own_duration"] for row in rows) == pytest.approx(sum(entry.duration for entry in p.entries))


def test_table_refuses(p: Profile) -> None:
    with pytest.raises(ValueError, match=r"Profile\.table: by must be"):
        p.table(by="line")


def test_messages(p: Profile) -> None:
    assert p.messages == (HOSTILE,)
    with pytest.raises(TypeError, match=r"Profile\.add_external_message: message must be a string, got int"):
        p.add_external_message(3)


# The trace event format


def test_save(p: Profile, tmp_path: Path) -> None:
    p.save(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert set(trace) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert trace["otherData"]["messages"] == [HOSTILE]
    for event in trace["traceEvents"]:
        assert {"name", "ph", "pid", "tid", "args"} <= set(event)
        assert isinstance(event["name"], str)
        assert type(event["pid"]) is type(event["tid"]) is int
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert isinstance(event["args"]["name"], str)
        else:
            assert event["ph"] == "X"
            assert event["ts"] >= 0.0
            assert event["dur"] >= 0.0
            assert event["cat"] in ("namespace", "extension", "call", "python")
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    calls = [event for event in events if event["cat"] != "python"]
    assert [event["name"] for event in calls] == [entry.name for entry in p.walk()]
    for event, entry in zip(calls, p.walk()):
        assert event["ts"] == pytest.approx(entry.start * 1e6)
        assert event["dur"] == pytest.approx(entry.duration * 1e6)
    assert calls[1]["args"]["arguments"] == "float64(2, 3)"
    functions = [event for event in events if event["cat"] == "python"]
    assert sorted(event["name"] for event in functions) == ["example", "helper", "helper"]
    assert_nested(events)


def assert_nested(events: list[dict[str, Any]]) -> None:
    """Check what viewers require: of two events of a thread, one contains the other, or they are disjoint."""
    ordered = sorted(events, key=lambda event: (event["ts"], -event["dur"]))
    open_ends: list[float] = []
    for event in ordered:
        while open_ends and open_ends[-1] <= event["ts"] + 1e-6:
            open_ends.pop()
        end = event["ts"] + event["dur"]
        assert all(end <= outer + 1e-6 for outer in open_ends)
        open_ends.append(end)


def test_save_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    with profile(save=file):
        assert not file.exists()
        XP.sin(X)
    assert "numpy.sin" in file.read_text(encoding="utf-8")
    with profile(save=str(file)):
        XP.cos(X)
    assert "numpy.cos" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["save", "to_html"])
def test_files_that_can_not_be_written(p: Profile, method: str, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=rf"Profile\.{method}: can't write this file"):
        getattr(p, method)(tmp_path)
    with pytest.raises(FileNotFoundError, match=rf"Profile\.{method}: can't write this file") as caught:
        getattr(p, method)(tmp_path / "no" / "file")
    assert caught.value.filename == str(tmp_path / "no" / "file")


# The page


class Page(HTMLParser):
    """Reads the elements of a page, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


def test_page(p: Profile, tmp_path: Path) -> None:
    text = p.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text
    page = Page(text)
    assert page.open == []
    assert page.tags.count("script") == 2
    assert not {"link", "img", "iframe"} & set(page.tags)
    assert not {"src", "href"} & {name for name, _ in page.attributes}, "nothing is asked of a network"
    assert not re.search(r"https?://|fetch\(|import\(|@import|url\(", text)
    data = json.loads(page.scripts[0])
    assert data["messages"] == [HOSTILE]
    assert {each[0] for each in data["functions"]} == {HOSTILE, "numpy.sin", "numpy.add", "scatter.segment_sum"}

    def check(box: dict[str, Any]) -> None:
        inside = sum(child["value"] for child in box["children"])
        assert inside <= box["value"] * (1.0 + 1e-9)
        for child in box["children"]:
            check(child)

    check(data["root"])
    assert data["root"]["value"] == pytest.approx(p.duration)


def test_an_empty_profile(tmp_path: Path) -> None:
    with profile() as p:
        pass
    assert p.entries == ()
    assert p.table() == p.table(by="function") == p.table(by="caller") == []
    assert printed(p).startswith("Profile: ")
    p.save(tmp_path / "trace.json")
    assert Page(p.to_html()).open == []
