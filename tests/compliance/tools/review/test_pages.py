"""The pages of a review: links are valid, no network is used, and text from logs is inert."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from tests.compliance.tools.review.rounds import NAME, own, relearned, submission
from tests.compliance.web import POLICY, Reader, chromium, dead_links
from tests.compliance.web import seen as seen_in

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\x1b[31m\u202e"
DRAWN = all(importlib.util.find_spec(name) for name in ("altair", "vl_convert"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A review of three submissions, one of which has hostile names and values."""
    place = tmp_path_factory.mktemp("pages")
    acme = submission(place)
    acme.log(1, lambda log: own(log, 0).set("seed", 77))
    submission(place, "Bmce", start=40)
    evil = submission(place, "Evil <b>&co", start=80)
    evil.system("ex_n8", framework=HOSTILE, system_name=HOSTILE)
    relearned(evil, 80, change=lambda log: log.set("opt_name", HOSTILE))
    output = place / "review"
    assert cli.run(["review", str(place / NAME), "--output", str(output), "-q"]) == Exit.FOUND
    return output


def pages(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.html"))


def test_a_page_with_a_dagger_has_its_footnote(folder: Path) -> None:
    marked = [page for page in pages(folder) if "†" in Reader(page).text.partition("podium 0")[0]]
    assert {"index.html", "benchmark-llama31_405b.html"} <= {page.name for page in marked}
    for page in marked:
        assert "† Derived by podium" in Reader(page).text, page.name


def test_there_is_a_page_for_every_benchmark_and_submitter(folder: Path) -> None:
    names = {page.name for page in pages(folder)}
    assert {"index.html", "rules.html", "benchmark-llama31_405b.html"} <= names
    assert sum(name.startswith("submitter-") for name in names) == 3


def test_every_link_has_a_target_in_the_folder(folder: Path) -> None:
    assert dead_links(folder) == []


def test_pages_have_landmarks_headers_and_unique_names(folder: Path) -> None:
    for page in pages(folder):
        read = Reader(page)
        for landmark in ("header", "nav", "main", "footer", "h1", "title"):
            assert read.tags.count(landmark) == 1, (page.name, landmark)
        assert len(read.ids) == len({*read.ids}), page.name
        assert read.tags.count("caption") == read.tags.count("table")
        scopes = [value for tag, name, value in read.attributes if (tag, name) == ("th", "scope")]
        assert len(scopes) == read.tags.count("th")
        alternatives = [value for tag, name, value in read.attributes if name == "alt"]
        assert len(alternatives) == read.tags.count("img")
        assert all(alternatives)


def test_pages_make_no_network_requests(folder: Path) -> None:
    pictures = (folder / "charts").glob("benchmark-*.js")
    for path in (*pages(folder), folder / "style.css", folder / "review.js", *pictures):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttp|import\(", text), path.name
    for page in pages(folder):
        assert f'content="{POLICY}"' in page.read_text(encoding="utf-8")


def test_text_from_logs_and_descriptions_is_inert(folder: Path) -> None:
    for page in pages(folder):
        read = Reader(page)
        assert read.tags.count("script") == 1
        assert not {name for _, name, _ in read.attributes if name.startswith("on")}
        assert "style" not in {name for _, name, _ in read.attributes}
        text = page.read_text(encoding="utf-8")
        assert "\x1b" not in text
        assert "\u202e" not in text
    for path in (folder / "objections").iterdir():
        text = path.read_text(encoding="utf-8")
        assert "\x1b" not in text
        assert not re.search(r"^(?! {4}).*<script", text, re.MULTILINE), path.name


def test_every_page_is_marked_as_confidential(folder: Path) -> None:
    for path in (*pages(folder), folder / "README.md", folder / "review.json"):
        assert "confidential" in path.read_text(encoding="utf-8")


@pytest.mark.skipif(not DRAWN, reason="the libraries that draw curves are not here")
def test_curves_are_drawn_and_shown(folder: Path) -> None:
    pictures = sorted((folder / "charts").glob("*.svg"))
    assert [path.name for path in pictures] == [
        "benchmark-llama31_405b-quality-minutes-1.svg",
        "benchmark-llama31_405b-quality-progress-1.svg",
    ]
    for path in pictures:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("<svg")
        assert "<script" not in text
    assert Reader(folder / "benchmark-llama31_405b.html").tags.count("img") == 2


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> str:
    return chromium()


def seen(browser: str, page: Path, profile: Path, act: str = "", *more: str) -> tuple[str, str]:
    return seen_in(page.parent, page.name, profile, "review.js", act, *more)


@pytest.mark.parametrize("name", ["index", "benchmark-llama31_405b", "submitter-Acme", "rules"])
def test_pages_load_without_errors_under_their_policy(
    browser: str, folder: Path, tmp_path: Path, name: str
) -> None:
    shown, complaints = seen(browser, folder / f"{name}.html", tmp_path)
    assert complaints == ""
    assert "<title>owned" not in shown
    assert '<button type="button">' in shown  # the script has run


def test_a_table_is_sorted_by_its_numbers(browser: str, folder: Path, tmp_path: Path) -> None:
    act = """
    const table = document.getElementById("submitters");
    const heads = [...table.tHead.rows[0].cells];
    const head = heads.find((each) => each.textContent === "open objections");
    head.firstChild.click(); head.firstChild.click();
    document.title = [head.getAttribute("aria-sort"), ...[
      ...table.tBodies[0].rows
    ].map((row) => row.cells[4].dataset.value)].join(" ");
    """
    shown, complaints = seen(browser, folder / "index.html", tmp_path, act)
    title = re.findall(r"<title>(.*?)</title>", shown)[0].split()
    assert title[0] == "descending"
    counts = [int(each) for each in title[1:]]
    assert counts == sorted(counts, reverse=True)
    assert len({*counts}) > 1
    assert complaints == ""


def test_rows_are_filtered_by_words(browser: str, folder: Path, tmp_path: Path) -> None:
    act = """
    const input = document.querySelector("label.filter input");
    input.value = "bmce"; input.dispatchEvent(new Event("input"));
    document.title = document.querySelector(".tools output").value;
    """
    shown, _ = seen(browser, folder / "benchmark-llama31_405b.html", tmp_path, act)
    assert "<title>1 of 3 rows</title>" in shown


FRAMES = "--run-all-compositor-stages-before-draw"
"""Makes a headless browser lay out frames, so that a page knows which parts are in view."""


@pytest.mark.skipif(not DRAWN, reason="the libraries that draw curves are not here")
def test_curves_in_view_show_values_and_can_be_selected_by_run(
    browser: str, folder: Path, tmp_path: Path
) -> None:
    act = """
    (async () => {
      // A budget of virtual time ends with the frames that are asked for
      let frames = 0;
      const next = () => { if (frames++ < 90) requestAnimationFrame(next); };
      next();
      const pause = () => new Promise((done) => setTimeout(done, 20));
      document.getElementById("curves").scrollIntoView();
      let figure;
      while (!(figure = document.querySelector("figure.drawn"))) await pause();
      figure.querySelector(".runs button[value='1']").click();
      await pause();
      const tip = document.querySelector(".tip");
      const canvas = figure.querySelector("canvas");
      const box = canvas.getBoundingClientRect();
      const tips = new Set();
      for (let y = 20; y < 150; y += 5) for (let x = 50; x < 240; x += 5) {
        const at = { clientX: box.x + x, clientY: box.y + y, bubbles: true };
        canvas.dispatchEvent(new PointerEvent("pointermove", at));
        if (!tip.hidden) tips.add(tip.textContent);
      }
      document.title = JSON.stringify([...tips]);
    })();
    """
    page = folder / "benchmark-llama31_405b.html"
    shown, complaints = seen(browser, page, tmp_path, act, FRAMES)
    assert complaints == ""
    tips = re.findall(r"<title>(.*?)</title>", shown)[0]
    points = re.findall(r"run: (result_\d)\.txtsamples: [\d,]+quality: \d\.\d+", tips)
    assert {*points} == {"result_1"}
    assert shown.count('aria-pressed="true"') == 1
    label = 'aria-label="Quality over training of llama31_405b'
    assert re.search(rf'role="img"[^>]* {label}|{label}[^>]* role="img"', shown)
