"""Code and documents of a submission: is there an implementation, a README, what the logs name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from podium.compliance.judging.inputs.benchmark_names import benchmark_names, is_early
from podium.compliance.judging.inputs.layout import ResultFolder, Tree
from podium.compliance.judging.inputs.source_files import CODE_FOLDERS, Code
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
from podium.compliance.text.words import join_limited
from podium.rules.benchmark_names import near_names
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.model.benchmark import Benchmark

MOST_READMES = 20
"""READMEs of one benchmark beyond these are not read."""

_STARTS = ("weight", "checkpoint", "model")
"""Words about given weights: the README says where those of some benchmarks come from."""
SCRIPTS = ("setup.sh", "init_datasets.sh", "run_and_time.sh")
"""What stands beside an implementation: submission rules, Directory structure."""

_SOFTWARE = re.compile(
    r"\b(?:v?\d+\.\d+|[0-9a-f]*\d[0-9a-f]*[a-f][0-9a-f]{5,}|release[ds]?|tags?|commits?|sha256)\b"
    r"|[\w-]:\d|=="
)
"""What identifies software: a version, a hash, an image's tag, or a word for one."""

_LIBRARIES = ("site-packages", "dist-packages")


_PROFILE = Profile.POLICY
"""Only the policy asks for code and documents: the official verifier looks at none."""


def judge_documents(
    tree: Tree,
    results: Iterable[tuple[ResultFolder, list[Run]]],
    context: JudgingContext,
    code: Code | None = None,
) -> Iterator[Finding]:
    """What is missing of code and documents."""
    code = code or Code(tree.root)
    if not code.present:
        yield NO_CODE.found(_PROFILE, tree.place(context.rules.package.code_folder))
        return
    results = list(results)
    yield from _descriptions(tree, [folder for folder, _ in results], code, context)
    seen = set()
    for folder, runs in results:
        if folder.benchmark not in seen:
            seen.add(folder.benchmark)
            yield from _implementation(tree, folder, code, context)
        yield from _named_files(folder, runs, code)
        yield from _seed_lines(runs, code)


# --- implementations ---


def _implementation(
    tree: Tree, folder: ResultFolder, code: Code, context: JudgingContext
) -> Iterator[Finding]:
    # Results in a folder of an older name may have their code under that name, too
    names = dict.fromkeys((folder.benchmark, folder.path.rpartition("/")[2]))
    bases = [f"{folder}/{name}" for folder in CODE_FOLDERS for name in names]
    here = [path for base in bases for path in code.below(base)]
    if not here:
        # A listing that was cut short proves no absence
        if code.whole:
            yield NO_IMPLEMENTATION.found(
                _PROFILE,
                tree.place(bases[0]),
                result=folder.path,
                folder=bases[0],
                guess=_other_folder(folder.benchmark, code, context),
            )
        return
    base = "/".join(here[0].split("/")[:2])
    yield from _readme(tree, context.rules.benchmark(folder.benchmark), base, here, code)
    # In 0.5 and 0.6 the scripts lie elsewhere, or have other names
    if not is_early(context.rules):
        yield from _scripts(tree, base, here)


def _other_folder(benchmark: str, code: Code, context: JudgingContext) -> str:
    """Where the code of a benchmark probably lies, for the help; empty where that is not known."""
    given = dict.fromkeys("/".join(path.split("/")[:2]) for path in code.paths)
    names = benchmark_names(context.rules)
    for base in given:
        name = base.partition("/")[2]
        if name not in names and benchmark in near_names(name, context.rules):
            return f"; did you mean {base}?"
    return ""


def _readme(
    tree: Tree, benchmark: Benchmark, base: str, here: list[str], code: Code
) -> Iterator[Finding]:
    readmes = [path for path in here if _name(path).lower().startswith("readme")]
    if not readmes:
        yield NO_README.found(_PROFILE, tree.place(base), folder=base)
        return
    text = " ".join(code.head(path) for path in readmes[:MOST_READMES])
    if not _SOFTWARE.search(text):
        yield NO_SOFTWARE_NAMED.found(
            _PROFILE, tree.place(readmes[0]), benchmark=benchmark.name, readme=readmes[0]
        )
    missing = [topic for topic, words in _topics(benchmark) if not any(w in text for w in words)]
    if missing:
        yield THIN_README.found(
            _PROFILE,
            tree.place(readmes[0]),
            benchmark=benchmark.name,
            missing=" nor ".join(missing),
            readme=readmes[0],
        )


