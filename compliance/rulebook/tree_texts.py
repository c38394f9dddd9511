"""Texts of rules about earlier rounds, previews and the guard."""

from __future__ import annotations

from collections.abc import Mapping

from podium.compliance.rulebook.package_texts import FixedText, both, note, policy

_BORROWED = (
    "borrowing lets a slower choice of settings be mended after the submission, and nothing else: "
    "training rules, Hyperparameter Borrowing"
)
_PREVIEWED = (
    "a Preview promises what can soon be had; one benchmark that both rounds have must show it at "
    "the smallest and the largest scale previewed: submission rules, Preview Systems"
)


_OTHERS = {
    "system.schema": policy(
        "a description fits the schema of its round",
        "what passes every single rule may still not fit together",
        "see `podium system schema`",
    ),
    "earlier.resubmitted": note(
        "logs that an earlier round had already are told of",
        "from training 5.1 on a result may be handed in again, if the committee is told in time "
        "and it still is the submitter's best; in other rounds it may not (a warning)",
        "tell the committee before the first review meeting",
    ),
    "earlier.shifted-log": policy(
        "a log that is handed in again is as it was",
        "the same evaluations at other times are an old log made to look new",
        "hand in the log of a run of its own, or the earlier one unchanged",
    ),
    "earlier.other-submitter": policy(
        "a submitter hands in runs of its own",
        "what another submitted before was not run by this one",
        "hand in runs of your own",
    ),
    "earlier.system-changed": policy(
        "the system of logs that are handed in again is described as it was",
        "the logs tell of the system as it was then: training rules, Results Resubmission",
        "hand in the earlier description unchanged, or new runs",
    ),
    "earlier.system-unknown": note(
        "the earlier tree describes the system of logs that are handed in again",
        "without it nobody can see whether the descriptions are the same",
        "give --earlier the whole earlier tree",
    ),
    "borrowing.group": note(
        "settings that changed in review are all those of another submitter's result",
        _BORROWED,
        "declare what is borrowed by the Monday of the third week of the review",
    ),
    "borrowing.not-a-group": policy(
        "settings that change in review are another submitter's, all together but batch sizes",
        _BORROWED,
        "take all settings of one other result, or show that with them it converges worse",
    ),
    "borrowing.not-allowed": policy(
        "settings of GPT-3 and of Llama 3.1 405B are not borrowed",
        "the training rules except both from borrowing: GPT-3 from 3.0, Llama 3.1 405B from 5.0 on",
        "hand in runs with the settings of the first",
    ),
    "borrowing.system-changed": policy(
        "who borrows settings runs them on the same system, software and configuration",
        _BORROWED,
        "run the borrowed settings on the system as it was",
    ),
    "preview.not-followed": policy(
        "a system that was previewed is handed in as available",
        _PREVIEWED,
        "hand the system in as available, or tell the committee why it is not",
    ),
    "preview.not-comparable": note(
        "a round has one of the benchmarks that a system was previewed with",
        _PREVIEWED,
        "show the committee privately that the available system is as fast",
    ),
    "preview.slower": policy(
        "an available system is as fast as its Preview, but for 2 %; where both were measured, it "
        "takes as little energy",
        _PREVIEWED,
        "find out what made the available system slower, or tell the committee",
    ),
    "guard.not-yet-logged": note(
        "what a run must log stands before the timed part",
        "what is missing when the clock starts may be forgotten for good",
        "log it before run_start",
    ),
    "guard.declared-otherwise": both(
        "a log names the benchmark and division that its logger was made for",
        "otherwise it is judged by other rules than those it was guarded by",
        "give the logger and the log the same names",
    ),
}

TREE_TEXTS: Mapping[str, FixedText] = _OTHERS
"""By rule: what it says and why."""
