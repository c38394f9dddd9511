"""Passphrases and keys are not in outputs, process arguments or readable files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.compliance.exit_codes import Exit
from podium.compliance.tools.bundling.bundle import BundleOptions, bundle
from tests.compliance.command_line import podium

PHRASE = "correct-horse-battery-5taple"
OPENSSL = ("openssl", "tar.zst.enc"), ("legacy", "tar.gz")

_STARTING = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork")
_started: list[str] = []
_listening: list[bool] = []


def _hook(event: str, words: object) -> None:
    if _listening and event in _STARTING:
        _started.append(f"{event} {words}")


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Processes that are started during a test. An audit hook cannot be removed, only muted."""
    if not _listening:
        sys.addaudithook(_hook)
    _started.clear()
    _listening.append(True)
    yield _started
    _listening.clear()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "Acme").mkdir()
    (tmp_path / "Acme/a.txt").write_text("alpha\n" * 50)
    (tmp_path / "pass.txt").write_text(f"{PHRASE}\n")
    return tmp_path / "Acme"


def age() -> tuple[str, str]:
    """Return a secret key and its public key."""
    identity = pytest.importorskip("pyrage").x25519.Identity.generate()
    return str(identity), str(identity.to_public())


@pytest.mark.parametrize("ending", ["tar.zst.age", "tar.zst.enc"])
def test_a_passphrase_is_not_printed_written_or_passed_to_a_program(
    ending: str, tree: Path, starts: list[str]
) -> None:
    place = tree.parent
    archive, wrong = place / f"a.{ending}", place / "wrong.txt"
    wrong.write_text(f"not-{PHRASE}\n")
    calls = [
        (Exit.CLEAN, "bundle", tree, archive, "--passphrase-file", place / "pass.txt"),
        (Exit.FOUND, "unpack", archive, "-o", place / "one", "--passphrase-file", wrong),
        (Exit.CLEAN, "unpack", archive, "-o", place / "two", "--passphrase-file", "pass.txt"),
        (Exit.USAGE, "bundle", tree, archive, "--passphrase-file", place / "pass.txt"),
    ]
    here = Path.cwd()
    os.chdir(place)
    try:
        for status, *words in calls:
            done = podium(*words)
            assert done.exit_code == status, done.output
            assert PHRASE not in done.output
            if ending.endswith("age"):
                assert "is not authenticated" not in done.stderr
    finally:
        os.chdir(here)
    # Unpacking starts one program, which removes the files if podium is killed
    assert not [each for each in starts if PHRASE in each]
    written = [path for path in place.rglob("*") if path.is_file() and path.name not in KNOWN]
    assert archive in written
    assert not [path for path in written if PHRASE.encode() in path.read_bytes()]


KNOWN = ("pass.txt", "wrong.txt")


def test_age_keys_are_not_printed_written_or_passed_to_a_program(
    tree: Path, starts: list[str]
) -> None:
    (secret, public), (other, _), place = age(), age(), tree.parent
    (place / "key.txt").write_text(f"# a comment\n{secret}\n")
    (place / "other.txt").write_text(other)
    (place / "broken.txt").write_text(secret[:-3])
    archive = place / "a.tar.zst.age"
    calls = [
        (Exit.CLEAN, "bundle", tree, archive, "--recipient", public),
        (Exit.CLEAN, "unpack", archive, "-o", place / "one", "--identity", place / "key.txt"),
        (Exit.FOUND, "unpack", archive, "-o", place / "two", "--identity", place / "other.txt"),
        (Exit.USAGE, "unpack", archive, "-o", place / "two", "--identity", place / "broken.txt"),
    ]
    for status, *words in calls:
        done = podium(*words)
        assert done.exit_code == status, done.output
        assert not [key for key in (secret, public, other) if key[:30] in done.output]
    assert not [each for each in starts for key in (secret, public, other) if key in each]
    side_files = [path for path in place.iterdir() if path.suffix in (".sha256", ".sha1")]
    assert len(side_files) == 2
    assert not [path for path in side_files if public in path.read_text()]
    assert public.encode() not in archive.read_bytes()


@pytest.mark.parametrize("lines", ["{}", "  {}\n", "-----BEGIN OPENSSH PRIVATE KEY-----\n{}"])
def test_a_secret_key_given_as_a_recipient_is_not_printed(lines: str, tree: Path) -> None:
    secret, _ = age()
    given = lines.format(secret)
    done = podium("bundle", tree, tree.parent / "a.tar.age", "--recipient", given)
    assert done.exit_code == Exit.USAGE
    assert "is a secret key; expected a public key" in " ".join(done.stderr.split())
    assert secret[15:40] not in done.output


def test_options_for_secrets_accept_files_only() -> None:
    """Every user of the machine can see arguments, and shells save them."""
    for name in ("bundle", "unpack", "pack"):
        done = podium(name, "--help", columns=200)
        options = [line for line in done.stdout.splitlines() if line.lstrip().startswith("--")]
        assert options
        about = [line for line in options if re.search("passphrase|identity|secret", line.lower())]
        assert all(" FILE " in line for line in about), about


@pytest.mark.parametrize(("cipher", "ending"), OPENSSL)
def test_an_archive_without_authentication_is_reported_even_with_quiet(
    cipher: str, ending: str, tree: Path
) -> None:
    """The warning is printed by `bundle`, and by `unpack` without a known hash."""
    place = tree.parent
    archive, phrase = place / f"a.{ending}", ("--passphrase-file", place / "pass.txt")
    made = podium("bundle", tree, archive, "--cipher", cipher, *phrase, "--quiet")
    assert made.exit_code == Exit.CLEAN
    assert "is not authenticated" in made.stderr
    opened = podium("unpack", archive, "-o", place / "one", *phrase, "--quiet")
    assert opened.exit_code == Exit.CLEAN
    assert "is not authenticated" in opened.stderr
    digest = (place / f"{archive.name}.sha256").read_text().split()[0]
    known = podium("unpack", archive, "-o", place / "two", *phrase, "--sha256", digest)
    assert "is not authenticated" not in known.stderr


def test_unpacking_a_plain_archive_prints_no_warning(tree: Path) -> None:
    place = tree.parent
    bundle(tree, place / "b.tar")
    done = podium("unpack", place / "b.tar", "-o", place / "1")
    assert (done.exit_code, done.stderr) == (Exit.CLEAN, "")


@pytest.mark.long
def test_age_refuses_an_archive_that_was_changed_without_the_passphrase(tree: Path) -> None:
    """An attacker who changes an archive can also replace the files with its hashes."""
    place = tree.parent
    pytest.importorskip("pyrage")
    archive = place / "a.tar.age"
    bundle(tree, archive, BundleOptions(passphrase=PHRASE))
    data = bytearray(archive.read_bytes())
    data[-200] ^= 1
    archive.write_bytes(data)
    for kind in ("sha256", "sha1"):
        (place / f"{archive.name}.{kind}").unlink()
    done = podium("unpack", archive, "-o", place / "o", "--passphrase-file", place / "pass.txt")
    assert done.exit_code == Exit.FOUND
    assert not (place / "o").exists()
