"""Cases with an earlier tree; the verifier profile does not compare trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.rules.finding import Finding, Profile
from tests.compliance.rulebook.case import Case, Reported
from tests.compliance.tools.history import test_borrowed_scale as sized
from tests.compliance.tools.history import test_hyperparameter_borrowing as borrowing
from tests.compliance.tools.history import test_preview_followup as preview
from tests.compliance.tools.history import test_prior_submission as prior
from tests.compliance.trees import Submission, as_run, usual
from tests.compliance.trees import compared as beside

RATE, DECAY = borrowing.RATE, borrowing.DECAY


def compared(build: Callable[[Path], tuple[Submission, Path]]) -> Reported:
    """The findings on a submission that is compared with an earlier tree."""

    def case(tmp_path: Path, profile: str) -> Sequence[Finding]:
        tree, earlier = build(tmp_path)
        try:
            return beside(tree.root, earlier, profile=Profile(profile)).findings
        except UsageFault:
            return []

    return case


# --- resubmitted logs ---


def again(change: Callable[[Submission, Path], object] | None = None) -> Reported:
    """Logs of 5.0 resubmitted in 5.1, after a change of either tree."""

    def build(tmp_path: Path) -> tuple[Submission, Path]:
        tree = prior.new(tmp_path)
        earlier = prior.before(tree)
        if change is not None:
            change(tree, earlier)
        return tree, earlier

    return compared(build)


def shifted(tree: Submission, _: Path) -> None:
    tree.result(start=40)
    as_run(tree.which, 1).shift_all(600).write(tree.root / tree.folder() / "result_1.txt")


def renewed(tree: Submission, _: Path) -> None:
    tree.result(start=40)


def of_another(_: Submission, earlier: Path) -> None:
    (earlier / "Acme").rename(earlier / "Bmce")


def undescribed(_: Submission, earlier: Path) -> None:
    (earlier / "Acme" / prior.SYSTEM).unlink()


# --- settings ---


def reviewed(
    values: Mapping[str, float] = {}, change: Callable[[Submission], object] | None = None
) -> Reported:
    """A result of 5.1 whose settings changed in review, with the known settings of Bmce."""

    def build(tmp_path: Path) -> tuple[Submission, Path]:
        settings = {RATE: 4e-4, DECAY: 1e-4}
        first = borrowing.result(tmp_path / "first", borrowing.setting(**settings))
        lent = borrowing.setting(**{RATE: 5e-4, DECAY: 2e-4})
        borrowing.result(tmp_path / "first", lent, "Bmce")
        tree = borrowing.later(tmp_path, **values)
        if change is not None:
            change(tree)
        return tree, first.place

    return compared(build)


def rescaled(first: dict[str, int], now: dict[str, int], **more: int) -> Reported:
    """Results by number of nodes, with other settings in review; `more` is a smaller benchmark."""

    def build(tmp_path: Path) -> tuple[Submission, Path]:
        before = sized.submission(tmp_path / "first", first, sized.FIRST)
        sized.beside(before, more)
        return sized.submission(tmp_path / "now", now, sized.BORROWED), before.place

    return compared(build)


def of_405b(rate: float | None) -> Reported:
    def build(tmp_path: Path) -> tuple[Submission, Path]:
        first = usual(tmp_path / "first" / "training_results_v5.1")
        tree = usual(tmp_path / "now" / "training_results_v5.1")
        if rate is not None:
            tree.result(change=borrowing.setting(**{RATE: rate}), start=40)
        return tree, first.place

    return compared(build)


# --- previews ---


def previewed(
    minutes: float = preview.MINUTES,
    status: str = "Available on-premise",
    benchmark: str = preview.LORA,
) -> Reported:
    """A system previewed in 5.0, and its result in 5.1."""

    def build(tmp_path: Path) -> tuple[Submission, Path]:
        first = preview.submission(tmp_path, "5.0", benchmark)
        preview.result(first, 8, preview.MINUTES, "Preview")
        return preview.now(tmp_path, minutes=minutes, status=status), first.place

    return compared(build)


CASES: dict[str, Case] = {
    "earlier.resubmitted": Case(again(), again(renewed)),
    "earlier.shifted-log": Case(again(shifted), again(renewed)),
    "earlier.other-submitter": Case(again(of_another), again()),
    "earlier.system-changed": Case(
        again(lambda tree, _: tree.system(framework="Another 2.0")), again()
    ),
    "earlier.system-unknown": Case(again(undescribed), again()),
    "borrowing.group": Case(reviewed({RATE: 5e-4, DECAY: 2e-4}), reviewed()),
    "borrowing.not-a-group": Case(reviewed({RATE: 6e-4}), reviewed()),
    "borrowing.not-allowed": Case(of_405b(5e-5), of_405b(None)),
    "borrowing.system-changed": Case(
        reviewed({RATE: 6e-4}, lambda tree: tree.system(framework="Another 2.0")),
        reviewed({RATE: 6e-4}),
    ),
    "borrowing.scale-changed": Case(
        rescaled({"a": 8, "b": 16}, {"a": 12, "b": 16}),
        rescaled({"a": 8, "b": 16}, {"a": 8, "b": 32}, c=32),
    ),
    "borrowing.unproven-scale": Case(rescaled({"a": 8}, {"a": 16}), rescaled({"a": 8}, {"a": 8})),
    "preview.not-followed": Case(previewed(status="Preview"), previewed()),
    "preview.not-comparable": Case(previewed(benchmark="bert"), previewed()),
    "preview.slower": Case(previewed(1.03 * preview.MINUTES), previewed(1.02 * preview.MINUTES)),
}
