"""The rules of a round for results and packages, in addition to its rules for logs."""

from __future__ import annotations

import msgspec


class PackageRules(msgspec.Struct, frozen=True):
    """Rules for results and packages; the first rounds have few, and each later one adds some.

    Convergence and score (training rules, RCPs and Scoring): `tests_convergence`: closed results
    are compared with reference points, which the benchmarks of the round must then have.
    `median_window`: more runs than needed may be submitted, and the median window is scored.
    `normalised`: a score is scaled if it converges sooner than the reference. `points_due_days`:
    new reference points are due this number of days before the deadline of submissions, None if the
    round does not say so; the evidence of an appeal comes with the submission. `point_precisions`:
    number formats in which reference points may be run; if there are several, a point names its
    format. `power`: energy may be measured.

    Review (training rules, Hyperparameter Borrowing, Results Resubmission; submission rules):
    `borrowing`: hyperparameters of another submitter may be used; `borrowed_scale`: only up to the
    scale that was submitted first. `software_updates`: software may be updated in between.
    `resubmission`: logs of an earlier round are accepted. `preview_follow_up`: a preview system
    must be followed up.

    Layout (submission rules, Directory structure): `scaling_folders`: results are in `strong` and
    `weak`; `pruned_instances`: some `weak` ones may be left out. `described_by_entry`: systems may
    be described next to their results, without `systems`. `nested_submissions`: a submission may be
    some folders lower, below a version or a task. `code_folder`: the folder of the code.
    `unprecedented`: no committee has accepted results that omit evaluations or have no code, as
    committees of earlier rounds did: each requirement of the text is an error. `framework_logs`:
    result files contain all output of the framework, not only records. `one_division`: no result
    was accepted whose logs and description name different divisions. `submission_rules` is the
    training round whose submission rules apply, empty for its own.

    Official tools: `seeds_compared`: the package checker compares seeds; `fields_checked`: it
    checks the fields of system descriptions; `repository_checked`: the script to run before an
    upload calls the repository checker. `columns` are benchmarks in the column order of the
    official summary; unnamed ones come last.
    """

    tests_convergence: bool = False
    median_window: bool = False
    normalised: bool = False
    points_due_days: int | None = None
    point_precisions: tuple[str, ...] = ("FP32",)
    power: bool = False
    borrowing: bool = False
    borrowed_scale: bool = False
    software_updates: bool = False
    resubmission: bool = False
    preview_follow_up: bool = False
    scaling_folders: bool = False
    pruned_instances: bool = False
    described_by_entry: bool = False
    nested_submissions: bool = False
    code_folder: str = "benchmarks"
    unprecedented: bool = False
    framework_logs: bool = False
    one_division: bool = False
    submission_rules: str = ""
    seeds_compared: bool = False
    fields_checked: bool = False
    repository_checked: bool = False
    columns: tuple[str, ...] = ()
