"""No key in the configuration of a hostile clone starts a program or redirects a push."""

from __future__ import annotations

import base64
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.packing.git.clone import Clone
from tests.compliance.clones import BRANCH, Review, git
from tests.security.traps import Trap

LIMIT_S = 300
pytestmark = pytest.mark.usefixtures("never_hangs")

PLACEHOLDERS = {"<url>": "https://evil.example", "<base>": "/evil/", "<condition>": "onbranch:**"}
MADE_UP: dict[str, str] = {}
IN_USE = {"branch": BRANCH, "remote": "origin", "gpg": "ssh", "protocol": "file", "pager": "log"}
"""Names that git itself uses, for the placeholders of a section."""
PER_ADDRESS = ("proxy", "sslVerify", "extraHeader", "helper", "username")
"""Names for `http.<url>.*` and `credential.<url>.*`, which git does not list."""
UNLISTED = (("filter", "odd", "process"), ("filter", "odd", "required"))
REFUSED = {
    *("core.repositoryformatversion", "include.path", "includeif.onbranch:**.path"),
    *(f"remote.origin.{name}" for name in ("receivepack", "uploadpack", "vcs")),
    *(f"remote.origin.{name}" for name in ("url", "pushurl", "proxy")),
}
"""Keys that make podium refuse a clone: git cannot read it, or they redirect it."""


def every_key(names: Mapping[str, str] = MADE_UP) -> list[tuple[str, str, str]]:
    """Return (section, subsection, name) of each key that git lists, with made-up names.

    `names` overrides the made-up name for the placeholders of a section.
    """
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True)
    found = []
    for line in listed.stdout.splitlines():
        section, _, rest = line.strip().partition(".")
        subsection, _, name = rest.rpartition(".")
        other = names.get(section, "odd")
        subsection = PLACEHOLDERS.get(subsection, other if "<" in subsection else subsection)
        per_address = name == "*" and section in ("credential", "http")
        own = [name if name.isalnum() else other]
        found += [(section, subsection, each) for each in (PER_ADDRESS if per_address else own)]
    # The last line of the output is a sentence, not a key
    return [*(key for key in found if key[0].isalnum()), *UNLISTED]


def settings(value: str, names: Mapping[str, str] = MADE_UP) -> str:
    """Return a configuration that sets all keys to a value, except for refused keys."""
    lines = []
    for section, subsection, name in every_key(names):
        if ".".join(filter(None, (section, subsection, name))).lower() not in REFUSED:
            head = f'[{section} "{subsection}"]' if subsection else f"[{section}]"
            lines += [head, f'\t{name} = "{value}"']
    return "\n".join(lines) + "\n"


def in_clone(clone: Path, text: str) -> None:
    """Add the text to the clone's configuration."""
    with (clone / ".git/config").open("a") as stream:
        stream.write(text)


def in_worktree(clone: Path, text: str) -> None:
    """Write the text to the configuration of the work tree."""
    (clone / ".git/config.worktree").write_text(text)
    in_clone(clone, "[extensions]\n\tworktreeConfig = true\n")


def in_included(clone: Path, text: str) -> None:
    """Write the text to a file that the clone's configuration includes."""
    (clone / ".git/evil.cfg").write_text(text)
    in_clone(clone, "[include]\n\tpath = evil.cfg\n")
    in_clone(clone, '[includeIf "onbranch:Acme-*"]\n\tpath = evil.cfg\n')


def attributes(clone: Path) -> None:
    """Assign the drivers with the made-up name to every file."""
    (clone / ".git/info").mkdir(exist_ok=True)
    (clone / ".git/info/attributes").write_text("* filter=odd diff=odd merge=odd\n")


def since(clone: Path, ref: str) -> int:
    return run(["check", str(clone / "Acme"), "--round", "5.1", "--since", ref])


def spoil_log(clone: Path) -> None:
    """Change a log so that the check rejects it."""
    log = min((clone / "Acme").rglob("result_0.txt"))
    log.write_text(log.read_text().replace('"closed"', '"clos3d"', 1))


