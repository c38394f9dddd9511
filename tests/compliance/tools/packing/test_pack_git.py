"""`podium pack --git`: one branch, one commit and one folder, with a real remote on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.files.git_process import reason, run_git
from podium.compliance.tools.packing.git.clone import branch_name
from podium.compliance.tools.packing.git.commit import commit_to
from podium.compliance.tools.packing.planning.request import read_request
from podium.compliance.tools.packing.writing.pack import PackJob
from tests.compliance.clones import BRANCH, Review, alone, git
from tests.compliance.packs import RESULT, Loose, files_in


@pytest.fixture(autouse=True)
def _git_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone(tmp_path, monkeypatch)


@pytest.fixture
def review(tmp_path: Path) -> Review:
    return Review.made(tmp_path)


def test_a_submission_is_one_commit_on_its_branch(review: Review) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    assert git(clone, "branch", "--show-current") == BRANCH
    assert git(clone, "rev-list", "--count", "origin/main..HEAD") == "1"
    assert files_in(clone / "Acme") == files_in(review.loose.original.root)
    changed = git(clone, "diff", "--name-only", "origin/main", "HEAD").splitlines()
    assert changed
    assert all(path.startswith("Acme/") for path in changed)
    assert git(clone, "status", "--porcelain") == ""
    assert git(review.bare, "branch", "--list", BRANCH) == ""


def test_the_commit_message_lists_results_and_scores(review: Review) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    message = git(clone, "log", "-1", "--format=%B")
    assert message.startswith("Acme: training 5.1, 1 result\n")
    score = review.loose.original.check().results[0].score
    assert f"{RESULT}: closed, accepted, {score:.3f} minutes" in message
    assert "accepted; 0 errors" in message


def test_a_second_call_makes_no_commit(review: Review) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    first = git(clone, "rev-parse", "HEAD")
    assert review.pack(clone) == Exit.CLEAN
    assert git(clone, "rev-parse", "HEAD") == first


def test_a_change_is_a_separate_commit(review: Review) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    review.loose.put("docs/README.md", "another\nbash run_and_time.sh\n")
    assert review.pack(clone) == Exit.FOUND
    assert review.pack(clone, "--replace", "benchmarks") == Exit.CLEAN
    assert git(clone, "rev-list", "--count", "origin/main..HEAD") == "2"


def test_the_receipt_is_outside_the_clone(review: Review) -> None:
    clone = review.clone()
    inside = clone / "podium.toml"
    inside.write_bytes((review.loose.work / "podium.toml").read_bytes())
    assert review.pack(clone) == Exit.USAGE
    inside.unlink()
    assert review.pack(clone) == Exit.CLEAN
    assert (review.loose.work / "podium-receipt.json").is_file()


@pytest.mark.parametrize("path", ["new.txt", "Beta/systems/b.json", "Acme/notes.txt"])
def test_a_dirty_clone_is_refused(
    review: Review, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    (clone / path).parent.mkdir(exist_ok=True)
    (clone / path).write_text("mine\n")
    assert review.pack(clone) == Exit.USAGE
    assert "has uncommitted changes" in capsys.readouterr().err
    assert git(clone, "branch", "--show-current") == "main"
    assert (clone / path).read_text() == "mine\n"


def test_uncommitted_changes_in_the_submitters_folder_are_refused(review: Review) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    (clone / "Acme/notes.txt").write_text("mine\n")
    assert review.pack(clone, "--replace", ".") == Exit.USAGE
    assert (clone / "Acme/notes.txt").read_text() == "mine\n"


def test_a_rejected_tree_does_not_change_the_clone(review: Review) -> None:
    clone = review.clone()
    review.loose.configure(systems={})
    assert review.pack(clone) == Exit.FOUND
    assert git(clone, "branch", "--show-current") == "main"
    assert git(clone, "branch", "--list", BRANCH) == ""
    assert git(clone, "status", "--porcelain", "--ignored") == ""


def test_a_dry_run_changes_no_branch(review: Review, capsys: pytest.CaptureFixture[str]) -> None:
    clone = review.clone()
    assert review.pack(clone, "--dry-run") == Exit.CLEAN
    assert git(clone, "branch", "--show-current") == "main"
    assert not (clone / "Acme").exists()
    assert BRANCH in capsys.readouterr().out


def test_names_and_sizes_are_checked_before_files_are_copied(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    review.loose.put("src/two words.py", "")
    with (review.loose.work / "src/large.bin").open("wb") as stream:
        stream.truncate((100 << 20) + 1)
    assert review.pack(clone, "--force") == Exit.FOUND
    out = " ".join(capsys.readouterr().out.split())
    assert "the name has a space" in out
    assert "GitHub rejects files over 100 MiB" in out
    assert git(clone, "branch", "--show-current") == "main"


@pytest.mark.parametrize("rule", ["*.txt text eol=crlf", "*.txt text=auto", "*.txt ident"])
def test_git_attributes_that_would_change_a_log_are_refused(
    review: Review, rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    (clone / ".gitattributes").write_text(f"{rule}\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "attributes")
    for log in (review.loose.work / "runs").rglob("*.log"):
        log.write_bytes(log.read_bytes().replace(b"\n", b"\r\n") + b"$Id: x $\r\n")
    git(clone, "push", "-q", "origin", "HEAD:main")
    assert review.pack(clone, "--force") == Exit.USAGE
    assert "git would alter Acme/results" in capsys.readouterr().err
    assert not (clone / "Acme").exists()
    assert git(clone, "branch", "--show-current") == "main"


def test_ignored_files_are_committed(review: Review) -> None:
    clone = review.clone()
    (clone / ".gitignore").write_text("*.txt\nresults\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "ignore")
    git(clone, "push", "-q", "origin", "HEAD:main")
    assert review.pack(clone) == Exit.CLEAN
    assert f"Acme/{RESULT}/result_0.txt" in git(clone, "ls-files").splitlines()


# --- pushing ---


def test_the_push_option_pushes_the_branch(review: Review) -> None:
    clone = review.clone()
    assert review.pack(clone, "--push") == Exit.CLEAN
    assert git(review.bare, "rev-parse", BRANCH) == git(clone, "rev-parse", "HEAD")


def team(review: Review, name: str, number: int) -> Loose:
    """Another team of the same submitter, with its own system and document."""
    loose = Loose(review.place / name)
    loose.put(f"docs/{name}.md", f"by {name}\n")
    for path in (loose.work / "runs").rglob("*.log"):
        path.unlink()
    for run_ in range(3):
        loose.add_run(number + run_)
    fields = loose.fields["results"][0] | {"system": name}
    documents = {f"documentation/{name}.md": f"docs/{name}.md"}
    return loose.configure(
        systems={name: "sys.json"}, results=[fields], documents=documents, code=[]
    )


def test_a_branch_that_has_moved_is_merged_and_checked(review: Review) -> None:
    first, second = review.clone("first"), review.clone("second")
    other = team(review, "ex_other", 40)
    assert review.pack(first) == Exit.CLEAN
    assert other.pack("--git", str(second), "--push", "--force") == Exit.CLEAN
    assert review.pack(first, "--push") == Exit.CLEAN
    assert git(review.bare, "rev-list", "--count", f"main..{BRANCH}") == "2"
    assert git(review.bare, "rev-parse", BRANCH) == git(first, "rev-parse", "HEAD")
    assert (first / "Acme/documentation/ex_other.md").is_file()
    assert (first / f"Acme/{RESULT}/result_0.txt").is_file()
    packed = {file["path"] for file in review.loose.receipt()["files"]}
    assert "documentation/ex_other.md" in packed


def test_conflicting_changes_are_not_pushed(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = review.clone("first"), review.clone("second")
    other = Loose(review.place / "other")
    other.put("docs/README.md", "another\nbash run_and_time.sh\n")
    assert review.pack(first) == Exit.CLEAN
    assert other.pack("--git", str(second), "--push") == Exit.CLEAN
    theirs = git(review.bare, "rev-parse", BRANCH)
    own = git(first, "rev-parse", "HEAD")
    assert review.pack(first, "--push") == Exit.USAGE
    assert "both sides changed the same files" in capsys.readouterr().err
    assert git(review.bare, "rev-parse", BRANCH) == theirs
    assert git(first, "rev-parse", "HEAD") == own
    assert git(first, "status", "--porcelain") == ""


def test_concurrent_submitters_in_two_clones_are_independent(review: Review) -> None:
    gamma = Loose(review.place / "gamma")
    description = gamma.work / "sys.json"
    description.write_text(description.read_text().replace('"Acme"', '"Gamma"'))
    gamma.configure(submitter="Gamma")
    clones = [review.clone("one"), review.clone("two")]
    calls = []
    for loose, clone in zip((review.loose, gamma), clones, strict=True):
        calls.append(forked(lambda c=clone, w=loose: w.pack("--git", str(c), "--push", "--force")))
    assert [finished(call) for call in calls] == [Exit.CLEAN, Exit.CLEAN]
    heads = git(review.bare, "branch", "--format=%(refname:short)").splitlines()
    assert sorted(heads) == ["Acme-5.1", "Gamma-5.1", "main"]
    for name in ("Acme", "Gamma"):
        paths = git(review.bare, "diff", "--name-only", "main", f"{name}-5.1").splitlines()
        assert {path.split("/")[0] for path in paths} == {name}


def test_concurrent_submitters_in_one_clone_run_one_after_the_other(review: Review) -> None:
    gamma = Loose(review.place / "gamma").configure(submitter="Gamma")
    clone = review.clone()
    calls = [
        forked(lambda w=loose: w.pack("--git", str(clone), "--force"))
        for loose in (review.loose, gamma)
    ]
    assert [finished(call) for call in calls] == [Exit.CLEAN, Exit.CLEAN]
    assert {"Acme-5.1", "Gamma-5.1"} <= set(
        git(clone, "branch", "--format=%(refname:short)").splitlines()
    )
    assert git(clone, "ls-tree", "--name-only", "Gamma-5.1").splitlines() == [
        *("Beta", "Gamma", "README.md"),
    ]


def forked(act: Callable[[], int]) -> int:
    """Call `act` in a forked process and return the process id."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = act()
        finally:
            os._exit(status)
    return child


