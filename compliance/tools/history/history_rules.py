"""The rules that compare a submission with an earlier tree, as values."""

from __future__ import annotations

from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import note, policy

_RESUBMISSION = "training rules, Results Resubmission"
_BORROWING = "training rules, Hyperparameter Borrowing"
_PREVIEWS = "submission rules, Preview Systems"

_BORROWED = (
    "borrowing only lets a submitter replace a slower choice of settings after the submission"
)
_PREVIEWED = "a Preview announces a system that will soon be available; one benchmark that both "
_PREVIEWED += "rounds have must confirm it at the smallest and the largest scale previewed"

_OWN_RUNS = "no log is of a run that an earlier tree has"
_SAME_SETTINGS = "all settings except batch sizes equal those of the result submitted first"

# A note: no tree shows whether the committee knows, or whether the result is still the best
RESUBMITTED = note(
    "earlier.resubmitted",
    says="logs that were submitted in an earlier round are reported",
    why="from training 5.1 on, a result may be resubmitted if the committee is informed in time "
    "and the result is still the submitter's best; other rounds do not allow it",
    message="{count} of {runs} runs were submitted before as {before} ({title}){refusal}",
    help="inform the committee before the first review meeting; before training 5.1, submit runs "
    "made for this round",
    cites=_RESUBMISSION,
    bad="a result of training 5.1 has the same logs as one of training 5.0",
    good=_OWN_RUNS,
    varies="a warning in a round that does not accept logs of earlier rounds",
)

SHIFTED_LOG = policy(
    "earlier.shifted-log",
    says="a resubmitted log is unchanged",
    why=(
        "a log that repeats the evaluations of an old log at other times is an old log made to "
        "look new"
    ),
    message="this log is {before} ({title}) with every time shifted; a resubmitted log must be "
    "unchanged",
    help="submit the log of another run, or the earlier one unchanged",
    cites=_RESUBMISSION,
    bad="every time in a log differs by ten minutes from a log of an earlier round",
    good=_OWN_RUNS,
)

# A warning that may be waived: the organization may have been renamed
OTHER_SUBMITTER = policy(
    "earlier.other-submitter",
    says="a submitter submits only its own runs",
    why="runs that another submitter submitted before are not runs of this submitter",
    message="{submitter} submits runs of {others}; expected its own runs",
    help="submit your own runs",
    cites=_RESUBMISSION,
    bad="Acme submits logs that Bmce submitted in an earlier round",
    good=_OWN_RUNS,
)

SYSTEM_CHANGED = policy(
    "earlier.system-changed",
    Severity.ERROR,
    says="the system description of resubmitted logs is unchanged",
    why="the logs were made on the system as it was then",
    message="{fields} changed since {then}; must be the same because logs of {title} are "
    "resubmitted",
    help="submit the earlier description unchanged, or new runs",
    cites=_RESUBMISSION,
    bad="logs are resubmitted, and the description of their system names another framework",
    good="logs are resubmitted with the earlier description",
)

SYSTEM_UNKNOWN = note(
    "earlier.system-unknown",
    says="the earlier tree has the system description of resubmitted logs",
    why="without it the two descriptions cannot be compared",
    message="logs of {title} are resubmitted, but the earlier tree has no description of their "
    "system to compare {system} with",
    help="pass the whole earlier tree to --earlier",
    cites=_RESUBMISSION,
    bad="logs are resubmitted, and the earlier tree has no systems/ex_n8.json",
    good="logs are resubmitted, and the earlier tree has systems/ex_n8.json",
)

GROUP = note(
    "borrowing.group",
    says="all settings that changed in review match another submitter's result",
    why=_BORROWED,
    message=(
        "{changed} changed since the first submission ({first}); all settings except batch sizes "
        "match {lender}"
    ),
    help="declare the borrowed settings by the Monday of the third week of the review",
    cites=_BORROWING,
    bad="in review every setting is changed to the value in Bmce's result",
    good=_SAME_SETTINGS,
)

NOT_A_GROUP = policy(
    "borrowing.not-a-group",
    says="if settings change in review, all except batch sizes come from one other submitter's "
    "result",
    why=_BORROWED,
    message="{changed} changed since the first submission ({first}); {problem}",
    help=(
        "except for batch sizes, use all settings of one result of another submitter, or show "
        "that your result converges worse with them than the lender's"
    ),
    cites=_BORROWING,
    bad="in review the learning rate is changed to a value that no other result has",
    good=_SAME_SETTINGS,
)

