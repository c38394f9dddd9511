from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.compliance.judging.inputs.listing import Disk
from podium.compliance.judging.waivers.bypass_flags import RCP, SEEDS, TRAIN_SAMPLES, Params
from podium.rules.finding import Profile
from podium.rules.fixed.edits import RESULT
from tests.compliance.trees import usual

POLICY, VERIFIER = Profile.POLICY, Profile.VERIFIER
SYSTEM, BENCHMARK = "results/big", "results/big/bert"


def params(root: Path, data: bytes, level: str, profile: Profile) -> Params:
    folder = root / level
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package_checker_params").write_bytes(data)
    return Params(Disk(root), profile, lambda path: str(path.relative_to(root)))


def flags(root: Path, data: bytes, level: str, profile: Profile) -> frozenset[str]:
    return params(root, data, level, profile).flags(BENCHMARK)


def reported(given: Params) -> list[tuple[str, str, int | None]]:
    given.flags(BENCHMARK)
    return [(f.id, f.severity.value, f.line) for f in given.findings]


def test_a_missing_file_sets_no_flag(tmp_path: Path) -> None:
    for profile in Profile:
        given = Params(Disk(tmp_path), profile, str)
        assert given.flags(BENCHMARK) == frozenset()
        assert given.findings == []


@pytest.mark.parametrize("level", [".", SYSTEM, BENCHMARK])
@pytest.mark.parametrize(
    "data",
    [
        b"rcp-bypass",
        b"rcp_bypass\n",
        b"--rcp-bypass\r\n",
        b"--rcp_bypass\r",
        b"\n  rcp-bypass  \n\n",
        b"\xef\xbb\xbfrcp-bypass\n",
    ],
)
def test_the_policy_accepts_every_spelling_at_every_level(
    tmp_path: Path, level: str, data: bytes
) -> None:
    given = params(tmp_path, data, level, POLICY)
    assert given.flags(BENCHMARK) == {RCP}
    assert any(f.id == "params.in-force" and f.severity == "note" for f in given.findings)


def test_flags_of_several_levels_are_combined(tmp_path: Path) -> None:
    params(tmp_path, b"rcp-bypass\nrcp-bert-train-samples\n", ".", POLICY)
    given = params(tmp_path, b"seed-checker-bypass\n", BENCHMARK, POLICY)
    assert given.flags(BENCHMARK) == {RCP, SEEDS, TRAIN_SAMPLES}
    assert given.flags("results/big/ssd") == {RCP, TRAIN_SAMPLES}


def test_the_scaling_folder_of_hpc_has_no_flags(tmp_path: Path) -> None:
    params(tmp_path, b"rcp-bypass", "results/big/strong", POLICY)  # not a level for flags
    for profile in Profile:
        given = params(tmp_path, b"seed-checker-bypass", SYSTEM, profile)
        assert given.flags("results/big/strong/cosmoflow") == {SEEDS}
        assert given.flags("results/other/strong/cosmoflow") == frozenset()


@pytest.mark.parametrize("level", [SYSTEM, BENCHMARK])
@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"seed-checker-bypass", {SEEDS}),
        (b"seed-checker-bypass\n", set()),
        (b"seed-checker-bypass\r", set()),
        (b"seed-checker-bypass ", set()),
        (b"seed_checker_bypass", set()),
        (b"--seed-checker-bypass", set()),
        (b"SEED-CHECKER-BYPASS", set()),
        (b"\xef\xbb\xbfseed-checker-bypass", set()),
        (b"\n\nseed-checker-bypass", {SEEDS}),
        (b"rcp-bypass\nseed-checker-bypass", {SEEDS}),
        (b"seed-checker-bypass\nrcp-bypass", {RCP}),
        (b"foo", set()),
        (b"rcp-bert-train-samples", set()),
    ],
)
def test_the_official_verifier_reads_flags_only_from_an_exact_last_line(
    tmp_path: Path, level: str, data: bytes, seen: set[str]
) -> None:
    assert flags(tmp_path, data, level, VERIFIER) == seen


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"rcp-bypass\n", {RCP}),
        (b"rcp-bypass\nseed-checker-bypass\nrcp-bert-train-samples\n", {RCP, SEEDS, TRAIN_SAMPLES}),
        (b"rcp-bypass", set()),
        (b"rcp-bypass\nseed-checker-bypass", {RCP}),
    ],
)
def test_the_official_scripts_pass_on_flags_that_end_with_a_newline(
    tmp_path: Path, data: bytes, seen: set[str]
) -> None:
    given = params(tmp_path, data, ".", VERIFIER)
    assert given.flags(BENCHMARK) == seen
    assert all(f.severity != "error" for f in given.findings)


