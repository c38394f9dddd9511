"""What a round's rules say of results and packages, beside what its logs must hold."""

from __future__ import annotations

import msgspec


class PackageRules(msgspec.Struct, frozen=True):
    """Rules on results and packages; the first rounds had few, and each later one adds its own.

    Convergence and score (training rules, RCPs and Scoring): `tests_convergence`: closed results
    are compared with reference points, which a round's benchmarks must then have. `median_window`:
    more runs than needed may be submitted, of which the median window is scored. `normalised`: a
    score is scaled for converging sooner than the reference. `points_due_days`: new reference
    points are due so many days before the deadline of submissions, None where no round says so; the
    evidence of an appeal comes with the submission. `point_precisions`: number formats that
    reference points may be run in; of several, a point says which. `power`: energy may be measured.

    Review (training rules, Hyperparameter Borrowing, Results Resubmission; submission rules):
    `borrowing`: another's hyperparameters may be taken; `borrowed_scale`: at no larger scale than
    was submitted first. `software_updates`: software may be brought up to date meanwhile.
    `resubmission`: logs of an earlier round are accepted.
    `preview_follow_up`: a system previewed must be followed up.

    Layout (submission rules, Directory structure): `scaling_folders`: results lie in `strong` and
    `weak`; `pruned_instances`: of `weak` ones some may be left out. `described_by_entry`: systems
    may be described beside their results, without `systems`. `nested_submissions`: a submission may
    lie some folders lower, of a version or a task. `code_folder`: where code lies.
    `unprecedented`: no committee has accepted results that leave evaluations out or come without
    code, as those of earlier rounds did: each demand of the text is an error.
    `framework_logs`: result files hold all that the framework wrote, not the records alone.
    `one_division`: no result was accepted whose logs and description name different divisions.
    `submission_rules` is the training round whose submission rules hold, empty where its own do.

    Official tools: `seeds_compared`: the package checker compares seeds; `fields_checked`: it
    checks the fields of system descriptions; `repository_checked`: the script that is run before an
    upload calls the repository checker. `columns` are benchmarks in the order of the official
    summary's columns; those not named come last.
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