def finished(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_the_next_call_commits_after_a_kill_between_swap_and_commit(review: Review) -> None:
    clone = review.clone()
    found = read_request(review.loose.work, {})

    def notify(step: str) -> None:
        if step == "after the swap":
            os._exit(7)

    order = PackJob(found, notify=notify)
    assert finished(forked(lambda: len(commit_to(order, clone).state))) == 7
    assert git(clone, "status", "--porcelain") != ""
    assert review.pack(clone) == Exit.CLEAN
    assert git(clone, "rev-list", "--count", "origin/main..HEAD") == "1"
    assert git(clone, "status", "--porcelain") == ""
    assert not list((clone / ".git").glob(".podium-stage*"))


# --- unusable clones and names ---


def test_a_path_that_is_not_a_clone_is_reported_in_one_line(
    review: Review, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain").mkdir()
    for place in (tmp_path / "plain", tmp_path / "nowhere", review.bare):
        assert review.pack(place) == Exit.USAGE
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("podium: ") for line in lines)


def test_a_folder_inside_a_clone_is_refused(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    assert review.pack(clone / "Beta") == Exit.USAGE
    assert "is not a clone" in capsys.readouterr().err
    assert git(clone, "status", "--porcelain") == ""


def test_a_missing_git_identity_is_refused_before_any_change(
    review: Review, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    config = review.place / "nobody"
    config.write_text("[user]\n\tuseConfigOnly = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert review.pack(clone) == Exit.USAGE
    assert "set user.name and user.email" in capsys.readouterr().err
    assert git(clone, "branch", "--show-current") == "main"


def test_push_without_a_clone_or_a_remote_is_refused(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    assert review.loose.pack("--push") == Exit.USAGE
    clone = review.clone()
    git(clone, "remote", "remove", "origin")
    assert review.pack(clone, "--push") == Exit.USAGE
    assert "has no remote" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("submitter", "branch"),
    [
        ("Acme", "Acme-5.1"),
        ("HPE+LBNL", "HPE+LBNL-5.1"),
        ("A & B", "A-B-5.1"),
        ("..x..", "x-5.1"),
        ("a.lock", "a-5.1"),
        ("Söhne", "S-hne-5.1"),
        ("@{}", "submission-5.1"),
    ],
)
def test_a_branch_name_is_valid_for_git(submitter: str, branch: str, tmp_path: Path) -> None:
    assert branch_name(submitter, "5.1") == branch
    git(tmp_path, "check-ref-format", "--branch", branch)


# --- changes on a branch ---


def test_since_checks_the_changes_on_the_branch(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    capsys.readouterr()
    assert run(["pack", "--since", "origin/main", "--git", str(clone)]) == Exit.CLEAN
    out = capsys.readouterr().out
    assert f"Acme: {len(files_in(clone / 'Acme'))} new" in out
    assert "Acme, training 5.1: accepted; 0 errors" in out  # the branch name gives the round
    options = ["--git", str(clone), "--round", "4.0"]
    assert run(["pack", "--since", "origin/main", *options]) == Exit.FOUND


def test_since_reports_other_submitters_and_removed_large_files(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone("training_results_v5.1")
    assert review.pack(clone) == Exit.CLEAN
    (clone / "Beta/systems/b.json").write_text('{"a": 1}\n')
    (clone / "stray.txt").write_text("x\n")
    with (clone / "Acme/large.bin").open("wb") as stream:
        stream.truncate((50 << 20) + 1)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "more")
    git(clone, "rm", "-q", "Acme/large.bin")
    git(clone, "commit", "-q", "-m", "less")
    assert run(["pack", "--since", "origin/main", "--git", str(clone)]) == Exit.FOUND
    out = " ".join(capsys.readouterr().out.split())
    assert "the folders of 2 submitters: Acme, Beta" in out
    assert "stray.txt is not in a submitter's folder" in out
    assert "Acme/large.bin is 50.0 MiB in a commit" in out


def test_since_requires_a_ref_and_a_clean_clone(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    assert run(["pack", "--since", "nothing", "--git", str(clone)]) == Exit.USAGE
    assert "no such branch" in capsys.readouterr().err
    (clone / "new.txt").write_text("x")
    assert run(["pack", "--since", "main", "--git", str(clone)]) == Exit.USAGE


def test_a_branch_without_changes_is_a_finding(review: Review) -> None:
    assert run(["pack", "--since", "main", "--git", str(review.clone())]) == Exit.FOUND


def test_a_git_error_is_reduced_to_one_line() -> None:
    assert reason("error: a\nhint: b\nfatal: c") == "error: a; fatal: c"


def test_a_missing_git_program_is_reported(tmp_path: Path) -> None:
    variables = {"PATH": str(tmp_path)}
    with pytest.raises(UsageFault, match="git is not installed"):
        run_git(["version"], folder=tmp_path, variables=variables, seconds=60)
