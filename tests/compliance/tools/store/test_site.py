"""The pages of a store: links are valid, no network is used, and names are inert."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from podium.compliance.files.staging import PREFIX
from tests.compliance.command_line import podium
from tests.compliance.tools.store.sites import Row, made, rewritten, text_of
from tests.compliance.tools.store.stores import content
from tests.compliance.web import POLICY, Reader, dead_links

HOSTILE = "\"><script>document.title='owned'</script><img src=x onerror=alert(1)>\x1b[31m\u202e"
UP = "../../../evil"
BLOB = "https://example.org/{round}/blob"
SECTIONS = ("runs", "curves", "findings", "quote")


@pytest.fixture(scope="module")
def store(two_submissions: Path) -> Path:
    return two_submissions


@pytest.fixture(scope="module")
def site(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(store, tmp_path_factory.mktemp("plain") / "site", "--source", BLOB)


@pytest.fixture(scope="module")
def hostile(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a store in which all names of a submission are hostile."""

    def change(_: str, row: Row) -> Row:
        for name in row.keys() & {"chip", "category", "framework", "message", "key", "rule"}:
            row[name] = HOSTILE
        for name in row.keys() & {"metric", "unit", "accelerator", "name", "verdict", "role"}:
            row[name] = row[name] and "javascript:alert(1)" + HOSTILE
        for name in row.keys() & {"benchmark", "model", "division", "seed"}:
            row[name] = row[name] and UP + HOSTILE * 9
        for name in row.keys() & {"submitter", "system"}:
            row[name] = {"Acme": UP, "Bmce": UP + HOSTILE}.get(row[name], f"con{HOSTILE}")
        for name in row.keys() & {"result", "file"}:
            row[name] = (
                row[name].replace("/Bmce/", f"/{UP}/{HOSTILE}/").replace("/Acme/", f"/{UP}/")
            )
        if "fields" in row:
            row["fields"] = '{"<b onclick=x>": ["</dd><script>"], "a": "javascript:x"}'
        return row

    place = tmp_path_factory.mktemp("hostile")
    return made(rewritten(store, place / "store", change), place / "site", "--source", BLOB)


BOTH = pytest.mark.parametrize("name", ["site", "hostile"])


