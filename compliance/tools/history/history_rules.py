"""The rules of a submission beside an earlier tree, as values."""

from __future__ import annotations

from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import note, policy

_RESUBMISSION = "training rules, Results Resubmission"
_BORROWING = "training rules, Hyperparameter Borrowing"
_PREVIEWS = "submission rules, Preview Systems"

_BORROWED = "borrowing lets a slower choice of settings be corrected after the submission, and "
_BORROWED += "nothing else"
_PREVIEWED = "a Preview promises what can soon be had; one benchmark that both rounds have must "
_PREVIEWED += "show it at the smallest and the largest scale previewed"

_OWN_RUNS = "every log is of a run that no earlier tree has"
_SAME_SETTINGS = "all settings but batch sizes are those of the result submitted first"

# A note: no tree shows whether the committee knows, or whether the result is still the best
RESUBMITTED = note(
    "earlier.resubmitted",
    says="logs that an earlier round had already are reported",
    why="from training 5.1 on a result may be resubmitted, if the committee is informed in time "
    "and it still is the submitter's best; in other rounds it may not",
    message="{count} of {runs} runs were submitted before, as {before} ({title}){refusal}",
    help="inform the committee before the first review meeting; before training 5.1, submit runs "
    "made for this round",
    cites=_RESUBMISSION,
    bad="a result of training 5.1 has the logs that training 5.0 had",
    good=_OWN_RUNS,
    varies="a warning in a round that takes no logs of earlier rounds",
)

SHIFTED_LOG = policy(
    "earlier.shifted-log",
    says="a log that is resubmitted is unchanged",
    why="the same evaluations at other times are an old log made to look new",
    message="this log is that of {before} ({title}) at another time; a log may be resubmitted, but "
    "unchanged",
    help="submit the log of another run, or the earlier one unchanged",
    cites=_RESUBMISSION,
    bad="a log differs from one of an earlier round by ten minutes in every time",
    good=_OWN_RUNS,
)

# A warning that may be waived: an organisation may have another name by now
OTHER_SUBMITTER = policy(
    "earlier.other-submitter",
    says="a submitter submits runs of its own",
    why="what another submitted before was not run by this one",
    message="runs of {others} are submitted by {submitter}; must be the submitter's own",
    help="submit runs of your own",
    cites=_RESUBMISSION,
    bad="logs of Acme are those that Bmce had in an earlier round",
    good=_OWN_RUNS,
)

SYSTEM_CHANGED = policy(
    "earlier.system-changed",
    Severity.ERROR,
    says="the system of resubmitted logs is described as it was",
    why="the logs show the system as it was then",
    message="{fields} differ from {then}; must be the same, as logs of {title} are resubmitted",
    help="submit the earlier description unchanged, or new runs",
    cites=_RESUBMISSION,
    bad="logs are resubmitted, and the description of their system has another framework",
    good="logs are resubmitted with the earlier description",
)

SYSTEM_UNKNOWN = note(
    "earlier.system-unknown",
    says="the earlier tree describes the system of resubmitted logs",
    why="without it nobody can see whether the descriptions are the same",
    message="logs of {title} are resubmitted, but the earlier tree has no description of their "
    "system to compare {system} with",
    help="give --earlier the whole earlier tree",
    cites=_RESUBMISSION,
    bad="logs are resubmitted, and the earlier tree has no systems/ex_n8.json",
    good="logs are resubmitted, and the earlier tree has systems/ex_n8.json",
)

GROUP = note(
    "borrowing.group",
    says="settings that changed in review are all those of another submitter's result",
    why=_BORROWED,
    message="{changed} not as in the result submitted first ({first}); all settings but batch "
    "sizes are those of {lender}",
    help="declare what is borrowed by the Monday of the third week of the review",
    cites=_BORROWING,
    bad="in review every setting becomes that of Bmce's result",
    good=_SAME_SETTINGS,
)

NOT_A_GROUP = policy(
    "borrowing.not-a-group",
    says="settings that change in review are another submitter's, all together but batch sizes",
    why=_BORROWED,
    message="{changed} not as in the result submitted first ({first}){problem}",
    help="take all settings of one other result but batch sizes, or show that with them it "
    "converges worse than the lender's",
    cites=_BORROWING,
    bad="in review the learning rate becomes one that no other result has",
    good=_SAME_SETTINGS,
)

