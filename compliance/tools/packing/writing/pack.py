"""`podium pack`: plan, write next to the target, check, swap in, write the receipt."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from podium.compliance.errors import UsageFault
from podium.compliance.files.durable import make_folders, sync_path
from podium.compliance.judging.inputs.packed_round import marker_of, packed_round_text
from podium.compliance.judging.inputs.round_selection import RoundRequest, forget
from podium.compliance.reporting.console import inside, write_whole
from podium.compliance.reporting.models import Report
from podium.compliance.tools.packing.planning.building import make_plan
from podium.compliance.tools.packing.planning.existing import (
    ExistingTree,
    allow,
    compare,
    refuse_own_sources,
)
from podium.compliance.tools.packing.planning.plan import Plan
from podium.compliance.tools.packing.planning.request import PackRequest
from podium.compliance.tools.packing.receipt import RECEIPT_FILE, SUMMARY_FILE, Receipt
from podium.compliance.tools.packing.writing.copying import Copied, hashed_in_place
from podium.compliance.tools.packing.writing.gate import judge, make_receipt
from podium.compliance.tools.packing.writing.summary import to_markdown
from podium.compliance.tools.packing.writing.write import (
    Stage,
    clear,
    locked,
    silent,
    stage,
    sync_standing,
)

State = Literal["planned", "refused", "rejected", "packed", "unchanged"]


@dataclass(frozen=True, slots=True)
class PackJob:
    """The request and the options of a call; `notify` is called after each step.

    `replace` and `keep` name paths in the existing tree. `force` packs a tree that the gate
    rejects. Without `exchange`, the old tree is renamed first. With `durable`, tree and receipt are
    flushed to disk before they are reported as written.
    """

    request: PackRequest
    replace: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    force: bool = False
    jobs: int = 1
    receipt: Path | None = None
    receipt_in_tree: bool = False
    exchange: bool = True
    durable: bool = True
    notify: Callable[[str], None] = silent

    @property
    def target(self) -> Path:
        """The folder of the tree."""
        config = self.request.config
        return Path(os.path.abspath(self.request.base / config.into)) / config.submitter

    def plan(self) -> Plan:
        """The plan of the tree."""
        request = self.request
        return make_plan(request.config, request.rules, request.base, self.jobs)


@dataclass(slots=True)
class Packed:
    """The outcome of a job; report and receipt are set after the check."""

    plan: Plan
    target: Path
    existing: ExistingTree
    state: State = "planned"
    report: Report | None = None
    receipt: Receipt | None = None
    copied: list[Copied] = field(default_factory=list)
    receipt_file: Path | None = None


def plan_only(job: PackJob) -> Packed:
    """The plan compared with the current target; writes nothing."""
    plan = job.plan()
    existing = _compared(job, plan, job.target)
    return Packed(plan, job.target, existing)


def pack(job: PackJob) -> Packed:
    """Make the tree; raises UsageFault if it cannot be written."""
    check_receipt(job, job.target)
    plan = job.plan()
    job.notify("planned")
    with _workshop(job.target, durable=job.durable) as workshop:
        packed = write(job, plan, job.target, workshop)
        if packed.state in ("packed", "unchanged"):
            _note_round(packed, durable=job.durable)
    if packed.receipt is not None:
        deliver(job, packed, receipt_folder(job, packed.target))
    return packed


@contextlib.contextmanager
def _workshop(target: Path, *, durable: bool) -> Iterator[Path]:
    """The parent folder of the target, locked, and created if necessary."""
    parent = target.parent
    is_new = not parent.exists()
    try:
        make_folders(parent, durable=durable)
        with locked(parent):
            yield parent
    except OSError as error:
        raise UsageFault(f"{parent} cannot be written to: {error.strerror}") from None
    finally:
        if is_new:
            with contextlib.suppress(OSError):
                parent.rmdir()


def _compared(job: PackJob, plan: Plan, target: Path) -> ExistingTree:
    refuse_own_sources(plan, target)
    existing = compare(plan, target)
    allow(plan, existing, target, job.replace, job.keep)
    return existing


def write(
    job: PackJob,
    plan: Plan,
    target: Path,
    workshop: Path,
    before: Callable[[Stage], None] | None = None,
) -> Packed:
    """Write the tree of a plan and swap it in, unless there are conflicts or it is rejected.

    `before` is called with the checked tree before the swap, and may raise.
    """
    clear(target, workshop)
    packed = Packed(plan, target, _compared(job, plan, target))
    if plan.stopped(force=job.force):
        packed.state = "refused"
        return packed
    if packed.existing.unchanged:
        packed.copied = hashes(plan, target, job.jobs)
        packed.state = "unchanged"
        if job.durable:
            # An earlier call may have stopped before this, or may not have been durable
            sync_standing(target)
        # Checked again: a waiver in the tree may have expired since it was packed
        _judged(job, packed, target)
        if packed.report and packed.report.rejected_by and not job.force:
            packed.state = "rejected"
        return packed
    with stage(target, workshop, job.notify, durable=job.durable) as staged:
        staged.fill(plan.sorted(), job.jobs)
        packed.copied = staged.copied
        receipt = _judged(job, packed, staged.tree)
        job.notify("judged")
        if receipt.gate.rejected_by and not job.force:
            packed.state = "rejected"
            return packed
        if job.receipt_in_tree:
            # After the check, which excludes the receipt; before the swap, which includes it
            write_whole(staged.tree / RECEIPT_FILE, receipt.to_json())
        if before is not None:
            before(staged)
        staged.put(exchange=job.exchange)
        packed.state = "packed"
    return packed


def _judged(job: PackJob, packed: Packed, tree: Path) -> Receipt:
    packed.report = judge(tree, packed.plan, job.jobs)
    chosen_by = job.request.chosen_by
    packed.receipt = make_receipt(packed.plan, packed.copied, packed.report, tree, chosen_by)
    return packed.receipt


def hashes(plan: Plan, target: Path, jobs: int) -> list[Copied]:
    """The files of a plan that exist in the target, hashed."""
    # Threads suffice: reading and hashing release the interpreter's lock
    with ThreadPoolExecutor(max_workers=max(1, min(jobs, 8))) as pool:
        return list(
            pool.map(lambda entry: hashed_in_place(entry, target / entry.path), plan.sorted())
        )


def remade(job: PackJob, plan: Plan, target: Path) -> Packed:
    """Check a tree again after others have added files; their files are reported as kept."""
    existing = compare(plan, target)
    allow(plan, existing, target, (), (".",))
    packed = Packed(plan, target, existing, "unchanged", copied=hashes(plan, target, job.jobs))
    receipt = _judged(job, packed, target)
    if plan.conflicts or (receipt.gate.rejected_by and not job.force):
        packed.state = "rejected"
    return packed


def _note_round(packed: Packed, *, durable: bool) -> None:
    """Write the round next to the tree, unless a check of the tree finds the round anyway."""
    rules, marker = packed.plan.rules, Path(marker_of(str(packed.target)))
    forget()
    if RoundRequest().choose(packed.target).rules is not rules:
        _write(marker, packed_round_text(rules.usage, rules.name), durable=durable)
        forget()


# --- the receipt ---


def check_receipt(job: PackJob, outside: Path) -> None:
    """Refuse a path of the receipt that could not be written after packing."""
    if job.receipt is None:
        return
    path = job.receipt.absolute()
    if not path.parent.is_dir():
        raise UsageFault(f"--receipt {job.receipt}: the folder does not exist")
    if inside(path, [outside]):
        raise UsageFault(
            f"--receipt {job.receipt} is in {outside}; choose a path outside, or pass "
            "--receipt-in-tree"
        )


def receipt_folder(job: PackJob, outside: Path) -> Path:
    """The folder of the receipt: that of podium.toml, or the tree's parent if that is inside."""
    base = job.request.base.resolve()
    top = outside.resolve()
    # A receipt in the tree would be submitted, and would make a clone dirty
    return top.parent if base == top or top in base.parents else job.request.base


def deliver(job: PackJob, packed: Packed, folder: Path) -> None:
    """Write the receipt and its page outside the tree, unless they are unchanged."""
    receipt = packed.receipt
    if receipt is None or packed.state not in ("packed", "unchanged"):
        return
    path = job.receipt or folder / RECEIPT_FILE
    packed.receipt_file = path
    page = path.with_name(SUMMARY_FILE) if path.name == RECEIPT_FILE else path.with_suffix(".md")
    _write(path, receipt.to_json(), durable=job.durable)
    _write(page, to_markdown(receipt, packed.plan), durable=job.durable)
    job.notify("receipt written")
    if job.receipt_in_tree:
        _write(packed.target / RECEIPT_FILE, receipt.to_json(), durable=job.durable)


def _write(path: Path, text: str, *, durable: bool) -> None:
    with contextlib.suppress(OSError):
        if path.read_bytes() == text.encode("utf-8"):
            if durable:
                sync_path(path)
                sync_path(path.absolute().parent)
            return
    write_whole(path, text, durable=durable)
