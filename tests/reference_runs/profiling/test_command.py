"""`podium profile` on the command line: tables, files, the page and errors."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.reporting.profiled.page import render
from tests.compliance import command_line
from tests.compliance.web import chromium, console_lines
from tests.reference_runs.profiling.study_pages import PAGES

torch = pytest.importorskip("torch")
STEPS = 5
"""The number of recorded steps."""

FAST = ("--device", "cpu", "--turns", "1", "--steps", "4")


def podium(*words: object) -> tuple[int, str, str]:
    done = command_line.podium(*words)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a profile and the printed text."""
    folder = tmp_path_factory.mktemp("profile") / "out"
    status, out, err = podium("profile", "llama31_8b", *FAST, "--output", folder)
    assert (status, err) == (0, "")
    return folder, out


@pytest.fixture
def profile(made: tuple[Path, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made[0] / "profile.json").read_text())
    return found


def test_every_level_and_its_overhead_are_printed(made: tuple[Path, str]) -> None:
    out = made[1]
    for level in ("bare", "run", "layers", "kernels"):
        assert f"\n  {level} " in out
    assert "blocks.0.attention" in out
    assert "aten::" in out
    assert max(map(len, out.splitlines())) <= 80


def test_levels_are_joined_by_module(profile: dict[str, Any]) -> None:
    layers = {each["name"]: each for each in profile["layers"]}
    operators = profile["operators"]
    assert profile["complete"] is True
    for name in ("", "blocks.0.ffn", "output"):
        inner = [
            each
            for each in operators
            if each["phase"] in ("forward", "backward")
            and (each["module"] == name or each["module"].startswith(name and f"{name}."))
        ]
        if name:
            assert {each["phase"] for each in inner} == {"forward", "backward"}
        if not name:
            inner = [each for each in operators if each["phase"] in ("forward", "backward")]
        assert sum(each["ms"] for each in inner) == pytest.approx(layers[name]["kernel_ms"])
        assert 0 < sum(each["flop"] for each in inner) <= layers[name]["flop"] * 1.0001


def test_products_have_flop_and_a_share_of_the_roof(profile: dict[str, Any]) -> None:
    products = [each for each in profile["operators"] if each["name"] == "aten::mm"]
    assert products
    for each in products:
        assert each["intensity"] == pytest.approx(each["flop"] / each["bytes"])
        assert 0 < each["roofline"] < 2
    sums = [each for each in profile["operators"] if each["name"] == "aten::add"]
    assert {each["roofline"] for each in sums} == {None}


def test_parts_of_a_step_are_named(profile: dict[str, Any]) -> None:
    parts = {each["name"] for each in profile["parts"]}
    assert {"forward", "backward", "optimizer", "loader"} <= parts


def test_the_profile_has_a_block_and_an_evaluation(profile: dict[str, Any]) -> None:
    assert [each["kind"] for each in profile["intervals"]] == ["block", "evaluation"]
    assert all(each["end_ms"] >= each["begin_ms"] for each in profile["intervals"])


def test_the_table_and_the_trace_match_the_profile(
    made: tuple[Path, str], profile: dict[str, Any]
) -> None:
    folder = made[0]
    with (folder / "operators.csv").open(newline="") as stream:
        rows = [*csv.DictReader(stream)]
    assert [float(row["ms"]) for row in rows] == [each["ms"] for each in profile["operators"]]
    trace = folder / "traces/rank_0.json"
    assert trace.stat().st_size < 50_000_000
    names = {event.get("name", "") for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"layer blocks.0.attention", "aten::mm"} <= names


def test_the_trace_contains_its_rank_before_the_events(made: tuple[Path, str]) -> None:
    # Tools that compare ranks use the first match of this pattern in a file
    text = (made[0] / "traces/rank_0.json").read_text()
    found = re.search(r'"rank":\s+(\d+)', text)
    assert found is not None
    assert (found[1], found.start() < text.index("traceEvents")) == ("0", True)
    assert json.loads(text)["distributedInfo"]["rank"] == 0