@pytest.mark.parametrize("data", [b"rcp_bypass\n", b"--rcp-bypass\n", b"rcp-bypass\r\n", b"foo\n"])
def test_the_official_verifier_refuses_other_spellings_at_the_top_level(
    tmp_path: Path, data: bytes
) -> None:
    """Published submissions have `rcp_bypass` and `rcp_bert_train_samples` at this level."""
    assert reported(params(tmp_path, data, ".", VERIFIER)) == [("params.refused", "error", 1)]
    by_policy = reported(params(tmp_path, data, ".", POLICY))
    assert ("params.refused", "warning", 1) in by_policy


def test_a_flag_that_the_official_verifier_does_not_see_is_a_warning(tmp_path: Path) -> None:
    for data, level in ((b"x\nrcp-bypass\n", BENCHMARK), (b"x\nrcp-bypass", ".")):
        found = reported(params(tmp_path, data, level, POLICY))
        assert ("params.unseen", "warning", 2) in found
        assert ("params.in-force", "note", 2) in found
        (tmp_path / level / "package_checker_params").unlink()


def test_an_unknown_flag_is_reported_with_a_suggestion(tmp_path: Path) -> None:
    given = params(tmp_path, b"\nrcp-bypas", BENCHMARK, POLICY)
    assert reported(given) == [("params.unknown-flag", "warning", 2)]
    assert "did you mean rcp-bypass?" in given.findings[0].message
    given = params(tmp_path, b"\x1b[31m", BENCHMARK, POLICY)
    assert reported(given) == [("params.unknown-flag", "warning", 1)]
    assert "\x1b" not in given.findings[0].message


def test_a_file_that_is_not_utf_8_crashes_the_official_verifier(tmp_path: Path) -> None:
    given = params(tmp_path, b"\xe9\nseed-checker-bypass", BENCHMARK, VERIFIER)
    assert reported(given)[0] == ("params.verifier-crash", "error", None)
    assert given.flags(BENCHMARK) == frozenset()
    assert ("params.in-force", "note", 2) in reported(
        params(tmp_path, b"\xe9\nseed-checker-bypass", BENCHMARK, POLICY)
    )


@pytest.mark.parametrize("what", ["folder", "fifo", "link"])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, what: str) -> None:
    path = tmp_path / "package_checker_params"
    if what == "folder":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/etc/passwd")
    given = Params(Disk(tmp_path), POLICY, str)
    assert reported(given) == [("params.unreadable", "error", None)]


def test_each_file_is_read_and_reported_once(tmp_path: Path) -> None:
    given = params(tmp_path, b"rcp-bypass\n", ".", VERIFIER)
    given.flags(BENCHMARK)
    (tmp_path / "package_checker_params").unlink()
    assert given.flags("results/other/ssd") == {RCP}
    assert len(given.findings) == 1


@pytest.mark.parametrize(
    ("place", "text", "form"),
    [
        ("", "rcp-bypass", "rcp-bypass alone on a line, with a newline"),
        (RESULT, "rcp-bypass\n", "rcp-bypass as the last line, without a newline"),
    ],
)
def test_a_flag_applies_with_and_without_a_newline(
    place: str, text: str, form: str, tmp_path: Path
) -> None:
    """The policy reads both; the official programs read only one, depending on the folder."""
    tree = usual(tmp_path)
    for written in ("rcp-bypass", "rcp-bypass\n"):
        (tree.root / place / "package_checker_params").write_text(written)
        assert len(tree.found("params.in-force")) == 1
        unseen = tree.found("params.unseen")
        assert [each.hint for each in unseen] == ([f"write {form}"] if written == text else [])
