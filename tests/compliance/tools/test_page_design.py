"""The design of every kind of page: it fits the window, and axe-core finds no violations."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.compliance.command_line import podium
from tests.compliance.tools.review.rounds import NAME, own, relearned, submission
from tests.compliance.tools.store.sites import Row, rewritten
from tests.compliance.tools.store.stores import built
from tests.compliance.web import chromium, seen
from tests.reference_runs.profiling.study_pages import PAGES as STUDIES

pytestmark = pytest.mark.long

AXE = "axe-core@4.14.1"
WIDTHS = (1300, 1100, 400)
MODEL = "benchmarks/b-training-llama31_8b.html"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chromium()
    return tmp_path_factory.mktemp("design")


@pytest.fixture(scope="module")
def review(place: Path) -> Path:
    """A review with a copied run, a failed reference point and different settings."""
    acme = submission(place)
    acme.log(1, lambda log: own(log, 0).set("seed", 77))
    # A new file names the closest file, whose path is wider than a phone screen
    folder = f"benchmarks/{acme.benchmark}/implementations/an_implementation_with_a_long_name"
    parts = [[f"part_{number}()" for number in range(first, first + 30)] for first in (0, 20)]
    for name, lines in zip(("first", "second"), parts, strict=True):
        acme.write(f"{folder}/{name}.py", "".join(f"{line}\n" for line in lines))
    submission(place, "Bmce", start=40)
    late = submission(place, "Cmce", start=80)
    late.log(2, lambda log: own(log, 82).set("opt_base_learning_rate", 1e-5), start=80)
    relearned(submission(place, "Dmce", start=120), start=120)
    submission(place, "Emce", start=160)
    done = podium("review", place / NAME, "--output", place / "review", "--quiet")
    assert done.exit_code == 1
    return place / "review"


@pytest.fixture(scope="module")
def site(review: Path, place: Path) -> Path:
    """A site of 5.1 with many results of llama31_8b on 8 and more chips."""
    store = place / "store"
    built(store, review.parent / NAME)

    def change(table: str, row: Row) -> Row:
        if table == "results":
            fast = row["submitter"] == "Bmce"
            row |= {"model": "llama31_8b", "chips": 8 if fast else 64, "chip": "NVIDIA B200"}
            row |= {"score": 80.0 if fast else 12.0, "nodes": 1 if fast else 8}
        return row

    changed = rewritten(store, place / "changed", change)
    done = podium("results", "site", changed, "--output", place / "site", "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    return place / "site"


@pytest.fixture(scope="module")
def single(review: Path, place: Path) -> Path:
    """Reports that consist of one page."""
    folder = place / "single"
    folder.mkdir()
    for command in ("check", "score"):
        page = folder / f"{command}.html"
        podium(command, review.parent / NAME, "--format", "html", "--output", page, "--quiet")
    return folder


@pytest.fixture(scope="module")
def measured(place: Path) -> Path:
    """Pages of a profile, of kernels, of studies and of a plan, each in one file."""
    pytest.importorskip("torch")
    folder = place / "measured"
    folder.mkdir()
    profile = ("profile", "llama31_8b", "--device", "cpu", "--turns", "1", "--steps", "4")
    kernels = ("kernels", "from", "llama31_8b", "--device", "cpu", "--budget", "2s", "--quiet")
    for name, words in (("profile", profile), ("kernels", kernels)):
        done = podium(*words, "--output", place / name)
        assert (done.exit_code, done.stderr) == (0, "")
        shutil.copy(place / name / f"{name}.html", folder)
    for name, text in STUDIES.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


PAGES = (
    ("site", "index.html"),
    ("site", MODEL),
    ("site", "results/*Acme*"),
    ("site", "submitters/*Acme*"),
    ("site", "systems/*Acme*"),
    ("site", "submitters.html"),
    ("site", "systems.html"),
    ("site", "analyses.html"),
    ("site", "analyses/variance.html"),
    ("site", "search.html"),
    ("site", "compare.html"),
    ("site", "about.html"),
    ("review", "index.html"),
    ("review", "benchmark-*.html"),
    ("review", "submitter-Acme.html"),
    ("review", "rules.html"),
    ("review", "code.html"),
    ("review", "code-Acme*.html"),
    ("single", "check.html"),
    ("single", "score.html"),
    ("measured", "profile.html"),
    ("measured", "kernels.html"),
    *(("measured", f"{name}.html") for name in STUDIES),
)
KINDS = pytest.mark.parametrize(("folder", "pattern"), PAGES)
SCRIPTS = {"site": "pages.js", "review": "review.js"}


def read(folder: Path, pattern: str, act: str, place: Path, width: int = 1300, at: str = "") -> Any:
    """Return the value that the script `act` computes on a page of a folder."""
    page = next(iter(sorted(folder.glob(pattern))))
    if folder.name not in SCRIPTS:
        # The policy of the page allows only its own script, so the test page has no policy
        copy = place / "bare"
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        bare = copy / page.name
        text = re.sub(r'<meta http-equiv="Content[^>]*>', "", page.read_text(encoding="utf-8"))
        bare.write_text(text.replace("</body>", '<script src="act.js"></script></body>'))
        (copy / "act.js").write_text("")
        folder, script = copy, "act.js"
    else:
        script = SCRIPTS[folder.name]
    whole = f"addEventListener('load', async () => {{ {act} }});"
    size = f"--window-size={width},900"
    name = page.relative_to(page.parents[len(Path(pattern).parts) - 1]).as_posix()
    if width < LEAST_WINDOW:
        # A window cannot be this narrow, but a frame can
        (place / "pages").mkdir(parents=True, exist_ok=True)
        frame = f'<iframe width="{width}" height="900" style="border: 0" src="{name}{at}"></iframe>'
        (place / "pages/frame.html").write_text(f"<body>{frame}<script>{LISTEN}</script></body>")
        name, at = "frame.html", ""
    shown, _ = seen(folder, name, place, script, whole, size, at=at)
    found = re.search(r'data-read="(.*?)"', shown)
    assert found, "the script of the test did not end"
    return json.loads(found[1].replace("&quot;", '"').replace("&amp;", "&").replace("&gt;", ">"))


TELL = """
const value = JSON.stringify(%s);
document.body.dataset.read = value;
if (parent !== window) parent.postMessage(value, "*");
"""
LISTEN = "addEventListener('message', ({ data }) => { document.body.dataset.read = data; });"
LEAST_WINDOW = 500


@pytest.fixture
def folder_of(request: pytest.FixtureRequest, folder: str) -> Path:
    found: Path = request.getfixturevalue(folder)
    return found


@pytest.mark.daily(2)
@KINDS
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_do_not_scroll_sideways(
    folder_of: Path, folder: str, pattern: str, width: int, tmp_path: Path
) -> None:
    act = TELL % "[innerWidth, document.documentElement.scrollWidth, document.body.scrollHeight]"
    inner, wide, high = read(folder_of, pattern, act, tmp_path, width)
    assert inner == width
    assert wide <= inner
    assert high < (12_000 if width > 1000 else 30_000)


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core from the npm registry; skips if it cannot be fetched."""
    if shutil.which("npm") is None:
        pytest.skip("npm, which fetches axe-core, is not here")
    home = tmp_path_factory.mktemp("axe")
    words = ["npm", "install", "--no-save", "--ignore-scripts", "--prefix", str(home), AXE]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"axe-core cannot be fetched: {done.stderr.splitlines()[-1:]}")
    return (home / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.mark.daily(2)
@KINDS
@pytest.mark.parametrize("width", [1300, 400])
def test_axe_finds_no_violations(
    folder_of: Path, folder: str, pattern: str, width: int, axe: str, tmp_path: Path
) -> None:
    act = "const { violations } = await axe.run(document, { resultTypes: ['violations'] });"
    act += TELL % "violations.map((each) => [each.id, each.nodes.map((one) => one.html)])"
    assert read(folder_of, pattern, f"{axe};{act}", tmp_path, width) == []


def test_table_headers_stay_in_view_after_three_screens(site: Path, tmp_path: Path) -> None:
    act = """
    const body = document.querySelector("#results tbody");
    const rows = [...body.rows];
    for (let at = 0; at < 150; at += 1) body.append(rows[at % rows.length].cloneNode(true));
    const head = document.querySelector("#results thead th");
    const wide = head.closest(".wide");
    scrollTo(0, wide.getBoundingClientRect().top + scrollY + 3 * innerHeight);
    const tools = tables.get("results").tools.getBoundingClientRect();
    const box = head.getBoundingClientRect();
    """
    tops = "[tools.top, tools.bottom, box.top, box.bottom, innerHeight]"
    tools, below, top, bottom, height = read(site, MODEL, act + TELL % tops, tmp_path)
    assert -1 <= tools < below <= top + 1 < bottom < height


def test_a_column_in_the_address_may_have_a_comma_in_its_name(review: Path, tmp_path: Path) -> None:
    act = """
    const view = tables.get("results");
    const shown = view.heads.filter((head) => head.checkVisibility())
      .map((head) => head.textContent);
    """
    at = "#results.columns=system,speed+%E2%80%A0%2C+of+peers,unit"
    heads = read(review, "benchmark-*.html", act + TELL % "shown", tmp_path, at=at)
    assert heads == ["system", "speed †, of peers", "unit"]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_open_column_chooser_stays_in_the_window(
    review: Path, tmp_path: Path, width: int
) -> None:
    act = """
    const details = document.querySelector("details.chooser");
    // At the right end of its line, as after many choices
    Object.assign(details.style, { order: "9", marginLeft: "auto" });
    details.open = true;
    await new Promise((done) => { setTimeout(done, 50); });
    const box = details.querySelector("fieldset").getBoundingClientRect();
    """
    tell = TELL % "[box.left, box.right, document.documentElement.scrollWidth, innerWidth]"
    left, right, wide, inner = read(review, "benchmark-*.html", act + tell, tmp_path, width)
    assert 0 <= left < right <= inner
    assert wide <= inner


def test_nine_columns_of_results_fit(review: Path, tmp_path: Path) -> None:
    act = "const heads = [...document.querySelectorAll('#results thead th')];"
    tell = TELL % "heads.filter((head) => head.checkVisibility()).length"
    assert read(review, "benchmark-*.html", act + tell, tmp_path) == 9


def test_text_in_a_plot_is_larger_on_a_phone(site: Path, tmp_path: Path) -> None:
    act = "const text = document.querySelector('.plot text');"
    tell = TELL % "parseFloat(getComputedStyle(text).fontSize)"
    wide = read(site, MODEL, act + tell, tmp_path / "wide")
    assert read(site, MODEL, act + tell, tmp_path / "phone", 400) > wide


TICK = """
const boxes = [...document.querySelectorAll("#results .tick")];
const tick = (box) => { box.checked = true; box.dispatchEvent(new Event("change")); };
const anchor = () => document.querySelector("a.compare");
"""


def test_selected_results_open_side_by_side(site: Path, tmp_path: Path) -> None:
    act = f"{TICK} tick(boxes[0]); const first = anchor().hasAttribute('href'); tick(boxes[1]);"
    tell = TELL % "[first, anchor().textContent, anchor().getAttribute('href'), location.hash]"
    first, text, href, here = read(site, MODEL, act + tell, tmp_path / "a")
    assert (first, text) == (False, "Compare 2 results")
    file, _, at = href.partition("#")
    assert file == "../compare.html"
    assert here == f"#{at.replace('r=', 'results.compare=', 1)}"
    systems = "[...document.querySelectorAll('#comparison thead a')].length"
    pairs = read(site, "compare.html", TELL % systems, tmp_path / "b", at=f"#{at}")
    assert pairs == 2


def test_a_fifth_result_cannot_be_selected(site: Path, tmp_path: Path) -> None:
    act = f"{TICK} boxes.slice(0, 4).forEach(tick);"
    shown = read(site, MODEL, act + TELL % "boxes.map((box) => box.disabled)", tmp_path)
    assert len(shown) > 4
    assert shown == [False] * 4 + [True] * (len(shown) - 4)


def test_the_fastest_result_on_eight_chips_is_two_clicks_away(site: Path, tmp_path: Path) -> None:
    first = """
    const cell = [...document.querySelectorAll("#matrix-training tbody tr")]
      .find((row) => row.cells[0].textContent === "llama31_8b").cells[1];
    """
    href = read(
        site, "index.html", first + TELL % "cell.querySelector('.count').href", tmp_path / "a"
    )
    file, _, at = href.partition("#")
    assert (file.endswith(MODEL), at) == (True, "round=5.1")
    second = """
    const select = [...document.querySelectorAll("label")]
      .find((each) => each.textContent.startsWith("chips")).querySelector("select");
    select.value = "8"; select.dispatchEvent(new Event("change"));
    const row = [...document.querySelector("#results tbody").rows].find((each) => !each.hidden);
    """
    shown = read(site, MODEL, second + TELL % "row.textContent", tmp_path / "b", at=f"#{at}")
    assert re.search(r"5\.1\s*8\s*B200\s*80\s*Bmce", shown)


def test_copies_and_mixed_settings_are_on_the_first_screen(review: Path, tmp_path: Path) -> None:
    act = """
    const rows = [...document.querySelectorAll("#queue tbody tr")]
      .filter((row) => row.getBoundingClientRect().bottom < innerHeight)
      .map((row) => row.cells[1].textContent);
    """
    kinds = read(review, "index.html", act + TELL % "rows", tmp_path)
    assert {"copies", "settings"} <= {*kinds}
    assert kinds[0] == "copies"


def test_visible_rows_are_copied_as_csv(site: Path, tmp_path: Path) -> None:
    act = """
    const button = document.querySelector(".csv");
    button.click();
    """
    text = read(site, MODEL, act + TELL % "button.value", tmp_path, at="#chips=8&results.chips=8")
    head, *rows = text.split("\r\n")
    assert head.startswith("system,round,chips,chip,minutes †")
    assert rows == [row for row in rows if ",5.1,8,B200,80," in row]
    assert rows


def test_filters_are_kept_in_links_to_other_pages(site: Path, tmp_path: Path) -> None:
    act = """
    const link = document.querySelector("nav a[href*='submitters']");
    link.dispatchEvent(new Event("focusin", { bubbles: true }));
    """
    href = read(site, MODEL, act + TELL % "link.href", tmp_path, at="#round=5.1&results.chips=8")
    assert href.endswith("submitters.html#round=5.1")


def test_a_box_in_the_plot_selects_rows(site: Path, tmp_path: Path) -> None:
    act = """
    const plot = document.querySelector("svg.scatter:not([hidden])");
    const dot = [...plot.querySelectorAll("circle[data-r]")].reduce((a, b) => (
      Number(a.getAttribute("cx")) < Number(b.getAttribute("cx")) ? a : b));
    dot.scrollIntoView({ block: "center" });
    const { left, right, top, bottom } = dot.getBoundingClientRect();
    const send = (target, kind, x, y) => target.dispatchEvent(
      new PointerEvent(kind, { clientX: x, clientY: y, bubbles: true, button: 0 }));
    send(plot, "pointerdown", left - 6, top - 6);
    send(window, "pointermove", right + 6, bottom + 6);
    send(window, "pointerup", right + 6, bottom + 6);
    const rows = [...document.querySelector("#results tbody").rows]
      .filter((row) => !row.hidden).map((row) => row.cells[2].textContent);
    """
    assert read(site, MODEL, act + TELL % "rows", tmp_path) == ["8"]
