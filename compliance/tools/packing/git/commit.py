"""Pack a submission into a clone of the review repository: one branch, one commit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.judging.repository.check import REFUSED
from podium.compliance.judging.repository.file_names import official_rule
from podium.compliance.text.words import plural
from podium.compliance.tools.packing.git.clone import PUSHES, Clone, branch_name
from podium.compliance.tools.packing.planning.existing import compare
from podium.compliance.tools.packing.planning.plan import Plan
from podium.compliance.tools.packing.receipt import Receipt, official
from podium.compliance.tools.packing.writing.pack import (
    Packed,
    PackJob,
    check_receipt,
    deliver,
    plan_only,
    receipt_folder,
    remade,
    write,
)
from podium.compliance.tools.packing.writing.summary import number
from podium.compliance.tools.packing.writing.write import Stage, clear, locked


def plan_for(job: PackJob, folder: Path) -> Packed:
    """The plan compared with the current checkout; writes nothing and changes no branch."""
    clone = Clone(folder)
    packed = plan_only(_into(job, clone))
    _refuse_names(packed.plan)
    branch = branch_name(job.request.config.submitter, job.request.rules.name)
    packed.plan.remark(".", f"will be committed to the branch {branch} of {clone.root}")
    return packed


def commit_to(job: PackJob, folder: Path, *, push: bool = False) -> Packed:
    """Pack into a clone, commit, and push on request; raises UsageFault if git fails.

    If the tree is refused or rejected, the clone stays unchanged.
    """
    clone = Clone(folder)
    job = _into(job, clone)
    # First: a receipt that cannot be written must be reported before the commit
    check_receipt(job, clone.root)
    plan = job.plan()
    _refuse_names(plan)
    job.notify("planned")
    # Logs are checked before the lock, because other calls wait at most a minute for it
    with locked(clone.root):
        return _Review(job, clone, plan).done(push=push)


def place_in(job: PackJob, folder: Path) -> tuple[Path, Path]:
    """The submitter's folder in a clone, and the folder in which its tree is made."""
    clone = Clone(folder)
    return clone.root / job.request.config.submitter, clone.workshop


def _into(job: PackJob, clone: Clone) -> PackJob:
    config = job.request.config.model_copy(update={"into": str(clone.root)})
    return replace(job, request=replace(job.request, config=config))


def _refuse_names(plan: Plan) -> None:
    """Add conflicts for files that GitHub or the official checker rejects, before any copy."""
    for entry in plan.sorted():
        rule = next(filter(None, map(official_rule, entry.path.split("/"))), None)
        if rule is not None:
            plan.conflict(entry.path, f"{rule.message}; the review repository rejects it")
        if entry.source.size > REFUSED:
            size = entry.source.size >> 20
            plan.conflict(entry.path, f"the file is {size} MiB; GitHub rejects files over 100 MiB")


class _Review:
    def __init__(self, job: PackJob, clone: Clone, plan: Plan) -> None:
        self.job, self.clone, self.plan = job, clone, plan
        self.folder = job.request.config.submitter
        self.branch = branch_name(self.folder, job.request.rules.name)
        self.target = clone.root / self.folder

    def done(self, *, push: bool) -> Packed:
        clone, job = self.clone, self.job
        # First, because a killed call may have set the old tree aside, which git sees as a deletion
        clear(self.target, clone.workshop)
        clone.refuse_unready()
        if clone.dirty(self.folder, self.branch) and not self._unfinished():
            clone.refuse_changed()
        if push:
            clone.fetch()
        before = clone.head()
        new = clone.start(self.branch)
        job.notify("on the branch")
        try:
            packed = write(job, self.plan, self.target, clone.workshop, self._before_swap)
        except UsageFault:
            clone.leave(self.branch, before, drop=new)
            raise
        if packed.state in ("refused", "rejected"):
            clone.leave(self.branch, before, drop=new)
            return packed
        self._commit(packed)
        folder = receipt_folder(job, clone.root)
        # Before the push: the commit must have its receipt even if the push fails
        deliver(job, packed, folder)
        if push:
            packed = self._push(packed)
            deliver(job, packed, folder)
        return packed

    def _unfinished(self) -> bool:
        """Whether the changes come from a call that was killed between swap and commit."""
        return compare(self.plan, self.target).unchanged

    def _before_swap(self, stage: Stage) -> None:
        # On the stage: a refusal leaves the work tree unchanged
        self.clone.verify_bytes(stage.folder, self.folder)
        self.job.notify("read by git")

    def _commit(self, packed: Packed) -> None:
        assert packed.receipt is not None
        if self.clone.commit(self.folder, message(packed.receipt)):
            self.job.notify("committed")
            self.plan.remark(".", f"committed to {self.branch}")

    def _push(self, packed: Packed) -> Packed:
        """Push; if others have pushed to the branch, their files and ours must pass together."""
        clone = self.clone
        for _ in range(PUSHES):
            # The commit to return to if the check rejects both sides together
            own_commit = clone.commit_id()
            if clone.bring_up(self.branch):
                together = remade(self.job, self.plan, self.target)
                if together.state == "rejected":
                    clone.reset(own_commit)
                    raise UsageFault(
                        f"{self.branch} has new commits on the remote, and the check rejects the "
                        "combined tree; nothing was pushed"
                    )
                # git has written the files: the commit must match the checked files
                clone.verify_commit(self.folder)
                packed = together
            if clone.push(self.branch):
                self.plan.remark(".", f"pushed to {clone.remote().name}")
                return packed
            clone.fetch()
        raise UsageFault(f"others keep pushing to {self.branch}; nothing was pushed: try again")


def message(receipt: Receipt) -> str:
    """The commit message: results with their scores, and the verdict of the check."""
    return "\n".join(_lines(receipt)) + "\n"


def _lines(receipt: Receipt) -> Iterator[str]:
    rules, counts = receipt.rules, receipt.gate.counts
    results = plural(len(receipt.results), "result")
    yield f"{receipt.submitter}: {rules.usage} {rules.round}, {results}"
    yield ""
    for result in receipt.results:
        score = f"{number(result.score)} minutes" if result.score is not None else "no score"
        yield f"{result.path}: {result.division or 'no division'}, {result.verdict}, {score}"
    yield ""
    forced = " (forced)" if receipt.forced else ""
    yield (
        f"podium check, policy profile: {receipt.gate.verdict}{forced}; "
        f"{plural(counts.error, 'error')}, {plural(counts.warning, 'warning')}, "
        f"{counts.waived} waived; "
        f"{official(receipt.gate.official_verdict)}"
    )
