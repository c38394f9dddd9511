"""Code and documents of a submission: is there an implementation, a README, what the logs name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from msgspec.structs import replace

from podium.compliance.inputs.benchmark_names import is_early
from podium.compliance.inputs.layout import ResultFolder, Tree
from podium.compliance.inputs.source_files import PLACES, Code
from podium.compliance.results.model import JudgingContext, join_limited
from podium.compliance.results.result import Run
from podium.rules.benchmark import Benchmark
from podium.rules.finding import Finding, StatedBy

MOST_READMES = 20
"""READMEs of one benchmark beyond these are not read."""

_STARTS = ("weight", "checkpoint", "model")
"""Words about given weights: the README says where a benchmark's come from."""

SCRIPTS = ("setup.sh", "init_datasets.sh", "run_and_time.sh")
"""What stands beside an implementation: submission rules, Directory structure."""

_LIBRARIES = ("site-packages", "dist-packages")


def judge_documents(
    tree: Tree,
    results: Iterable[tuple[ResultFolder, list[Run]]],
    by: JudgingContext,
    code: Code | None = None,
) -> Iterator[Finding]:
    """What is missing of code and documents; the policy's demands only, so never in `verifier`."""
    if by.verifier:
        return
    code = code or Code(tree.root)
    if not code.present:
        yield _missing(
            by,
            "code.none",
            tree.place(by.rules.package.code_folder),
            "the submission holds no code; reviewers must be able to read each implementation",
            "add benchmarks/<benchmark>/implementations/<implementation>/",
        )
        return
    seen = set()
    for folder, runs in results:
        if folder.benchmark not in seen:
            seen.add(folder.benchmark)
            yield from _implementation(tree, folder, code, by)
        yield from _named_files(folder, runs, code, by)
        yield from _seed_lines(runs, code, by)


def _missing(
    by: JudgingContext, rule: str, path: str, message: str, hint: str, *, note: bool = False
) -> Finding:
    return by.finding(rule, path, message, hint, stated_by=StatedBy.POLICY, note=note)


# --- implementations ---


def _implementation(
    tree: Tree, folder: ResultFolder, code: Code, by: JudgingContext
) -> Iterator[Finding]:
    names = dict.fromkeys((folder.benchmark, folder.path.rpartition("/")[2]))
    bases = [f"{place}/{name}" for place in PLACES for name in names]
    here = [path for base in bases for path in code.below(base)]
    if not here:
        if code.whole:
            yield _missing(
                by,
                "code.no-implementation",
                tree.place(bases[0]),
                f"{folder.path} has results, but there is no code in {bases[0]}",
                f"add the implementation under {bases[0]}/implementations/",
            )
        return
    base = "/".join(here[0].split("/")[:2])
    yield from _readme(tree, folder, base, here, code, by)
    if not is_early(by.rules):
        yield from _scripts(tree, base, here, by)


def _readme(
    tree: Tree, folder: ResultFolder, base: str, here: list[str], code: Code, by: JudgingContext
) -> Iterator[Finding]:
    readmes = [path for path in here if _name(path).lower().startswith("readme")]
    if not readmes:
        yield _missing(
            by,
            "code.no-readme",
            tree.place(base),
            f"{base} has no README",
            "describe the run command, the dataset and the model in README.md",
        )
        return
    text = " ".join(code.head(path) for path in readmes[:MOST_READMES])
    topics = _topics(by.rules.benchmark(folder.benchmark))
    untold = [what for what, words in topics if not any(w in text for w in words)]
    if untold:
        yield _missing(
            by,
            "code.thin-readme",
            tree.place(readmes[0]),
            f"the README of {folder.benchmark} does not tell {' nor '.join(untold)}",
            f"add it to {readmes[0]}",
        )


def _topics(benchmark: Benchmark) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a README must tell a reviewer, and words of which one is found where it does."""
    runs = ("run_and_time", "bash ", "sbatch", "srun", "python", "docker", "mpirun", "torchrun")
    yield "the command that runs the benchmark", runs
    yield "how to get the dataset", ("data",)
    if benchmark.starts_from_weights:
        yield "where the starting weights come from", _STARTS


def _scripts(tree: Tree, base: str, here: list[str], by: JudgingContext) -> Iterator[Finding]:
    names = {_name(path) for path in here}
    absent = [script for script in SCRIPTS if script not in names]
    if absent:
        yield _missing(
            by,
            "code.no-script",
            tree.place(base),
            f"{base} has no {' and no '.join(absent)}",
            "add the scripts that set up, get the data and run, under these names",
            note=len(absent) < len(SCRIPTS),
        )


# --- files that logs name ---


def _named_files(
    folder: ResultFolder, runs: list[Run], code: Code, by: JudgingContext
) -> Iterator[Finding]:
    """Files that logs name: `metadata.file` at its line, and `config_filename`."""
    sources: dict[str, tuple[int, Run]] = {}
    configs: dict[str, Run] = {}
    for run in runs:
        for file, lineno in run.facts.sources.items():
            if lineno > sources.get(file, (0, run))[0]:
                sources[file] = (lineno, run)
        if run.facts.config:
            configs.setdefault(run.facts.config, run)
    yield from _sources(sources, code, by)
    for config, run in configs.items():
        if code.whole and _name(config) not in code.files:
            yield _missing(
                by,
                "code.no-config",
                run.display_path,
                f"config_filename is {config}; no file of that name came with the code",
                f"add the configuration under benchmarks/{folder.benchmark}/",
            )


def _sources(
    sources: dict[str, tuple[int, Run]], code: Code, by: JudgingContext
) -> Iterator[Finding]:
    absent: dict[str, Run] = {}
    for file, (lineno, run) in sources.items():
        name = _name(file)
        if not name or name.startswith("<") or any(place in file for place in _LIBRARIES):
            continue
        candidates = code.files.get(name)
        if not candidates:
            absent[file] = run
        elif not any(code.has_line(path, lineno) for path in candidates):
            yield _missing(
                by,
                "code.source-too-short",
                run.display_path,
                f"the log names line {lineno} of {file}; {join_limited(candidates, 2)} has "
                "fewer lines",
                "submit the version of the file that the runs used",
            )
    if absent and code.whole:
        yield _missing(
            by,
            "code.source-not-found",
            next(iter(absent.values())).display_path,
            "no file of that name came with the code: the log names "
            f"{join_limited(list(absent), 4)}",
            "add the files, or redacted versions of them with the same line numbers",
        )


def _seed_lines(runs: list[Run], code: Code, by: JudgingContext) -> Iterator[Finding]:
    """Lines that logs name as those where a seed was logged, and that speak of none."""
    seen: set[tuple[str, int]] = set()
    for run in runs:
        for _, line, file, lineno in run.facts.seeds.seeds:
            if type(file) is not str or type(lineno) is not int or (file, lineno) in seen:
                continue
            seen.add((file, lineno))
            texts = [code.around(path, lineno) for path in code.files.get(_name(file), ())]
            if texts and all(text is not None and "seed" not in text for text in texts):
                found = by.finding(
                    "seeds.source-line",
                    run.display_path,
                    f"the seed was logged at line {lineno} of {file}; no word of a seed stands "
                    "near that line in the code that came along",
                    "log the seed where the random generators are seeded, or submit the code that "
                    "ran",
                    stated_by=StatedBy.POLICY,
                    note=True,
                    key="seed",
                )
                yield replace(found, line=line)


def _name(path: str) -> str:
    return PurePosixPath(path.replace("\\", "/")).name