NOT_ALLOWED = policy(
    "borrowing.not-allowed",
    says="settings of GPT-3 and of Llama 3.1 405B are not borrowed",
    why="the training rules except both from borrowing: GPT-3 from 3.0, Llama 3.1 405B from 5.0 on",
    message="{changed} not as in the result submitted first ({first}); settings of {benchmark} may "
    "not be borrowed",
    help="submit runs with the settings of the first",
    cites=_BORROWING,
    bad="in the review of training 5.1 a result of llama31_405b gets another learning rate",
    good=_SAME_SETTINGS,
)

BORROWER_CHANGED = policy(
    "borrowing.system-changed",
    says="who borrows settings runs them on the same system, software and configuration",
    why=_BORROWED,
    message="{fields} not as in the description submitted first, while {benchmark} has other "
    "settings than then; must be the same system",
    help="run the borrowed settings on the system as it was",
    cites=_BORROWING,
    bad="in review the settings change, and the description of the system has another framework",
    good="in review the settings change, and the description stays as it was",
)

SCALE_CHANGED = policy(
    "borrowing.scale-changed",
    says="of a system's entries with a benchmark only the largest changes its scale in review, to "
    "a larger or a faster one",
    why=_BORROWED,
    message="scale {now}, and {then} in the result submitted first ({first}), while settings "
    "changed; {problem}",
    help="run the borrowed settings at the scale of the first result",
    expected="{then}",
    actual="now",
    cites=_BORROWING,
    bad="Acme has bert on 8 and on 16 nodes; in review the first is run on 12, by other settings",
    good="in review the second is run on 32, a scale that Acme has submitted with resnet",
)

UNPROVEN_SCALE = policy(
    "borrowing.unproven-scale",
    says="borrowed settings run at no larger scale than the submission first had on the system",
    why="what a system can do was proven by the logs that were submitted in time",
    message="scale {now}, while settings changed; the logs submitted first prove {proven} at most "
    "on this system ({where}); must be no larger",
    help="run the borrowed settings at a scale of the submission as it was; the logs of pruned "
    "instances prove scale, too",
    expected="at most {proven}",
    actual="now",
    cites=f"{_BORROWING}; HPC rules, Hyperparameter Borrowing",
    bad="in review the settings change and the system has 16 nodes; none of the results submitted "
    "first had more than 8",
    good="it has 8 nodes, as then",
)

NOT_FOLLOWED = policy(
    "preview.not-followed",
    says="a system that was previewed is submitted as available",
    why=_PREVIEWED,
    message="{system} was previewed in {title} ({path_then}), and {problem}",
    help="submit the system as available, at the smallest and the largest scale previewed, or "
    "inform the committee why it is not",
    cites=_PREVIEWS,
    bad="a system is a Preview in training 5.0 and in 5.1",
    good="a system is a Preview in training 5.0 and available in 5.1, as fast as before",
)

NOT_COMPARABLE = note(
    "preview.not-comparable",
    says="a round has one of the benchmarks that a system was previewed with",
    why=_PREVIEWED,
    message="{system} was previewed in {title} ({path_then}) with {names}: no score that {now} can "
    "be compared with",
    help="show the committee privately, at the smallest and the largest scale, that the available "
    "system is as fast",
    cites=_PREVIEWS,
    bad="a system was previewed with bert only, which training 5.1 no longer has",
    good="a system was previewed with llama2_70b_lora, which training 5.1 has, too",
)

SLOWER = policy(
    "preview.slower",
    says="an available system is as fast as its Preview, but for 2 %; where both were measured, it "
    "takes as little energy",
    why=_PREVIEWED,
    message="{now}; previewed in {title} {then} ({path_then}): {lost:.1%} more {what}; at most "
    "{most:.0%} may be lost",
    help="find out what made the available system slower, or inform the committee",
    expected="{limit}",
    actual="minutes",
    cites=_PREVIEWS,
    bad="the available system takes 3 % longer than its Preview",
    good="the available system takes 2 % longer than its Preview",
)
