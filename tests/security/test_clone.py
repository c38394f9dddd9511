"""A hostile clone of the review repository cannot start programs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.packing.git.clone import Clone
from podium.compliance.tools.packing.git.settings import refuse_old, user_settings
from tests.compliance.clones import BRANCH, Review, git
from tests.compliance.packs import Loose
from tests.security.traps import Trap

LIMIT_S = 300
pytestmark = pytest.mark.usefixtures("never_hangs")


def other_team(review: Review) -> Loose:
    loose = Loose(review.place / "other")
    loose.put("docs/other.md", "theirs\n")
    return loose.configure(documents={"documentation/other.md": "docs/other.md"})


def test_git_itself_starts_the_programs_of_the_trap(review: Review, trap: Trap) -> None:
    """This proves that the tests below can fail."""
    clone = review.clone()
    trap.put(clone)
    (clone / "Acme").mkdir()
    (clone / "Acme/a.md").write_text("text\n")
    for words in (
        "add -A",
        "commit -q --allow-empty -m more",
        "diff HEAD~1 HEAD",
        "checkout -q -b another",
        "fetch -q",
        "push -q origin HEAD",
    ):
        subprocess.run(["git", "-C", clone, *words.split()], capture_output=True, timeout=60)
    expected = {"core.fsmonitor", "filter.odd.process", "diff.external", "hook-pre-push"}
    expected |= {"hook-reference-transaction"}
    assert expected <= trap.sprung()


def test_packing_starts_no_program_that_a_clone_configures(review: Review, trap: Trap) -> None:
    clone = review.clone()
    trap.put(clone)
    assert review.pack(clone) == Exit.CLEAN
    review.loose.put("docs/README.md", "another text\nbash run_and_time.sh\n")
    readme = "benchmarks/llama31_405b/README.md"
    assert review.pack(clone, "--replace", readme) == Exit.CLEAN
    assert trap.sprung() == set()
    # The commit contains the unfiltered log
    log = next((clone / "Acme").rglob("result_0.txt"))
    listed = git(clone, "ls-tree", "HEAD", "--", log.relative_to(clone).as_posix())
    blob = git(clone, "hash-object", "--no-filters", str(log))
    assert listed.split()[2] == blob


def test_pushing_to_a_moved_branch_starts_no_program(review: Review, trap: Trap) -> None:
    """The push includes a fetch and a rebase."""
    first, second = review.clone("first"), review.clone("second")
    assert review.pack(first) == Exit.CLEAN
    assert other_team(review).pack("--git", str(second), "--push", "--force") == Exit.CLEAN
    trap.put(first)
    assert review.pack(first, "--push") == Exit.CLEAN
    assert trap.sprung() == set()
    assert git(review.bare, "rev-list", "--count", f"main..{BRANCH}") == "2"


def test_pack_since_starts_no_program(review: Review, trap: Trap) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    trap.put(clone)
    assert run(["pack", "--since", "origin/main", "--git", str(clone)]) == Exit.CLEAN
    assert trap.sprung() == set()


def test_check_since_starts_no_program(review: Review, trap: Trap) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    trap.put(clone)
    for path in (clone / "Acme").rglob("result_*.txt"):
        path.write_text(path.read_text() + "\n")
    assert run(["check", str(clone / "Acme"), "--round", "5.1", "--since", "HEAD"]) == Exit.CLEAN
    assert trap.sprung() == set()


@pytest.mark.parametrize("within", ["sub", "Acme/sub"])
def test_a_submodule_starts_no_program(within: str, review: Review, trap: Trap) -> None:
    """Git would inspect a submodule with the configuration of the submodule."""
    clone, seed = review.clone(), review.place / "seed"
    plain = "-c protocol.file.allow=always"
    git(clone, *plain.split(), "submodule", "--quiet", "add", str(review.bare), within)
    git(clone, "commit", "-q", "-m", "a submodule")
    git(clone, "push", "-q", "origin", "HEAD:main")
    inner = clone / within
    for name in ("core.fsmonitor", "filter.odd.clean", "filter.half.clean"):
        git(inner, "config", name, trap.named(f"inner {name}"))
    (inner / "Beta/systems/b.json").write_text('{"changed": 1}\n')
    assert seed.is_dir()
    review.pack(clone, "--force")
    run(["pack", "--since", "HEAD", "--git", str(clone)])
    assert trap.sprung() == set()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("remote.origin.url", "ext::sh -c touch% {}"),
        ("remote.origin.pushurl", "ext::sh -c touch% {}"),
    ],
)
def test_a_remote_with_a_command_as_its_address_is_refused(
    key: str, value: str, review: Review
) -> None:
    clone, mark = review.clone(), review.place / "mark"
    git(clone, "config", "protocol.ext.allow", "always")
    git(clone, "config", key.format(mark), value.format(mark))
    assert review.pack(clone, "--push") == Exit.USAGE
    assert not mark.exists()


def _remote_as_option(clone: Path, mark: Path) -> None:
    with (clone / ".git/config").open("a") as config:
        config.write(f'[remote "--upload-pack=touch {mark};"]\n\turl = {clone}\n')
    git(clone, "remote", "remove", "origin")


def _branch_as_option(clone: Path, mark: Path) -> None:
    commit = git(clone, "rev-parse", "HEAD")
    git(clone, "update-ref", "refs/heads/--orphan", commit)
    (clone / ".git/HEAD").write_text("ref: refs/heads/--orphan\n")


def _program_of_a_remote(name: str) -> Callable[[Path, Path], None]:
    def spoil(clone: Path, mark: Path) -> None:
        git(clone, "config", f"remote.origin.{name}", f"touch {mark};")

    return spoil


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_remote_as_option, "a branch or a remote named --upload-pack"),
        (_branch_as_option, "a branch or a remote named --orphan"),
        (_program_of_a_remote("vcs"), "remote.origin.vcs"),
        (_program_of_a_remote("uploadpack"), "remote.origin.uploadpack"),
        (_program_of_a_remote("receivepack"), "remote.origin.receivepack"),
    ],
)
def test_a_clone_with_a_dangerous_remote_or_branch_is_refused(
    spoil: Callable[[Path, Path], None],
    said: str,
    review: Review,
    capsys: pytest.CaptureFixture[str],
) -> None:
    clone, mark = review.clone(), review.place / "mark"
    spoil(clone, mark)
    assert review.pack(clone, "--push") == Exit.USAGE
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not mark.exists()


def test_the_users_own_credential_helper_and_ssh_command_are_kept(
    review: Review, trap: Trap, config: Path
) -> None:
    clone = review.clone()
    git(clone, "config", "--global", "credential.helper", "mine")
    git(clone, "config", "--global", "--add", "credential.helper", "mine too")
    git(clone, "config", "--global", "core.sshCommand", "ssh -i mine")
    trap.put(clone)
    seen = Clone(clone)
    assert seen.run("config", "--get-all", "core.sshCommand") == "ssh -i mine"
    values = seen.run("config", "--get-all", "credential.helper").splitlines()
    assert values == ["mine", "mine too"]
    assert seen.run("config", "--get-all", "core.hooksPath") == os.devnull


def test_a_user_filter_that_would_alter_a_log_is_refused(
    review: Review, trap: Trap, capsys: pytest.CaptureFixture[str]
) -> None:
    """The filtered log would differ from the judged log. The filter does not run."""
    clone = review.clone()
    git(clone, "config", "--global", "filter.odd.clean", trap.named("mine"))
    assert review.pack(clone) == Exit.USAGE
    assert trap.sprung() == set()
    assert "git would alter Acme/" in capsys.readouterr().err
    assert not (clone / "Acme").exists()


def test_git_settings_in_environment_variables_are_kept(
    review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Somebody Else")
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    assert git(clone, "log", "-1", "--format=%an") == "Somebody Else"


def test_hooks_in_the_git_configuration_are_not_passed_on() -> None:
    """The installed git may be too old to support such hooks."""
    listing = b"global\0hook.a b.command\nprogram\0local\0hook.c.d.event\npre-commit\0"
    assert user_settings(listing).pairs == []


@pytest.mark.parametrize("version", ["git version 2.31.9", "git version 1.99.1", "", "2.x"])
def test_a_git_that_is_too_old_for_the_settings_is_refused(version: str) -> None:
    with pytest.raises(UsageFault, match=r"too old; expected git 2\.32"):
        refuse_old(version)


@pytest.mark.parametrize("version", ["git version 2.32.0", "git version 3.0.rc1 (Apple 1)"])
def test_a_supported_git_version_is_accepted(version: str) -> None:
    refuse_old(version)


def test_a_link_in_place_of_the_submitter_folder_is_not_followed(
    review: Review, tmp_path: Path
) -> None:
    clone, outside = review.clone(), tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept\n")
    (clone / "Acme").symlink_to(outside)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "a link")
    git(clone, "push", "-q", "origin", "HEAD:main")
    review.pack(clone, "--force")
    assert [path.name for path in outside.iterdir()] == ["kept.txt"]


def test_credentials_in_the_address_of_a_remote_are_not_printed(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    git(clone, "config", "remote.origin.url", "https://tok3nvalue@127.0.0.1:1/review.git")
    assert review.pack(clone, "--push") == Exit.USAGE
    err = capsys.readouterr().err
    assert "127.0.0.1" in err
    assert "tok3nvalue" not in err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_clone_of_another_user_is_refused(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    """Git itself refuses it, and podium's settings do not disable this check."""
    clone = review.clone()
    for path in (clone, clone / ".git"):
        os.chown(path, 12345, 12345)
    assert review.pack(clone) == Exit.USAGE
    assert "ownership" in capsys.readouterr().err
    assert git(review.bare, "branch", "--list", BRANCH) == ""
