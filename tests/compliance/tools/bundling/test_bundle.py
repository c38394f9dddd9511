"""`podium bundle`: reproducible archives that `podium unpack` restores."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import zstandard
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from podium.compliance.cli.entry import run
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.bundling.bundle import BundleOptions, bundle
from podium.compliance.tools.bundling.format.archive import write_archive
from podium.compliance.tools.bundling.format.paths import folded
from podium.compliance.tools.bundling.format.refusal import Refused
from podium.compliance.tools.bundling.format.tree import entries_of
from podium.compliance.tools.bundling.unpack import unpack
from tests.compliance.command_line import podium

Tree = Mapping[tuple[str, ...], bytes | str | None]
"""Paths in parts, each with the content of a file, the target of a link, or None for a folder."""

EXAMPLE: Tree = {
    ("results", "ex_n8", "bert", "result_0.txt"): b":::MLLOG {}\n" * 5000,
    ("results", "ex_n8", "bert", "result_1.txt"): b"",
    ("systems", "ex_n8.json"): b"{}",
    ("benchmarks", "bert", "größe 尺.txt"): b"\xff\xfe",
    ("benchmarks", "bert", "n" * 200, "m" * 120, "deep.txt"): b"deep",
    ("benchmarks", "empty"): None,
    ("latest",): "results/ex_n8",
    ("systems", "up"): "../results",
    ("systems", "dangling"): "nowhere",
}


def build(root: Path, tree: Tree, *, backwards: bool = False) -> Path:
    """Write a tree below a new folder named `Acme`."""
    top = root / "Acme"
    top.mkdir(parents=True)
    for parts, what in sorted(tree.items(), reverse=backwards):
        path = top.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        if what is None:
            path.mkdir(exist_ok=True)
        elif isinstance(what, str):
            path.symlink_to(what)
        else:
            path.write_bytes(what)
    return top


def listing(tree: Path) -> dict[str, object]:
    """Return everything that a bundle must keep: paths, types, contents and executable bits."""
    found: dict[str, object] = {}
    for path in tree.rglob("*"):
        name = path.relative_to(tree).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_dir():
            found[name] = None
        else:
            found[name] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = build(tmp_path, EXAMPLE)
    (made / "systems/ex_n8.json").chmod(0o755)
    return made


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "pass.txt"
    path.write_text("a secret of Söhne\nand a second line\n", encoding="utf-8")
    return path


def there_and_back(tree: Path, archive: Path, *more: str, back: tuple[str, ...] = ()) -> Path:
    output = archive.with_name("out")
    assert run(["bundle", str(tree), str(archive), *more]) == Exit.CLEAN
    assert run(["unpack", str(archive), "--output", str(output), *back]) == Exit.CLEAN
    return output / tree.name


# --- unencrypted archives ---


@pytest.mark.parametrize("ending", ["tar.zst", "tzst", "tar.gz", "tgz", "tar"])
def test_unpacking_restores_the_bundled_tree(ending: str, tree: Path) -> None:
    back = there_and_back(tree, tree.with_name(f"a.{ending}"))
    assert listing(back) == listing(tree)
    assert os.access(back / "systems/ex_n8.json", os.X_OK)


@pytest.mark.parametrize(("ending", "flag"), [("tar.gz", "-z"), ("tar.zst", "--zstd"), ("tar", "")])
@pytest.mark.skipif(shutil.which("tar") is None, reason="there is no tar program")
def test_the_tar_program_reads_a_bundle(ending: str, flag: str, tree: Path) -> None:
    archive = tree.with_name(f"a.{ending}")
    bundle(tree, archive)
    output = tree.with_name("by-tar")
    output.mkdir()
    flags = [flag] if flag else []
    subprocess.run(["tar", *flags, "-xf", str(archive), "-C", str(output)], check=True)
    assert listing(output / "Acme") == listing(tree)


@pytest.mark.parametrize("ending", ["tar.zst", "tar.gz", "tar"])
def test_the_same_tree_gives_the_same_bytes(ending: str, tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        one = build(tmp_path / "one", EXAMPLE)
    finally:
        os.umask(old)
    other = build(tmp_path / "other", EXAMPLE, backwards=True)
    for path in other.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (1e9, 1e9))
    first = bundle(one, tmp_path / f"1.{ending}")
    second = bundle(other, tmp_path / f"2.{ending}")
    assert first.sha256 == second.sha256
    assert (tmp_path / f"1.{ending}").read_bytes() == (tmp_path / f"2.{ending}").read_bytes()
    (other / "systems/ex_n8.json").write_text("{ }")
    assert bundle(other, tmp_path / f"3.{ending}").sha256 != first.sha256


def test_members_start_with_the_tree_name_and_have_no_machine_metadata(tree: Path) -> None:
    archive = tree.with_name("a.tar")
    bundle(tree, archive)
    with tarfile.open(archive) as read:
        members = read.getmembers()
    assert [each.name.split("/")[0] for each in members] == ["Acme"] * len(members)
    assert {(each.uid, each.gid, each.uname, each.gname) for each in members} == {(0, 0, "", "")}
    assert len({each.mtime for each in members}) == 1
    assert {oct(each.mode) for each in members} == {"0o644", "0o755", "0o777"}


def test_hash_files_have_the_format_of_coreutils(tree: Path) -> None:
    archive = tree.with_name("a.tar.zst")
    done = bundle(tree, archive)
    data = archive.read_bytes()
    sha256 = hashlib.sha256(data).hexdigest()
    assert (done.sha256, done.size) == (sha256, len(data))
    assert tree.with_name("a.tar.zst.sha256").read_text() == f"{sha256}  a.tar.zst\n"
    sha1 = hashlib.sha1(data).hexdigest()
    assert tree.with_name("a.tar.zst.sha1").read_text() == f"{sha1}  a.tar.zst\n"


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum program")
@pytest.mark.parametrize("name", ["a.tar.gz", "back\\slash.tar", "two\nlines.tar", "ä b.tar"])
def test_sha256sum_reads_the_hash_file(name: str, tree: Path) -> None:
    bundle(tree, tree.with_name(name))
    call = ["sha256sum", "-c", f"{name}.sha256"]
    english = os.environ | {"LC_ALL": "C.UTF-8"}
    done = subprocess.run(call, cwd=tree.parent, env=english, capture_output=True, text=True)
    assert (done.returncode, done.stdout.endswith("OK\n")) == (0, True)


DEVICES = {
    "CON",
    "PRN",
    "AUX",
    "NUL",
    *(f"{n}{i}" for n in ("COM", "LPT") for i in "0123456789¹²³"),
}
NAMES = (
    st.text(
        st.characters(exclude_characters='/\\<>:"|?*', exclude_categories=("Cc", "Cf", "Cs")),
        min_size=1,
        max_size=12,
    )
    .filter(
        lambda name: name[-1] not in ". " and name.partition(".")[0].strip().upper() not in DEVICES
    )
    .filter(lambda name: name.lower() not in (".git", "git~1"))
)


@settings(max_examples=40)
@given(
    files=st.dictionaries(
        st.lists(NAMES, min_size=1, max_size=4).map(tuple),
        st.one_of(st.none(), st.binary(max_size=2000)),
        max_size=12,
    ),
    ending=st.sampled_from(["tar.zst", "tar.gz", "tar"]),
)
def test_unpacking_restores_any_generated_tree(
    files: dict[tuple[str, ...], bytes | None],
    ending: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    places = {parts[:end] for parts in files for end in range(1, len(parts) + 1)}
    assume(len({folded("/".join(parts)) for parts in places}) == len(places))
    above = {parts[:end] for parts in files for end in range(1, len(parts))}
    assume(not any(files.get(parts) is not None for parts in above))
    room = tmp_path_factory.mktemp("law")
    tree = build(room, files)
    first = bundle(tree, room / f"a.{ending}")
    second = bundle(tree, room / f"b.{ending}")
    unpack(room / f"a.{ending}", room / "out")
    assert listing(room / "out/Acme") == listing(tree)
    assert first.sha256 == second.sha256


# --- encrypted archives ---


@pytest.mark.parametrize(
    "ending",
    # The scrypt of age is slow by design, and its cost cannot be configured.
    [pytest.param("tar.zst.age", marks=pytest.mark.long), "tar.zst.enc", "tar.gz.enc"],
)
def test_a_passphrase_encrypts_and_decrypts(
    ending: str, tree: Path, secret: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = ("--passphrase-file", str(secret))
    archive = tree.with_name(f"a.{ending}")
    back = there_and_back(tree, archive, *key, back=key)
    assert listing(back) == listing(tree)
    assert b"MLLOG" not in archive.read_bytes()
    secret.write_text("another secret\n")
    call = ["unpack", str(archive), "--output", str(tree.with_name("no")), *key]
    capsys.readouterr()
    assert run(call) == Exit.FOUND
    assert "passphrase does not decrypt it" in capsys.readouterr().err
    assert run(call[:4]) == Exit.USAGE
    assert "pass --passphrase-file" in capsys.readouterr().err
    assert not tree.with_name("no").exists()


def test_each_age_recipient_can_decrypt_and_others_cannot(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pyrage = pytest.importorskip("pyrage")
    owners = [pyrage.x25519.Identity.generate() for _ in range(3)]
    keys = []
    for number, owner in enumerate(owners):
        keys.append(tree.with_name(f"key{number}.txt"))
        keys[-1].write_text(f"# created: today\n{owner}\n")
    archive = tree.with_name("a.tar.zst.age")
    given_to = [f"--recipient={owner.to_public()}" for owner in owners[:2]]
    assert run(["bundle", str(tree), str(archive), *given_to]) == Exit.CLEAN
    for number in range(2):
        output = tree.with_name(f"out{number}")
        call = ["unpack", str(archive), "--output", str(output), "--identity", str(keys[number])]
        assert run(call) == Exit.CLEAN
        assert listing(output / "Acme") == listing(tree)
    capsys.readouterr()
    call = ["unpack", str(archive), "--output", str(tree.with_name("no")), "--identity"]
    assert run([*call, str(keys[2])]) == Exit.FOUND
    assert capsys.readouterr().err == (
        "podium: a.tar.zst.age: the key or passphrase does not decrypt it\n"
    )
    assert run(call[:-1]) == Exit.USAGE
    assert not tree.with_name("no").exists()


def test_age_decryption_is_retried_when_the_library_calls_the_machine_slow(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library occasionally refuses a passphrase on a busy machine."""
    pyrage = pytest.importorskip("pyrage")
    tree.with_name("pass.txt").write_text("correct horse\n")
    archive, words = tree.with_name("a.tar.age"), ("--passphrase-file", tree.with_name("pass.txt"))
    assert podium("bundle", tree, archive, *words).exit_code == Exit.CLEAN
    decrypt = pyrage.passphrase.decrypt
    header, stanza, *rest = archive.read_bytes().split(b"\n")
    hard = b"\n".join([header, b" ".join([*stanza.split(b" ")[:3], b"63"]), *rest])
    refusals = 3

    def busy(data: bytes, secret: str) -> object:
        nonlocal refusals
        refusals -= 1
        return decrypt(hard if refusals >= 0 else data, secret)

    monkeypatch.setattr(pyrage.passphrase, "decrypt", busy)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert podium("unpack", archive, "--output", tree.with_name("out"), *words).exit_code == 0
    assert listing(tree.with_name("out") / "Acme") == listing(tree)
    refusals = 10_000
    done = podium("unpack", archive, "--output", tree.with_name("no"), *words)
    assert done.exit_code == Exit.FOUND
    assert "this machine is too busy or too slow for 2^" in done.stderr
    assert not tree.with_name("no").exists()


