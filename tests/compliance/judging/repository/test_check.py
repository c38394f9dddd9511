"""A clean tree with one error at a time, and the verdict of the official checker on it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.compliance.judging.repository import local_paths
from podium.compliance.judging.repository import secrets as leaks
from podium.compliance.judging.repository.check import LARGE, MOST_PER_RULE, check_repository
from podium.compliance.judging.repository.file_names import collisions, plain, violated_rules
from podium.compliance.judging.repository.secret_detectors import kind_of_secret
from podium.logging_spec.reader.read import parse_log
from podium.rules.catalogue import find_round
from podium.rules.finding import Finding, Profile, Severity
from tests.compliance.trees import good

RULES = find_round("training", "5.1")

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree without errors."""
    root = tmp_path / "sub"
    (root / "systems" / "deep").mkdir(parents=True)
    (root / "systems" / "deep" / "file").write_text("text\n")
    (root / "README.md").write_text("see https://example.org/a@b\n")
    return root


def found(root: Path, profile: Profile = Profile.POLICY) -> list[Finding]:
    return sorted(check_repository(root, RULES, profile), key=Finding.sort_key)


def said(root: Path, profile: Profile = Profile.POLICY) -> list[tuple[str, str, Severity]]:
    return [(f.id.removeprefix("repo."), f.path, f.severity) for f in found(root, profile)]


def test_a_clean_tree_has_no_findings(tree: Path) -> None:
    assert said(tree) == said(tree, Profile.VERIFIER) == []


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "rule", "severity"),
    [
        ("a b", "space-in-name", WARNING),
        (".hidden", "leading-dot", WARNING),
        (".gitignore", "leading-dot", WARNING),
        ("a\tb", "control-character", WARNING),
        ("a\nb", "control-character", WARNING),
        ("a\x1b[31mb", "control-character", WARNING),
        ("a\u202eb", "control-character", WARNING),
        ("con", "windows-name", WARNING),
        ("NUL.txt", "windows-name", WARNING),
        ("com1.log", "windows-name", WARNING),
        ("a:b", "windows-name", WARNING),
        ("a?", "windows-name", WARNING),
        ("a.", "windows-name", WARNING),
        (unicodedata.normalize("NFD", "é"), "not-nfc", WARNING),
    ],
)
def test_a_bad_file_name_is_reported(tree: Path, name: str, rule: str, severity: Severity) -> None:
    (tree / "systems" / name).write_text("")
    assert said(tree) == [(rule, f"systems/{name}", severity)]
    rejected = rule in ("space-in-name", "leading-dot")
    assert [s for _, _, s in said(tree, Profile.VERIFIER)] == [ERROR] * rejected


def test_valid_file_names_are_accepted(tree: Path) -> None:
    for name in ("é", "日本", "console", "a-b_c.d", "x" * 100, "nulls.txt", "aux_data"):
        (tree / name).write_text("")
    assert said(tree) == []


def test_a_name_that_is_not_utf_8_is_reported_in_escaped_form(tree: Path) -> None:
    with open(os.fsencode(tree) + b"/x\xffy", "w"):
        pass
    (finding,) = found(tree)
    assert (finding.id, finding.path) == ("repo.not-utf8", r"x\xffy")
    finding.path.encode()


def test_long_names_and_long_paths_are_reported(tree: Path) -> None:
    assert [rule.id for rule in violated_rules("x" * 256, "x" * 150)] == ["repo.long-name"]
    assert [rule.id for rule in violated_rules("é" * 128, "é" * 128)] == ["repo.long-name"]
    folder = tree / ("a" * 100) / ("b" * 100)
    folder.mkdir(parents=True)
    assert said(tree) == [("long-path", f"{'a' * 100}/{'b' * 100}", NOTE)]


def test_names_that_differ_only_in_case_are_reported(tree: Path) -> None:
    (tree / "readme.MD").write_text("")
    assert said(tree) == [("case-collision", "readme.MD", WARNING)]
    pairs = [("1", "Straße"), ("2", "STRASSE"), ("3", "é"), ("4", "e\u0301")]
    assert [path for path, _ in collisions(pairs)] == ["2", "4"]


def test_bad_folder_names_are_reported(tree: Path) -> None:
    (tree / "a b" / "c d").mkdir(parents=True)
    assert said(tree) == [("space-in-name", "a b", WARNING), ("space-in-name", "a b/c d", WARNING)]


