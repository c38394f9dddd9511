"""Outputs have no active content, and no paths except those that the caller gave."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from podium.compliance.exit_codes import Exit
from podium.compliance.reporting.pages.templates import page_policy
from podium.compliance.reporting.render import FORMATS
from podium.compliance.tools.rcp.plots import Curve, write_plot
from tests.compliance.command_line import podium
from tests.compliance.packs import Loose
from tests.compliance.trees import Submission, usual
from tests.locations import ASKED

HOSTILE = "\"><script>document.title='owned'</script><img src=x onerror=alert(1)>"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def tree(tmp_path: Path) -> Submission:
    """A submission with many errors and with markup in its names."""
    made = usual(tmp_path)
    folder = made.root / "results/ex_n8/llama31_405b"
    (folder / "result_1.txt").write_text("garbage\n")
    (made.root / "results" / "<svg onload=alert(1)>").mkdir()
    description = made.root / "systems/ex_n8.json"
    fields = json.loads(description.read_text()) | {"system_name": HOSTILE, "framework": HOSTILE}
    description.write_text(json.dumps(fields))
    return made


class Tags(HTMLParser):
    """The elements of a page, their attributes, and its policy."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.policy = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        self.attributes |= {*given}
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""


ACTIVE = {"img", "svg", "iframe", "object", "embed", "a", "link", "base", "form", "video", "audio"}


@pytest.mark.parametrize("command", ["check", "score"])
def test_a_page_has_a_strict_policy_and_no_active_content(command: str, tree: Submission) -> None:
    done = podium(command, tree.root, "--round", "5.1", "--format", "html")
    assert done.exit_code == Exit.FOUND, done.stderr
    seen = Tags(done.stdout)
    styles = re.findall("<style>(.*?)</style>", done.stdout, re.S)
    scripts = re.findall("<script>(.*?)</script>", done.stdout, re.S)
    assert len(styles) == 1
    assert seen.policy == page_policy(*styles, *scripts)
    assert "unsafe" not in seen.policy
    assert "default-src 'none'" in seen.policy
    # The filter is a form that sends nothing: it has no `action`, and the policy forbids an action
    assert seen.tags & ACTIVE <= ({"form"} if command == "check" else set())
    assert not {each for each in seen.attributes if each.startswith("on")}
    assert not seen.attributes & {"src", "href", "action", "srcdoc", "style", "formaction"}


@pytest.mark.parametrize("command", ["check", "score"])
def test_a_browser_runs_no_script_of_a_hostile_submission(
    command: str, tree: Submission, tmp_path: Path
) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        (pytest.fail if ASKED else pytest.skip)("chromium is not here")
    page = tmp_path / "page.html"
    podium(command, tree.root, "--round", "5.1", "--format", "html", "--output", page)
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom")
    done = subprocess.run(
        [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "</body>" in done.stdout
    assert "<title>owned" not in done.stdout
    assert "<img" not in done.stdout


def test_a_plot_has_no_active_content(tmp_path: Path) -> None:
    pairs = [(256.0, 3.0), (512.0, 4.0)]
    file = tmp_path / "plot.svg"
    write_plot([Curve(pairs, pairs, pairs, pairs, unit=HOSTILE, title=HOSTILE)], file)
    # Other readers refuse entities; the only declaration names the format
    text = file.read_text(encoding="utf-8")
    assert "<!ENTITY" not in text
    root = ET.fromstring(text)
    tags = {each.tag for each in root.iter()}
    assert not tags & {
        f"{SVG}{tag}" for tag in ("script", "foreignObject", "image", "a", "animate")
    }
    for each in root.iter():
        for name, value in each.attrib.items():
            assert not name.rpartition("}")[2].lower().startswith("on"), name
            if name.endswith("href"):
                assert value.startswith("#"), value
            assert not re.search(r"url\((?!#)", value), value
    assert not re.search(r"@import|javascript:", text)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("command", ["check", "score"])
def test_a_report_does_not_name_the_folder_above_the_given_path(
    command: str, form: str, tree: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only exception is the SARIF field with the folder that its paths are relative to."""
    monkeypatch.chdir(tree.root.parent)
    done = podium(command, tree.root.name, "--round", "5.1", "--format", form)
    if done.exit_code == Exit.USAGE:
        pytest.skip(f"{command} has no format {form}")
    assert done.exit_code == Exit.FOUND
    text = done.output
    if form == "sarif":
        document = json.loads(done.stdout)
        assert document["runs"][0].pop("originalUriBaseIds")
        text = json.dumps(document)
    assert str(tree.root.parent) not in text
    assert str(tree.root.parent).rpartition("/")[2] not in text


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_paths_are_relative_after_a_call_with_an_absolute_path(form: str, tree: Submission) -> None:
    words = ("--round", "5.1", "--relative-to", tree.root, "--format", form)
    done = podium("check", tree.root, *words)
    document = json.loads(done.stdout)
    if form == "json":
        paths = [each["path"] for each in (*document["findings"], *document["files"])]
        assert document["base"] == ""
    else:
        results = document["runs"][0]["results"]
        places = [place for result in results for place in result["locations"]]
        paths = [each["physicalLocation"]["artifactLocation"]["uri"] for each in places]
    assert paths
    assert not [path for path in paths if path.startswith(("/", "file:", ".."))]


def test_a_packed_tree_and_its_receipt_name_no_folder_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other people receive the packed tree, its receipt and its summary page."""
    loose = Loose(tmp_path / "acme")
    monkeypatch.chdir(loose.work)
    assert loose.pack("--receipt-in-tree") == Exit.CLEAN
    files = [path for path in loose.packed.rglob("*") if path.is_file()]
    assert any("receipt" in path.name for path in files)
    for path in (*files, loose.work / "podium-receipt.json", loose.work / "podium-summary.md"):
        assert str(tmp_path).encode() not in path.read_bytes(), path
