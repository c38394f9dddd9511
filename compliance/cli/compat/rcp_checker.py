"""The official convergence check of one result's folder, with its arguments and last line."""

from __future__ import annotations

from pathlib import Path

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.judging.inputs.layout import is_log, natural
from podium.compliance.judging.inputs.round_selection import named_round
from podium.compliance.judging.results.convergence import judge_convergence
from podium.compliance.text.terminal import clean
from podium.compliance.tools.rcp.points import points_in
from podium.logging_spec.reader.read import read_log
from podium.rules.convergence.facts import RunFacts, run_facts
from podium.rules.convergence.result import Convergence
from podium.rules.finding import Profile
from podium.rules.model.round import Round
from podium.rules.run import Run

PASSES = ("pruned_rcps", "full_rcps")

_CASES = {
    "found": "RCP found",
    "interpolated": "RCP Interpolation",
    "above_range": "RCP not found",
    "none": "RCP not found",
}


def check_folder(
    folder: Path,
    usage: str,
    version: str | None,
    rcp_pass: str,
    custom: Path | None,
    *,
    train_samples: bool = False,
    verbose: bool = False,
) -> tuple[str, bool]:
    """The output for one result's folder, and whether the result passes; no file is written.

    The last line is that of the official tool. If that tool crashes, the check fails with a reason.
    """
    if rcp_pass not in PASSES:
        raise UsageFault(f"--rcp_pass: expected {' or '.join(PASSES)}, got {rcp_pass}")
    rules = named_round(usage, version)
    runs = _runs(folder, rules, train_samples=train_samples)
    benchmark = next((run.benchmark for run in runs if run.benchmark), None) or ""
    points = None if custom is None else points_in(custom, rules.name)
    convergence = judge_convergence(
        rules,
        benchmark,
        runs,
        Profile.VERIFIER,
        points=points,
        pruned=rcp_pass == "pruned_rcps",  # noqa: S105 - the name of a set of points
    )
    lines = [f"INFO - {clean(str(folder))}, {rules.title}, {rcp_pass}"]
    lines += [f"INFO - {line}" for line in _details(convergence, verbose=verbose)]
    lines += [f"INFO - {clean(message)}" for message in convergence.messages]
    lines.append(_last(convergence))
    return "\n".join(lines) + "\n", convergence.verdict == "pass"


def _runs(folder: Path, rules: Round, *, train_samples: bool) -> list[RunFacts]:
    if not folder.is_dir():
        raise NothingToJudge(f"no such folder: {folder}")
    names = [path.name for path in folder.iterdir() if is_log(path.name)]
    if not names:
        raise NothingToJudge(f"nothing to check in {folder}: it has no result_*.txt")
    return [
        run_facts(
            Run(read_log(folder / name).records),
            rules,
            Profile.VERIFIER,
            name,
            train_samples,
        )
        for name in natural(names)
    ]


def _details(convergence: Convergence, *, verbose: bool) -> list[str]:
    lines = []
    for point in (*convergence.points, *(convergence.pruned if verbose else ())):
        remark = "" if point in convergence.points else " (pruned)"
        lines.append(
            f"point {clean(' and '.join(point.ids))}{remark}: batch size {point.batch_size:g}, "
            f"mean {point.mean!r}, minimum {point.minimum!r}"
        )
    if convergence.submission is not None:
        lines.append(f"mean of the runs: {convergence.submission:.4f} {convergence.unit}")
    if convergence.scaling_factor != 1:
        lines.append(f"scaling factor of the score: {convergence.scaling_factor!r}")
    return lines


def _last(convergence: Convergence) -> str:
    if convergence.case == "below_range":
        speed = "slower" if convergence.verdict == "pass" else "faster"
        case = f"RCP not found but {speed} convergence on smaller batch size"
    else:
        case = _CASES[convergence.case]
    if convergence.verdict == "pass":
        return f"INFO - {case}, RCP test PASSED"
    # Copied exactly, although the official package checker has only --rcp-bypass
    advice = "consider adding --rcp_bypass in when running the package_checker."
    return f"ERROR - {case}, RCP test FAILED, {advice}"
