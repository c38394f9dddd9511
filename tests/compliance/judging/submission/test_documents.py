"""Code and documents: implementations, READMEs, scripts, and the files that logs name."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.judging.inputs.source_files import Code, open_plain
from podium.compliance.judging.repository.contents import FileReader
from podium.compliance.judging.repository.secrets import HEAD
from podium.compliance.judging.submission.source_lines import Answer, Question, answers
from podium.rules.finding import Severity
from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.compliance.trees import README, Submission, as_run, good, usual

BASE = "benchmarks/llama31_405b"
OURS = f"{BASE}/implementations/ours"


def codes(tree: Submission, profile: str = "policy") -> list[tuple[str, str]]:
    """(rule, path) of the findings about the code."""
    return [
        (f.id, f.path) for f in tree.check(profile).findings if f.id.startswith(("code.", "seeds."))
    ]


def placed(file: str, line: int = 1, key: str = "seed") -> object:
    """A change of the source position that a log gives for a key."""

    def change(log: LogBuilder) -> LogBuilder:
        return log.meta(key, file=file, lineno=line)

    return change


# --- G-PC9: implementations ---


def test_a_submission_with_code_and_readme_has_no_code_findings(tmp_path: Path) -> None:
    assert codes(usual(tmp_path)) == []


def test_a_submission_without_code_is_reported_once(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    shutil.rmtree(tree.root / "benchmarks")
    [finding] = tree.found("code.none")
    assert (finding.path, finding.severity) == ("benchmarks", Severity.WARNING)
    assert codes(tree, "verifier") == []


@pytest.mark.parametrize("name", ["code", "benchmark"])
def test_code_may_be_in_a_folder_with_an_older_name(name: str, tmp_path: Path) -> None:
    tree = usual(tmp_path)
    (tree.root / "benchmarks").rename(tree.root / name)
    assert codes(tree) == []


@pytest.mark.parametrize("left", ["empty folder", "other benchmark"])
def test_a_benchmark_without_implementation_is_reported(left: str, tmp_path: Path) -> None:
    tree = usual(tmp_path)
    shutil.rmtree(tree.root / BASE)
    if left == "empty folder":
        (tree.root / OURS).mkdir(parents=True)
    else:
        tree.code("benchmarks/llama31_8b")
    assert ("code.no-implementation", BASE) in codes(tree)


def test_a_code_folder_with_a_similar_name_is_suggested(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    (tree.root / BASE).rename(tree.root / "benchmarks/llama31-405b")
    [finding] = tree.found("code.no-implementation")
    assert finding.hint.endswith("; did you mean benchmarks/llama31-405b?")


def test_a_missing_readme_is_reported(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    (tree.root / BASE / "README.md").unlink()
    assert codes(tree) == [("code.no-readme", BASE)]


@pytest.mark.parametrize(
    "place", [f"{BASE}/readme.txt", f"{OURS}/README-ours.md", f"{OURS}/README"]
)
def test_a_readme_may_be_anywhere_in_the_folder_of_its_benchmark(
    place: str, tmp_path: Path
) -> None:
    tree = usual(tmp_path)
    (tree.root / BASE / "README.md").rename(tree.root / place)
    assert codes(tree) == []


@pytest.mark.parametrize(
    ("text", "untold"),
    [
        ("Get the data and the weights.", "the command that runs the benchmark"),
        ("bash run_and_time.sh with the model's weights", "how to get the dataset"),
        ("bash run_and_time.sh after init_datasets.sh", "where the starting weights come from"),
        ("", "the command that runs the benchmark nor how to get the dataset"),
    ],
)
def test_a_readme_must_describe_the_command_data_and_weights(
    text: str, untold: str, tmp_path: Path
) -> None:
    tree = usual(tmp_path).write(f"{BASE}/README.md", text)
    [finding] = tree.found("code.thin-readme")
    assert untold in finding.message


SAYS_ALL = "Data and weights as in the reference; bash run_and_time.sh "


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("on our cluster", False),
        ("with the default settings, facade and deadbeef", False),
        ("with PyTorch 2.9", True),
        ("in pytorch:25", True),
        ("at 3f2c9ab11d", True),
        ("of release candidate three", True),
        ("pip install torch==2", True),
    ],
)
def test_a_readme_must_identify_the_software_version(
    text: str, named: bool, tmp_path: Path
) -> None:
    tree = usual(tmp_path)
    tree.write(f"benchmarks/{tree.benchmark}/README.md", SAYS_ALL + text)
    assert (tree.found("code.no-software-version") == []) == named


def test_missing_implementation_descriptions_are_one_note(
    tmp_path: Path,
) -> None:
    tree = usual(tmp_path).system("ex_n9").result("ex_n9", start=10)
    [finding] = tree.found("code.no-implementation-description")
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith("1 of 2 results have no ex_n9_<implementation>.json")
    tree.write(f"benchmarks/{tree.benchmark}/ex_n9/ex_n9_ours.json", "{}")
    assert tree.found("code.no-implementation-description") == []


def test_benchmarks_trained_from_scratch_need_no_text_about_weights(tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "4.0", "unet3d", "open")
    tree.write("benchmarks/unet3d/README.md", "docker run, with the data of KiTS19")
    assert tree.found("code.thin-readme") == []


@pytest.mark.parametrize(
    ("absent", "severity"),
    [
        (["setup.sh"], Severity.NOTE),
        (["setup.sh", "init_datasets.sh"], Severity.NOTE),
        (["setup.sh", "init_datasets.sh", "run_and_time.sh"], Severity.WARNING),
    ],
)
def test_missing_scripts_are_reported_with_their_names(
    absent: list[str], severity: Severity, tmp_path: Path
) -> None:
    tree = usual(tmp_path)
    for script in absent:
        (tree.root / OURS / script).unlink()
    [finding] = tree.found("code.no-script")
    assert finding.severity == severity
    assert all(script in finding.message for script in absent)


def test_code_of_0_6_may_be_in_another_folder_or_under_an_alias(tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "0.6", "maskrcnn")
    shutil.rmtree(tree.root / "benchmarks")
    tree.write("code/maskrcnn/README.md", README)
    assert codes(tree) == []
    (tree.root / tree.folder()).rename(tree.root / "results/ex_n8/mask")
    (tree.root / "code/maskrcnn").rename(tree.root / "code/mask")
    assert codes(tree) == []


# --- G-CC20, LOG-06: files that logs name ---


def test_a_missing_source_file_is_reported_once(tmp_path: Path) -> None:
    tree = usual(tmp_path).result(change=placed("/elsewhere/other.py", key="init_start"))  # type: ignore[arg-type]
    [finding] = tree.found("code.source-not-found")
    assert "/elsewhere/other.py" in finding.message
    assert tree.found("code.source-not-found", "verifier") == []


@pytest.mark.parametrize(
    "file",
    [
        "/usr/lib/python3/site-packages/lib.py",
        "<stdin>",
        "",
        "C:\\work\\train.py",
        "\\\\server\\share\\ours/train.py",
        "C:\\Python312\\Lib\\site-packages\\lib.py",
    ],
)
def test_source_files_of_libraries_and_other_systems_are_ignored(file: str, tmp_path: Path) -> None:
    tree = usual(tmp_path).log(0, placed(file, key="init_start"))  # type: ignore[arg-type]
    assert codes(tree) == []


@pytest.mark.parametrize(("line", "fits"), [(1, True), (3, True), (4, False), (400, False)])
def test_a_source_file_must_have_the_line_that_logs_name(
    line: int, fits: bool, tmp_path: Path
) -> None:
    tree = usual(tmp_path).log(0, placed("train.py", line, "init_start"))  # type: ignore[arg-type]
    assert (tree.found("code.source-too-short") == []) is fits


def test_one_of_several_files_with_the_name_may_have_the_line(tmp_path: Path) -> None:
    tree = usual(tmp_path).log(0, placed("train.py", 40, "init_start"))  # type: ignore[arg-type]
    tree.write(f"{BASE}/implementations/theirs/train.py", "\n" * 40)
    assert tree.found("code.source-too-short") == []


@pytest.mark.parametrize(("there", "count"), [(True, 0), (False, 1)])
def test_a_missing_configuration_file_is_reported(there: bool, count: int, tmp_path: Path) -> None:
    tree = good(tmp_path, "training", "6.1", "llama31_8b", "open")

    def named(log: LogBuilder) -> LogBuilder:
        return log.add("config_filename", "conf/x8.sh", before="init_stop")

    tree.result(change=named if "config_filename" not in tree.which.names() else _renamed)
    if there:
        tree.write("benchmarks/llama31_8b/implementations/ours/x8.sh")
    assert len(tree.found("code.no-config")) == count


def _renamed(log: LogBuilder) -> LogBuilder:
    return log.set("config_filename", "conf/x8.sh")


# --- safe reading ---


def asked(root: Path, name: str, *, last: int = 0, seeds: Iterable[int] = ()) -> Answer:
    """Ask about the lines and the seeds of the source files with this name."""
    questions = {name: Question(last=last, seeds={*seeds})}
    return answers(questions, Code(root), FileReader())[name]


def has_line(root: Path, name: str, lineno: int) -> bool:
    return asked(root, name, last=lineno).lines >= lineno


def test_lines_are_counted_as_editors_count_them(tmp_path: Path) -> None:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for text, lines in (("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2)):
        (folder / "x").write_text(text)
        assert [has_line(tmp_path, "x", n) for n in (lines, lines + 1)] == [True, False]


LINES_OF_HEAD = HEAD // 8
"""The number of eight-byte lines in the part of a file that the scanners read."""


@pytest.mark.parametrize("more", [0, 1, 3, 20_000])
def test_lines_are_counted_beyond_the_part_that_scanners_read(more: int, tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    lines = LINES_OF_HEAD + more
    (tmp_path / "benchmarks/x.py").write_text("pass  1\n" * (lines - 1) + "seed(3)")
    assert has_line(tmp_path, "x.py", lines)
    assert not has_line(tmp_path, "x.py", lines + 1)
    seeds = {1, lines - 6, lines - 5, lines, lines + 1}
    assert asked(tmp_path, "x.py", seeds=seeds).seedless == {1, lines - 6}


def test_a_log_may_refer_to_any_file_with_the_name(tmp_path: Path) -> None:
    (tmp_path / "benchmarks/a").mkdir(parents=True)
    (tmp_path / "benchmarks/x.py").write_text("pass\n" * 20)
    (tmp_path / "benchmarks/a/x.py").write_text("seed(3)\n")
    assert asked(tmp_path, "x.py", last=20).lines == 20
    # The second file has no line 9, but it has a seed near line 1
    assert asked(tmp_path, "x.py", seeds={1, 9}).seedless == set()
    (tmp_path / "benchmarks/a/x.py").write_text("pass\n" * 9)
    assert asked(tmp_path, "x.py", seeds={1, 9, 10}).seedless == {1, 9}


def test_a_very_large_file_is_not_read_completely(tmp_path: Path) -> None:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    with (folder / "x").open("wb") as stream:
        stream.truncate(5 << 30)
    assert has_line(tmp_path, "x", 7)
    file = Code(tmp_path).file("benchmarks/x")
    assert file is not None
    assert FileReader().beginning(file) == bytes(HEAD)


def test_only_links_inside_the_submission_are_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "Acme/benchmarks"
    folder.mkdir(parents=True)
    (folder / "real").write_text("Inside")
    os.symlink("real", folder / "README.md")
    os.symlink("../../secret", folder / "README.txt")
    os.symlink("/", folder / "root")
    os.symlink("loop", folder / "loop")
    code = Code(tmp_path / "Acme")
    inside = code.file("benchmarks/README.md")
    assert inside is not None
    assert (inside.path, FileReader().beginning(inside)) == ("benchmarks/real", b"Inside")
    assert code.file("benchmarks/README.txt") is None
    assert has_line(tmp_path / "Acme", "loop", 3)
    assert not any(path.startswith("benchmarks/root/") for path in code.paths)


@pytest.mark.parametrize("cached", [False, True])
def test_every_code_file_is_opened_once(
    cached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = usual(tmp_path / "tree")
    tree.write(f"{OURS}/README.md", README)
    opened: Counter[str] = Counter()
    plainly = os.open

    def counted(path: Path | str, *rest: Any, **more: Any) -> int:
        opened[os.path.relpath(path, tree.root)] += 1
        return plainly(path, *rest, **more)

    monkeypatch.setattr(os, "open", counted)
    cache = ("--cache", "--cache-dir", tmp_path / "cache") if cached else ()
    done = podium("check", tree.root, "--round", "5.1", "--jobs", "1", *cache)
    assert done.exit_code == 0
    code = Code(tree.root).paths
    assert {path: opened[path] for path in code} == dict.fromkeys(code, 1)


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        open_plain(tmp_path / "pipe")


def test_files_are_opened_on_systems_without_nofollow_and_nonblock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_NOFOLLOW")
    monkeypatch.delattr(os, "O_NONBLOCK")
    (tmp_path / "README.md").write_text("to be read")
    with open_plain(tmp_path / "README.md") as stream:
        assert stream.read() == b"to be read"


def test_code_files_are_listed_in_order_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = usual(tmp_path)
    assert Code(tree.root).paths == sorted(Code(tree.root).paths)
    monkeypatch.setattr("podium.compliance.judging.inputs.source_files.MOST_FILES", 2)
    code = Code(tree.root)
    assert (len(code.paths), code.whole) == (2, False)
    assert tree.found("code.source-not-found") == []


# --- G-SE5: where seeds are logged ---


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        (3, []),
        (8, []),
        (9, ["seeds.source-line"]),
        (30, ["seeds.source-line"]),
        (31, ["code.source-too-short"]),
    ],
)
def test_a_seed_must_be_logged_near_a_line_that_mentions_a_seed(
    line: int, reported: list[str], tmp_path: Path
) -> None:
    tree = usual(tmp_path)
    tree.write(f"{OURS}/train.py", "import a\n\nSeed(3)\n" + "pass\n" * 27)
    place = placed("/workspace/train.py", line)
    for number in range(3):
        tree.log(number, place)  # type: ignore[arg-type]
    assert [rule for rule, _ in codes(tree)] == reported
    for finding in tree.found("seeds.source-line"):
        assert (finding.severity, finding.key) == (Severity.NOTE, "seed")
        assert finding.path == f"{tree.folder()}/result_0.txt"
        assert finding.line == as_run(tree.which, 0).line_of("seed")
    assert codes(tree, "verifier") == []


def test_any_file_with_the_name_may_mention_the_seed(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.write(f"{OURS}/train.py", "pass\n" * 30)
    assert ("seeds.source-line", f"{tree.folder()}/result_0.txt") in codes(tree)
    tree.write(f"{OURS}/other/train.py", "# a seed\n" * 3)
    assert codes(tree) == []
