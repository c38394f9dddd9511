"""Violations, by rule, that no edit of a submission can show, and their corrections.

A case builds files in a folder, checks them in a profile, and returns the findings.
"""

from __future__ import annotations

import gzip
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Protocol
from unittest import mock

from podium.compliance import check
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.judging.waivers.file import read_waivers
from podium.rules.finding import Profile
from tests.builders import LogBuilder, build
from tests.compliance.rulebook import (
    cases_history,
    cases_live,
    cases_power,
    cases_rcp,
    cases_review,
    cases_scoring,
    cases_systems,
)
from tests.compliance.trees import Change, Submission, sparse, throughput, unfinished, usual


class Found(Protocol):
    """An item that a case returns: a finding, or its entry in a report."""

    @property
    def id(self) -> str: ...
    @property
    def severity(self) -> Any: ...
    @property
    def stated_by(self) -> Any: ...


Judge = Callable[[Path, Profile], Iterable[Found]]
Make = Callable[[Path], Submission]


def _judged(make: Make) -> Judge:
    return lambda place, profile: make(place).check(profile.value).findings


def _same(tree: Submission) -> Submission:
    return tree


def _tree(edit: Callable[[Submission], object]) -> Judge:
    """The usual submission, edited."""

    def make(place: Path) -> Submission:
        tree = usual(place)
        edit(tree)
        return tree

    return _judged(make)


def _logs(change: Change) -> Judge:
    """The usual submission with its first log changed."""
    return _tree(lambda tree: tree.log(0, change))


def _file(name: str | bytes, size: int = 1) -> Judge:
    """The usual submission with an extra file in its benchmarks folder."""

    def edit(tree: Submission) -> None:
        folder = os.fsencode(tree.root / "benchmarks")
        with open(os.path.join(folder, os.fsencode(name)), "wb") as stream:
            stream.truncate(size)

    return _tree(edit)


_NOTHING = _tree(_same)

# --- unreadable files, large files and internal failures ---


def _patched(judge: Judge, target: str, value: Any) -> Judge:
    """The same case, while a part of podium or of Python is patched."""

    def patched(place: Path, profile: Profile) -> Iterable[Found]:
        with mock.patch(target, value):
            return [*judge(place, profile)]

    return patched


def _in_processes(ended: bool) -> Judge:
    """The usual submission, checked by two processes that are killed if `ended` is set."""

    def judged(*place: Any, **options: Any) -> Any:
        if ended:
            os.kill(os.getpid(), signal.SIGKILL)
        return judge_log(*place, **options)

    def judge(place: Path, profile: Profile) -> Iterable[Found]:
        tree = usual(place)
        home = "podium.compliance.judging.files"
        with mock.patch(f"{home}.judge_log", judged), mock.patch(f"{home}.FEW_BYTES", 0):
            return check_paths([tree.root], Options(round="5.1", profile=profile, jobs=2)).findings

    return judge


def _refusing(ending: str) -> Callable[[Any], Any]:
    listed = os.scandir

    def scandir(folder: Any) -> Any:
        if os.fspath(folder).endswith(ending):
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    return scandir


def _unlisted(folder: str) -> Judge:
    return _patched(_NOTHING, "os.scandir", _refusing(folder))


def _compressed(cut: int) -> Judge:
    def edit(tree: Submission) -> None:
        path = tree.root / tree.folder() / "result_0.txt"
        data = gzip.compress(path.read_bytes())
        path.write_bytes(data[: len(data) - cut])

    return _tree(edit)


# --- logs ---


def _marked_cut(tree: Submission) -> None:
    path = tree.root / tree.folder() / "result_0.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-4], "[output truncated]"]) + "\n")


def _encoded(encoding: str) -> Judge:
    def edit(tree: Submission) -> None:
        path = tree.root / tree.folder() / "result_0.txt"
        path.write_bytes(path.read_text().encode(encoding))

    return _tree(edit)


def _nested(*levels: str) -> Judge:
    def judge(place: Path, profile: Profile) -> Iterable[Found]:
        top = place / "training_results_v5.1"
        usual(top.joinpath(*levels))
        return [*check(top, profile=profile).findings]

    return judge


def _log_of_0_6(line: str) -> Judge:
    def judge(place: Path, profile: Profile) -> Iterable[Found]:
        path = place / "result_0.txt"
        path.write_text(f"{line}\n")
        return check(path, usage="training", round="0.6", profile=profile).findings

    return judge


_GOOD_LINE = ':::MLL 1735689600.000 seed: {"value": 42, "metadata": {}}'


