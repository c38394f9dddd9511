"""`podium pack`: the planned tree, exactly, or what stood before."""

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


def test_loose_files_become_the_tree_they_came_from(loose: Loose) -> None:
    assert loose.pack() == Exit.CLEAN
    assert files_in(loose.packed) == files_in(loose.original.root)


def test_a_dry_run_writes_nothing_and_tells_what_goes_where(
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


def test_a_plan_is_given_as_data(loose: Loose, capsys: pytest.CaptureFixture[str]) -> None:
    assert loose.pack("--dry-run", "--format", "json") == Exit.CLEAN
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "podium.plan/2"
    assert (told["state"], told["verdict"], told["receipt"]) == ("planned", None, None)
    assert {file["path"] for file in told["files"]} == files_in(loose.original.root).keys()
    assert all(file["renamed"] for file in told["files"] if file["path"].startswith(RESULT))


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


def test_an_executable_script_stays_one_and_a_link_stays_a_link(loose: Loose) -> None:
    script = loose.put("src/go.sh", "true\n")
    script.chmod(0o755)
    (loose.work / "src/latest").symlink_to("go.sh")
    # The official repository checker takes a link beside its target for a broken one
    assert loose.pack() == Exit.FOUND
    assert loose.pack("--force") == Exit.CLEAN
    code = loose.packed / "benchmarks/llama31_405b/implementations/ours"
    assert (code / "go.sh").stat().st_mode & stat.S_IXUSR
    assert (code / "latest").readlink() == Path("go.sh")
    assert not (code / "train.py").stat().st_mode & stat.S_IXUSR
    told = {file["path"]: file for file in loose.receipt()["files"]}
    link = told["benchmarks/llama31_405b/implementations/ours/latest"]
    assert link["link"] == "go.sh"
    assert link["sha256"] == hashlib.sha256(b"go.sh").hexdigest()


def test_hidden_files_and_pythons_cache_are_left_out(
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
def test_a_pipe_is_never_opened(loose: Loose, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(loose.work / "src/pipe")
    os.mkfifo(loose.work / "runs/0/pipe.log") if (loose.work / "runs/0").is_dir() else None
    assert loose.pack() == Exit.CLEAN
    assert "src/pipe: it is not a regular file" in capsys.readouterr().out


def test_documents_may_be_folders_but_no_logs(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    loose.put("paper/figures/a.svg", "<svg/>")
    loose.configure(documents={**loose.fields["documents"], "documentation": "paper"})
    assert loose.pack() == Exit.CLEAN
    assert (loose.packed / "documentation/figures/a.svg").is_file()
    loose.configure(documents={f"{RESULT}/result_7.txt": "docs/README.md"})
    assert loose.pack() == Exit.USAGE
    assert "list it under [[results]]" in capsys.readouterr().err


def test_every_field_is_an_option_too(loose: Loose, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_set_reaches_any_field(loose: Loose, capsys: pytest.CaptureFixture[str]) -> None:
    assert loose.pack("--set", 'into = "elsewhere"') == Exit.CLEAN
    assert (loose.work / "elsewhere/Acme/results").is_dir()
    assert loose.pack("--set", "itno=x") == Exit.USAGE
    assert "did you mean into?" in capsys.readouterr().err


def test_a_tree_made_by_hand_is_packed_from_its_own_podium_toml(loose: Loose) -> None:
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
def test_what_is_named_must_be_there_unless_forced(
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


# --- what stands already ---


def test_other_content_is_not_overwritten_unless_it_is_named(
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


def test_what_the_plan_has_not_is_dropped_or_kept_as_named(loose: Loose) -> None:
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
def test_only_what_is_named_whole_may_change(loose: Loose, named: str) -> None:
    assert loose.pack() == Exit.CLEAN
    loose.put("docs/README.md", "another\nbash run_and_time.sh\n")
    before = files_in(loose.packed)
    assert loose.pack("--replace", named, "--keep", named) == Exit.FOUND
    assert files_in(loose.packed) == before


@pytest.mark.parametrize("named", [".", "benchmarks", "./benchmarks/", "benchmarks/llama31_405b"])
def test_a_folder_names_all_in_it(loose: Loose, named: str) -> None:
    assert loose.pack() == Exit.CLEAN
    loose.put("docs/README.md", "another\nbash run_and_time.sh\n")
    assert loose.pack("--replace", named) == Exit.CLEAN


def test_a_file_in_the_targets_place_is_left_alone(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    loose.put("packed/Acme", "mine")
    assert loose.pack() == Exit.USAGE
    assert "is not a folder" in capsys.readouterr().err
    assert loose.packed.read_text() == "mine"


# --- the gate ---


def drop_system(loose: Loose) -> None:
    told = json.loads((loose.work / "sys.json").read_text())
    del told["framework"]
    (loose.work / "sys.json").write_text(json.dumps(told))


def test_a_tree_that_the_check_rejects_is_not_swapped_in(
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


def test_force_keeps_a_rejected_tree_and_the_receipt_says_so(loose: Loose) -> None:
    drop_system(loose)
    assert loose.pack("--force") == Exit.CLEAN
    receipt = read_receipt(loose.work / "podium-receipt.json")
    assert receipt.forced
    assert receipt.gate.verdict == "rejected"
    assert receipt.gate.errors
    assert "Forced" in (loose.work / "podium-summary.md").read_text()


def test_a_tree_without_systems_is_no_submission(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    loose.configure(systems={})
    assert loose.pack() == Exit.FOUND
    assert not loose.packed.exists()
    out = capsys.readouterr().out
    assert "the folder systems is missing" in out
    assert "systems/ex_n8.json: this system has no description" in out


# --- the receipt ---


def test_the_receipt_tells_of_every_file_and_every_result(loose: Loose) -> None:
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


def test_the_receipt_stays_outside_the_tree_unless_asked(loose: Loose) -> None:
    assert loose.pack() == Exit.CLEAN
    assert "podium-receipt.json" not in files_in(loose.packed)
    assert loose.pack("--receipt-in-tree") == Exit.CLEAN
    inside = (loose.packed / "podium-receipt.json").read_bytes()
    assert inside == (loose.work / "podium-receipt.json").read_bytes()
    assert loose.pack("--receipt-in-tree") == Exit.CLEAN


def test_the_receipts_page_has_results_and_choices(loose: Loose) -> None:
    loose.add_run(7)
    assert loose.pack() == Exit.CLEAN
    page = (loose.work / "podium-summary.md").read_text()
    assert "| ex_n8/llama31_405b | closed | accepted | 3 |" in page
    assert "3 of 4 runs" in page


def test_waivers_go_into_the_tree_and_the_receipt(loose: Loose) -> None:
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
def test_a_receipt_that_cannot_be_written_is_refused_before_anything_else(
    loose: Loose, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    loose.put("packed/Acme/README.md", "x")
    before = files_in(loose.place)
    assert loose.pack("--receipt", str(loose.work / place)) == Exit.USAGE
    assert capsys.readouterr().err.startswith("podium: --receipt ")
    assert files_in(loose.place) == before


def test_the_receipt_goes_where_it_is_wanted(loose: Loose) -> None:
    assert loose.pack("--receipt", str(loose.place / "r.json")) == Exit.CLEAN
    assert read_receipt(loose.place / "r.json").submitter == "Acme"
    assert (loose.place / "r.md").is_file()
    assert not (loose.work / "podium-receipt.json").exists()


@pytest.mark.parametrize("text", ["{}", "x", '{"schema": "podium.receipt/2"}'])
def test_no_receipt_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    from podium.compliance.errors import UsageFault

    (tmp_path / "r.json").write_text(text)
    with pytest.raises(UsageFault, match="is not a receipt") as caught:
        read_receipt(tmp_path / "r.json")
    assert "\n" not in str(caught.value)


# --- through a shell ---


def test_the_command_works_from_its_folder(loose: Loose) -> None:
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


# --- the whole way ---


@pytest.mark.parametrize("option", [[], ["--receipt-in-tree"]])
def test_a_bundle_of_the_tree_is_unpacked_and_verified(
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
