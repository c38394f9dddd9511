"""What of a log and a folder goes into a score: which runs count, and which factor."""

from __future__ import annotations

from pathlib import PurePath

from msgspec.structs import replace

from podium.compliance.logs.facts import Facts
from podium.compliance.results.model import JudgingContext, ResultVerdict
from podium.compliance.results.score import Score, choose_factor, olympic_energy, score_result
from podium.rules.convergence.facts import RunFacts
from podium.rules.finding import Profile
from podium.rules.round import Round

REFUSED = "its log breaks rules"


def counted(facts: Facts, broken: bool, profile: Profile) -> RunFacts:
    """A run as it counts: the verifier takes one whose log breaks rules for the slowest.

    By the policy only a run that did not converge may be dropped as the slowest; that a log breaks
    rules is for the check to say, and does not change the time.
    """
    if broken and profile is Profile.VERIFIER:
        return replace(facts.run, refused=REFUSED)
    return facts.run


def normalises(rules: Round, profile: Profile) -> bool:
    """Whether a score is scaled for converging sooner than the reference: rules since 2.1.

    HPC follows the training rules of its day, so since its 2.0. The official tools do it always.
    """
    return profile is Profile.VERIFIER or rules.package.normalised


def score_of(verdict: ResultVerdict, by: JudgingContext, *, brief: bool = True) -> Score:
    """The score of a package's result, in brief unless asked for in full."""
    scaled = verdict.convergence if normalises(by.rules, by.profile) else None
    return score_result(
        by.rules.usage,
        by.rules.name,
        verdict.folder.benchmark,
        [counted(run.facts, run.failed, by.profile) for run in verdict.runs],
        by.profile,
        choose_factor(verdict.factor, scaled),
        brief=brief,
    )


def energy_of(verdict: ResultVerdict, by: JudgingContext) -> float | None:
    """Joules that a scored run of a package's result takes, scaled as its score is.

    None where that of a scored run is not known.
    """
    if not verdict.energies:
        return None
    joules = [verdict.energies.get(PurePath(run.display_path).stem) for run in verdict.runs]
    score = score_of(verdict, by, brief=False)
    return score.scaled(olympic_energy(score, joules))