def test_a_bad_name_of_the_root_is_reported(tree: Path) -> None:
    root = tree.rename(tree.parent / "my sub")
    assert said(root) == [("space-in-name", ".", WARNING)]
    assert said(root, Profile.VERIFIER) == [("space-in-name", ".", ERROR)]


def test_a_git_folder_is_reported_but_not_searched(tree: Path) -> None:
    (tree / ".git" / "a b").mkdir(parents=True)
    assert said(tree) == [("leading-dot", ".git", WARNING)]
    assert said(tree, Profile.VERIFIER) == [("leading-dot", ".git", ERROR)]


# --- sizes and kinds ------------------------------------------------------------------------------


def test_files_over_the_size_limit_are_reported(tree: Path) -> None:
    for name, size in (("fits", LARGE), ("large", LARGE + 1), ("refused", (100 << 20) + 1)):
        with (tree / name).open("wb") as stream:
            stream.truncate(size)
    findings = found(tree)
    assert [(f.path, f.severity) for f in findings] == [("large", WARNING), ("refused", WARNING)]
    assert ["100 MiB" in f.message for f in findings] == [False, True]
    assert said(tree, Profile.VERIFIER) == [("large-file", n, ERROR) for n in ("large", "refused")]


def test_a_git_lfs_pointer_is_a_warning(tree: Path) -> None:
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    (tree / "data.bin").write_text(text)
    assert said(tree) == [("lfs-pointer", "data.bin", WARNING)]
    assert said(tree, Profile.VERIFIER) == []


