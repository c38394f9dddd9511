"""Code and documents of a submission: implementations, READMEs, files that logs name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from podium.compliance.judging.inputs.layout import ResultFolder, Tree
from podium.compliance.judging.inputs.source_files import CODE_FOLDERS, Code
from podium.compliance.judging.inputs.tree_scan import meant_folder
from podium.compliance.judging.repository.contents import FileReader
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.result import Run
from podium.compliance.judging.submission.code_rules import (
    NO_CODE,
    NO_CONFIG,
    NO_DESCRIPTION,
    NO_IMPLEMENTATION,
    NO_README,
    NO_SCRIPT,
    NO_SOFTWARE_NAMED,
    SEED_LINE,
    SOURCE_NOT_FOUND,
    SOURCE_TOO_SHORT,
    THIN_README,
)
from podium.compliance.judging.submission.source_lines import Answer, Question, answers
from podium.compliance.text.words import join_limited
from podium.rules.benchmark_names import near_names
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.model.benchmark import Benchmark

MOST_READMES = 20
"""Number of READMEs of one benchmark that are read."""

LONGEST_README = 1 << 16
"""Bytes of a README that are read."""

_COMMANDS = ("run_and_time", "bash ", "sbatch", "srun", "python", "docker", "mpirun", "torchrun")

_TOPICS = {"the command that runs the benchmark": _COMMANDS, "how to get the dataset": ("data",)}
"""The topics that a README must have, each with words that indicate it."""

_TOPIC_OF_WEIGHTS = {"where the starting weights come from": ("weight", "checkpoint", "model")}
"""The further topic of benchmarks that do not start from random weights."""

SCRIPTS = ("setup.sh", "init_datasets.sh", "run_and_time.sh")
"""Scripts next to an implementation: submission rules, Directory structure."""

_SOFTWARE = re.compile(
    r"\b(?:v?\d+\.\d+|[0-9a-f]*\d[0-9a-f]*[a-f][0-9a-f]{5,}|release[ds]?|tags?|commits?|sha256)\b"
    r"|[\w-]:\d|=="
)
"""Identification of software: a version, a hash, an image's tag, or a word for one of these."""

_LIBRARIES = ("site-packages", "dist-packages")


_PROFILE = Profile.POLICY
"""Only the policy requires code and documents: the official verifier does not check them."""


def judge_documents(
    tree: Tree,
    results: Iterable[tuple[ResultFolder, list[Run]]],
    context: JudgingContext,
    *,
    code: Code,
    reader: FileReader,
) -> Iterator[Finding]:
    """Findings about missing code and documents."""
    if not code.present:
        package = context.rules.package
        severity = Severity.ERROR if package.unprecedented else None
        names = [item.name for item in tree.disk.folder("").items]
        meant = [name for name in names if meant_folder(name) in CODE_FOLDERS]
        yield NO_CODE.found(
            _PROFILE,
            tree.place(package.code_folder),
            severity=severity,
            guess=f", or rename {meant[0]} to benchmarks" if meant else "",
        )
        return
    results = list(results)
    yield from _descriptions(tree, [folder for folder, _ in results], code, context)
    sources = answers(_questions([run for _, runs in results for run in runs]), code, reader)
    benchmarks = set()
    for folder, runs in results:
        if folder.benchmark not in benchmarks:
            benchmarks.add(folder.benchmark)
            yield from _implementation(tree, folder, context, code=code, reader=reader)
        yield from _named_files(folder, runs, code, sources)
        yield from _seed_lines(runs, sources)


# --- implementations ---


def _implementation(
    tree: Tree, folder: ResultFolder, context: JudgingContext, *, code: Code, reader: FileReader
) -> Iterator[Finding]:
    # Results in a folder with an older name may also have their code under that name
    names = dict.fromkeys((folder.benchmark, folder.path.rpartition("/")[2]))
    bases = [f"{folder}/{name}" for folder in CODE_FOLDERS for name in names]
    paths = [path for base in bases for path in code.paths if path.startswith(f"{base}/")]
    if not paths:
        # A truncated listing does not prove that a file is missing
        if code.whole:
            yield NO_IMPLEMENTATION.found(
                _PROFILE,
                tree.place(bases[0]),
                result=folder.path,
                folder=bases[0],
                guess=_other_folder(folder.benchmark, code, context),
            )
        return
    base = "/".join(paths[0].split("/")[:2])
    readmes = [path for path in paths if _name(path).lower().startswith("readme")]
    if readmes:
        files = map(code.file, readmes[:MOST_READMES])
        heads = [reader.beginning(file) or b"" for file in files if file is not None]
        text = b" ".join(head[:LONGEST_README] for head in heads).decode(errors="replace").lower()
        yield from _readme(tree, context.rules.benchmark(folder.benchmark), readmes[0], text)
    else:
        yield NO_README.found(_PROFILE, tree.place(base), folder=base)
    # In 0.5 and 0.6 the scripts are in other folders, or have other names
    if not context.rules.package.described_by_entry:
        yield from _scripts(tree, base, paths)


def _other_folder(benchmark: str, code: Code, context: JudgingContext) -> str:
    """The probable folder of a benchmark's code, for the help; empty if it is not known."""
    bases = dict.fromkeys("/".join(path.split("/")[:2]) for path in code.paths)
    names = context.rules.allowed
    for base in bases:
        name = base.partition("/")[2]
        if name not in names and benchmark in near_names(name, context.rules):
            return f"; did you mean {base}?"
    return ""