@pytest.mark.parametrize("names", [MADE_UP, IN_USE])
def test_every_key_of_git_is_in_the_list(names: Mapping[str, str]) -> None:
    keys = {".".join(filter(None, key)).lower() for key in every_key(names)}
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True)
    lines = [line for line in listed.stdout.lower().split("\n") if line.count(" ") == 0 and line]
    assert len(lines) > 500
    assert [key for key in lines if key not in keys and not re.search(r"[<*_]", key)] == []
    patterns = [re.sub(r"<[^>]*>|\\\*", ".+", re.escape(key)) for key in lines if "<" in key]
    assert [each for each in patterns if not any(re.fullmatch(each, key) for key in keys)] == []
    assert {"core.sshcommand", "filter.odd.clean", "gpg.program", "http.proxy"} <= keys
    assert {"credential.helper", "filter.odd.process", "core.fsmonitor"} <= keys


@pytest.mark.parametrize("names", [MADE_UP, IN_USE])
@pytest.mark.parametrize("place", [in_clone, in_worktree])
def test_no_key_starts_a_program_or_changes_the_packed_files(
    place: Callable[[Path, str], None], names: Mapping[str, str], review: Review, trap: Trap
) -> None:
    clone = review.clone()
    attributes(clone)
    place(clone, settings(str(trap.program), names))
    # git itself cannot read this configuration: the values of switches are invalid
    failed = subprocess.run(["git", "-C", clone, "status"], capture_output=True, check=False)
    assert failed.returncode
    assert review.pack(clone) == Exit.CLEAN
    commit = (clone / f".git/refs/heads/{BRANCH}").read_text().strip()
    assert review.pack(clone, "--push") == Exit.CLEAN
    assert git(review.bare, "rev-parse", BRANCH) == commit
    assert git(review.bare, "rev-list", "--count", f"main..{BRANCH}") == "1"
    assert trap.sprung() == set()


@pytest.mark.parametrize("options", [(), ("--push",)])
def test_no_key_in_an_included_file_starts_a_program(
    options: tuple[str, ...], review: Review, trap: Trap
) -> None:
    clone = review.clone()
    attributes(clone)
    in_included(clone, settings(str(trap.program), IN_USE))
    assert review.pack(clone, *options) == Exit.USAGE
    assert git(review.bare, "branch", "--list", BRANCH) == ""
    assert trap.sprung() == set()


@pytest.mark.parametrize("key", sorted(key for key in REFUSED if key.startswith("remote.")))
def test_a_refused_key_of_a_remote_starts_no_program(key: str, review: Review, trap: Trap) -> None:
    """The other tests omit these keys, because podium refuses to pack into such a clone."""
    clone = review.clone()
    git(clone, "config", "--replace-all", key, str(trap.program))
    assert review.pack(clone, "--push") == Exit.USAGE
    assert git(review.bare, "branch", "--list", BRANCH) == ""
    assert trap.sprung() == set()


@pytest.mark.parametrize("names", [MADE_UP, IN_USE])
@pytest.mark.parametrize("place", [in_clone, in_worktree, in_included])
def test_no_key_starts_a_program_or_changes_the_verdict_with_since(
    place: Callable[[Path, str], None], names: Mapping[str, str], review: Review, trap: Trap
) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    base = git(clone, "rev-parse", "HEAD")
    attributes(clone)
    place(clone, settings(str(trap.program), names))
    assert since(clone, base) == Exit.CLEAN
    assert run(["pack", "--since", "origin/main", "--git", str(clone)]) == Exit.CLEAN
    spoil_log(clone)
    assert since(clone, base) == Exit.FOUND
    assert run(["pack", "--since", "origin/main", "--git", str(clone)]) == Exit.USAGE
    assert trap.sprung() == set()


# --- included configuration files ---

EVIL = """\
[filter "odd"]
    clean = {0}
    smudge = {0}
[gpg]
    program = {0}
[commit]
    gpgsign = true
"""


@pytest.mark.parametrize(
    "head",
    [
        "[include]",
        '[includeIf "onbranch:Acme-*"]',
        '[includeIf "gitdir:**"]',
        '[includeIf "hasconfig:remote.*.url:**"]',
    ],
)
@pytest.mark.parametrize("options", [(), ("--push",), ("--dry-run",)])
def test_a_configuration_that_includes_another_file_is_refused(
    head: str,
    options: tuple[str, ...],
    review: Review,
    trap: Trap,
    capsys: pytest.CaptureFixture[str],
) -> None:
    clone = review.clone()
    attributes(clone)
    (clone / ".git/evil.cfg").write_text(EVIL.format(trap.program))
    in_clone(clone, f"{head}\n\tpath = evil.cfg\n")
    capsys.readouterr()
    assert review.pack(clone, *options) == Exit.USAGE
    err = capsys.readouterr().err
    assert "includes another file" in err
    assert err.count("\n") == 1
    assert trap.sprung() == set()
    assert git(review.bare, "branch", "--list", BRANCH) == ""


