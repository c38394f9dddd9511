"""`podium review code` shows the lines that changed and no other lines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.review.code import diffs
from podium.compliance.tools.review.render import code_pages
from tests.compliance.tools.review.code_rounds import (
    BEFORE,
    BENCHMARK,
    CODE,
    CONFIG,
    DATA,
    EARLY,
    LATE,
    NOW,
    PATCHED,
    SHUFFLED,
    TRAIN,
    base,
    derived,
    edited,
    library,
    submit,
    text,
)

Json = Any


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return derived(tmp_path_factory.mktemp("code"))


def review(capsys: pytest.CaptureFixture[str], *words: object) -> Json:
    """Return the cells of the review by submitter and benchmark."""
    status = cli.run(["review", "code", *map(str, words), "--format", "json"])
    made = json.loads(capsys.readouterr().out)
    cells = {f"{each['submitter']}/{each['benchmark']}": each for each in made["cells"]}
    assert status == (Exit.FOUND if any(each["to_read"] for each in made["cells"]) else Exit.CLEAN)
    return {name.removesuffix(f"/{BENCHMARK}"): cell for name, cell in cells.items()}


def changes(cell: Json) -> list[tuple[str, list[str]]]:
    """Return the changed lines of each file, without context lines."""
    return [
        (
            diff["path"].partition("/nemo/")[2],
            [line for hunk in diff["hunks"] for line in hunk["lines"] if line[0] in "+-"],
        )
        for diff in cell["diffs"]
    ]


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert cli.run(["review", "code", *map(str, words)]) == Exit.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    return line


# --- changed lines ---


def test_only_changed_lines_are_left_to_read(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = review(capsys, tree)
    assert changes(cells["Acme"]) == [
        ("data.py", ["-def column_7(): pass", "+def column_7(): shuffle(seed=3)"]),
        ("mounts.sh", ["-mount_3=/data/3", "+mount_3=/lustre/3"]),
    ]
    assert changes(cells["Bmce"]) == [
        ("src/trainer.py", ["-    train_block_4()", "+    train_block_4(fp8=True)"]),
        ("NeMo/nemo/part_5.py", ["-x_5_3 = 1", "+x_5_3 = 2"]),
    ]
    assert changes(cells["Cmce"]) == [
        ("train.py", ["-    evaluate_model()", "+    evaluate_model()"])
    ]
    assert {name: cell["to_read"] for name, cell in cells.items() if name != "NVIDIA"} == {
        "Acme": 4,
        "Bmce": 4,
        "Cmce": 2,
    }


BLOCK = ["def forward(x):", "    x = first(x)", "    y = act(x)", "    z = last(y)", "    return z"]


def test_a_change_among_equal_blocks_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = f"{CODE}/model.py"
    changed = [line.replace("act(x)", "act(x) * 2") for line in BLOCK]
    submit(tmp_path, "NVIDIA", {**base(), path: text(BLOCK * 6)})
    submit(tmp_path, "Acme", {**base(), path: text(BLOCK * 2 + changed + BLOCK * 3)})
    cell = review(capsys, tmp_path / NOW, "Acme")["Acme"]
    assert changes(cell) == [("model.py", ["-    y = act(x)", "+    y = act(x) * 2"])]


def test_a_moved_end_of_the_run_has_the_subject_timing(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (diff,) = review(capsys, tree, "Cmce")["Cmce"]["diffs"]
    (hunk,) = diff["hunks"]
    # git reports the evaluation as moved; the end of the run is next to it
    assert hunk["subjects"] == ["timing", "evaluation"]
    assert "     mllogger.end(key='run_stop')" in hunk["lines"]


def test_a_renamed_file_is_compared_with_its_original(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved, patched = review(capsys, tree, "Bmce")["Bmce"]["diffs"]
    assert (moved["kind"], moved["base"]) == ("moved", "NVIDIA 5.1")
    assert moved["base_path"] == f"NVIDIA/{CODE}/train.py"
    assert moved["hunks"][0]["subjects"] == ["numerics"]
    assert (patched["library"], patched["base_path"]) == ("NeMo", f"NVIDIA/{PATCHED}")


def test_a_vendored_library_is_one_entry(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = review(capsys, tree)
    (found,) = cells["Bmce"]["libraries"]
    assert (found["name"], found["version"], found["files"]) == ("NeMo", "2.3.1", 26)
    assert found["patched"] == [f"Bmce/{PATCHED}"]
    assert cells["Bmce"]["vendored"] == 26
    assert cells["Acme"]["libraries"][0]["patched"] == []
    # No earlier copy exists: the reader must know that these files were not reviewed
    assert cells["NVIDIA"]["libraries"][0]["remark"].startswith("no copy to compare with: 26 files")
    assert cells["NVIDIA"]["unverified"] == 24 * 24 + 2
    assert cells["Bmce"]["unverified"] == 0


def test_the_version_of_a_library_is_read_from_a_one_line_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setup = {f"{CODE}/NeMo/setup.py": 'setup(name="nemo", version="1.4.2", packages=[])\n'}
    submit(tmp_path, "Acme", library() | setup)
    (found,) = review(capsys, tmp_path / NOW, "Acme")["Acme"]["libraries"]
    assert found["version"] == "1.4.2"


def test_another_version_of_a_library_is_not_a_patch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(tmp_path, "NVIDIA", base())
    newer = {path: f"{content}\n# 2.4\n" for path, content in library("2.4.0").items()}
    submit(tmp_path, "Acme", {**base(), **newer})
    (found,) = review(capsys, tmp_path / NOW, "Acme")["Acme"]["libraries"]
    assert found["patched"] == []
    assert found["remark"].endswith("differ from the copy of 2.3.1")


def test_a_license_alone_does_not_hide_a_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = {f"{CODE}/tools/LICENSE": "Free\n", f"{CODE}/tools/hack.py": "run_stop_early()\n"}
    submit(tmp_path, "Acme", hidden)
    assert ("tools/hack.py", ["+run_stop_early()"]) in changes(
        review(capsys, tmp_path / NOW)["Acme"]
    )


# --- the order of submitters ---


def test_the_accelerator_vendor_comes_before_submitters_with_earlier_logs(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = review(capsys, tree)
    assert cells["NVIDIA"]["order"] == "vendor of the accelerators"
    assert cells["NVIDIA"]["new"] == 4
    for name in ("Acme", "Bmce", "Cmce"):
        assert cells[name]["base"] == "NVIDIA 5.1"
        assert cells[name]["new"] == 0


def test_shared_code_is_attributed_to_the_first_submitter(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.run(["review", str(tree), "--format", "json", "-q"])
    notes = json.loads(capsys.readouterr().out)["notes"]
    shared = {
        each["submitter"]: each["message"] for each in notes if each["rule"] == "review.shared-code"
    }
    assert shared.keys() == {"Acme", "Bmce", "Cmce"}
    assert all("equal those of NVIDIA" in message for message in shared.values())


def test_without_a_vendor_the_earliest_logs_come_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(tmp_path, "Acme", base(), started=LATE, accelerator="Chip 1")
    submit(tmp_path, "Zmce", base(), started=EARLY, accelerator="Chip 1")
    cells = review(capsys, tmp_path / NOW)
    assert cells["Acme"]["to_read"] == 0
    assert cells["Acme"]["sources"] == {"Zmce 5.1": 4}
    assert cells["Zmce"]["new"] == 4


@pytest.mark.parametrize(("other", "started"), [("Nvidiana", LATE), ("Acme", -1), ("Acme", 10**30)])
def test_a_similar_name_or_an_absurd_time_does_not_make_a_submitter_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str, started: int
) -> None:
    submit(tmp_path, other, base(), started=started)
    submit(tmp_path, "Bmce", base(), started=EARLY)
    cells = review(capsys, tmp_path / NOW)
    assert cells[other]["base"] == "Bmce 5.1"
    assert "vendor" not in cells[other]["order"]


def test_an_earlier_round_comes_before_the_vendor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(tmp_path, "Acme", base(), round=BEFORE)
    submit(tmp_path, "Acme", {**base(), f"{CODE}/data.py": SHUFFLED})
    submit(tmp_path, "NVIDIA", base())
    cells = review(capsys, tmp_path / NOW, "--earlier", tmp_path / BEFORE)
    assert cells["NVIDIA"]["sources"] == {"Acme 5.0": 4}
    assert cells["Acme"]["sources"] == {"own 5.0": 3}
    (diff,) = cells["Acme"]["diffs"]
    assert (diff["base"], diff["to_read"]) == ("own 5.0", 2)
    alone = review(capsys, tmp_path / NOW, "--earlier", tmp_path / BEFORE, "--base", "earlier")
    assert alone["Acme"]["diffs"][0]["base"] == "own 5.0"


def test_files_removed_since_the_earlier_round_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(tmp_path, "Acme", base(), round=BEFORE)
    less = base()
    del less[f"{CODE}/data.py"]
    submit(tmp_path, "Acme", less)
    cells = review(capsys, tmp_path / NOW, "--earlier", tmp_path / BEFORE)
    assert cells["Acme"]["removed"] == [f"Acme/{CODE}/data.py"]


def test_more_than_5000_files_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = {f"{CODE}/configs/config_{number:04}.txt": f"{number}\n" for number in range(5200)}
    submit(tmp_path, "NVIDIA", many)
    submit(tmp_path, "Acme", {**many, f"{CODE}/configs/z.py": "last()\n"})
    cell = review(capsys, tmp_path / NOW, "Acme")["Acme"]
    assert cell["files"] == 5201
    assert cell["to_read"] == 1


# --- requested bases ---


def test_a_checkout_of_the_reference_can_be_the_base(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = tmp_path / "training" / "llama31"
    reference.mkdir(parents=True)
    (reference / "data.py").write_text(text(DATA))
    (reference / "train.py").write_text(text(TRAIN))
    submit(tmp_path, "Acme", {f"{CODE}/data.py": SHUFFLED, f"{CODE}/train.py": text(TRAIN)})
    words = ("--reference", tmp_path / "training")
    for more in ((), ("--base", "reference")):
        cell = review(capsys, tmp_path / NOW, *words, *more)["Acme"]
        (diff,) = cell["diffs"]
        assert (diff["kind"], diff["base"], diff["to_read"]) == ("changed", "reference", 2)
        assert cell["sources"] == {"reference": 1}


def test_the_reference_is_named_without_local_paths(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference, folder = tmp_path / "training", tmp_path / "review"
    reference.mkdir()
    (reference / "data.py").write_text(text(DATA))
    words = ("--reference", str(reference))
    cli.run(["review", str(tree), *words, "--output", str(folder), "--no-curves", "-q"])
    cli.run(["review", "code", str(tree), *words])
    assert "compared with training" in capsys.readouterr().out
    assert "reference: training" in (folder / "code.html").read_text(encoding="utf-8")
    for path in folder.rglob("*"):
        assert path.is_dir() or str(tmp_path) not in path.read_text(encoding="utf-8"), path


def test_a_submitter_can_be_the_base(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = review(capsys, tree, "--base", "Acme")
    assert "Acme" not in cells
    assert [path for path, _ in changes(cells["NVIDIA"])] == ["data.py", "mounts.sh"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("Nobody",), "Nobody is not a submitter here; expected Acme, Bmce, Cmce, NVIDIA"),
        (("Acme/bert",), "Acme/bert has no code; folders of Acme: llama31_8b"),
        (("--base", "Nobody"), "--base Nobody is not known"),
        (("--base", "reference"), "--base reference needs --reference DIR"),
        (("--base", "earlier"), "--base earlier needs --earlier ROUND"),
        (("--reference", "missing"), "--reference missing is not a folder"),
        (("--mark-read", "Ann"), "--mark-read needs --read FILE and SUBMITTER[/BENCHMARK]"),
        (("--read", "missing.toml"), "missing.toml cannot be read"),
        (("--against", "missing"), "missing is not the folder of a review"),
    ],
)
def test_an_invalid_request_is_refused_in_one_line(
    tree: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert said in refused(capsys, tree, *words)


# --- the order of files, and files that are not compared ---


def test_timing_code_is_listed_before_other_code_and_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(tmp_path, "NVIDIA", {**base(), f"{CODE}/README.md": text(["# How"] * 4)})
    mine = base()
    mine[f"{CODE}/README.md"] = text(["# How"] * 4 + ["run_start"])
    changed = {"    prepare_part_3()": "    prepare()", "    train_block_9()": "    time.sleep(1)"}
    mine[f"{CODE}/train.py"] = edited(TRAIN, changed)
    mine[f"{CODE}/data.py"] = edited(DATA, {"import torch": "import torch  # as before"})
    submit(tmp_path, "Acme", mine)
    diffs = review(capsys, tmp_path / NOW, "Acme")["Acme"]["diffs"]
    assert [each["path"].rpartition("/")[2] for each in diffs] == [
        "train.py",
        "data.py",
        "README.md",
    ]
    assert [hunk["subjects"] for hunk in diffs[0]["hunks"]] == [["timing"], ["code"]]
    assert diffs[2]["hunks"][0]["subjects"] == ["document"]


def test_files_that_are_not_text_are_listed_with_their_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("a.pyc", "b.tar.gz", "c.ckpt", "d.ipynb", "e.csv", "f.bin")
    root = submit(tmp_path, "Acme", {f"{CODE}/{name}": "x\n" for name in names})
    (root / CODE / "f.bin").write_bytes(b"\0\1")
    (root / CODE / "big.json").write_text("1\n" * (1 << 17))
    (root / CODE / "big.py").write_text("1\n" * (1 << 20))
    others = review(capsys, tmp_path / NOW)["Acme"]["others"]
    found = {each["path"].rpartition("/")[2]: each["kind"] for each in others}
    assert found == {
        "a.pyc": "compiled code",
        "b.tar.gz": "archive",
        "c.ckpt": "checkpoint",
        "d.ipynb": "notebook",
        "e.csv": "data",
        "f.bin": "binary",
        "big.json": "data",
        "big.py": "large",
    }


def test_the_configuration_table_has_only_variables_that_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = edited(
        CONFIG, {CONFIG[2]: "export TP=8", CONFIG[0]: 'export GLOBAL_BATCH_SIZE="${B:-64}"'}
    )
    files = {f"{CODE}/config_ex.sh": text(CONFIG), f"{CODE}/config_other.sh": other}
    submit(
        tmp_path,
        "Acme",
        files,
        settings={"global_batch_size": 48, "config_filename": "/x/config_ex.sh"},
    )
    used, idle = review(capsys, tmp_path / NOW, "Acme")["Acme"]["configurations"]
    assert used["used_by"] == [f"Acme/results/ex/{BENCHMARK}"]
    assert idle["used_by"] == []
    # Both configurations have the same learning rate
    assert {name: each["value"] for name, each in used["values"].items()} == {
        "GLOBAL_BATCH_SIZE": "32",
        "TP": "4",
    }
    assert used["values"]["GLOBAL_BATCH_SIZE"]["logged"] == "48"
    assert idle["values"]["GLOBAL_BATCH_SIZE"]["value"] == "64"


def test_a_configuration_is_not_assigned_by_a_common_name_prefix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small, large = CONFIG, ["export GLOBAL_BATCH_SIZE=512", *CONFIG[1:]]
    files = {f"{CODE}/config_ex.sh": text(small), f"{CODE}/config_ex_n16.sh": text(large)}
    root = submit(tmp_path, "Acme", files)
    for system in ("ex_n1", "ex_n16"):
        shutil.copytree(root / "results" / "ex", root / "results" / system)
    rows = review(capsys, tmp_path / NOW, "Acme")["Acme"]["configurations"]
    used = {row["path"].rpartition("/")[2]: row["used_by"] for row in rows}
    assert used == {
        "config_ex.sh": [f"Acme/results/ex/{BENCHMARK}"],
        "config_ex_n16.sh": [f"Acme/results/ex_n16/{BENCHMARK}"],
    }


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("# caf\xe9", "# caf\xea", ["-# caf\\xe9", "+# caf\\xea"]),
        ("a = 1", "a\xe2\x80\x8b = 1", ["-a = 1", "+a\\u200b = 1"]),
    ],
)
def test_invalid_bytes_and_invisible_characters_are_escaped(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    before: str,
    after: str,
    lines: list[str],
) -> None:
    submit(tmp_path, "NVIDIA", base())
    submit(tmp_path, "Acme", base())
    for submitter, line in (("NVIDIA", before), ("Acme", after)):
        path = tmp_path / NOW / submitter / CODE / "other.py"
        path.write_bytes(f"{line}\n{text(DATA)}".encode("latin-1"))
    assert changes(review(capsys, tmp_path / NOW)["Acme"]) == [("other.py", lines)]


# --- files that were read ---


def test_a_file_marked_as_read_is_not_shown_again(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "read.toml"
    words = ("--read", kept, "--mark-read", 'Ann "A" \\')
    assert review(capsys, tree, "Acme", *words)["Acme"]["to_read"] == 4
    first = kept.read_text()
    assert sum(line.startswith('"') for line in first.splitlines()) == 2
    cell = review(capsys, tree, "Acme", "--read", kept)["Acme"]
    assert (cell["to_read"], cell["read"]) == (0, 2)
    # One line for each file, in sorted order: git merges the additions of two reviewers
    review(capsys, tree, f"Cmce/{BENCHMARK}", *words)
    lines = [line for line in kept.read_text().splitlines() if line.startswith('"')]
    assert lines == sorted(lines)
    assert set(first.splitlines()) <= set(kept.read_text().splitlines())


def test_a_file_that_was_not_shown_is_not_marked_as_read(
    tree: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = tmp_path / "read.toml"
    monkeypatch.setattr(diffs, "MOST_CHARACTERS", 1)
    review(capsys, tree, "Acme", "--read", kept, "--mark-read", "Ann")
    monkeypatch.undo()
    assert review(capsys, tree, "Acme", "--read", kept)["Acme"]["to_read"] == 4


def test_the_record_of_read_files_is_not_written_into_the_round(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tree / "read.toml"
    said = refused(capsys, tree, "Acme", "--read", kept, "--mark-read", "Ann")
    assert "is inside the tree being read" in said
    assert not kept.exists()


@pytest.mark.parametrize(
    "content",
    ["", 'schema = "podium.read/1"\n[files]\n"xyz" = { by = "Ann" }\n', "schema = 3", "=", "\xff"],
)
def test_an_invalid_record_of_read_files_is_reported(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    kept = tmp_path / "read.toml"
    kept.write_text(content, encoding="latin-1")
    before = kept.read_bytes()
    assert "read.toml: " in refused(capsys, tree, "Acme", "--read", kept, "--mark-read", "Ann")
    assert kept.read_bytes() == before


def test_against_shows_only_new_hunks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = derived(tmp_path)
    folder = tmp_path / "review"
    cli.run(["review", str(place), "--output", str(folder), "--no-curves", "-q"])
    capsys.readouterr()
    target = place / "Acme" / CODE / "data.py"
    target.write_text(target.read_text().replace("column_25(): pass", "column_25(): drop()"))
    cells = review(capsys, place, "--against", folder)
    assert changes(cells["Acme"])[0] == (
        "data.py",
        ["-def column_25(): pass", "+def column_25(): drop()"],
    )
    assert {name: cell["to_read"] for name, cell in cells.items() if cell["to_read"]} == {"Acme": 2}
    assert cells["Acme"]["diffs"][0]["seen"] == 1


def test_a_repeated_change_is_new_even_if_its_lines_were_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = [line.replace("act(x)", "act(x) * 2") for line in BLOCK]
    path, folder = f"{CODE}/model.py", tmp_path / "review"
    submit(tmp_path, "NVIDIA", {**base(), path: text(BLOCK * 6)})
    place = submit(tmp_path, "Acme", {**base(), path: text(BLOCK * 2 + changed + BLOCK * 3)}).parent
    cli.run(["review", str(place), "--output", str(folder), "--no-curves", "-q"])
    capsys.readouterr()
    twice = text(BLOCK * 2 + changed + BLOCK + changed + BLOCK)
    (place / "Acme" / path).write_text(twice)
    cell = review(capsys, place, "--against", folder)["Acme"]
    assert changes(cell) == [("model.py", ["-    y = act(x)", "+    y = act(x) * 2"])]
    assert cell["diffs"][0]["seen"] == 1


@pytest.mark.parametrize("options", [None, ("--anonymous",)])
def test_against_requires_a_review_with_names(
    tree: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...] | None,
) -> None:
    folder = tmp_path / "earlier"
    folder.mkdir()
    expected = "is not the folder of a review"
    if options is not None:
        cli.run(["review", str(tree), "--output", str(folder), "--no-curves", "-q", *options])
        capsys.readouterr()
        expected = "is anonymous; --against needs the review with names"
    assert expected in refused(capsys, tree, "--against", folder)


def test_a_chain_of_reviews_keeps_shown_hunks_and_read_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, first, second = derived(tmp_path), tmp_path / "review", tmp_path / "review-2"
    options = ("--no-curves", "-q")
    cli.run(["review", str(place), "--output", str(first), *options])
    target = place / "Acme" / CODE / "data.py"
    target.write_text(f"{target.read_text()}more()\n")
    kept = first / "read.toml"
    cli.run(["review", "code", str(place), "Cmce", "--read", str(kept), "--mark-read", "Ann"])
    cli.run(["review", str(place), "--against", str(first), "--output", str(second), *options])
    capsys.readouterr()
    assert (second / "read.toml").read_text() == kept.read_text()
    # Neither the hunks of the second review nor those of the first are new
    cells = review(capsys, place, "--against", second)
    assert {cell["to_read"] for cell in cells.values()} == {0}
    assert (cells["Cmce"]["read"], cells["Acme"]["diffs"][0]["seen"]) == (1, 2)


def test_a_page_shows_changed_lines_and_the_command_for_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, folder = derived(tmp_path), tmp_path / "review"
    monkeypatch.setattr(code_pages, "MOST_LINES", 12)
    cli.run(["review", str(place), "--output", str(folder), "--no-curves", "-q"])
    capsys.readouterr()
    page = (folder / f"code-Acme_{BENCHMARK}.html").read_text(encoding="utf-8")
    assert "<ins>+def column_7(): shuffle(seed=3)</ins>" in page
    assert "<del>-def column_7(): pass</del>" in page
    assert "mount_3=/lustre" not in page
    assert f"2 more lines to read: <code>podium review code ROUND Acme/{BENCHMARK}</code>" in page
    matrix = (folder / "code.html").read_text(encoding="utf-8")
    assert matrix.count(f'<a href="code-Acme_{BENCHMARK}.html">') == 1


# --- the terminal ---


def test_long_lines_are_wrapped_at_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "call(" + ", ".join(f"argument_{number}" for number in range(30)) + ")"
    submit(tmp_path, "A" * 60, {f"{CODE}/{'long_' * 20}.py": f"{long}\n"})
    assert cli.run(["review", "code", str(tmp_path / NOW), "A" * 60]) == Exit.FOUND
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert long in shown.replace("\n ", "")