def _seeded(*seeds: int) -> Judge:
    """The usual submission, whose runs have these seeds."""

    def edit(tree: Submission) -> None:
        for number, seed in enumerate(seeds):
            tree.log(number, _seed(seed))

    return _tree(edit)


def _device_batch(size: int) -> Judge:
    """The usual submission, with 64 accelerators, batch size 1152, and `size` samples on each."""
    return _logs(lambda log: log.add("local_batch_size", size, before="global_batch_size"))


def _seed(value: Any, lineno: Any = 3, file: str = "/workspace/train.py") -> Change:
    return lambda log: log.set("seed", value).meta("seed", file=file, lineno=lineno)


def _another_seed(value: Any) -> Change:
    return lambda log: log.repeat("seed", value)


def _shared(value: int) -> Judge:
    return _tree(lambda tree: tree.log(1, _seed(value, lineno=2)))


def _source(file: str) -> Judge:
    return _tree(lambda tree: [tree.log(n, _seed(100 + n, file=file)) for n in range(3)])


def _cut_short(log: LogBuilder) -> LogBuilder:
    return log.noise(3, b':::MLLOG {"key": "seed", "val')


# --- results ---


def _with_config(there: bool) -> Judge:
    def make(place: Path) -> Submission:
        tree = Submission(place, build("training", "6.1", "open", "llama31_8b"))
        tree.system().code().result(change=lambda log: log.set("config_filename", "conf/x8.sh"))
        ours = "benchmarks/llama31_8b/implementations/ours"
        return tree.write(f"{ours}/x8.sh") if there else tree

    return _judged(make)


def _two_systems(start: int, change: Change) -> Judge:
    def edit(tree: Submission) -> None:
        tree.system("ey_n8", system_name="ey_n8")
        tree.result("ey_n8", start=start, change=lambda log: change(_paced(log)))

    return _tree(edit)


def _paced(log: LogBuilder) -> LogBuilder:
    """A run of the same duration, with evaluations at other times."""
    return log.shift("eval_accuracy", 0.01).set("submission_platform", "ey_n8")


def _slower(log: LogBuilder) -> LogBuilder:
    return log.shift("run_stop", 0.5)


def _dated(year: int) -> Judge:
    """The usual submission, with runs of another year."""
    return _all_runs(lambda log: log.shift_all((year - 2025) * 365 * 24 * 60))


def _diffusion(without: int) -> Judge:
    """Ten runs that score each checkpoint, or leave out the checkpoint at `without` samples."""

    def make(place: Path) -> Submission:
        tree = Submission(place, build("training", "5.0", "closed", "stable_diffusion"))
        return tree.system().code().result(change=lambda log: _checkpoints(log, without))

    return _judged(make)


def _checkpoints(log: LogBuilder, without: int) -> LogBuilder:
    log = log.set("eval_accuracy", 200.0, only=0)
    said = [(line, line.record.metadata if line.record else {}) for line in log.lines]
    lines = [
        line for line, reported in said if not without or reported.get("samples_count") != without
    ]
    return replace(log, lines=tuple(lines))


def _side_by_side(minutes: float) -> Judge:
    """The usual submission, whose second run begins this many minutes after the first."""
    return _tree(lambda tree: tree.log(1, lambda log: log.shift_all(minutes - 60)))


def _hpc(edit: Callable[[Submission], object]) -> Judge:
    def make(place: Path) -> Submission:
        tree = throughput(place)
        edit(tree)
        return tree

    return _judged(make)


def _instance(change: Change, number: int = 0, folder: str = "") -> Judge:
    return _hpc(
        lambda tree: tree.log(number, change, "wide", scaling="weak", start=20, folder=folder)
    )


def _aborted(log: LogBuilder) -> LogBuilder:
    return log.meta("run_stop", status="aborted")


def _unchanged(log: LogBuilder) -> LogBuilder:
    return log


def _nodes(tree: Submission, number: int) -> Submission:
    return tree.system("wide", number_of_nodes=str(number), system_name="ex_n8 wide")


# --- waivers ---


def _waiver(until: date, change: Change = _unchanged) -> Judge:
    def judge(place: Path, profile: Profile) -> Iterable[Found]:
        tree = usual(place / "tree").log(0, change)
        path = place / "granted.toml"
        path.write_text(
            f'[[waiver]]\nrule = "seeds.none"\nplace = "*"\nreason = "old code"\nwho = "chair"\n'
            f"until = {until}\n"
        )
        options = Options(round="5.1", usage="training", profile=profile)
        options = _with_waivers(options, path)
        return check_paths([tree.root], options).findings

    return judge