def test_age_encrypts_for_an_ssh_key(tree: Path) -> None:
    pytest.importorskip("pyrage")
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from cryptography.hazmat.primitives import serialization as shapes

    secret = ed25519.Ed25519PrivateKey.generate()
    shape = (shapes.Encoding.PEM, shapes.PrivateFormat.OpenSSH, shapes.NoEncryption())
    tree.with_name("id_ed25519").write_bytes(secret.private_bytes(*shape))
    public = secret.public_key().public_bytes(shapes.Encoding.OpenSSH, shapes.PublicFormat.OpenSSH)
    archive, identity = tree.with_name("a.tar.age"), str(tree.with_name("id_ed25519"))
    back = there_and_back(
        tree, archive, "--recipient", public.decode(), back=("--identity", identity)
    )
    assert listing(back) == listing(tree)
    bad = tree.with_name("bad.txt")
    bad.write_text("no key at all\n")
    call = ["unpack", str(archive), "--output", str(tree.with_name("no")), "--identity", str(bad)]
    assert run(call) == Exit.USAGE


def openssl(*arguments: str) -> bytes:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl program")
    done = subprocess.run(["openssl", "enc", *arguments], capture_output=True, check=True)
    return done.stdout


@pytest.mark.parametrize(("iterations", "reported"), [("600000", True), ("10000", False)])
def test_the_openssl_program_decrypts_the_openssl_format(
    iterations: str, reported: bool, tree: Path, secret: Path
) -> None:
    archive = tree.with_name("a.tar.gz.enc")
    more = ["--passphrase-file", str(secret), "--iterations", iterations]
    assert run(["bundle", str(tree), str(archive), *more]) == Exit.CLEAN
    extra = ["-iter", iterations] if reported else []
    call = ("-d", "-aes-256-cbc", "-pbkdf2", *extra, "-in", str(archive))
    opened = openssl(*call, "-pass", f"file:{secret}")
    with tarfile.open(fileobj=io.BytesIO(opened)) as read:
        names = {each.name for each in read.getmembers()}
    assert {f"Acme/{name}" for name in listing(tree)} | {"Acme"} == names