def test_holistic_trace_analysis_reads_the_trace(made: tuple[Path, str]) -> None:
    analysis = pytest.importorskip("hta.trace_analysis")
    found = analysis.TraceAnalysis(trace_dir=str(made[0] / "traces"))
    assert [*found.t.get_all_traces()] == [0]
    assert len(set(found.t.get_trace(0)["iteration"]) - {-1}) >= STEPS - 1


def test_utilization_is_sampled_in_every_interval_and_is_not_logged(
    made: tuple[Path, str], profile: dict[str, Any]
) -> None:
    folder = made[0]
    ends = [(each["begin_ms"], each["end_ms"]) for each in profile["intervals"]]
    assert {each["interval"] for each in profile["usage"]} == set(range(len(ends)))
    for each in profile["usage"]:
        begin, end = ends[each["interval"]]
        # Readings are just before and just after the interval, on a machine that may be busy
        assert begin - 2000 < each["begin_ms"] <= each["end_ms"] < end + 2000
        assert each["begin_ms"] < end
        assert each["end_ms"] > begin
        assert 0 <= each["cpu"] <= 1
        assert each["processors"] >= 0
    assert 0 < profile["processors"][0] < 1.5
    assert profile["notes"] == []
    assert "tracked_stats" not in (folder / "log.txt").read_text()
    beside = (folder / "usage.txt").read_text().splitlines()
    assert len(beside) == len(profile["usage"])
    assert len((folder / "usage.csv").read_text().splitlines()) == len(beside) + 1


def test_the_recorded_steps_have_a_timeline(profile: dict[str, Any]) -> None:
    steps = {each["step"] for each in profile["timeline"]}
    assert steps == set(range(STEPS))
    for step in steps:
        lanes = {each["lane"]: each for each in profile["timeline"] if each["step"] == step}
        assert {"loader", "forward", "backward", "optimizer"} <= set(lanes)
        assert lanes["forward"]["begin_ms"] < lanes["backward"]["begin_ms"]
        assert lanes["backward"]["end_ms"] <= lanes["optimizer"]["begin_ms"]


