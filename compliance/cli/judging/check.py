"""`podium check`: check logs, submissions and rounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from podium.compliance.cli.delivery import (
    deliver_report,
    globs,
    refuse_inside,
    refuse_unknown,
    rulebook,
    suggest_after_verdict,
    warn,
    with_named_results,
    working,
)
from podium.compliance.cli.help import examples
from podium.compliance.cli.judging.incremental import (
    CacheFolderOption,
    CacheOption,
    ClearOption,
    IncrementalOptions,
    SinceOption,
    begin,
)
from podium.compliance.cli.options import (
    EngineOption,
    IgnoreOption,
    JobsOption,
    NoColorOption,
    OutputOption,
    ProfileOption,
    QuietOption,
    RelativeToOption,
    ReportFormatOption,
    RoundOption,
    SelectOption,
    StrictOption,
    UsageOption,
    processes,
)
from podium.compliance.errors import UsageFault
from podium.rules.finding import Profile

if TYPE_CHECKING:
    from podium.compliance.judging.discovery import JudgedFiles
    from podium.compliance.judging.inputs.given_paths import GivenPaths
    from podium.compliance.judging.options import Options
    from podium.compliance.judging.submission.together import Comparator
    from podium.compliance.judging.waivers.waivers import Waivers
    from podium.compliance.reporting.console import Printing
    from podium.compliance.reporting.data import Outcome

EXAMPLES = examples(
    "podium check result_0.txt --round 5.1",
    "podium check training_results_v5.1 --profile verifier",
    "podium check Acme --format sarif --output podium.sarif",
    "podium check training_results_v5.1 --cache",
    "podium check . --since origin/main",
    "zcat result_0.txt.gz | podium check - --round 5.1",
)

Paths = Annotated[
    list[str],
    typer.Argument(
        help="A log, a folder of logs, a submission, a whole round, or the URL of one; "
        "- reads standard input.",
        metavar="PATH...",
    ),
]
WaiversOption = Annotated[
    Path | None,
    typer.Option("--waivers", help="Waivers granted in review (waivers.toml).", metavar="FILE"),
]
NoWaiversOption = Annotated[
    bool, typer.Option("--no-waivers", help="Ignore waivers and bypass flags in the tree.")
]
EarlierOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--earlier",
        help="Earlier tree to compare with: resubmitted logs, borrowed settings, unfulfilled "
        "previews.",
        metavar="TREE",
    ),
]
PolicyOnlyOption = Annotated[
    bool,
    typer.Option(
        "--policy-only", help="Base the exit status on the policy only, not on the verifier."
    ),
]
OnlySelectedOption = Annotated[
    bool, typer.Option("--only-selected", help="Base the exit status on the selected rules only.")
]
ScoreOption = Annotated[
    bool, typer.Option("--score", help="Also score the results; each file is read once.")
]
FullOption = Annotated[
    bool, typer.Option("--full", help="Print every finding of every file instead of groups.")
]


def check(
    paths: Paths,
    usage: UsageOption = None,
    round: RoundOption = None,  # noqa: A002 - the option's name
    profile: ProfileOption = Profile.POLICY,
    format: ReportFormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    relative_to: RelativeToOption = None,
    jobs: JobsOption = None,
    engine: EngineOption = None,
    strict: StrictOption = False,
    policy_only: PolicyOnlyOption = False,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    only_selected: OnlySelectedOption = False,
    waivers: WaiversOption = None,
    no_waivers: NoWaiversOption = False,
    score: ScoreOption = False,
    earlier: EarlierOption = None,
    cache: CacheOption = False,
    cache_dir: CacheFolderOption = None,
    clear_cache: ClearOption = False,
    since: SinceOption = None,
    full: FullOption = False,
    quiet: QuietOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Check logs against the rules of their round; report errors with location and fix.

    Exit status: 0 no errors (warnings allowed), 1 at least one error, of the profile or of the
    official verifier, 2 nothing to check or bad arguments, 3 a fault in podium itself.
    """
    from podium.compliance.judging.inputs.given_paths import at_hand
    from podium.compliance.judging.options import Options
    from podium.compliance.reporting.console import Printing
    from podium.compliance.reporting.placing import root_of

    if policy_only and profile is Profile.VERIFIER:
        raise UsageFault("--policy-only needs --profile policy")
    printing = Printing(
        format=_chosen_format(format, score),
        output=output,
        color=not no_color,
        quiet=quiet,
        full=full,
        root=root_of(relative_to),
    )
    options = Options(
        usage=usage,
        round=round,
        profile=profile,
        jobs=processes(jobs),
        strict=strict,
        select=globs("--select", select),
        ignore=globs("--ignore", ignore),
        # Read before any log: an invalid file of waivers is a usage fault and ends the call
        waivers=(_read_waivers(waivers),) if waivers else (),
        waivers_in_tree=not no_waivers,
        plugins=True,
        policy_only=policy_only,
        only_selected=only_selected,
    )
    incremental = IncrementalOptions(cache=cache, folder=cache_dir, clear=clear_cache, since=since)
    with at_hand(paths) as given_paths, working(engine, jobs) as workers:
        options = replace(options, engine=workers)
        comparators = _comparators(given_paths, earlier or (), options, output)
        with with_named_results(given_paths, options) as assembled:
            report = _check(assembled, options, printing, comparators, incremental, score=score)
        if len(given_paths.own) == 1 and printing.for_people:
            _suggest_next(given_paths.own[0], report)
    raise typer.Exit(report.exit_status)


