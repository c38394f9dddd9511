"""Hostile code under review does not run, leave the tree or control the output."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.review.code import diffs
from tests.compliance.tools.review.code_rounds import (
    BENCHMARK,
    CODE,
    NOW,
    TRAIN,
    base,
    edited,
    submit,
    text,
)
from tests.compliance.web import Reader, dead_links

OWNED = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\x1b[31m\u202e"
SECRET = "https://joe:Zx9Qw8Er7T@example.org"


def shown(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert cli.run(["review", "code", *map(str, words)]) in (Exit.CLEAN, Exit.FOUND)
    return capsys.readouterr().out


def test_code_and_file_names_cannot_control_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "\x1b]0;owned\x07\u202e.py"
    submit(tmp_path, "Acme", {f"{CODE}/{name}": f"print('{OWNED}\r\x9b2J')\n"})
    out = shown(capsys, tmp_path / NOW, "Acme")
    assert not {*out} & {"\x1b", "\x07", "\x9b", "\r", "\u202e"}
    assert "\\x1b[31m" in out.replace("\n ", "")


def test_code_and_file_names_are_escaped_in_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(tmp_path, "NVIDIA", base())
    evil = base()
    evil[f"{CODE}/train.py"] = edited(TRAIN, {"    prepare_part_3()": OWNED})
    evil[f"{CODE}/<b onclick=x>&.py"] = f"{OWNED}\n"
    evil[f"{CODE}/config_<i>.sh"] = f"A={OWNED}\nB=2\n"
    submit(tmp_path, "Evil <b>&co", evil)
    folder = tmp_path / "review"
    cli.run(["review", str(tmp_path / NOW), "--output", str(folder), "--no-curves", "-q"])
    capsys.readouterr()
    pages = sorted(folder.glob("code*.html"))
    assert len(pages) == 3
    for page in pages:
        read = Reader(page)
        assert read.tags.count("script") == 1
        assert not {"img", "i"} & {*read.tags}
        assert not {name for _, name, _ in read.attributes if name.startswith("on")}
        assert not {*page.read_text(encoding="utf-8")} & {"\x1b", "\u202e"}
    assert dead_links(folder) == []


def test_links_and_pipes_in_the_code_are_not_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.py").write_text("password = 'of the reviewer'\n")
    root = submit(tmp_path, "Acme", base())
    (root / CODE / "link.py").symlink_to(outside / "private.py")
    (root / CODE / "folder").symlink_to(outside)
    (root / CODE / "circle").symlink_to(root / "benchmarks")
    os.mkfifo(root / CODE / "pipe.py")
    out = shown(capsys, tmp_path / NOW, "--format", "json")
    assert "of the reviewer" not in out
    kinds = {each["path"]: each["kind"] for each in json.loads(out)["cells"][0]["others"]}
    assert kinds == {f"Acme/{CODE}/{name}": "link" for name in ("link.py", "folder", "circle")}


@pytest.mark.parametrize("name", ["benchmarks", f"benchmarks/{BENCHMARK}"])
def test_a_link_in_place_of_a_code_folder_is_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    root = submit(tmp_path, "Acme", base())
    outside = tmp_path / "outside"
    shutil.move(root / name, outside)
    (outside / "secret.py").write_text("treasure = 1\n")
    (outside / "config_ex.sh").write_text("export GLOBAL_BATCH_SIZE=77\n")
    (root / name).symlink_to(outside)
    folder = tmp_path / "review"
    cli.run(["review", str(tmp_path / NOW), "--output", str(folder), "--no-curves", "-q"])
    out = capsys.readouterr().out
    out += "".join(path.read_text() for path in folder.rglob("*.*"))
    assert "treasure" not in out
    assert "secret.py" not in out
    made = json.loads(shown(capsys, tmp_path / NOW, "Acme", "--format", "json"))
    others = [file for cell in made["cells"] for file in cell["others"]]
    assert [(file["path"], file["kind"]) for file in others] == [(f"Acme/{name}", "link")]


def test_no_diff_program_or_filter_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    owned = tmp_path / "owned"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {owned}\n")
    script.chmod(0o755)
    submit(tmp_path, "NVIDIA", base())
    evil = base()
    evil[f"{CODE}/train.py"] = edited(TRAIN, {"import time": "import times"})
    evil[f"{CODE}/.gitattributes"] = "* diff=evil filter=evil\n"
    evil[f"{CODE}/.git/config"] = f'[diff "evil"]\n\ttextconv = {script}\n\tcommand = {script}\n'
    evil[f"{CODE}/--output=owned"] = "a\n"
    root = submit(tmp_path, "Evil", evil)
    # The reviewer may work in the tree and have git settings for such files
    monkeypatch.chdir(root / CODE)
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[diff "evil"]\n\ttextconv = {script}\n[core]\n\tpager = {script}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(script))
    assert "+import times" in shown(capsys, tmp_path / NOW, "Evil")
    assert not owned.exists()


def test_lines_that_look_like_diff_headers_are_shown_as_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"line_{number}" for number in range(30)]
    submit(tmp_path, "NVIDIA", {f"{CODE}/a.py": text(lines), f"{CODE}/z.py": text(lines[::-1])})
    forged = ["diff --git a/a/000001 b/b/000001", "@@ -1,1 +1,1 @@", "-- a/x", "++ b/x"]
    mine = {f"{CODE}/a.py": text([*lines, *forged]), f"{CODE}/z.py": text(["z", *lines[::-1]])}
    submit(tmp_path, "Acme", mine)
    cells = json.loads(shown(capsys, tmp_path / NOW, "Acme", "--format", "json"))["cells"]
    found = {
        diff["path"].rpartition("/")[2]: [
            line for hunk in diff["hunks"] for line in hunk["lines"] if line[0] in "+-"
        ]
        for diff in cells[0]["diffs"]
    }
    assert found == {"a.py": [f"+{line}" for line in forged], "z.py": ["+z"]}


def test_a_null_byte_does_not_hide_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = submit(tmp_path, "Acme", base())
    (root / CODE / "run.sh").write_bytes(b"# \0\ntouch early\n")
    (root / CODE / "late").write_bytes(b"# a\n" * 3000 + b"\0\ntouch late\n")
    out = shown(capsys, tmp_path / NOW, "Acme", "--format", "json")
    assert "+touch early" in out
    (late,) = [
        each for each in json.loads(out)["cells"][0]["diffs"] if each["path"].endswith("late")
    ]
    assert late["to_read"] == 3002


def test_a_file_name_that_is_not_utf_8_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = submit(tmp_path, "Acme", base())
    (root / CODE / os.fsdecode(b"\xff.py")).write_text("odd()\n")
    for form in ("text", "json"):
        out = shown(capsys, tmp_path / NOW, "Acme", "--format", form)
        assert "xff.py" in out
    kept = tmp_path / "read.toml"
    shown(capsys, tmp_path / NOW, "Acme", "--read", kept, "--mark-read", "Ann")
    out = shown(capsys, tmp_path / NOW, "Acme", "--read", kept, "--format", "json")
    assert json.loads(out)["cells"][0]["to_read"] == 0


def test_the_size_of_the_shown_code_is_limited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spaces = " " * 60_000
    files = {f"{CODE}/config_ex.sh": f"A=1\nB=2\nC=x{spaces}y\nversion = {spaces}'\n"}
    files |= {f"{CODE}/n_{number}.py": f"x_{number} = '{number * 7919}'\n" for number in range(30)}
    submit(tmp_path, "Acme", files)
    monkeypatch.setattr(diffs, "MOST_CHARACTERS", 200)
    made = json.loads(shown(capsys, tmp_path / NOW, "Acme", "--format", "json"))
    (cell,) = made["cells"]
    held = [line for diff in cell["diffs"] for hunk in diff["hunks"] for line in hunk["lines"]]
    assert sum(map(len, held)) <= 200
    # Lines that are not shown still count
    assert cell["to_read"] == 34
    assert {each["remark"] for each in cell["diffs"] if not each["hunks"]} == {
        "not shown: the review has too many lines"
    }


def test_a_code_review_does_not_show_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(tmp_path, "NVIDIA", base())
    mine = base()
    mine[f"{CODE}/train.py"] = edited(TRAIN, {"    prepare_part_3()": f"    get('{SECRET}')"})
    mine[f"{CODE}/new.sh"] = f"pip --index {SECRET}/simple\nrun\n"
    submit(tmp_path, "Acme", mine)
    for form in ("text", "json"):
        out = shown(capsys, tmp_path / NOW, "Acme", "--format", form)
        assert "Zx9Qw8Er7T" not in out
        assert out.count("possible secret") == 2


KEY = ["-----BEGIN OPENSSH " + "PRIVATE KEY-----", *["b3BlbnNzaC1rZXk"] * 5]
KEY += ["-----END OPENSSH " + "PRIVATE KEY-----"]


def test_a_code_review_does_not_show_private_keys_or_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = [f"export TOKEN_{number}=hf_{number:034}Zx9Qw8Er7T" for number in range(40)]
    files = {
        f"{CODE}/id_rsa": text(["first", *KEY, "last"]),
        f"{CODE}/config_ex.sh": text(["export A=1", *secrets]),
    }
    submit(tmp_path, "Acme", files)
    for form in ("text", "json"):
        out = shown(capsys, tmp_path / NOW, "Acme", "--format", form)
        assert "b3Blbn" not in out
        assert "Zx9Qw8Er7T" not in out
        assert out.count("+(line hidden: possible secret)") == len(KEY) + len(secrets)
        # The line after the key is shown
        assert "+last" in out


def test_an_anonymous_review_has_no_code_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(tmp_path, "Acme", {f"{CODE}/train.py": "# by Acme\n"})
    folder = tmp_path / "review"
    words = ["--anonymous", "--output", str(folder), "--no-curves", "-q"]
    cli.run(["review", str(tmp_path / NOW), *words])
    capsys.readouterr()
    names = {path.name for path in folder.iterdir()}
    assert not {name for name in names if name.startswith(("code", "read.toml"))} - {"code.css"}