class Tags(HTMLParser):
    """The attributes of a page that fetch a resource or style an element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [(tag, name) for name, _ in attrs if name in ("src", "href", "style")]


def complaints(text: str, folder: Path) -> tuple[str, list[str]]:
    """The elements of a page in a browser and the lines of its console."""
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/browser")
    done = subprocess.run(
        [
            *(chromium(), *flags, "--virtual-time-budget=2000", "--enable-logging=stderr"),
            *("--dump-dom", file.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, console_lines(done.stderr)


def test_the_page_fetches_nothing_and_has_no_console_messages(
    made: tuple[Path, str], tmp_path: Path
) -> None:
    text = (made[0] / "profile.html").read_text()
    assert Tags(text).fetched == [("a", "href")]  # a link to its own content
    assert "default-src 'none'; style-src 'sha256-" in text
    shown, reported = complaints(text, tmp_path)
    assert reported == []
    # The script ran: tables can be sorted
    assert "<button" in shown
    for title in ("Utilization of the machine", "Timeline of the recorded steps", "Roofline"):
        assert title in shown


def test_an_interrupted_profile_has_a_page(profile: dict[str, Any]) -> None:
    lists = ("layers", "operators", "parts", "timeline", "usage", "levels", "intervals", "steps_ms")
    empty = {name: [] for name in lists}
    text = render({**profile, **empty, "roof": None, "complete": False})
    assert "interrupted" in text
    assert "Roofline" not in text
    assert "interrupted" not in render(profile)


def test_a_name_with_html_is_escaped(profile: dict[str, Any]) -> None:
    evil = "<script>alert(1)</script>"
    layers = [{**each, "kind": evil} for each in profile["layers"]]
    assert evil not in render({**profile, "layers": layers, "device_name": evil})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["llama31_8"], "no bundled trainer is named llama31_8; did you mean llama31_8b"),
        (["llama31_8b", "--device", "cuda:99"], "--device is cuda"),
        (["llama31_8b", "--device", "abacus"], "--device is abacus; expected auto, cpu or cuda"),
        (["ncf", "--device", "cpu", "--precision", "tf32"], "cpu has no TF32"),
        (["llama31_8b", "--scale", "reference"], "--data is required at reference scale"),
        (["llama31_8b", "--set", "last_step"], "--set: expected KEY=VALUE, got 'last_step'"),
    ],
)
def test_a_bad_argument_is_an_error_of_one_line(words: list[str], said: str) -> None:
    if "cuda:99" in words and torch.cuda.is_available():
        pytest.skip("there is a device")
    status, out, err = podium("profile", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_missing_torch_is_reported_with_its_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("podium.reference_runs.catalogue.import_module", missing_torch(missing))
    status, _, err = podium("profile", "llama31_8b")
    assert (status, err.count("\n")) == (2, 1)
    assert "pip install torch" in err


def missing_torch(missing: Any) -> Any:
    from importlib import import_module

    return lambda name: missing(name) if name == "torch" else import_module(name)


def test_a_folder_that_is_not_empty_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    status, _, err = podium("profile", "llama31_8b", "--output", tmp_path)
    assert (status, err.count("\n")) == (2, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_interrupted_profile_keeps_its_finished_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    home = "podium.reference_runs.profiling.measuring.Measuring.kernels"
    monkeypatch.setattr(home, die)
    folder = tmp_path / "out"
    status, _, _ = podium("profile", "llama31_8b", *FAST, "--output", folder)
    assert status == 130
    kept = json.loads((folder / "profile.json").read_text())
    assert [each["level"] for each in kept["levels"]] == ["bare", "run", "layers"]
    assert kept["layers"]
    assert (kept["operators"], kept["complete"]) == ([], False)
    assert "interrupted" in (folder / "profile.html").read_text()


@pytest.mark.long
def test_a_killed_profile_keeps_its_finished_levels(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    words = ("-m", "podium", "profile", "ncf", "--device", "cpu", "--turns", "2")
    with subprocess.Popen(
        [sys.executable, *words, "--output", str(folder)],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:
        until = time.monotonic() + 300
        while not (folder / "layers.csv").exists() and time.monotonic() < until:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    kept = json.loads((folder / "profile.json").read_text())
    assert [each["level"] for each in kept["levels"]] == ["bare", "run", "layers"]
    assert kept["complete"] is False
    assert "interrupted" in (folder / "profile.html").read_text()
    # The samples until then are complete lines
    lines = (folder / "usage.txt").read_text().splitlines()
    assert [json.loads(line.split(":::MLLOG ")[1])["key"] for line in lines]
    assert (folder / "log.txt").read_text().count("block_stop") == 2


@pytest.mark.parametrize("level", ["run", "layers"])
def test_the_level_option_sets_the_deepest_level(level: str, tmp_path: Path) -> None:
    few = ("--device", "cpu", "--turns", "1", "--steps", "3", "--utilisation", "none")
    status, out, _ = podium("profile", "ncf", *few, "--level", level, "--output", tmp_path / "out")
    assert status == 0
    kept = json.loads((tmp_path / "out/profile.json").read_text())
    assert kept["levels"][-1]["level"] == level
    assert (kept["complete"], kept["usage"], kept["operators"]) == (True, [], [])
    assert "aten::" not in out


@pytest.mark.parametrize("text", PAGES.values(), ids=PAGES)
def test_pages_of_studies_fetch_nothing(text: str) -> None:
    # Only the script of the page itself
    assert text.count("<script>") == 1
    assert Tags(text).fetched == [("a", "href")]
    assert "default-src 'none'; style-src 'sha256-" in text


@pytest.mark.long
@pytest.mark.parametrize("text", PAGES.values(), ids=PAGES)
def test_pages_of_studies_have_no_console_messages(text: str, tmp_path: Path) -> None:
    shown, reported = complaints(text, tmp_path)
    assert reported == []
    assert "<button" in shown
