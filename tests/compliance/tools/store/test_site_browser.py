"""The pages of a store in a browser: the address keeps the filters, and the search finds pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.compliance.command_line import podium
from tests.compliance.tools.store.sites import Row, made, rewritten
from tests.compliance.web import chromium, dead_links, seen

RESULTS = "benchmarks/b-training-llama31_405b.html"
FILTERED = """
const table = document.getElementById("results");
const shown = () => [...table.tBodies[0].rows]
  .filter((row) => !row.hidden).map((row) => row.cells[5].textContent);
const label = (text) => [...document.querySelectorAll("label")]
  .find((each) => each.textContent.startsWith(text));
"""
TELL = "document.title = JSON.stringify(read);"


@pytest.fixture(scope="module")
def site(two_submissions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages with charts of a closed result and of an open result in another round."""

    def change(table: str, row: Row) -> Row:
        if table in ("results", "runs") and row["submitter"] == "Bmce":
            row |= {"round": "6.0", "division": "open"}
        return row

    chromium()
    place = tmp_path_factory.mktemp("shown")
    store = rewritten(two_submissions, place / "store", change)
    done = podium("results", "site", store, "--output", place / "site", "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    return place / "site"


def read(
    site: Path, place: Path, name: str, act: str, at: str = "", script: str = "pages.js"
) -> Any:
    shown, complaints = seen(site, name, place, script, f"{FILTERED}{act}{TELL}", at=at)
    assert complaints == ""
    title = re.findall(r"<title>(.*?)</title>", shown)[0]
    return json.loads(title.replace("&amp;", "&"))


def test_filters_and_sorting_are_stored_in_the_address(site: Path, tmp_path: Path) -> None:
    act = """
    const select = label("round").querySelector("select");
    const read = [shown()];
    select.value = "6.0"; select.dispatchEvent(new Event("change"));
    read.push(shown(), location.hash);
    const input = label("Filter").querySelector("input");
    input.value = "acme ü&="; input.dispatchEvent(new Event("input"));
    table.tHead.rows[0].cells[0].firstChild.click();
    read.push(shown(), Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
    """
    every, chosen, address, none, state = read(site, tmp_path, RESULTS, act)
    assert every == ["Bmce", "Acme"]
    assert (chosen, address) == (["Bmce"], "#round=6.0")
    assert none == []
    assert state == {
        "round": "6.0",
        "q": "acme ü&=",
        "results.sort": "system",
    }


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("#division=open", ["Bmce"]),
        ("#q=ACME+5.1&division=closed", ["Acme"]),
        ("#results.sort=round", ["Acme", "Bmce"]),
        ("#round=9.9", []),
        ("#main", ["Bmce", "Acme"]),
    ],
)
def test_an_address_restores_its_filters(
    address: str, wanted: list[str], site: Path, tmp_path: Path
) -> None:
    act = "const read = shown();"
    assert read(site, tmp_path, RESULTS, act, at=address) == wanted


def test_the_search_finds_results_and_keeps_its_words(site: Path, tmp_path: Path) -> None:
    act = """
    const links = () => [...document.querySelectorAll("#found a, #pages a")]
      .map((each) => each.getAttribute("href"));
    const read = [links(), document.getElementById("count").textContent];
    const input = label("Words").querySelector("input");
    input.value = "acme"; input.dispatchEvent(new Event("input"));
    read.push(links(), location.hash);
    """
    at = "#q=llama&division=open"
    found, count, then, kept = read(site, tmp_path, "search.html", act, at, "search.js")
    assert count == "1 of 2 results"
    assert found == ["results/r-training-6.0-Bmce-ex_n8-llama31_405b.html"]
    assert (then, kept) == ([], "#q=acme&division=open")
    for link in found:
        assert (site / link).is_file()


RESULT = "results/r-training-5.1-Acme-ex_n8-llama31_405b.html"


@pytest.mark.parametrize("name", ["index.html", "analyses/variance.html", RESULT])
def test_pages_load_without_errors(name: str, site: Path, tmp_path: Path) -> None:
    act = (
        "const read = [...document.images].map((each) => { each.loading = 'eager'; return each; })"
    )
    act += ".filter((each) => each.complete && !each.naturalWidth).length;"
    assert read(site, tmp_path, name, act) == 0


def test_analyses_have_their_charts_before_their_rows(site: Path) -> None:
    assert dead_links(site) == []
    text = (site / "analyses/variance.html").read_text(encoding="utf-8")
    assert re.findall(r"<summary><b>(.*?)</b>", text) == ["training 6.0", "training 5.1"]
    assert text.index('<svg class="plot"') < text.index('id="rows"')


def test_scripts_in_a_hostile_store_do_not_run(two_submissions: Path, tmp_path: Path) -> None:
    evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"

    def change(_: str, row: Row) -> Row:
        for name in row.keys() & {"submitter", "system", "model", "chip", "category", "unit"}:
            row[name] = row[name] and evil
        return row

    folder = made(rewritten(two_submissions, tmp_path / "store", change), tmp_path / "site")
    act = "const read = [document.title, document.querySelectorAll('img').length];"
    for name in ("search.html", "systems.html"):
        script = "search.js" if name == "search.html" else "pages.js"
        title, images = read(folder, tmp_path, name, act, script=script)
        assert ("owned" in title, images) == (False, 0)


@pytest.mark.long
@pytest.mark.corpus
def test_the_site_of_all_published_rounds_is_small_and_free_of_errors(
    everything: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    words = ("--output", site, "--quiet", "--source", "https://example.org/{round}/blob")
    done = podium("results", "site", everything, *words)
    assert (done.exit_code, done.output) == (0, "")
    assert dead_links(site, "https://example.org/") == []
    results = [page.stat().st_size for page in (site / "results").iterdir()]
    # All rounds have about 3,200 results, and other pages and charts are about as large in total
    assert sum(results) / len(results) < 12_500
    first = sum((site / name).stat().st_size for name in ("index.html", "style.css", "pages.js"))
    assert first < 1_000_000
    largest = max((site / "results").iterdir(), key=lambda page: page.stat().st_size)
    pages = ("analyses/scaling.html", f"results/{largest.name}", "benchmarks/b-training-bert.html")
    for name in pages:
        assert read(site, tmp_path, name, "const read = 'well';") == "well"


def test_keyboard_shortcuts_reach_the_rows_and_the_search(site: Path, tmp_path: Path) -> None:
    act = """
    const read = [];
    addEventListener("click", (event) => {
      event.preventDefault();
      read.push(event.target.getAttribute("href"));
    });
    const press = (key) => document.activeElement.dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true }));
    press("j");
    read.push(document.activeElement.closest("tr")?.rowIndex);
    press("/");
    """
    assert read(site, tmp_path / "a", "index.html", act) == [1, "search.html"]
    act = f"{act} read.push(document.activeElement.type);"
    assert read(site, tmp_path / "b", RESULTS, act) == [1, "search"]


def test_the_search_lists_the_newest_results_first(site: Path, tmp_path: Path) -> None:
    act = """
    const rows = [...document.querySelectorAll("#found tbody tr")];
    const read = rows.map((row) => row.cells[2].textContent);
    """
    assert read(site, tmp_path, "search.html", act, script="search.js") == ["6.0", "5.1"]
