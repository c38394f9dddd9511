"""Published submissions that a default check rejects, or that a review committee granted.

The review committee of the round accepted each of them. If the committee granted a violation, its
finding says so and is a warning. All other findings are errors that the files prove.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from podium.rules.model.round import Round

CONVERGENCE = ("rcp.failed", "rcp.missing")
"""The rules whose findings a committee may grant: training rules, RCPs."""


class Decision(msgspec.Struct, frozen=True):
    """One published submission: the violated rules, and why they are errors or were granted.

    `official` is the verdict of the current official verifier, "none" in rounds without one.
    `benchmark` is the affected benchmark, "" for any benchmark of the submission.
    """

    round: str
    submitter: str
    official: Literal["accepted", "rejected", "none"]
    rules: tuple[str, ...]
    evidence: str
    benchmark: str = ""

    @property
    def granted(self) -> bool:
        """Whether the committee granted the violations."""
        return self.rules[0] in CONVERGENCE


def _granted(
    round_name: str, submitter: str, rule: str = "rcp.failed", benchmark: str = ""
) -> Decision:
    name = benchmark or "the result"
    evidence = f"{name} is in the published results of {round_name} without a factor"
    return Decision(round_name, submitter, "rejected", (rule,), evidence, benchmark)


_INCOMPLETE = "the copy in the public repository lacks logs"
_FOREIGN = "no line of the logs is in the format of the round, so they contain no records"

GRANTED = (
    _granted("hpc 1.0", "LBNL"),
    _granted("hpc 1.0", "NVIDIA"),
    _granted("training 1.0", "Graphcore", benchmark="bert"),
    _granted("training 1.0", "nettrix"),
    _granted("training 1.1", "Graphcore", benchmark="bert"),
    _granted("training 1.1", "Lenovo", benchmark="rnnt"),
    _granted("training 4.1", "Dell", "rcp.missing", benchmark="ssd"),
)
"""Submissions whose only errors were granted; others have a factor in scaling.json."""

REJECTED = (
    Decision(
        "hpc 0.7",
        "Fujitsu",
        "none",
        ("common.run_stop", "common.eval_start", "result.too-many-failed-runs"),
        "ten logs have no run_stop, so two results have no time",
    ),
    Decision(
        "hpc 0.7",
        "NCSA",
        "none",
        ("evaluation.after-target", "result.broken-run-dropped"),
        "the dropped run reached its target and continued: it was not the slowest",
    ),
    Decision(
        "training 0.5",
        "google",
        "none",
        ("common.train_epoch", "result.too-many-failed-runs"),
        "five logs of one result do not log train_epoch",
    ),
    Decision(
        "training 0.5",
        "nvidia",
        "none",
        ("ncf.model_hp_mf_dim", "ncf.target", "result.too-many-failed-runs"),
        "more runs miss the target than a result may drop",
    ),
    Decision("training 0.5", "intel", "none", ("result.too-few-runs",), _INCOMPLETE, "ncf"),
    Decision("training 0.6", "Alibaba", "rejected", ("log.no-records",), _FOREIGN),
    Decision(
        "training 0.6",
        "Intel",
        "rejected",
        ("log.nonstandard-dialect", "log.not-json", "minigo.virtual_losses"),
        "lines were written by hand, and values in ten logs differ from the reference",
    ),
    Decision(
        "training 0.6",
        "NVIDIA",
        "rejected",
        ("system.not-json", "common.run_stop", "result.too-many-failed-runs"),
        "descriptions are not JSON, and ten logs have no valid run_stop",
    ),
    Decision(
        "training 0.7",
        "Alibaba",
        "rejected",
        ("system.not-json", "result.too-few-runs", "tree.no-system-description"),
        "descriptions are not JSON, and a result lacks runs",
    ),
    Decision(
        "training 0.7",
        "Intel",
        "accepted",
        ("log.wrong-type", "result.too-many-failed-runs"),
        "five logs of one result have a value of another type",
    ),
    Decision(
        "training 0.7",
        "SIAT",
        "rejected",
        ("system.misspelt-field",),
        "`divison` for `division` in six descriptions; the official package checker crashes",
    ),
    Decision(
        "training 0.7",
        "Tencent",
        "rejected",
        ("system.misspelt-field",),
        "`divison` for `division` in one description; the official package checker crashes",
    ),
    Decision(
        "training 1.0",
        "Dell",
        "rejected",
        ("result.copied-run", "result.too-few-runs"),
        "three logs belong to other results, and a result lacks a run",
    ),
    Decision(
        "training 1.0",
        "Intel",
        "rejected",
        ("log.no-records", "rcp.failed"),
        "one log has no record that can be read",
    ),
    Decision(
        "training 1.0",
        "Supermicro",
        "rejected",
        ("result.too-few-runs", "result.copied-run", "result.too-many-failed-runs"),
        "results lack runs, and one log is in two results",
    ),
    Decision(
        "training 1.1",
        "Azure",
        "rejected",
        ("result.copied-run",),
        "result_0 and result_1 are the same file",
    ),
    Decision(
        "training 1.1",
        "Dell",
        "rejected",
        ("common.init_stop", "result.broken-run-dropped", "rcp.failed", "rcp.missing"),
        "two runs initialize for 52 and 72 minutes",
    ),
    Decision(
        "training 2.0",
        "Dell",
        "rejected",
        ("rcp.failed",),
        "two results fail the test of convergence, and no factor was published",
    ),
    Decision(
        "training 2.1",
        "Dell",
        "rejected",
        ("rcp.failed",),
        "the batch size differs between the runs of two results",
    ),
    Decision(
        "training 3.1",
        "xFusion",
        "accepted",
        ("evaluation.stop-before-target", "result.too-many-failed-runs"),
        "run_stop of four runs of bert is 4 to 71 minutes before the evaluation that passes",
        "bert",
    ),
    Decision("training 4.0", "JuniperNetworks", "rejected", ("result.too-few-runs",), _INCOMPLETE),
    Decision(
        "training 4.0",
        "smc-ac-power",
        "rejected",
        ("result.copied-run",),
        "five logs belong to another result of the submission",
    ),
    Decision(
        "training 4.0",
        "smc-dc-power",
        "rejected",
        ("power.cadence",),
        "the power meters were read only every few seconds",
    ),
    Decision("training 4.1", "Clemson", "rejected", ("result.too-few-runs",), _INCOMPLETE),
    Decision(
        "training 4.1",
        "Lambda",
        "rejected",
        ("log.not-json", "result.broken-run-dropped"),
        "a search and replace damaged the JSON of three logs",
    ),
    Decision(
        "training 4.1",
        "tinycorp",
        "accepted",
        ("result.copied-run",),
        "result_8 is a copy of result_3 with another seed",
        "bert",
    ),
    Decision(
        "training 5.0",
        "tinycorp",
        "accepted",
        ("common.init_stop", "result.broken-run-dropped"),
        "a run initializes for 32.3 minutes; at most 30 are allowed",
    ),
)
"""Submissions that a check still rejects."""


def granted_in(rules: Round, submitter: str, benchmark: str) -> Decision | None:
    """The committee's decision that granted a submitter's benchmark in a published round."""
    name = f"{rules.usage} {rules.name}"
    for decision in GRANTED:
        if (decision.round, decision.submitter) == (name, submitter):
            return decision if decision.benchmark in ("", benchmark) else None
    return None
