"""Small valid submissions on disk, for tests to break in one way.

tree = Submission(tmp_path, build("training", "5.1", "closed", "llama31_405b"))
tree.result("ex_n8")                      # as many runs as the benchmark needs
tree.log(2, lambda log: log.drop("seed")) # broken in one way
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance import check
from podium.compliance.judging.discovery import discover
from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.inputs.tree_scan import scan
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_inputs
from podium.compliance.judging.results.judge import judge_result
from podium.compliance.judging.results.location import place_of
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.results.throughput import judge_throughput
from podium.compliance.judging.systems.check import describe, read_description
from podium.compliance.judging.systems.fields import FIELDS
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.models import FindingEntry, Report
from podium.compliance.tools.history.comparators import comparators
from podium.logging_spec.reader.read import read_log
from podium.rules.finding import Finding, Profile
from podium.rules.model.round import Round
from tests.builders import Line, LogBuilder, build

Change = Callable[[LogBuilder], LogBuilder]

HOUR_MS = 3_600_000

README = "Get the data with init_datasets.sh, the model's weights from the reference; then\n"
README += "bash run_and_time.sh in the container of release 25.09\n"


SAID = {
    "submission_org": "Acme",
    "submission_platform": "ex_n8",
    "submission_status": "onprem",
    "number_of_nodes": 8,
    "accelerators_per_node": 8,
}
"""What a log says about the system that `description` describes."""


def as_run(log: LogBuilder, number: int) -> LogBuilder:
    """Change a log to that of another run, with other times and another seed."""

    def moved(line: Line) -> Line:
        record = line.record
        if record is None:
            return line
        late = number if record.key.startswith("eval") else 0
        time = int(record.time_ms) + number * HOUR_MS + late
        return replace(line, record=msgspec.structs.replace(record, time_ms=time))

    log = replace(log, lines=tuple(map(moved, log.lines)))
    for key in SAID.keys() & set(log.names()):
        log = log.set(key, SAID[key])
    if "seed" in log.names():
        log = log.set("seed", 100 + number).meta("seed", file="/workspace/train.py", lineno=3)
    return log


def description(**fields: Any) -> dict[str, Any]:
    """A complete system description."""
    examples = {field.name: field.example or "N/A" for field in FIELDS.values()}
    return examples | {"submitter": "Acme", "system_name": "ex_n8"} | fields


@dataclass
class Submission:
    """A submission in a folder; `which` determines its round, its division and its benchmark."""

    place: Path
    which: LogBuilder
    name: str = "Acme"

    @property
    def root(self) -> Path:
        return self.place / self.name

    @property
    def rules(self) -> Round:
        return self.which.which.rules

    @property
    def benchmark(self) -> str:
        return self.which.which.benchmark

    # --- building ---

    def system(self, name: str = "ex_n8", **fields: Any) -> Submission:
        given = {"division": self.which.which.division, "submitter": self.name} | fields
        return self.write(f"systems/{name}.json", json.dumps(description(**given), indent=1))

    def code(self, *places: str) -> Submission:
        for base in places or (f"benchmarks/{self.benchmark}",):
            self.write(f"{base}/README.md", README)
            for script in ("setup.sh", "init_datasets.sh", "run_and_time.sh"):
                self.write(f"{base}/implementations/ours/{script}", "true\n")
            self.write(f"{base}/implementations/ours/train.py", "import a\n\nseed(3)\n")
            self.write(f"{base}/implementations/ours/ex_n8_ours.json", "{}\n")
        return self

    def result(
        self,
        system: str = "ex_n8",
        runs: int | None = None,
        *,
        scaling: str = "strong",
        benchmark: str = "",
        change: Change = lambda log: log,
        start: int = 0,
    ) -> Submission:
        """Write the logs of one result, with the same change in every log."""
        count = self.rules.benchmark(self.benchmark).runs if runs is None else runs
        for number in range(count):
            self.log(number, change, system, scaling=scaling, benchmark=benchmark, start=start)
        return self

    def log(
        self,
        number: int,
        change: Change = lambda log: log,
        system: str = "ex_n8",
        *,
        scaling: str = "strong",
        benchmark: str = "",
        start: int = 0,
        folder: str = "",
    ) -> Submission:
        """Write one log of a result."""
        base = self.folder(system, scaling, benchmark)
        log = change(as_run(self.which, start + number))
        log.write(self.root / base / folder / f"result_{number}.txt")
        return self

    def folder(self, system: str = "ex_n8", scaling: str = "strong", benchmark: str = "") -> str:
        """The folder of a result."""
        inner = f"{scaling}/" if self.rules.package.scaling_folders else ""
        return f"results/{system}/{inner}{benchmark or self.benchmark}"

    def write(self, path: str, text: str = "") -> Submission:
        where = self.root / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text, encoding="utf-8")
        return self

    # --- judging ---

    def check(self, profile: str = "policy", **options: Any) -> Report:
        usage, name = self.rules.usage, self.rules.name
        return check(self.root, usage=usage, round=name, profile=profile, **options)  # type: ignore[arg-type]

    def judged(self, profile: str = "policy") -> list[ResultVerdict]:
        """Judge every result separately, with the pruned logs of throughput results."""
        by = JudgingContext(self.rules, Profile(profile))
        tree = scan(Package(self.root, ""), self.rules)
        verdicts = []
        for folder in tree.results:
            runs = [self._run(path, by) for path in folder.logs]
            described = describe(read_description(self.root / tree.systems[folder.system]).fields)
            place = place_of(self.root / folder.path, folder.path)
            result = Result(place, by.rules, by.profile, runs, described)
            verdict = judge_result(tree, folder, result, by)
            if folder.scaling == "weak" and not by.quirks.ignores_policy:
                pruned = [self._run(path, by) for path in folder.pruned]
                verdict.findings += judge_throughput(tree, verdict, pruned)
            verdicts.append(verdict)
        return verdicts

    def _run(self, path: str, by: JudgingContext) -> Run:
        log = read_log(str(self.root / path))
        verdict = judge_log(log, by.rules, by.profile, path, with_facts=True)
        assert verdict.facts is not None
        failed = any(finding.severity == "error" for finding in verdict.findings)
        return Run(self.root / path, path, failed, verdict.facts)

    def reported(self, rule: str, profile: str = "policy") -> list[Finding]:
        """The findings of one rule, if every result is judged separately."""
        found = (finding for verdict in self.judged(profile) for finding in verdict.findings)
        return [finding for finding in found if finding.id == rule]

    def found(self, rule: str, profile: str = "policy") -> list[FindingEntry]:
        """The findings of one rule, if the whole submission is checked."""
        return [finding for finding in self.check(profile).findings if finding.id == rule]


def usual(place: Path) -> Submission:
    """A complete submission with one result of three runs: 405B of training 5.1."""
    return Submission(place, _usual_log()).system().code().result()


@cache
def _usual_log() -> LogBuilder:
    return later(build("training", "5.1", "closed", "llama31_405b"))


def later(log: LogBuilder) -> LogBuilder:
    """Make a run converge one evaluation later, as the reference points require."""
    start, stop = log.where("block_start")[-1], log.where("block_stop")[-1] + 1
    block = log.lines[start:stop]
    first, second = (log.lines[at].record for at in log.where("eval_accuracy"))
    assert first is not None
    assert second is not None
    step = second.metadata["samples_count"] - first.metadata["samples_count"]

    def moved(line: Line, progress: int) -> Line:
        record = line.record
        assert record is not None
        metadata = dict(record.metadata)
        for name, by in (("epoch_num", 1), ("samples_count", step), ("step_num", step)):
            if name in metadata and progress:
                metadata[name] += by
        time = int(record.time_ms) + 1000 * len(block)
        return replace(
            line, record=msgspec.structs.replace(record, time_ms=time, metadata=metadata)
        )

    lines = (
        *log.lines[:stop],
        *(moved(line, 1) for line in block),
        *(moved(line, 1) for line in log.lines[stop:]),
    )
    log = replace(log, lines=lines)
    return log.set("eval_accuracy", 6.0, only=0).set("eval_accuracy", 6.0, only=1)


def unfinished(log: LogBuilder) -> LogBuilder:
    """Cut a log after the last evaluation that misses the target."""
    at = log.where("eval_accuracy")[-2]
    return replace(log, lines=log.lines[: at + 1])


def sparse(log: LogBuilder) -> LogBuilder:
    """Remove the next-to-last evaluation from a log."""
    for key in ("eval_accuracy", "eval_start", "eval_stop"):
        log = log.drop(key, only=-2)
    return log


def throughput(place: Path) -> Submission:
    """An open HPC 3.0 submission with a strong result and a throughput result."""
    log = build("hpc", "3.0", "open", "deepcam")
    for key in ("number_of_nodes", "accelerators_per_node"):
        log = log.add(key, 8, before="init_stop")
    tree = Submission(place, log)
    tree.system().code().result().system("wide", number_of_nodes="16", system_name="ex_n8 wide")
    return tree.result("wide", scaling="weak", start=20)


def good(
    place: Path, usage: str, round_: str, benchmark: str, division: str = "closed"
) -> Submission:
    """A complete submission with one result."""
    tree = Submission(place, build(usage, round_, division, benchmark))
    return tree.system().code().result()


def compared(root: Path, *earlier: Path, profile: Profile = Profile.POLICY) -> Outcome:
    """Check a submission in comparison with earlier trees."""
    options = Options(profile=profile)
    inputs = discover([root], options)
    return check_inputs(inputs, options, comparators=comparators(earlier, options)).report
