"""`podium.check`: the Python API of the check."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from podium.compliance.errors import UsageFault
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.reporting.models import Report, publish
from podium.compliance.reporting.placing import based, root_of
from podium.rules.catalogue import normal_name
from podium.rules.finding import Profile


def check(
    path: Path | str,
    *,
    round: str | float | None = None,  # noqa: A002 - the contract's name
    usage: str | None = None,
    profile: Literal["policy", "verifier"] | Profile = Profile.POLICY,
    jobs: int = 1,
    strict: bool = False,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
) -> Report:
    """Check a log, a folder of logs, a submission or a round; returns the whole report.

    `select` and `ignore` are lists of rule ids or globs. Installed plug-ins run too, unless
    PODIUM_NO_PLUGINS is set. Raises ComplianceError (UsageFault, NothingToJudge) for invalid
    arguments. Errors in the content are findings of the report.
    """
    if path == "":
        raise UsageFault("path is empty; expected a file or a folder, such as '.'")
    options = Options(
        usage=usage,
        round=None if round is None else normal_name(round),
        profile=_profile(profile),
        jobs=jobs,
        strict=strict,
        select=_selectors("select", select),
        ignore=_selectors("ignore", ignore),
        plugins=True,
    )
    paths = [Path(path)]
    return publish(based(check_paths(paths, options), paths, root_of(None)))


def _profile(name: str) -> Profile:
    try:
        return Profile(name)
    except ValueError:
        raise UsageFault(f"profile is {name!r}; expected 'policy' or 'verifier'") from None


def _selectors(option: str, globs: Iterable[str]) -> tuple[str, ...]:
    """The globs of an argument; raises UsageFault for a string and for a glob without a match.

    A string is iterable too: its characters would be used as globs, and `*` matches all rules.
    """
    if isinstance(globs, str):
        raise UsageFault(f"{option} is the string {globs!r}; expected a list such as [{globs!r}]")
    selectors = tuple(globs)
    if invalid := next((selector for selector in selectors if not isinstance(selector, str)), None):
        raise UsageFault(f"{option} has {invalid!r}; expected rule ids or globs, as strings")
    if selectors:
        # Builds the rules of every round, which a call without selectors does not need
        from podium.compliance.rulebook.selectors import unmatched

        if wrong := [*unmatched(option, selectors)]:
            raise UsageFault("; ".join(wrong))
    return selectors
