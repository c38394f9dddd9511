"""`podium pack` writes exactly the planned tree or keeps the old one."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from podium.compliance.exit_codes import Exit
from podium.compliance.tools.packing.receipt import read_receipt
from tests.compliance.packs import RESULT, Loose, files_in
from tests.locations import ROOT


@pytest.fixture
def loose(tmp_path: Path) -> Loose:
    return Loose(tmp_path)


# --- the tree ---


def test_loose_files_are_packed_into_the_original_tree(loose: Loose) -> None:
    assert loose.pack() == Exit.CLEAN
    assert files_in(loose.packed) == files_in(loose.original.root)


def test_a_dry_run_prints_the_plan_and_writes_no_files(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_in(loose.place)
    assert loose.pack("--dry-run") == Exit.CLEAN
    assert files_in(loose.place) == before
    assert not loose.packed.parent.exists()
    out = capsys.readouterr().out
    assert "result_0.txt" in out
    assert "< docs/README.md" in out
    assert "Dry run: nothing was written" in out
    *lines, last = out.splitlines()
    assert last.startswith("next: podium pack ")
    assert max(map(len, lines)) <= 80


def test_a_plan_is_printed_as_json(loose: Loose, capsys: pytest.CaptureFixture[str]) -> None:
    assert loose.pack("--dry-run", "--format", "json") == Exit.CLEAN
    plan = json.loads(capsys.readouterr().out)
    assert plan["schema"] == "podium.plan/2"
    assert (plan["state"], plan["verdict"], plan["receipt"]) == ("planned", None, None)
    assert {file["path"] for file in plan["files"]} == files_in(loose.original.root).keys()
    assert all(file["renamed"] for file in plan["files"] if file["path"].startswith(RESULT))


def test_packing_twice_changes_nothing(loose: Loose, capsys: pytest.CaptureFixture[str]) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {
            path.as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
            for path in loose.work.rglob("*")
        }

    assert loose.pack() == Exit.CLEAN
    before = state()
    assert loose.pack() == Exit.CLEAN
    assert state() == before
    assert "Nothing to do" in capsys.readouterr().out


def test_executable_bits_and_links_are_kept(loose: Loose) -> None:
    script = loose.put("src/go.sh", "true\n")
    script.chmod(0o755)
    (loose.work / "src/latest").symlink_to("go.sh")
    # The official repository checker reports a link next to its target as broken
    assert loose.pack() == Exit.FOUND
    assert loose.pack("--force") == Exit.CLEAN
    code = loose.packed / "benchmarks/llama31_405b/implementations/ours"
    assert (code / "go.sh").stat().st_mode & stat.S_IXUSR
    assert (code / "latest").readlink() == Path("go.sh")
    assert not (code / "train.py").stat().st_mode & stat.S_IXUSR
    entries = {file["path"]: file for file in loose.receipt()["files"]}
    link = entries["benchmarks/llama31_405b/implementations/ours/latest"]
    assert link["link"] == "go.sh"
    assert link["sha256"] == hashlib.sha256(b"go.sh").hexdigest()


def test_hidden_cached_and_excluded_files_are_left_out(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("src/.env", "src/__pycache__/a.pyc", "src/data/big.bin", "src/keep/a.py"):
        loose.put(path, "x")
    loose.fields["code"][0]["exclude"] = ["data"]
    loose.configure()
    assert loose.pack() == Exit.CLEAN
    packed = {path.rpartition("ours/")[2] for path in files_in(loose.packed)}
    assert "keep/a.py" in packed
    assert not packed & {".env", "__pycache__/a.pyc", "data/big.bin"}
    out = capsys.readouterr().out
    assert "src/.env: its name starts with a dot" in out
    assert "src/data: excluded" in out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_a_pipe_is_left_out_without_opening_it(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(loose.work / "src/pipe")
    os.mkfifo(loose.work / "runs/0/pipe.log") if (loose.work / "runs/0").is_dir() else None
    assert loose.pack() == Exit.CLEAN
    assert "src/pipe: it is not a regular file" in capsys.readouterr().out


def test_documents_may_be_folders_but_not_logs(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    loose.put("paper/figures/a.svg", "<svg/>")
    loose.configure(documents={**loose.fields["documents"], "documentation": "paper"})
    assert loose.pack() == Exit.CLEAN
    assert (loose.packed / "documentation/figures/a.svg").is_file()
    loose.configure(documents={f"{RESULT}/result_7.txt": "docs/README.md"})
    assert loose.pack() == Exit.USAGE
    assert "list it under [[results]]" in capsys.readouterr().err


def test_a_submission_can_be_packed_by_options_alone(
    loose: Loose, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podium.compliance.cli.entry import run

    (loose.work / "podium.toml").unlink()
    monkeypatch.chdir(loose.work)
    options = ["--submitter", "Acme", "--round", "5.1", "--usage", "training"]
    options += ["--division", "closed", "--into", "packed", "--system", "ex_n8=sys.json"]
    options += ["--result", "ex_n8/llama31_405b=runs/**/*.log"]
    options += ["--code", "llama31_405b/ours=src"]
    options += ["--document", "benchmarks/llama31_405b/README.md=docs/README.md"]
    assert run(["pack", *options]) == Exit.CLEAN
    assert files_in(loose.packed) == files_in(loose.original.root)
    assert loose.receipt()["rules"]["chosen_by"] == "option"


def test_set_changes_a_field_and_rejects_an_unknown_field(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    assert loose.pack("--set", 'into = "elsewhere"') == Exit.CLEAN
    assert (loose.work / "elsewhere/Acme/results").is_dir()
    assert loose.pack("--set", "itno=x") == Exit.USAGE
    assert "did you mean into?" in capsys.readouterr().err


def test_an_existing_tree_is_packed_from_its_own_podium_toml(loose: Loose) -> None:
    root = loose.original.root
    (root / "podium.toml").write_text('submitter = "Acme"\nround = "5.1"\ninto = "../out"\n')
    before = files_in(root)
    from podium.compliance.cli.entry import run

    assert run(["pack", str(root)]) == Exit.CLEAN
    packed = files_in(root.parent / "out/Acme")
    receipts = {"podium-receipt.json", "podium-summary.md"}
    assert {k: v for k, v in files_in(root).items() if k not in receipts} == before
    assert packed == {k: v for k, v in before.items() if k != "podium.toml"}


def test_a_tree_is_not_written_over_its_own_sources(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    root = loose.original.root
    (root / "podium.toml").write_text('submitter = "Acme"\nround = "5.1"\ninto = ".."\n')
    from podium.compliance.cli.entry import run

    before = files_in(root)
    assert run(["pack", str(root)]) == Exit.USAGE
    assert "choose another folder with --into" in capsys.readouterr().err
    assert files_in(root) == before


@pytest.mark.parametrize(
    "fields",
    [
        {"documents": {"LICENSE": "nowhere.txt"}},
        {"waivers": "nowhere.toml"},
        {"systems": {"ex_n8": "sys.json", "other": "nowhere.json"}},
        {"systems": ["sys*.json", "nowhere/*.json"]},
        {"code": [{"benchmark": "llama31_405b", "folder": "nowhere"}]},
    ],
)
def test_a_named_file_must_exist_unless_forced(
    loose: Loose, fields: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    loose.configure(**fields)
    assert loose.pack("--dry-run") == Exit.FOUND
    assert loose.pack() == Exit.FOUND
    assert not loose.packed.exists()
    out = " ".join(capsys.readouterr().out.split())
    assert "Absent: 1" in out
    assert "nowhere" in out
    assert loose.pack("--force") == Exit.CLEAN


# --- existing trees ---


def test_a_changed_file_is_not_overwritten_unless_it_is_named(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    assert loose.pack() == Exit.CLEAN
    loose.put("docs/README.md", "another\nbash run_and_time.sh\n")
    before = files_in(loose.packed)
    assert loose.pack() == Exit.FOUND
    assert files_in(loose.packed) == before
    assert "use --replace to overwrite it" in " ".join(capsys.readouterr().out.split())
    assert loose.pack("--replace", "benchmarks/llama31_405b/README.md") == Exit.CLEAN
    readme = loose.packed / "benchmarks/llama31_405b/README.md"
    assert readme.read_text().startswith("another")


def test_an_unplanned_file_is_removed_or_kept_as_requested(loose: Loose) -> None:
    assert loose.pack() == Exit.CLEAN
    (loose.packed / "notes.txt").write_text("from the committee")
    before = files_in(loose.packed)
    assert loose.pack() == Exit.FOUND
    assert files_in(loose.packed) == before
    assert loose.pack("--keep", "notes.txt") == Exit.CLEAN
    assert files_in(loose.packed) == before
    assert "notes.txt" in {file["path"] for file in loose.receipt()["files"]}
    assert loose.pack("--replace", "notes.txt") == Exit.CLEAN
    assert "notes.txt" not in files_in(loose.packed)


@pytest.mark.parametrize("named", ["", "/", "bench", "benchmark", "other", "README.md"])
def test_replace_and_keep_match_only_complete_paths(loose: Loose, named: str) -> None:
    assert loose.pack() == Exit.CLEAN
    loose.put("docs/README.md", "another\nbash run_and_time.sh\n")
    before = files_in(loose.packed)
    assert loose.pack("--replace", named, "--keep", named) == Exit.FOUND
    assert files_in(loose.packed) == before


@pytest.mark.parametrize("named", [".", "benchmarks", "./benchmarks/", "benchmarks/llama31_405b"])
def test_a_folder_name_includes_every_file_in_the_folder(loose: Loose, named: str) -> None:
    assert loose.pack() == Exit.CLEAN
    loose.put("docs/README.md", "another\nbash run_and_time.sh\n")
    assert loose.pack("--replace", named) == Exit.CLEAN


def test_a_file_in_place_of_the_target_folder_is_kept(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    loose.put("packed/Acme", "mine")
    assert loose.pack() == Exit.USAGE
    assert "is not a folder" in capsys.readouterr().err
    assert loose.packed.read_text() == "mine"


# --- the gate ---


def drop_system(loose: Loose) -> None:
    description = json.loads((loose.work / "sys.json").read_text())
    del description["framework"]
    (loose.work / "sys.json").write_text(json.dumps(description))


def test_a_rejected_tree_does_not_replace_the_old_tree(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    assert loose.pack() == Exit.CLEAN
    before = files_in(loose.work / "packed")
    drop_system(loose)
    assert loose.pack("--replace", "systems") == Exit.FOUND
    assert files_in(loose.work / "packed") == before
    assert sorted(os.listdir(loose.work / "packed")) == ["Acme"]
    out = capsys.readouterr().out
    assert "Not packed" in out
    assert "systems/ex_n8.json" in out


def test_force_writes_a_rejected_tree_and_marks_the_receipt(loose: Loose) -> None:
    drop_system(loose)
    assert loose.pack("--force") == Exit.CLEAN
    receipt = read_receipt(loose.work / "podium-receipt.json")
    assert receipt.forced
    assert receipt.gate.verdict == "rejected"
    assert receipt.gate.errors
    assert "Forced" in (loose.work / "podium-summary.md").read_text()


def test_a_tree_without_systems_is_not_packed(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    loose.configure(systems={})
    assert loose.pack() == Exit.FOUND
    assert not loose.packed.exists()
    out = capsys.readouterr().out
    assert "the folder systems is missing" in out
    assert "systems/ex_n8.json: this system has no description" in out


# --- the receipt ---


def test_the_receipt_lists_every_file_and_every_result(loose: Loose) -> None:
    assert loose.pack() == Exit.CLEAN
    receipt = read_receipt(loose.work / "podium-receipt.json")
    packed = files_in(loose.packed)
    assert [file.path for file in receipt.files] == sorted(packed)
    for file in receipt.files:
        assert file.sha256 == hashlib.sha256(packed[file.path]).hexdigest()
        assert file.size == len(packed[file.path])
        assert (loose.work / file.source).read_bytes() == packed[file.path]
    (result,) = receipt.results
    original = loose.original.check().results[0]
    assert (result.path, result.score, result.verdict) == (RESULT, original.score, "accepted")
    assert result.rcp is not None
    assert result.rcp_margin == pytest.approx(0.0)
    assert not receipt.forced


def test_the_receipt_is_outside_the_tree_unless_requested(loose: Loose) -> None:
    assert loose.pack() == Exit.CLEAN
    assert "podium-receipt.json" not in files_in(loose.packed)
    assert loose.pack("--receipt-in-tree") == Exit.CLEAN
    inside = (loose.packed / "podium-receipt.json").read_bytes()
    assert inside == (loose.work / "podium-receipt.json").read_bytes()
    assert loose.pack("--receipt-in-tree") == Exit.CLEAN


def test_the_summary_has_results_and_chosen_runs(loose: Loose) -> None:
    loose.add_run(7)
    assert loose.pack() == Exit.CLEAN
    page = (loose.work / "podium-summary.md").read_text()
    assert "| ex_n8/llama31_405b | closed | accepted | 3 |" in page
    assert "3 of 4 runs" in page


def test_waivers_are_written_to_the_tree_and_the_receipt(loose: Loose) -> None:
    drop_system(loose)
    loose.put(
        "granted.toml",
        '[[waiver]]\nrule = "system.*"\nplace = "systems"\nreason = "agreed"\nwho = "chair"\n'
        "until = 2999-01-01\n",
    )
    loose.configure(waivers="granted.toml")
    assert loose.pack() == Exit.CLEAN
    assert (loose.packed / "waivers.toml").is_file()
    (waiver,) = loose.receipt()["waivers"]
    assert waiver["who"] == "chair"
    assert waiver["findings"] >= 1


@pytest.mark.parametrize("place", ["packed/Acme/receipt.json", "nowhere/receipt.json"])
def test_an_unwritable_receipt_path_is_refused_before_any_change(
    loose: Loose, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    loose.put("packed/Acme/README.md", "x")
    before = files_in(loose.place)
    assert loose.pack("--receipt", str(loose.work / place)) == Exit.USAGE
    assert capsys.readouterr().err.startswith("podium: --receipt ")
    assert files_in(loose.place) == before


def test_the_receipt_is_written_to_the_given_path(loose: Loose) -> None:
    assert loose.pack("--receipt", str(loose.place / "r.json")) == Exit.CLEAN
    assert read_receipt(loose.place / "r.json").submitter == "Acme"
    assert (loose.place / "r.md").is_file()
    assert not (loose.work / "podium-receipt.json").exists()


@pytest.mark.parametrize("text", ["{}", "x", '{"schema": "podium.receipt/2"}'])
def test_an_invalid_receipt_is_reported_in_one_line(tmp_path: Path, text: str) -> None:
    from podium.compliance.errors import UsageFault

    (tmp_path / "r.json").write_text(text)
    with pytest.raises(UsageFault, match="is not a receipt") as caught:
        read_receipt(tmp_path / "r.json")
    assert "\n" not in str(caught.value)


# --- the command line ---


def test_the_command_packs_the_working_directory(loose: Loose) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "podium", "pack"],
        cwd=loose.work,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (Exit.CLEAN, "")
    assert "Packed" in done.stdout


# --- pack, bundle, unpack and verify ---


@pytest.mark.parametrize("option", [[], ["--receipt-in-tree"]])
def test_a_bundle_of_the_packed_tree_is_unpacked_and_verified(
    loose: Loose, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    from podium.compliance.cli.entry import run

    archive = loose.work / "Acme.tar.gz"
    assert loose.pack("--bundle", str(archive), *option) == Exit.CLEAN
    receipt = str(loose.work / "podium-receipt.json")
    out = loose.place / "review"
    assert run(["unpack", str(archive), "--output", str(out), "--verify", receipt]) == Exit.CLEAN
    assert files_in(out / "Acme") == files_in(loose.packed)
    (out / f"Acme/{RESULT}/result_0.txt").write_text("another")
    capsys.readouterr()
    assert run(["unpack", str(out), "--verify", receipt]) == Exit.FOUND
    assert "result_0.txt" in capsys.readouterr().err