def test_a_configuration_that_includes_a_file_of_the_branch_is_refused(
    review: Review, trap: Trap
) -> None:
    seed = review.place / "seed"
    git(seed, "checkout", "-q", "-b", BRANCH)
    (seed / "evilcfg").write_text(EVIL.format(trap.program))
    git(seed, "add", "-A")
    git(seed, "commit", "-q", "-m", "a configuration")
    git(seed, "push", "-q", "origin", BRANCH)
    clone = review.clone()
    attributes(clone)
    in_clone(clone, "[include]\n\tpath = ../evilcfg\n")
    assert review.pack(clone) == Exit.USAGE
    assert trap.sprung() == set()


@pytest.mark.parametrize("path", ["/dev/zero", "/etc/passwd", "config", "pipe"])
def test_check_since_does_not_open_an_included_file(path: str, review: Review) -> None:
    clone = review.clone()
    assert review.pack(clone) == Exit.CLEAN
    named = review.place / "pipe" if path == "pipe" else path
    if path == "pipe":
        os.mkfifo(review.place / "pipe")
    in_clone(clone, f"[include]\n\tpath = {named}\n")
    assert since(clone, "HEAD") == Exit.CLEAN


def test_core_worktree_does_not_redirect_the_packed_files(review: Review, tmp_path: Path) -> None:
    clone, other = review.clone(), tmp_path / "other"
    other.mkdir()
    git(clone, "config", "core.worktree", str(other))
    assert review.pack(clone) == Exit.CLEAN
    assert list(other.iterdir()) == []
    assert (clone / "Acme").is_dir()


def test_a_branch_that_is_a_symbolic_ref_is_refused(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    git(clone, "symbolic-ref", f"refs/heads/{BRANCH}", "refs/heads/main")
    before = git(clone, "rev-parse", "main")
    assert review.pack(clone) == Exit.USAGE
    assert "is a link to another one" in capsys.readouterr().err
    assert git(clone, "rev-parse", "main") == before


# --- settings that apply ---


def test_the_author_name_is_read_from_the_clone(review: Review) -> None:
    clone = review.clone()
    git(clone, "config", "user.name", "Another Name")
    assert review.pack(clone) == Exit.CLEAN
    assert git(clone, "log", "-1", "--format=%an <%ae>") == "Another Name <person@example.com>"


@pytest.mark.parametrize("condition", ["gitdir:{}/", "hasconfig:remote.*.url:**"])
def test_conditional_includes_of_the_user_apply(
    condition: str, review: Review, config: Path
) -> None:
    clone = review.clone()
    other = config.with_name("work.cfg")
    other.write_text("[user]\n\tname = At Work\n")
    with config.open("a") as stream:
        stream.write(f'[includeIf "{condition.format(clone)}"]\n\tpath = {other}\n')
    assert review.pack(clone) == Exit.CLEAN
    assert git(clone, "log", "-1", "--format=%an") == "At Work"


def test_a_commit_is_signed_with_the_users_own_program(review: Review, trap: Trap) -> None:
    signer = trap.place / "signer"
    text = base64.b64encode(b"signature").decode()
    signer.write_text(
        "#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\n"
        f"echo '-----BEGIN PGP SIGNATURE-----'\necho {text}\necho '-----END PGP SIGNATURE-----'\n"
    )
    signer.chmod(0o755)
    clone = review.clone()
    git(clone, "config", "--global", "commit.gpgSign", "true")
    git(clone, "config", "--global", "gpg.program", str(signer))
    git(clone, "config", "gpg.program", trap.named("of the clone"))
    assert review.pack(clone) == Exit.CLEAN
    assert text in git(clone, "cat-file", "commit", "HEAD")
    assert trap.sprung() == set()


def test_dangerous_settings_of_the_clone_are_not_passed_to_git(review: Review) -> None:
    clone = review.clone()
    for key in ("core.sshCommand", "http.proxy", "commit.gpgSign", "credential.helper"):
        git(clone, "config", key, "true")
    seen = Clone(clone).run("config", "--list", "--name-only").splitlines()
    assert not {"core.sshcommand", "http.proxy", "commit.gpgsign", "credential.helper"} & {*seen}