def _with_waivers(options: Options, path: Path) -> Options:
    from msgspec.structs import replace

    return replace(options, waivers=(read_waivers(path),))


def _params(data: bytes) -> Judge:
    return _tree(
        lambda tree: (tree.root / tree.folder() / "package_checker_params").write_bytes(data)
    )


_YESTERDAY, _TODAY = date.today() - timedelta(days=1), date.today()
_MEBIBYTE = 1 << 20


def _more_runs(tree: Submission) -> None:
    """Add a fourth run of a benchmark that needs three."""
    tree.log(3)


def early(log: LogBuilder) -> LogBuilder:
    """A run that reaches the target with a fraction of its samples."""
    for place in range(len(log.where("eval_accuracy"))):
        log = log.meta("eval_accuracy", only=place, samples_count=1152, epoch_num=1152)
    return log


def _all_runs(change: Change) -> Judge:
    return _tree(lambda tree: tree.result(change=change))


def _framework_lines(lines: bytes) -> Judge:
    """A log of training 6.1 that begins with these lines of the framework."""

    def judge(place: Path, profile: Profile) -> Iterable[Found]:
        log = build("training", "6.1", "closed", "llama31_8b")
        path = place / "result_0.txt"
        path.write_bytes(lines + b"".join(line.bytes + b"\n" for line in log.lines))
        return check(path, round="6.1", profile=profile.value).findings

    return judge


def _divided(ways: int) -> Judge:
    """The usual submission, whose first log has this tensor parallelism."""
    return _logs(lambda log: log.add("tensor_parallelism", ways, before="init_stop"))


def _two_runs(change: Change) -> Judge:
    return _tree(lambda tree: tree.log(0, change).log(1, change))


def _of_lines(first: int) -> Change:
    """A log whose settings are logged from this source line on."""
    return lambda log: log.meta("global_batch_size", file="train.py", lineno=first).meta(
        "opt_base_learning_rate", file="train.py", lineno=first + 1
    )


def _two_versions(first: int) -> Judge:
    return _tree(lambda tree: tree.result(change=_of_lines(11)).log(0, _of_lines(first)))


def _by_round(name: str) -> Judge:
    """The usual submission, which is of 5.1, checked by the rules of some round."""
    return lambda place, profile: [*check(usual(place).root, round=name, profile=profile).findings]