@pytest.mark.parametrize(
    ("how", "reported"),
    [
        (("-aes-256-cbc", "-pbkdf2"), "PBKDF2 with 10000 iterations"),
        (("-aes-256-cbc", "-pbkdf2", "-iter", "77777"), "PBKDF2 with 77777 iterations"),
        (("-aes256",), "old key derivation"),
        (("-aes256", "-md", "md5"), "oldest key derivation"),
    ],
)
def test_archives_encrypted_by_the_openssl_program_are_decrypted(
    how: tuple[str, ...],
    reported: str,
    tree: Path,
    secret: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain, archive = tree.with_name("plain.tar.gz"), tree.with_name("a.tar.gz")
    bundle(tree, plain)
    archive.write_bytes(openssl(*how, "-in", str(plain), "-pass", f"file:{secret}"))
    call = ["unpack", str(archive), "--output", str(tree.with_name("out"))]
    call += ["--passphrase-file", str(secret), "--iterations", "77777"]
    assert run(call) == Exit.CLEAN
    display_path = capsys.readouterr()
    assert reported in display_path.out
    assert ("weak" in display_path.err) is ("old" in reported)
    assert listing(tree.with_name("out") / "Acme") == listing(tree)


def test_the_legacy_cipher_writes_the_old_script_format_with_a_warning(
    tree: Path, secret: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tree.with_name("mlperf_submission_Acme.tar.gz")
    call = ["bundle", str(tree), str(archive), "--cipher", "legacy"]
    assert run([*call, "--passphrase-file", str(secret)]) == Exit.CLEAN
    assert "the format of the old script derives its key in one round" in capsys.readouterr().err
    digest = hashlib.sha1(archive.read_bytes()).hexdigest()
    stated = tree.with_name("mlperf_submission_Acme.sha1").read_text()
    assert stated == f"{digest}  mlperf_submission_Acme.tar.gz\n"
    opened = openssl("-d", "-aes256", "-in", str(archive), "-pass", f"file:{secret}")
    with tarfile.open(fileobj=io.BytesIO(opened)) as read:
        assert len(read.getmembers()) == len(listing(tree)) + 1


@pytest.fixture
def keys(tree: Path, secret: Path) -> Mapping[str, tuple[list[str], list[str]]]:
    """The options that encrypt and decrypt an archive, by the last part of its name."""
    owner = pytest.importorskip("pyrage").x25519.Identity.generate()
    tree.with_name("key.txt").write_text(str(owner))
    phrase = ["--passphrase-file", str(secret), "--iterations", "1000"]
    identity = ["--identity", str(tree.with_name("key.txt"))]
    return {"age": (["--recipient", str(owner.to_public())], identity), "enc": (phrase, phrase)}


CLOSED = ["tar.zst.age", "tar.zst.enc", "tar.gz.enc"]


@pytest.mark.parametrize("ending", CLOSED)
def test_a_changed_byte_is_detected_with_and_without_the_hash_files(
    ending: str,
    tree: Path,
    keys: Mapping[str, tuple[list[str], list[str]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    archive, (close, open_) = tree.with_name(f"a.{ending}"), keys[ending[-3:]]
    run(["bundle", str(tree), str(archive), *close])
    call = ["unpack", str(archive), "--output", str(tree.with_name("out")), *open_]
    data = archive.read_bytes()
    place = len(data) - 40
    archive.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    for side in ("sha1", "sha256"):
        assert run(call) == Exit.FOUND
        assert f"from a.{ending}.{side}" in capsys.readouterr().err
        tree.with_name(f"a.{ending}.{side}").unlink()
    assert run(call) == Exit.FOUND
    assert "damaged" in capsys.readouterr().err
    stated = ["--sha256", hashlib.sha256(data).hexdigest().upper()]
    assert run([*call, *stated]) == Exit.FOUND
    assert "from --sha256" in capsys.readouterr().err
    archive.write_bytes(data)
    assert run([*call, "--sha256", "abc"]) == Exit.USAGE
    assert not tree.with_name("out").exists()
    assert run([*call, *stated]) == Exit.CLEAN


@pytest.mark.parametrize("ending", CLOSED)
def test_a_truncated_encrypted_archive_is_refused(
    ending: str, tree: Path, keys: Mapping[str, tuple[list[str], list[str]]]
) -> None:
    archive, (close, open_) = tree.with_name(f"a.{ending}"), keys[ending[-3:]]
    run(["bundle", str(tree), str(archive), *close])
    data = archive.read_bytes()
    for side in ("sha1", "sha256"):
        tree.with_name(f"a.{ending}.{side}").unlink()
    for end in (len(data) - 1, len(data) - 16, len(data) // 2):
        archive.write_bytes(data[:end])
        call = ["unpack", str(archive), "--output", str(tree.with_name("out")), *open_]
        assert run(call) == Exit.FOUND
    assert not tree.with_name("out").exists()


def test_a_hash_file_without_a_hash_is_refused(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tree.with_name("a.tar")
    bundle(tree, archive)
    tree.with_name("a.tar.sha256").write_text("hello\n")
    assert run(["unpack", str(archive), "--output", str(tree.with_name("out"))]) == Exit.FOUND
    assert "a.tar.sha256 has no sha256 hash" in capsys.readouterr().err


@pytest.mark.long
def test_every_published_submission_survives_bundling_and_unpacking(
    corpus: Path, tmp_path: Path
) -> None:
    submissions = [each for each in corpus.glob("*_results_*/*") if each.is_dir()]
    assert len(submissions) > 30
    for number, submission in enumerate(submissions):
        for ending in ("tar.zst", "tar.gz"):
            archive = tmp_path / f"{number}.{ending}"
            bundle(submission, archive)
            unpack(archive, tmp_path / "out")
            assert listing(tmp_path / "out" / submission.name) == listing(submission)
            shutil.rmtree(tmp_path / "out")


# --- trees that cannot be bundled ---


def refused(tree: Path, said: str, name: str = "a.tar.zst") -> None:
    before = sorted(tree.parent.iterdir())
    with pytest.raises(Refused, match=said):
        bundle(tree, tree.with_name(name))
    assert sorted(tree.parent.iterdir()) == before


def test_a_tree_that_cannot_be_unpacked_is_refused(tree: Path) -> None:
    for target in ("/etc/passwd", "../../secret", "results/../../secret"):
        (tree / "link").symlink_to(target)
        refused(tree, "Acme/link: the link points outside the tree")
        (tree / "link").unlink()
    (tree / "latest2").symlink_to("latest2")
    refused(tree, "Acme/latest2: the link points outside")
    (tree / "latest2").unlink()
    (tree / "a\\b").touch()
    refused(tree, "the name is a path on Windows")
    (tree / "a\\b").unlink()
    os.mkfifo(tree / "pipe")
    refused(tree, "Acme/pipe: a pipe, socket or device cannot be bundled")
    (tree / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(tree)  # the path of a Unix socket must be short
        try:
            one.bind("sock")
        finally:
            os.chdir(here)
        refused(tree, "Acme/sock: a pipe, socket or device")
    (tree / "sock").unlink()
    (tree / "code").mkdir()
    (tree / "code/.git").write_text("gitdir: ../x\n")
    refused(tree, "Acme/code/.git: the name is reserved for the git folder")
    (tree / "code/.git").unlink()
    (tree / "code/.gitignore").touch()
    (tree / "SYSTEMS").mkdir(exist_ok=True)
    if len(list(tree.glob("[sS]*"))) > 1:
        refused(tree, "differ only in case or Unicode normalization")


@pytest.mark.parametrize(
    "name",
    ["CON", "nul.txt", "Com1", "LPT9 .log", "conin$", "x.", "y ", "f.txt:ads", "a?b", 'q"', "a|b"],
)
def test_a_name_that_windows_does_not_support_is_refused(name: str, tree: Path) -> None:
    (tree / name).touch()
    refused(tree, "Windows does not support the name")


@pytest.mark.parametrize(
    "name", ["CONSOLE", "null.txt", "com", "x.y", " y", ".gitmodules", "git~2"]
)
def test_a_name_that_windows_supports_is_bundled(name: str, tree: Path) -> None:
    (tree / name).touch()
    assert (there_and_back(tree, tree.with_name("a.tar")) / name).is_file()


def test_a_file_that_changes_while_it_is_read_is_detected(tree: Path) -> None:
    entries = entries_of(tree, "Acme")
    path = tree / "results/ex_n8/bert/result_0.txt"
    for change in (b"", path.read_bytes() + b"more"):
        path.write_bytes(change)
        with pytest.raises(Refused, match=r"result_0\.txt: the file changed while it was read"):
            write_archive(entries, io.BytesIO())
    path.unlink()
    with pytest.raises(Refused, match=r"result_0\.txt: cannot be read: No such file"):
        write_archive(entries, io.BytesIO())


def test_wrong_arguments_are_reported_in_one_line(
    tree: Path, secret: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, key = tree.parent, ("--passphrase-file", str(secret))
    (home / "there.tar").write_text("kept")
    (home / "empty.txt").write_text("")
    (home / "folder.tar").mkdir()
    calls = {
        "expected the ending .tar.zst": (tree, home / "a.zip"),
        "no such folder": (home / "absent", home / "a.tar"),
        "is in the tree itself": (tree, tree / "a.tar"),
        "already exists": (tree, home / "there.tar"),
        "is a folder": (tree, home / "folder.tar", "--replace"),
        "requires the cipher age, got openssl": (tree, home / "a.tar.enc", "--recipient", "age1x"),
        "is not an age recipient": (tree, home / "a.tar.age", "--recipient", "age1x"),
        "cannot be combined": (tree, home / "a.tar.age", "--recipient", "age1x", *key),
        "with age needs": (tree, home / "a.tar.age"),
        "with openssl needs a passphrase": (tree, home / "a.tar.enc"),
        "with legacy needs a passphrase": (tree, home / "a.tar.gz", "--cipher", "legacy"),
        "--cipher: expected age, openssl": (tree, home / "a.tar", "--cipher", "rot13"),
        "--iterations must be": (tree, home / "a.tar.enc", "--iterations", "99999999", *key),
        "no passphrase in the first": (tree, home / "b", "--passphrase-file", home / "empty.txt"),
        "cannot be read": (tree, home / "b", "--passphrase-file", home / "absent"),
        "cannot be written": (tree, home / "absent" / "a.tar"),
    }
    before = sorted(home.iterdir())
    for said, arguments in calls.items():
        assert run(["bundle", *map(str, arguments)]) == Exit.USAGE, said
        display_path = capsys.readouterr().err
        assert said in display_path
        assert display_path.count("\n") == 1
    assert sorted(home.iterdir()) == before
    assert (home / "there.tar").read_text() == "kept"
    assert run(["bundle", str(tree), str(home / "there.tar"), "--replace"]) == Exit.CLEAN
    assert (home / "there.tar").read_bytes()[:6] == b"Acme/\0"


def test_a_missing_library_is_reported_with_an_install_command(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library, name in (("pyrage", "a.tar.age"), ("cryptography", "a.tar.enc")):
        for module in [each for each in sys.modules if each.partition(".")[0] == library]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(UsageFault, match=rf"needs {library}: pip install \w"):
            bundle(tree, tree.with_name(name), BundleOptions(passphrase="x"))
    assert sorted(each.name for each in tree.parent.iterdir()) == ["Acme"]


@pytest.mark.parametrize("ending", ["tar", "tar.age"])
def test_a_full_disk_leaves_no_files(ending: str, tree: Path, secret: Path) -> None:
    pytest.importorskip("resource")
    (tree / "noise").write_bytes(os.urandom(1 << 20))
    before = sorted(tree.parent.iterdir())
    more = ["--passphrase-file", str(secret)] if ending == "tar.age" else []
    call = ["bundle", str(tree), str(tree.with_name(f"a.{ending}")), *more]
    code = (
        "import resource, sys; from podium.compliance.cli.entry import run;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000));"
        f"sys.exit(run({call!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (Exit.USAGE, 1)
    assert "cannot be written: File too large" in done.stderr
    assert sorted(tree.parent.iterdir()) == before


@pytest.mark.parametrize("ending", ["", ".sha256", ".sha1"])
@pytest.mark.parametrize("replaced", [False, True])
def test_an_archive_and_its_hash_files_are_written_together_or_not_at_all(
    ending: str, replaced: bool, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Renaming one of the three files to its final name fails."""
    archive = tree.with_name("a.tar")
    if replaced:
        bundle(tree, archive)
    before = {path.name: path.stat().st_ino for path in tree.parent.iterdir()}
    replace = os.replace

    def failing(source: Path, target: Path) -> None:
        if Path(target).name == f"a.tar{ending}":
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(UsageFault, match=r"a\.tar cannot be written: Input/output error"):
        bundle(tree, archive, BundleOptions(replace=True))
    assert {path.name for path in tree.parent.iterdir()} == set(before)
    assert not replaced or archive.stat().st_ino == before["a.tar"]


def test_a_disk_that_is_full_at_the_hash_files_leaves_no_archive(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(handle: int, data: bytes) -> int:
        if bytes(data).endswith(b"  a.tar\n"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UsageFault, match="cannot be written: No space left on device"):
        bundle(tree, tree.with_name("a.tar"))
    monkeypatch.undo()
    assert [path.name for path in tree.parent.iterdir()] == ["Acme"]


def test_zstd_bundles_have_a_checksum(tree: Path) -> None:
    bundle(tree, tree.with_name("a.tar.zst"))
    frame = zstandard.get_frame_parameters(tree.with_name("a.tar.zst").read_bytes())
    assert frame.has_checksum


def killed_while(call: list[str], folder: Path, product: Path) -> bool:
    """Kill podium when its staging folder appears; return False if it always finished first."""
    return any(_killed(call, folder, product) for _ in range(5))


def _killed(call: list[str], folder: Path, product: Path) -> bool:
    shutil.rmtree(product, ignore_errors=True)
    for made in folder.glob("a.tar.gz*") if product.suffix else ():
        made.unlink()
    before = set(folder.iterdir())
    child = subprocess.Popen([sys.executable, "-m", "podium", *call], stdout=subprocess.DEVNULL)
    while child.poll() is None and set(folder.iterdir()) == before:
        time.sleep(0.002)
    time.sleep(0.02)
    child.kill()
    return child.wait() == -signal.SIGKILL


def test_a_killed_call_leaves_no_partial_archive_or_tree(tree: Path) -> None:
    (tree / "noise").write_bytes(os.urandom(64 << 20))
    room, archive = tree.parent, tree.with_name("a.tar.gz")
    assert killed_while(["bundle", str(tree), str(archive)], room, archive)
    assert not archive.exists()
    bundle(tree, archive)
    output = tree.with_name("out")
    assert killed_while(["unpack", str(archive), "--output", str(output)], room, output)
    assert not output.exists()
    unpack(archive, output)
    assert listing(output / "Acme") == listing(tree)


@pytest.mark.parametrize(
    "name", ["Acme.tar.gz", "Acme.tar.gz.sha256", "Acme.tar.gz.sha1", "Acme.sha1"]
)
def test_staging_folders_of_killed_calls_are_reported(tree: Path, name: str) -> None:
    stage = tree.with_name(f".podium-stage.{name}.aaaaaaaa")
    stage.mkdir()
    os.utime(stage, (0, 0))  # a new folder could belong to a running call
    said = podium("bundle", tree, tree.with_name("Acme.tar.gz")).stderr
    assert f"left by a killed call: {stage}" in said
    assert said.count("\n") == 1