def _topics(benchmark: Benchmark) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a README must tell a reviewer, and words of which one is found where it does."""
    runs = ("run_and_time", "bash ", "sbatch", "srun", "python", "docker", "mpirun", "torchrun")
    yield "the command that runs the benchmark", runs
    yield "how to get the dataset", ("data",)
    if benchmark.starts_from_weights:
        yield "where the starting weights come from", _STARTS


def _scripts(tree: Tree, base: str, here: list[str]) -> Iterator[Finding]:
    names = {_name(path) for path in here}
    absent = [script for script in SCRIPTS if script not in names]
    if absent:
        yield NO_SCRIPT.found(
            _PROFILE,
            tree.place(base),
            # Few published trees have all three
            severity=Severity.NOTE if len(absent) < len(SCRIPTS) else None,
            folder=base,
            scripts=" and no ".join(absent),
        )


def _descriptions(
    tree: Tree, results: list[ResultFolder], code: Code, context: JudgingContext
) -> Iterator[Finding]:
    """Results without `<system>_<implementation>.json`, wherever below their code it may lie."""
    if is_early(context.rules) or not code.whole:
        return
    names = [_name(path) for path in code.paths if path.endswith(".json")]
    systems = {folder.system for folder in results}
    known = {system for system in systems if any(n.startswith(f"{system}_") for n in names)}
    lacking = [folder for folder in results if folder.system not in known]
    if lacking:
        folder = context.rules.package.code_folder
        yield NO_DESCRIPTION.found(
            _PROFILE,
            tree.place(folder),
            count=len(lacking),
            total=len(results),
            example=f"{lacking[0].system}_<implementation>.json",
            folder=folder,
        )


# --- files that logs name ---


def _named_files(folder: ResultFolder, runs: list[Run], code: Code) -> Iterator[Finding]:
    """Files that logs name: `metadata.file` at its line, and `config_filename`."""
    sources: dict[str, tuple[int, Run]] = {}
    configs: dict[str, Run] = {}
    for run in runs:
        for file, lineno in run.facts.sources.items():
            if lineno > sources.get(file, (0, run))[0]:
                sources[file] = (lineno, run)
        if run.facts.config:
            configs.setdefault(run.facts.config, run)
    yield from _sources(sources, code)
    for config, run in configs.items():
        if code.whole and _name(config) not in code.files:
            yield NO_CONFIG.found(
                _PROFILE, run.display_path, config=config, benchmark=folder.benchmark
            )


def _sources(sources: dict[str, tuple[int, Run]], code: Code) -> Iterator[Finding]:
    absent: dict[str, Run] = {}
    for file, (lineno, run) in sources.items():
        name = _name(file)
        # `<string>` is code given to the interpreter; libraries are not part of a submission
        if not name or name.startswith("<") or any(library in file for library in _LIBRARIES):
            continue
        candidates = code.files.get(name)
        if not candidates:
            absent[file] = run
        # Any file of the name may be meant: logs give paths inside a container
        elif not any(code.has_line(path, lineno) for path in candidates):
            yield SOURCE_TOO_SHORT.found(
                _PROFILE,
                run.display_path,
                lineno=lineno,
                file=file,
                candidates=join_limited(candidates, 2),
            )
    if absent and code.whole:
        first = next(iter(absent.values()))
        files = join_limited(list(absent), 4)
        yield SOURCE_NOT_FOUND.found(_PROFILE, first.display_path, files=files, absent=list(absent))


def _seed_lines(runs: list[Run], code: Code) -> Iterator[Finding]:
    """Lines that logs name as those where a seed was logged, and that mention none."""
    seen: set[tuple[str, int]] = set()
    for run in runs:
        for _, line, file, lineno in run.facts.seeds.seeds:
            if type(file) is not str or type(lineno) is not int or (file, lineno) in seen:
                continue
            seen.add((file, lineno))
            texts = [code.around(path, lineno) for path in code.files.get(_name(file), ())]
            if texts and all(text is not None and "seed" not in text for text in texts):
                yield SEED_LINE.found(
                    _PROFILE, run.display_path, line=line, key="seed", lineno=lineno, file=file
                )


def _name(path: str) -> str:
    plain = path.replace("\\", "/")
    name = plain.rpartition("/")[2]
    # A path object, which knows what a slash or a dot at the end means, takes many times as long
    return name if name not in ("", ".") else PurePosixPath(plain).name