def pages(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.html"))


@BOTH
def test_every_link_has_a_target_in_the_folder(name: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(name)
    assert dead_links(folder, "https://example.org/") == []
    by_kind = {page.parent.name for page in pages(folder)}
    kinds = {"analyses", "benchmarks", "results", "submitters", "systems"}
    assert by_kind == kinds | {folder.name}


@BOTH
def test_pages_make_no_network_requests(name: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(name)
    outside = set()
    for page in pages(folder):
        text, read = text_of(page), Reader(page)
        assert f'content="{POLICY}"' in text
        loaded = [value or "" for _, at, value in read.attributes if at == "src"]
        assert all(not re.match(r"\w+:|/", value) for value in loaded)
        outside |= {link.split("/")[2] for link in read.links if "://" in link}
    # A path that leaves its folder has no link to a line
    assert outside == ({"example.org"} if name == "site" else set())
    for path in (*folder.glob("*.js"), *folder.glob("*.css")):
        own = re.sub(r"^window\.podiumSearch = .*$", "", text_of(path))
        assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttp|import\(", own), path.name


def test_text_from_a_store_is_inert(hostile: Path, site: Path) -> None:
    known = {tag for page in pages(site) for tag in Reader(page).tags} | {"details", "summary"}
    for page in pages(hostile):
        text, read = text_of(page), Reader(page)
        assert {*read.tags} <= known, page
        assert read.tags.count("script") == (
            3 if page.name in ("search.html", "compare.html") else 1
        )
        names = {name for _, name, _ in read.attributes}
        assert not {name for name in names if name.startswith("on")} | (names & {"style"})
        assert not [
            link for link in read.links if link.lower().startswith(("javascript:", "data:"))
        ]
        assert "\x1b" not in text
        assert "\u202e" not in text
    data = text_of(hostile / "search-data.js")
    assert data.isascii()
    assert "\x1b" not in data


def test_hostile_names_cannot_leave_the_folder(hostile: Path) -> None:
    assert {path.name for path in hostile.parent.iterdir()} == {"store", "site"}
    names = [path.relative_to(hostile).as_posix() for path in hostile.rglob("*") if path.is_file()]
    assert all(re.fullmatch(r"(\w+/)?[A-Za-z0-9.+_-]{1,220}", name) for name in names), names


def test_pages_have_landmarks_and_table_headers(site: Path) -> None:
    for page in pages(site):
        read = Reader(page)
        for landmark in ("header", "nav", "main", "footer", "h1"):
            assert read.tags.count(landmark) == 1, (page.name, landmark)
        assert len(read.ids) == len({*read.ids}), page.name
        assert read.tags.count("caption") == read.tags.count("table")
        scopes = [value for tag, name, value in read.attributes if (tag, name) == ("th", "scope")]
        assert len(scopes) == read.tags.count("th")


def test_a_result_page_has_runs_curves_findings_and_footnotes(site: Path) -> None:
    (page,) = (site / "results").glob("*Acme*")
    read = Reader(page)
    assert {*SECTIONS} <= {*read.ids}
    kinds = [value for tag, name, value in read.attributes if (tag, name) == ("path", "class")]
    assert {"c0", "c1", "c2"} <= {*kinds}  # a curve for each run
    place = "/training_results_v5.1/blob/Acme/results/ex_n8/llama31_405b/result_"
    assert {f"{number}.txt" for number in range(3)} == {
        link.partition(place)[2].partition("#L")[0] for link in read.links if "#L" in link
    }
    note = re.findall(r'<pre class="copy">(.*?)</pre>', text_of(page), re.S)
    assert len(note) == 2
    unverified, published = note
    for said in (
        "MLPerf® Training v5.1",
        "closed division",
        "llama31_405b",
        "Acme",
        "64 ",
        "minutes",
    ):
        assert said in published, said
    assert "ID 5.1-[entry]" in published
    assert "Result not verified by MLCommons Association" in unverified
    assert all("name and logo are registered" in each for each in note)
    assert "† Derived by podium: not an official MLPerf® result" in read.text


def test_every_page_with_derived_numbers_says_that_they_are_not_official(site: Path) -> None:
    derived = [*(site / "analyses").iterdir(), *(site / "results").iterdir(), site / "about.html"]
    for page in derived:
        text = text_of(page)
        assert "not an official MLPerf® result, and not verified by MLCommons" in text, page.name


def test_findings_are_on_the_page_of_their_submitter(site: Path) -> None:
    (page,) = (site / "submitters").glob("*Bmce*")
    assert "number_of_nodes" not in text_of(site / "submitters/s-Acme.html")
    assert re.search(r"<td>(error|warning)<td><code>system\.", text_of(page))


def test_the_same_store_gives_the_same_bytes(site: Path, store: Path, tmp_path: Path) -> None:
    again = made(store, tmp_path / "again", "--source", BLOB)
    assert content(again) == content(site)


def test_pages_are_small(site: Path) -> None:
    first = sum((site / name).stat().st_size for name in ("index.html", "style.css", "pages.js"))
    assert first < 64_000
    assert all(page.stat().st_size < 16_000 for page in (site / "results").iterdir())


def test_an_open_result_is_not_the_best(site: Path, store: Path, tmp_path: Path) -> None:
    def opened(table: str, row: Row) -> Row:
        if table == "results" and row["submitter"] == "Acme":
            row |= {"division": "open", "score": 0.001}
        return row

    def best(folder: Path) -> list[str]:
        return re.findall(r'<div><a href="results/(.*?)" title', text_of(folder / "index.html"))

    changed = made(rewritten(store, tmp_path / "store", opened), tmp_path / "site")
    assert len(best(site)) == len(best(changed)) == 1
    assert "Bmce" in best(changed)[0]
    assert "1 closed, 1 open" in text_of(changed / "index.html")
    page = text_of(changed / "benchmarks/b-training-llama31_405b.html")
    assert page.count("<td>open<td>") == 1


@pytest.mark.parametrize(
    ("first", "then"), [(("5.0", "5.1"), ("6.0", "6.1")), (("5.0", "6.1"), ("5.0", "6.1"))]
)
def test_rounds_that_are_not_comparable_are_shown_separately(
    first: tuple[str, str], then: tuple[str, str], store: Path, tmp_path: Path
) -> None:
    def later(table: str, row: Row) -> Row:
        late = row.get("submitter") == "Bmce"
        if late and table in ("results", "runs"):
            row["round"] = "6.0"
        if table == "results":
            row["comparable_from"], row["comparable_to"] = then if late else first
        return row

    folder = made(rewritten(store, tmp_path / "store", later), tmp_path / "site")
    page = Reader(folder / "benchmarks/b-training-llama31_405b.html")
    assert ("Round over round" in page.text) is (first == then)
    assert ('class="apart"' in text_of(folder / "index.html")) is (first != then)


# --- links to the rounds --------------------------------------------------------------------------


def test_lines_have_no_links_without_a_source(store: Path, tmp_path: Path) -> None:
    folder = made(store, tmp_path / "site")
    assert dead_links(folder) == []
    (page,) = (folder / "results").glob("*Acme*")
    assert re.search(r"</span>result_0\.txt:\d+<td>", text_of(page))


def test_a_source_folder_gives_links_to_the_logs(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    folder = made(store, tmp_path / "site", "--source", ".")
    (page,) = (folder / "results").glob("*Acme*")
    logs = [link for link in Reader(page).links if link.endswith(".txt")]
    assert len(logs) >= 3
    assert all((page.parent / link).is_file() for link in logs)


@pytest.mark.parametrize(
    ("source", "reported"),
    [
        ("javascript:alert(1)//", "neither an http(s) address nor a folder"),
        ("data:text/html,x", "neither an http(s) address nor a folder"),
        ("file:///etc", "neither an http(s) address nor a folder"),
        ("https://me:secret@example.org/x", "user name or password"),
        ("https://[x", "--source"),
        ("http://a\u202eb", "characters that are not allowed in an address"),
        ("no/such/folder", "neither an http(s) address nor a folder"),
    ],
)
def test_an_invalid_source_is_refused(
    source: str, reported: str, store: Path, tmp_path: Path
) -> None:
    done = podium("results", "site", store, "--output", tmp_path / "site", "--source", source)
    assert done.exit_code == 2
    assert reported in " ".join(done.stderr.split())
    assert [*tmp_path.iterdir()] == []


# --- the output folder ----------------------------------------------------------------------------


def test_a_folder_with_files_is_not_changed(store: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/mine.txt").write_text("mine")
    done = podium("results", "site", store, "--output", tmp_path / "site")
    assert (done.exit_code, "already exists" in done.stderr) == (2, True)
    assert content(tmp_path) == {"site/mine.txt": b"mine"}


def test_the_site_is_not_written_into_the_store(store: Path) -> None:
    before = content(store)
    done = podium("results", "site", store, "--output", store / "site")
    assert (done.exit_code, "is inside the tree" in done.stderr) == (2, True)
    assert content(store) == before


def test_a_missing_store_is_reported(tmp_path: Path) -> None:
    done = podium("results", "site", tmp_path / "none", "--output", tmp_path / "site")
    assert (done.exit_code, "no store at" in done.stderr) == (2, True)
    assert [*tmp_path.iterdir()] == []


def test_a_full_disk_leaves_no_files(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Path.write_bytes

    def write(path: Path, data: bytes) -> int:
        if path.name == "index.html":
            raise OSError(28, "No space left on device")
        return kept(path, data)

    monkeypatch.setattr(Path, "write_bytes", write)
    words = ("--output", tmp_path / "site", "--no-charts")
    done = podium("results", "site", store, *words)
    assert (done.exit_code, "No space left on device" in done.stderr) == (2, True)
    assert [*tmp_path.iterdir()] == []


def test_leftovers_of_a_killed_call_are_removed_and_reported(store: Path, tmp_path: Path) -> None:
    left = tmp_path / f"{PREFIX}site.abcdefgh"
    left.mkdir()
    os.utime(left, (0, 0))  # a new folder could belong to a running call
    done = podium("results", "site", store, "--output", tmp_path / "site", "--no-charts")
    assert done.exit_code == 0
    assert "left by a killed call" in done.stderr
    assert re.search(r"site: \d+ pages, [\d.]+ KiB", done.stderr)
    assert not left.exists()