def _suggest_next(path: Path, report: Outcome) -> None:
    if (path / "results").is_dir() or (path / "podium.toml").is_file():
        suggest_after_verdict("doctor", path)
    elif path.is_dir() and not report.submissions and not report.exit_status:
        suggest_after_verdict(
            "init", "FOLDER", "--submitter", "NAME", "--round", report.rules.round
        )


def _name_failed_plugins(report: Outcome) -> None:
    from podium.compliance.text.terminal import clean

    for plugin in report.plugins:
        if plugin.state == "failed":
            title = f"plug-in {plugin.name} {plugin.version} of {plugin.distribution}"
            warn(clean(f"{title} is skipped: {plugin.why}"))


def _comparators(
    given_paths: GivenPaths, trees: Sequence[Path], options: Options, output: Path | None
) -> list[Comparator]:
    # Earlier trees must not change either, so a report must be outside them, too
    refuse_inside("--output", output, [*given_paths.own, *trees])
    if not trees:
        return []
    from podium.compliance.tools.history.comparators import comparators

    return comparators(trees, options)


def _check(
    given_paths: GivenPaths,
    options: Options,
    printing: Printing,
    comparators: Sequence[Comparator],
    incremental: IncrementalOptions,
    *,
    score: bool,
) -> Outcome:
    from podium.compliance.judging.pipeline import check_inputs
    from podium.compliance.reporting.console import progress_bar

    # Facts are collected in the first reading, so that scores need no second reading
    with progress_bar(printing.quiet, printing.color) as progress:
        inputs, memory = begin(given_paths, options, incremental, for_scores=score)
        checked = check_inputs(inputs, options, progress, comparators=comparators, memory=memory)
    report = given_paths.seen(checked.report, printing.root)
    if score:
        _deliver_with_scores(report, checked.files, given_paths, options, printing)
    else:
        deliver_report(report, printing)
    if report.plugins:
        _name_failed_plugins(report)
    return report


def _deliver_with_scores(
    report: Outcome,
    files: JudgedFiles,
    given_paths: GivenPaths,
    options: Options,
    printing: Printing,
) -> None:
    from podium.compliance.tools.scoring.render.console import with_scores
    from podium.compliance.tools.scoring.session import scores_of

    scores = scores_of(files, options)
    if given_paths.names:
        scores = scores.model_validate(given_paths.as_given(scores.model_dump()))
    with_scores(report, scores, printing, rulebook().one_message)


def _chosen_format(format_: str | None, score: bool) -> str:
    from podium.compliance.reporting.console import default_format
    from podium.compliance.tools.scoring.render.console import SCORED

    format_name = format_ or default_format()
    refuse_unknown(format_name)
    if score and format_ is None and format_name not in SCORED:
        return SCORED[0]  # annotations, the default in a GitHub workflow, cannot show scores
    if score and format_name not in SCORED:
        raise UsageFault(f"--score needs --format {' or '.join(SCORED)}, got {format_name}")
    return format_name


def _read_waivers(path: Path) -> Waivers:
    from podium.compliance.judging.waivers.file import read_waivers

    return read_waivers(path, str(path))
