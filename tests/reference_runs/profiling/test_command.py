"""`podium profile` as its users meet it: tables, files, the page, and what goes wrong."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.cli import run as command
from podium.compliance.report.profiled.page import render
from tests.compliance.web import chromium

torch = pytest.importorskip("torch")

FAST = ("--device", "cpu", "--turns", "1", "--steps", "4")


def podium(*words: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = command([*map(str, words)])
    return status, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of one profile, and what was printed."""
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


def test_the_log_has_the_blocks_and_the_evaluation(profile: dict[str, Any]) -> None:
    assert [each["kind"] for each in profile["intervals"]] == ["block", "evaluation"]
    assert all(each["end_ms"] >= each["begin_ms"] for each in profile["intervals"])


def test_tables_and_trace_say_the_same(made: tuple[Path, str], profile: dict[str, Any]) -> None:
    folder = made[0]
    with (folder / "operators.csv").open(newline="") as stream:
        rows = [*csv.DictReader(stream)]
    assert [float(row["ms"]) for row in rows] == [each["ms"] for each in profile["operators"]]
    trace = folder / "trace.json"
    assert trace.stat().st_size < 50_000_000
    names = {event.get("name", "") for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"layer blocks.0.attention", "aten::mm"} <= names


class Tags(HTMLParser):
    """What a page could fetch, and whether it styles elements one by one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [(tag, name) for name, _ in attrs if name in ("src", "href", "style")]


def complaints(text: str, folder: Path) -> tuple[str, list[str]]:
    """A page's elements in a browser, and what it writes to its console."""
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
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_the_page_fetches_nothing_and_shows_without_complaint(
    made: tuple[Path, str], tmp_path: Path
) -> None:
    text = (made[0] / "profile.html").read_text()
    assert Tags(text).fetched == [("a", "href")]  # to its own content
    assert "default-src 'none'; style-src 'sha256-" in text
    shown, told = complaints(text, tmp_path)
    assert told == []
    # Its script has run: tables can be sorted
    assert "<button" in shown


def test_a_profile_that_was_cut_short_has_a_page(profile: dict[str, Any]) -> None:
    empty = {name: [] for name in ("layers", "operators", "parts")}
    text = render({**profile, **empty, "roof": None, "complete": False})
    assert "cut short" in text
    assert "Roofline" not in text
    assert "cut short" not in render(profile)


def test_a_hostile_name_is_text(profile: dict[str, Any]) -> None:
    evil = "<script>alert(1)</script>"
    layers = [{**each, "kind": evil} for each in profile["layers"]]
    assert evil not in render({**profile, "layers": layers, "device_name": evil})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["llama31_8"], "no bundled trainer is named llama31_8; did you mean llama31_8b"),
        (["llama31_8b", "--device", "cuda:99"], "--device is cuda"),
        (["llama31_8b", "--device", "abacus"], "--device is abacus; must be auto, cpu or cuda"),
        (["llama31_8b", "--scale", "reference"], "--data is needed at reference scale"),
        (["llama31_8b", "--set", "last_step"], "--set is 'last_step'; must be KEY=VALUE"),
    ],
)
def test_what_cannot_be_profiled_is_said_in_one_line(words: list[str], said: str) -> None:
    if "cuda:99" in words and torch.cuda.is_available():
        pytest.skip("there is a device")
    status, out, err = podium("profile", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("podium.reference_runs.catalogue.import_module", missing_torch(missing))
    status, _, err = podium("profile", "llama31_8b")
    assert (status, err.count("\n")) == (2, 1)
    assert "pip install 'podium[reference]'" in err


def missing_torch(missing: Any) -> Any:
    from importlib import import_module

    return lambda name: missing(name) if name == "torch" else import_module(name)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    status, _, err = podium("profile", "llama31_8b", "--output", tmp_path)
    assert (status, err.count("\n")) == (2, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_profile_that_dies_is_kept_as_far_as_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    home = "podium.reference_runs.profiling.session.Measuring.kernels"
    monkeypatch.setattr(home, die)
    folder = tmp_path / "out"
    status, _, _ = podium("profile", "llama31_8b", *FAST, "--output", folder)
    assert status == 130
    kept = json.loads((folder / "profile.json").read_text())
    assert [each["level"] for each in kept["levels"]] == ["bare", "run", "layers"]
    assert kept["layers"]
    assert (kept["operators"], kept["complete"]) == ([], False)
    assert "cut short" in (folder / "profile.html").read_text()