NOT_ALLOWED = policy(
    "borrowing.not-allowed",
    says="settings of GPT-3 and of Llama 3.1 405B are not borrowed",
    why="the training rules exclude both from borrowing: GPT-3 from 3.0 on, Llama 3.1 405B from "
    "5.0 on",
    message="{changed} changed since the first submission ({first}); settings of {benchmark} may "
    "not be borrowed",
    help="submit runs with the settings of the first submission",
    cites=_BORROWING,
    bad="in the review of training 5.1 the learning rate of a llama31_405b result is changed",
    good=_SAME_SETTINGS,
)

BORROWER_CHANGED = policy(
    "borrowing.system-changed",
    says="borrowed settings run on the same system, software and configuration",
    why=_BORROWED,
    message=(
        "{fields} changed since the description submitted first, and so did the settings of "
        "{benchmark}; expected the same system"
    ),
    help="run the borrowed settings on the unchanged system",
    cites=_BORROWING,
    bad="in review the settings change, and the description of the system names another framework",
    good="in review the settings change, and the description does not",
)

SCALE_CHANGED = policy(
    "borrowing.scale-changed",
    says=(
        "in review, only the largest entry of a system for a benchmark changes its scale, and "
        "only to a larger or faster one"
    ),
    why=_BORROWED,
    message="the settings changed, and the scale is {now} instead of {then} in the first "
    "submission ({first}); {problem}",
    help="run the borrowed settings at the scale of the first result",
    expected="{then}",
    actual="now",
    cites=_BORROWING,
    bad="Acme ran bert on 8 and on 16 nodes; in review the first runs on 12, with other settings",
    good="in review the second runs on 32, a scale that Acme has submitted with resnet",
)

UNPROVEN_SCALE = policy(
    "borrowing.unproven-scale",
    says=(
        "borrowed settings do not run at a larger scale than the system had in the first submission"
    ),
    why="the logs that were submitted in time prove the scale of a system",
    message="the settings changed, and the scale is {now}; expected at most {proven}, the largest "
    "that the first submission proves on this system ({where})",
    help="run the borrowed settings at a scale of the first submission; logs of pruned instances "
    "also prove scale",
    expected="at most {proven}",
    actual="now",
    cites=f"{_BORROWING}; HPC rules, Hyperparameter Borrowing",
    bad="in review the settings change and the system has 16 nodes; no result submitted first had "
    "more than 8",
    good="in review the settings change and the system has 8 nodes, as before",
)

NOT_FOLLOWED = policy(
    "preview.not-followed",
    says="a system that was previewed is submitted as available",
    why=_PREVIEWED,
    message="{system} was previewed in {title} ({path_then}), but {problem}",
    help=(
        "submit the system as available, at the smallest and the largest scale previewed, or "
        "explain to the committee why it is not available"
    ),
    cites=_PREVIEWS,
    bad="a system is a Preview in training 5.0 and in 5.1",
    good="a system is a Preview in training 5.0 and available in 5.1, as fast as before",
)

NOT_COMPARABLE = note(
    "preview.not-comparable",
    says="the round has at least one benchmark with which a system was previewed",
    why=_PREVIEWED,
    message="{system} was previewed in {title} ({path_then}) with {names}, which {now} cannot be "
    "compared with",
    help="show the committee privately, at the smallest and the largest scale, that the available "
    "system is as fast",
    cites=_PREVIEWS,
    bad="a system was previewed with bert only, which training 5.1 no longer has",
    good="a system was previewed with llama2_70b_lora, which training 5.1 also has",
)

SLOWER = policy(
    "preview.slower",
    says=(
        "an available system takes at most 2 % longer than its Preview; if the energy of both "
        "was measured, it uses at most 2 % more energy instead"
    ),
    why=_PREVIEWED,
    message="{now}; its preview in {title} took {then} ({path_then}): {lost:.1%} more {what}; "
    "expected at most {most:.0%} more",
    help="find out why the available system is slower, or inform the committee",
    expected="{limit}",
    actual="minutes",
    cites=_PREVIEWS,
    bad="the available system takes 3 % longer than its Preview",
    good="the available system takes 2 % longer than its Preview",
)