def test_a_special_file_is_a_warning(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    assert said(tree) == [("special-file", "pipe", WARNING)]
    assert said(tree, Profile.VERIFIER) == []


def test_an_unreadable_folder_is_an_error(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("deep"):
            raise PermissionError(errno.EACCES, "no")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert said(tree) == [("unreadable", "systems/deep", ERROR)]
    assert said(tree, Profile.VERIFIER) == []


def test_a_root_that_is_not_a_folder_is_an_error(tree: Path) -> None:
    assert said(tree / "absent") == [("unreadable", ".", ERROR)]
    assert said(tree / "README.md") == [("unreadable", ".", ERROR)]


# --- links ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "rule", "severity"),
    [
        ("nothing", "broken-link", WARNING),
        ("/nothing/there", "broken-link", WARNING),
        ("link", "broken-link", WARNING),
        ("file", "link-from-elsewhere", WARNING),
        ("/etc/hostname", "absolute-link", WARNING),
        ("../../../outside", "escaping-link", WARNING),
        ("../../..", "escaping-link", WARNING),
        ("README.md", "broken-link", WARNING),  # it is in the root, not next to the link
    ],
)
def test_a_bad_link_is_reported(tree: Path, target: str, rule: str, severity: Severity) -> None:
    (tree.parent / "outside").write_text("AKIA" + "ABCDEFGHIJKLMNOP")
    if target == "/etc/hostname":
        target = str(tree.parent / "outside")
    (tree / "systems" / "deep" / "link").symlink_to(target)
    assert said(tree) == [(rule, "systems/deep/link", severity)]


def test_links_to_folders_are_not_followed(tree: Path) -> None:
    (tree / "loop").symlink_to(".")
    (tree / "other").symlink_to("systems")
    (tree / "a b").symlink_to("systems")
    assert said(tree) == [("space-in-name", "a b", WARNING)]
    assert said(tree, Profile.VERIFIER) == []


def test_circular_links_are_reported(tree: Path) -> None:
    (tree / "l1").symlink_to("l2")
    (tree / "l2").symlink_to("l1")
    assert ["circular" in f.message for f in found(tree)] == [True, True]


def test_the_verifier_resolves_links_from_the_working_directory(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "systems" / "deep" / "link").symlink_to("file")
    monkeypatch.chdir(tree.parent)
    assert said(tree, Profile.VERIFIER) == [("broken-link", "systems/deep/link", ERROR)]
    monkeypatch.chdir(tree / "systems" / "deep")
    assert said(tree, Profile.VERIFIER) == []


# --- secrets --------------------------------------------------------------------------------------

HEX = "0123456789abcdef0123456789abcdef01234567"
WORD = "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0LzXcVbNm"

SECRETS = {
    "AWS Access Key": "key = 'AKIA" + "QWERTYUIOPASDFGH'",
    "Azure Storage Account access key": "AccountKey=" + "lJzRc1YdHaAA2KCNJJ1tkYwF" * 3 + "a" * 16,
    "Basic Auth Credentials": "pip install --index https://joe:Zx9Qw8Er7T@example.org/simple",
    "GitHub Token": "ghp_" + WORD[:36],
    "Hugging Face Token": "HF_TOKEN=hf_" + WORD[:34],
    "Weights & Biases Key": "export WANDB_API_KEY=" + HEX,
    "NGC Key": "nvapi-" + WORD[:35] + WORD[:35],
    "Private Key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "OpenAI Token": "sk-" + WORD[:20] + "T3BlbkFJ" + WORD[:20],
    "GitLab Token": "glpat-" + WORD[:20],
    "Slack Token": "xoxb-" + "34532454-e039d02840a0b9379c",
    "Stripe Access Key": "sk_live_" + WORD[:24],
    "SendGrid API Key": "SG." + WORD[:22] + "." + (WORD * 2)[:43],
    "PyPI Token": "pypi-AgEIcHlwaS5vcmc" + WORD * 2,
    "NPM tokens": "//npm.example/:_authToken=npm_" + WORD[:36],
    "Password on a command line": "echo Zx9Qw8Er7T | sudo -S apt-get update",
    "Token in a URL": "git clone https://" + WORD[:20] + "@example.org/a.git",
    "JSON Web Token": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
    "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
}


def test_a_secret_whose_prefix_overlaps_another_prefix_is_found(tree: Path) -> None:
    (tree / "run.sh").write_text("AW" + SECRETS["SendGrid API Key"] + "\n")
    (finding,) = found(tree)
    assert "SendGrid" in finding.message


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("name", ["run.sh", "result_0.txt"])
def test_a_secret_is_found_and_not_printed(tree: Path, kind: str, name: str) -> None:
    (tree / name).write_text(f"first\n:::MLLOG {{}}\n{SECRETS[kind]}\n")
    (finding,) = found(tree)
    assert (finding.id, finding.path, finding.line) == ("repo.secret", name, 3)
    # The policy does not mention secrets, so podium only warns
    assert finding.severity is WARNING
    assert kind in finding.message
    secret = SECRETS[kind].split()[-1][-12:]
    assert secret == "KEY-----" or secret not in repr(finding)
    assert said(tree, Profile.VERIFIER) == []


@pytest.mark.parametrize(
    "line",
    [
        "https://user:password@example.org",
        "https://${USER}:${TOKEN}@example.org",
        "https://joe:<token>@example.org",
        "git@github.com:a/b.git",
        "HF_TOKEN=$HF_TOKEN",
        "key = 'AKIA" + "QWERTYUIOPASDFGH'  # pragma: allowlist secret",
        "aws_access_key_id = 'AKIA" + "IOSFODNN7EXAMPLE'",
        "AWS_SECRET_ACCESS_KEY='wJalrXUtnFEMI/K7MDENG/bPxRfiCYEX" + "AMPLEKEY'",
        "wandb: run abc",
        "echo $PASSWORD | sudo -S apt-get update",
        "sshpass -p $PASSWORD ssh node",
        "sshpass -p <password> ssh node",
        "curl -u $USER:$TOKEN https://example.org",
        "docker login -u joe -p $TOKEN registry.example",
        "docker login --password-stdin registry.example",
        "mysql -u root -p bench",
        "export PGPASSWORD=${PGPASSWORD:-}",
        "DB_PASSWORD=password",
        "PASSWORD=$(cat /run/secret)",
        "curl -u user:password https://example.org",
        "https://example.org/?token=$TOKEN",
        '"private_key": "-----BEGIN PRIVATE KEY-----<REDACTED>-----END PRIVATE KEY-----",',
        "# -----BEGIN PRIVATE KEY-----\n# <REDACTED>\n# -----END PRIVATE KEY-----",
        "https://joe:REDACTED-by-us@example.org",
        "hf_model_name_that_is_long_but_has_underscores_in_it",
    ],
)
def test_a_line_without_a_secret_is_accepted(tree: Path, line: str) -> None:
    (tree / "run.sh").write_text(line + "\n")
    assert said(tree) == []


@pytest.mark.parametrize(
    "line",
    [
        "echo 'Zx9Qw8Er7T' | sudo -S -k dnf install",
        "sudo -S true <<< Zx9Qw8Er7T",
        "sshpass -p Zx9Qw8Er7T ssh node",
        "sshpass -p 'Zx9Qw8Er7T' ssh node",
        "curl -s -u joe:Zx9Qw8Er7T https://example.org",
        "curl --user 'joe:Zx9Qw8Er7T' https://example.org",
        "mysql -h db -u root -pZx9Qw8Er7T bench",
        "docker login -u joe -p 'Zx9Qw8Er7T' registry.example",
        "podman login --password=Zx9Qw8Er7T registry.example",
        "export PGPASSWORD=Zx9Qw8Er7T",
        "AWS_SECRET_ACCESS_KEY=Zx9Qw8Er7T" + WORD[:30],
        "wget https://example.org/data?access_token=" + WORD[:20],
        "wget 'https://example.org/data?user=joe&api_key=" + WORD[:20] + "'",
    ],
)
def test_passwords_and_tokens_of_commands_are_found_and_masked(tree: Path, line: str) -> None:
    (tree / "run.sh").write_text(f"true\n{line}\n")
    (finding,) = found(tree)
    assert (finding.id, finding.line, finding.severity) == ("repo.secret", 2, WARNING)
    assert "Zx9Qw8Er7T" not in repr(finding)
    assert WORD[:20] not in repr(finding)


def test_images_binaries_records_and_file_tails_are_not_searched(tree: Path) -> None:
    secret = SECRETS["GitHub Token"]
    (tree / "picture.PNG").write_text(secret)
    (tree / "binary").write_bytes(b"\0" + secret.encode())
    (tree / "result_1.txt").write_text(f':::MLLOG {{"x": "{secret}"}}\n')
    (tree / "late.txt").write_bytes(b"x" * leaks.HEAD + secret.encode())
    assert said(tree) == []


def test_a_search_that_reaches_its_limit_is_a_note(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaks, "IN_ALL", 20)
    (finding,) = found(tree)
    assert (finding.id, finding.severity) == ("repo.search-ended", Severity.NOTE)


def by_hand(text: str, *, is_log: bool) -> list[tuple[int, str]]:
    """Find the secrets of a text by running the detectors on every line."""
    lines = [line.partition(":::MLL")[0] if is_log else line for line in text.split("\n")]
    kinds = [(number, kind_of_secret(line)) for number, line in enumerate(lines, 1)]
    return [(number, kind) for number, kind in kinds if kind is not None]


PIECES = st.sampled_from(
    [
        *SECRETS.values(),
        "\n",
        "\n",
        " ",
        ":::MLLOG {}",
        ":::MLL",
        "AKIASIA",
        "env://",
        "wandb: ",
        "\r\n",
    ]
)


@given(st.lists(PIECES, max_size=12), st.booleans())
def test_the_prefix_search_finds_every_secret_of_the_detectors(
    pieces: list[str], is_log: bool
) -> None:
    text = "".join(pieces)
    assert [*(leaks.secrets_in(text.encode(), is_log=is_log) or ())] == by_hand(text, is_log=is_log)


@given(st.lists(PIECES, max_size=12))
def test_a_parsed_log_has_the_secrets_of_its_file(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = leaks.secrets_of(parse_log(text.encode()))
    assert found == leaks.secrets_in(text.encode(), is_log=True) or not text


def test_findings_in_long_lines_and_in_one_file_are_limited(tree: Path) -> None:
    secret = SECRETS["GitHub Token"]
    (tree / "long.json").write_text("x" * 500_000 + f' "{secret}" ' + "y" * 400_000)
    (tree / "many.txt").write_text(f"{secret}\n" * 1000)
    (tree / "near.json").write_text("x" * 9000 + f' "{secret}" "{secret}" ' + "y" * 9000)
    far = " ".join(["y" * leaks.LONGEST_LINE, f"{secret} "])
    (tree / "far.json").write_text(far + far)
    places = Counter((finding.path, finding.line) for finding in found(tree))
    assert places.pop(("long.json", 1)) == places.pop(("near.json", 1)) == 1
    assert places.pop(("far.json", 1)) == 2
    assert places.total() == leaks.MOST_PER_FILE


@pytest.mark.parametrize("piece", ["eyJ", "=eyJ", "https://user:password@example.org "])
def test_a_line_full_of_near_secrets_is_searched_quickly(tree: Path, piece: str) -> None:
    (tree / "line.json").write_text(piece * (400_000 // len(piece)))
    began = time.monotonic()
    assert said(tree) == []
    assert time.monotonic() - began < 20  # a fraction of a second, or minutes with backtracking


# --- limits ---------------------------------------------------------------------------------------


def test_findings_of_one_rule_beyond_the_limit_are_counted(tree: Path) -> None:
    for number in range(MOST_PER_RULE + 50):
        (tree / f"a {number}").write_text("")
    findings = found(tree)
    assert len(findings) == MOST_PER_RULE + 1
    assert findings[0].message.startswith("50 more")
    assert findings[0].severity is WARNING


def test_many_files_and_large_sparse_files_are_checked_quickly(tree: Path) -> None:
    for number in range(100):
        folder = tree / f"d{number}"
        folder.mkdir()
        for inner in range(30):
            (folder / f"f{inner}.py").write_text("# http://www.apache.org/licenses\n" * 20)
    for name in ("sparse.json", "result_0.txt"):
        with (tree / name).open("wb") as stream:
            stream.truncate(5 << 30)
    start = time.monotonic()
    assert {rule for rule, _, _ in said(tree)} == {"large-file"}
    assert time.monotonic() - start < 5


def test_a_tree_that_is_too_deep_is_reported_as_unreadable(tree: Path) -> None:
    inside = os.open(tree, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 20, dir_fd=inside)
        deeper = os.open("d" * 20, os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = deeper
    os.close(inside)
    try:
        assert "repo.unreadable" in {f.id for f in found(tree)}
    finally:
        subprocess.run(["rm", "-rf", str(tree)], check=True)


def test_the_check_does_not_modify_the_tree(tree: Path) -> None:
    before = sorted((p, p.lstat().st_mtime_ns) for p in tree.rglob("*"))
    found(tree)
    assert sorted((p, p.lstat().st_mtime_ns) for p in tree.rglob("*")) == before


def test_plain_escapes_only_undecodable_bytes() -> None:
    assert plain("é/日本") == "é/日本"
    assert plain("a\udcffb") == r"a\xffb"


# --- the official checker -------------------------------------------------------------------------


def _big(size: int) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        with (root / "big").open("wb") as stream:
            stream.truncate(size)

    return make


def _link(name: str, target: str) -> Callable[[Path], None]:
    return lambda root: (root / name).symlink_to(target)


def _file(name: str) -> Callable[[Path], object]:
    return lambda root: (root / name).write_text("")


CASES: dict[str, Callable[[Path], object]] = {
    "clean": Path.exists,
    "space": _file("a b"),
    "dot": _file("systems/.x"),
    "git": lambda root: (root / ".git").mkdir(),
    "tab": _file("a\tb"),
    "line end": _file("a\nb"),
    "windows": _file("con"),
    "nbsp": _file("a\u00a0b"),
    "folder": lambda root: (root / "a b").mkdir(),
    "fits": _big(LARGE),
    "large": _big(LARGE + 1),
    "broken": _link("l", "nothing"),
    "broken absolute": _link("l", "/nothing"),
    "absolute": _link("l", "/etc/passwd"),
    "beside": _link("systems/deep/l", "file"),
    "from the current folder": _link("l", "sub/README.md"),
    "circle": _link("l", "l"),
    "folder link": _link("l l", "systems"),
    "file link": _link("l l", "/etc/passwd"),
    "pipe": lambda root: os.mkfifo(root / "p"),
    "pipe with a space": lambda root: os.mkfifo(root / "p q"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_that_of_the_official_checker(
    tree: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlperf_logging")
    CASES[name](tree)
    monkeypatch.chdir(tree.parent)
    call = [sys.executable, "-m", "mlperf_logging.repo_checker", "sub", "training", "5.1.0"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    accepted = "ALL CHECKS PASSED" in done.stderr
    assert (said(tree, Profile.VERIFIER) == []) == accepted


# --- rounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "name", "called"),
    [
        *[("training", name, False) for name in ("0.5", "0.6", "0.7", "1.0", "1.1")],
        *[("training", name, True) for name in ("2.0", "2.1", "3.0", "5.1", "6.1")],
        *[("hpc", name, False) for name in ("0.7", "1.0")],
        *[("hpc", name, True) for name in ("2.0", "3.0")],
    ],
)
def test_rules_of_the_checker_apply_only_to_rounds_that_called_it(
    tree: Path, usage: str, name: str, called: bool
) -> None:
    for bad in ("a b", ".hidden", "aux.txt"):
        (tree / bad).write_text("")
    (tree / "link").symlink_to("nothing")
    (tree / "near").symlink_to("systems/deep/file")
    rules = find_round(usage, name)
    reported = sorted(one.id for one in check_repository(tree, rules, Profile.POLICY))
    of_checker = ["broken-link", "leading-dot", "link-from-elsewhere", "space-in-name"]
    expected = [*(of_checker if called else []), "windows-name"]
    assert reported == [f"repo.{one}" for one in sorted(expected)]
    stated = {one.id: one.stated_by.value for one in check_repository(tree, rules, Profile.POLICY)}
    assert {stated[f"repo.{one}"] for one in of_checker if called} <= {"verifier"}
    # The verifier profile reports the findings of the checker in every round
    official = {one.id for one in check_repository(tree, rules, Profile.VERIFIER)}
    assert {"repo.leading-dot", "repo.space-in-name", "repo.broken-link"} <= official


@pytest.mark.parametrize(
    ("name", "severities"),
    # Published rounds accept no further submissions
    [("1.1", []), ("2.0", ["note"]), ("5.1", ["warning"])],
)
def test_the_policy_does_not_reject_a_hidden_file(
    tmp_path: Path, name: str, severities: list[str]
) -> None:
    made = good(tmp_path, "training", name, "llama31_8b" if name == "5.1" else "resnet", "open")
    made.write("benchmarks/.hidden")
    report = made.check()
    reported = [
        (one.severity.value, one.stated_by.value) for one in report.findings if "leading" in one.id
    ]
    assert reported == [(each, "verifier") for each in severities]
    assert report.verdict == "accepted"
    official = made.check("verifier").findings
    rejecting = ["error"] * len(severities)
    assert [one.severity.value for one in official if "leading" in one.id] == rejecting


# --- machine-specific paths ---


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("cd /home/jdoe/mlperf\n", 1),
        ("DATA=${DATA:-/lustre/users/jdoe/data}\nOUT=/Users/jane/out:/gpfs01/x\n", 3),
        ('volumes: ["/lustre/fsw/mlperf:/data"]\n', 1),
        ("cd $HOME/data ~/home/data ${ROOT}/home/jdoe ./scratch/jdoe\n", 0),
        ("https://example.org/home/jdoe /data/llama /workspace/x /opt/lustre/bin\n", 0),
        ("set DATA=C:\\Users\\jdoe\\data\n", 1),
        ('data = "D:\\\\Users\\\\jdoe"; more = "c:/Users/jane/x /mnt/c/Users/jane"\n', 3),
        (
            "C:\\Users\\Public\\x C:\\Users\\%USERNAME% C:\\data /mnt/c/tools x/mnt/c/Users/jane\n",
            0,
        ),
        ("/home/user/x /home/<name>/x /home/$USER/x /home/ubuntu /home/ /lustre\n", 0),
    ],
)
def test_machine_specific_paths_are_one_finding_for_each_file(
    tree: Path, text: str, count: int
) -> None:
    (tree / "benchmarks").mkdir(exist_ok=True)
    (tree / "benchmarks/run.sh").write_text(f"#!/bin/sh\n{text}")
    findings = found(tree)
    assert len(findings) == min(count, 1)
    for finding in findings:
        assert (finding.id, finding.path, finding.line) == (
            "repo.local-path",
            "benchmarks/run.sh",
            2,
        )
        assert finding.severity is WARNING
        assert finding.message.endswith(f" and {count - 1} more") == (count > 1)


_PIECES = (
    *(
        "/home",
        "/Users",
        "/users",
        "\\Users",
        "\\users",
        "/lustre",
        "/gpfs01",
        "/scratch-2",
        "/nfs",
    ),
    *("/mnt/c", "/mnt/", "/mnt/cc", "C:", "z:", "7:", "/", "\\", "\\\\", "//"),
    *("jdoe", "user", "_", ".", "~", "@", "-", "}", ")", "$", " ", "\n", "\0", "é", "x", "A"),
)
"""Parts of machine-specific paths, and text next to them that makes or breaks such a path."""


@settings(max_examples=2000)
@given(text=st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
def test_the_anchored_search_finds_the_same_paths_as_the_expression(text: str) -> None:
    data = text.encode()
    anchored = [match.span() for match in local_paths.path_matches(data)]
    assert anchored == [match.span() for match in local_paths.PATH.finditer(data)]


@pytest.mark.parametrize("path", ["benchmarks/README.md", "benchmarks/out.log", "results/x.sh"])
def test_paths_in_files_that_are_not_scripts_of_the_code_are_ignored(tree: Path, path: str) -> None:
    (tree / path).parent.mkdir(exist_ok=True)
    (tree / path).write_text("cd /home/jdoe/mlperf\n")
    assert found(tree) == []