def _readme(tree: Tree, benchmark: Benchmark, path: str, text: str) -> Iterator[Finding]:
    """Findings about missing topics in the READMEs of a benchmark; `path` is the first README."""
    display_path = tree.place(path)
    if not _SOFTWARE.search(text):
        yield NO_SOFTWARE_NAMED.found(_PROFILE, display_path, benchmark=benchmark.name, readme=path)
    topics = _TOPICS | (_TOPIC_OF_WEIGHTS if benchmark.starts_from_weights else {})
    missing = [topic for topic, words in topics.items() if not any(w in text for w in words)]
    if missing:
        yield THIN_README.found(
            _PROFILE,
            display_path,
            benchmark=benchmark.name,
            missing=" nor ".join(missing),
            readme=path,
        )


def _scripts(tree: Tree, base: str, paths: list[str]) -> Iterator[Finding]:
    names = {_name(path) for path in paths}
    absent_scripts = [script for script in SCRIPTS if script not in names]
    if absent_scripts:
        yield NO_SCRIPT.found(
            _PROFILE,
            tree.place(base),
            # Few published trees have all three
            severity=Severity.NOTE if len(absent_scripts) < len(SCRIPTS) else None,
            folder=base,
            scripts=" and no ".join(absent_scripts),
        )


def _descriptions(
    tree: Tree, results: list[ResultFolder], code: Code, context: JudgingContext
) -> Iterator[Finding]:
    """A finding about results without `<system>_<implementation>.json` anywhere in the code."""
    if context.rules.package.described_by_entry or not code.whole:
        return
    names = [_name(path) for path in code.paths if path.endswith(".json")]
    systems = {folder.system for folder in results}
    described_systems = {
        system for system in systems if any(n.startswith(f"{system}_") for n in names)
    }
    missing_folders = [folder for folder in results if folder.system not in described_systems]
    if missing_folders:
        folder = context.rules.package.code_folder
        yield NO_DESCRIPTION.found(
            _PROFILE,
            tree.place(folder),
            count=len(missing_folders),
            total=len(results),
            example=f"{missing_folders[0].system}_<implementation>.json",
            folder=folder,
        )


# --- files that logs name ---


def _questions(runs: Iterable[Run]) -> dict[str, Question]:
    """Questions about source files, by file name, because logs have paths inside a container."""
    questions: dict[str, Question] = {}
    for run in runs:
        for file, lineno in run.facts.sources.items():
            if _submitted(file):
                question = questions.setdefault(_name(file), Question())
                question.last = max(question.last, lineno)
        for _, file, lineno in _places_of_seeds(run):
            questions.setdefault(_name(file), Question()).seeds.add(lineno)
    return questions


def _submitted(file: str) -> bool:
    """Whether a source file should be part of a submission, unlike the files of libraries."""
    name = _name(file)
    # `<string>` is code passed to the interpreter
    return bool(name) and not name.startswith("<") and not any(lib in file for lib in _LIBRARIES)


def _places_of_seeds(run: Run) -> Iterator[tuple[int, str, int]]:
    """(line of the log, source file, its line) of each seed that is logged with its source line."""
    for _, line, file, lineno in run.facts.seeds.seeds:
        if type(file) is str and type(lineno) is int:
            yield line, file, lineno


def _named_files(
    folder: ResultFolder, runs: list[Run], code: Code, sources: Mapping[str, Answer]
) -> Iterator[Finding]:
    """Files that logs name: `metadata.file` at its line, and `config_filename`."""
    named_files: dict[str, tuple[int, Run]] = {}
    configs: dict[str, Run] = {}
    for run in runs:
        for file, lineno in run.facts.sources.items():
            if _submitted(file) and lineno > named_files.get(file, (0, run))[0]:
                named_files[file] = (lineno, run)
        if run.facts.config:
            configs.setdefault(run.facts.config, run)
    missing: dict[str, Run] = {}
    for file, (lineno, run) in named_files.items():
        answer = sources.get(_name(file))
        if answer is None:
            missing[file] = run
        elif answer.lines < lineno:
            yield SOURCE_TOO_SHORT.found(
                _PROFILE,
                run.display_path,
                lineno=lineno,
                file=file,
                candidates=join_limited(code.files[_name(file)], 2),
            )
    if missing and code.whole:
        first = next(iter(missing.values()))
        files = join_limited(list(missing), 4)
        yield SOURCE_NOT_FOUND.found(
            _PROFILE, first.display_path, files=files, absent=list(missing)
        )
    for config, run in configs.items():
        if code.whole and _name(config) not in code.files:
            yield NO_CONFIG.found(
                _PROFILE, run.display_path, config=config, benchmark=folder.benchmark
            )


def _seed_lines(runs: list[Run], sources: Mapping[str, Answer]) -> Iterator[Finding]:
    """Findings about source lines that logged a seed, according to the log, but mention none."""
    checked_lines: set[tuple[str, int]] = set()
    for run in runs:
        for line, file, lineno in _places_of_seeds(run):
            if (file, lineno) in checked_lines:
                continue
            checked_lines.add((file, lineno))
            answer = sources.get(_name(file))
            if answer is not None and lineno in answer.seedless:
                yield SEED_LINE.found(
                    _PROFILE, run.display_path, line=line, key="seed", lineno=lineno, file=file
                )


def _name(path: str) -> str:
    posix_path = path.replace("\\", "/")
    name = posix_path.rpartition("/")[2]
    # PurePosixPath handles a slash or a dot at the end, but is many times slower
    return name if name not in ("", ".") else PurePosixPath(posix_path).name