_CASES: Mapping[str, tuple[Judge, Judge]] = {
    "result.too-many-runs": (_tree(_more_runs), _NOTHING),
    "result.evaluations-left-out": (_all_runs(sparse), _NOTHING),
    "log.records-only": (_framework_lines(b""), _framework_lines(b"loading data\n")),
    "system.parallelism-exceeds-system": (_divided(128), _divided(8)),
    "result.unfinished-run-dropped": (_logs(unfinished), _NOTHING),
    "result.not-converged": (_two_runs(_aborted), _NOTHING),
    "result.run-after-round": (_dated(2031), _NOTHING),
    "result.run-long-before-round": (_dated(2015), _NOTHING),
    "result.run-of-earlier-round": (_dated(2024), _NOTHING),
    "result.other-code": (_two_versions(13), _two_versions(11)),
    "result.uneven-speed": (_logs(_slower), _NOTHING),
    "result.checkpoints-left-out": (_diffusion(without=512_640), _diffusion(without=0)),
    "rcp.failed": (_all_runs(early), _NOTHING),
    "rcp.missing": (_all_runs(lambda log: log.set("global_batch_size", 100_000)), _NOTHING),
    "result.verifier-crash": (
        _logs(lambda log: log.set("submission_benchmark", "dlrm_dcnv2")),
        _NOTHING,
    ),
    # No file system accepts a name of 256 bytes, so these cases lower the limit.
    "repo.long-name": (
        _patched(
            _file("a" * 31), "podium.compliance.judging.repository.file_names.LONGEST_NAME", 30
        ),
        _patched(
            _file("a" * 30), "podium.compliance.judging.repository.file_names.LONGEST_NAME", 30
        ),
    ),
    "repo.not-utf8": (_file(b"a\xff"), _file("aff")),
    "repo.large-file": (_file("big", 50 * _MEBIBYTE + 1), _file("big", 50 * _MEBIBYTE)),
    "repo.special-file": (_tree(lambda tree: os.mkfifo(tree.root / "benchmarks/pipe")), _NOTHING),
    "repo.unreadable": (_unlisted("implementations/ours"), _NOTHING),
    "repo.search-ended": (
        _patched(_NOTHING, "podium.compliance.judging.repository.secrets.IN_ALL", 20),
        _NOTHING,
    ),
    "tree.unreadable": (_unlisted("results/ex_n8"), _NOTHING),
    "tree.nested-submission": (_nested("Acme"), _nested()),
    "log.cut-out": (_tree(_marked_cut), _NOTHING),
    "log.encoding": (_encoded("utf-16"), _encoded("utf-8")),
    "log.nonstandard-dialect": (
        _log_of_0_6(":::MLL 1735689600.000 seed: {'value': 42, 'metadata': {}}"),
        _log_of_0_6(_GOOD_LINE),
    ),
    "log.ignored-line": (
        _log_of_0_6(":::MLL 1735689600.000 seed: 42"),
        _log_of_0_6(_GOOD_LINE),
    ),
    "log.line-too-long": (
        _patched(
            _logs(lambda log: log.noise(3, b':::MLLOG {"key": "' + b"a" * 5000 + b'"}')),
            "podium.logging_spec.reader.recovery.LONGEST_LINE",
            4096,
        ),
        _patched(_NOTHING, "podium.logging_spec.reader.recovery.LONGEST_LINE", 4096),
    ),
    "log.broken-compression": (_compressed(8), _compressed(0)),
    "result.compressed-log": (_compressed(0), _NOTHING),
    "internal.rule-crashed": (
        _patched(
            _NOTHING,
            "podium.compliance.judging.files.judge_log",
            mock.Mock(side_effect=ZeroDivisionError),
        ),
        _NOTHING,
    ),
    "round.mismatch": (_by_round("4.0"), _by_round("5.1")),
    "internal.process-lost": (_in_processes(True), _in_processes(False)),
    "seeds.no-place": (
        _logs(lambda log: log.meta("seed", "lineno")),
        _logs(_seed(100)),
    ),
    "seeds.repeated-in-run": (_logs(_another_seed(100)), _NOTHING),
    "seeds.several": (_logs(_another_seed(7)), _NOTHING),
    "seeds.unreadable-log": (_logs(_cut_short), _NOTHING),
    "seeds.verifier-crash": (_logs(_seed(100, lineno=[3])), _logs(_seed(100))),
    "seeds.shared": (_shared(100), _shared(101)),
    "seeds.source": (_source("/workspace/notes.txt"), _source("/workspace/train.py")),
    "seeds.run-index": (_seeded(0, 1, 2), _seeded(1, 2, 5)),
    "result.batch-not-spread": (_device_batch(12), _device_batch(18)),
    "code.no-config": (_with_config(there=False), _with_config(there=True)),
    "result.same-score": (_two_systems(0, _unchanged), _two_systems(0, _slower)),
    "result.overlapping-runs": (_side_by_side(0.1), _side_by_side(60)),
    "throughput.no-strong-result": (
        _hpc(lambda tree: shutil.rmtree(tree.root / "results/ex_n8/strong")),
        _hpc(_same),
    ),
    "throughput.not-converged": (_instance(_aborted), _hpc(_same)),
    "throughput.broken-pruned-log": (
        _instance(lambda log: log.drop("run_start"), 5, "pruned_results"),
        _instance(_unchanged, 5, "pruned_results"),
    ),
    "throughput.mixed-scale": (
        _instance(lambda log: log.set("number_of_nodes", 16)),
        _instance(_unchanged),
    ),
    "throughput.total-scale": (_hpc(lambda tree: _nodes(tree, 640)), _hpc(_same)),
    "waivers.expired": (
        _waiver(_YESTERDAY, lambda log: log.drop("seed")),
        _waiver(_TODAY, lambda log: log.drop("seed")),
    ),
    "waivers.unused": (_waiver(_TODAY), _waiver(_TODAY, lambda log: log.drop("seed"))),
    "params.verifier-crash": (_params(b"\xe9\nrcp-bypass"), _params(b"rcp-bypass")),
}

_FOLDERS = (
    cases_history.CASES,
    cases_live.CASES,
    cases_power.CASES,
    cases_rcp.CASES,
    cases_review.CASES,
    cases_scoring.CASES,
    cases_systems.CASES,
)

CASES: Mapping[str, tuple[Judge, Judge]] = {
    **_CASES,
    **{rule: (case.bad, case.good) for cases in _FOLDERS for rule, case in cases.items()},
}
"""The violation and its correction, for each rule whose example is a sentence."""
