"""`podium pack`: plan, write beside the target, judge, swap in, give a receipt."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from podium.compliance.errors import UsageFault
from podium.compliance.inputs.round_selection import ChosenBy
from podium.compliance.packing.planning.building import make_plan
from podium.compliance.packing.planning.config import PackConfig
from podium.compliance.packing.planning.existing import (
    ExistingTree,
    allow,
    compare,
    refuse_own_sources,
)
from podium.compliance.packing.planning.plan import Plan
from podium.compliance.packing.receipt import RECEIPT_FILE, SUMMARY_FILE, Receipt
from podium.compliance.packing.writing.copying import Copied, as_it_lies
from podium.compliance.packing.writing.gate import judge, make_receipt
from podium.compliance.packing.writing.summary import to_markdown
from podium.compliance.packing.writing.write import Stage, clear, locked, silent, stage
from podium.compliance.report.console import inside, write_whole
from podium.compliance.report.models import Report
from podium.rules.round import Round

State = Literal["planned", "refused", "rejected", "packed", "unchanged"]


@dataclass(frozen=True, slots=True)
class PackJob:
    """What is to be packed, and how; `tell` hears of each step as it is done.

    `replace` and `keep` name places in the tree that stands; `force` keeps a tree that the gate
    rejects; without `exchange` the old tree is set aside by a rename of its own.
    """

    config: PackConfig
    rules: Round
    base: Path
    chosen_by: ChosenBy = "config"
    replace: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    force: bool = False
    jobs: int = 1
    receipt: Path | None = None
    receipt_in_tree: bool = False
    exchange: bool = True
    tell: Callable[[str], None] = silent

    @property
    def target(self) -> Path:
        """The folder that the tree is to be."""
        return Path(os.path.abspath(self.base / self.config.into)) / self.config.submitter


@dataclass(slots=True)
class Packed:
    """What became of an order; report and receipt are there once the gate has judged."""

    plan: Plan
    target: Path
    standing: ExistingTree
    state: State = "planned"
    report: Report | None = None
    receipt: Receipt | None = None
    copied: list[Copied] = field(default_factory=list)
    receipt_file: Path | None = None


def plan_only(order: PackJob) -> Packed:
    """The plan held against the target as it stands; nothing is written."""
    plan = make_plan(order.config, order.rules, order.base, order.jobs)
    standing = _held(order, plan, order.target)
    return Packed(plan, order.target, standing)


def pack(order: PackJob) -> Packed:
    """Make the tree; raises UsageFault where it cannot be written."""
    check_receipt(order, order.target)
    plan = make_plan(order.config, order.rules, order.base, order.jobs)
    order.tell("planned")
    with _workshop(order.target) as workshop:
        packed = write(order, plan, order.target, workshop)
    if packed.receipt is not None:
        deliver(order, packed, receipt_folder(order, packed.target))
    return packed


@contextlib.contextmanager
def _workshop(target: Path) -> Iterator[Path]:
    """The folder beside the target, held for oneself; made if need be."""
    parent = target.parent
    made = not parent.exists()
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with locked(parent):
            yield parent
    except OSError as error:
        raise UsageFault(f"{parent} cannot be written to: {error.strerror}") from None
    finally:
        if made:
            with contextlib.suppress(OSError):
                parent.rmdir()


def _held(order: PackJob, plan: Plan, target: Path) -> ExistingTree:
    refuse_own_sources(plan, target)
    standing = compare(plan, target)
    allow(plan, standing, target, order.replace, order.keep)
    return standing


def write(
    order: PackJob,
    plan: Plan,
    target: Path,
    workshop: Path,
    before: Callable[[Stage], None] | None = None,
) -> Packed:
    """Write the tree of a plan and swap it in, unless something stands against it.

    `before` is called with the judged tree before the swap, and may raise.
    """
    clear(target, workshop)
    packed = Packed(plan, target, _held(order, plan, target))
    if plan.stopped(force=order.force):
        packed.state = "refused"
        return packed
    if packed.standing.unchanged:
        packed.copied = hashes(plan, target, order.jobs)
        packed.state = "unchanged"
        _judged(order, packed, target)
        if packed.report and packed.report.verdict == "rejected" and not order.force:
            packed.state = "rejected"
        return packed
    with stage(target, workshop, order.tell) as made:
        made.fill(plan.sorted(), order.jobs)
        packed.copied = made.copied
        receipt = _judged(order, packed, made.tree)
        order.tell("judged")
        if receipt.gate.verdict == "rejected" and not order.force:
            packed.state = "rejected"
            return packed
        if order.receipt_in_tree:
            write_whole(made.tree / RECEIPT_FILE, receipt.to_json())
        if before is not None:
            before(made)
        made.put(exchange=order.exchange)
        packed.state = "packed"
    return packed


def _judged(order: PackJob, packed: Packed, tree: Path) -> Receipt:
    packed.report = judge(tree, packed.plan, order.jobs)
    packed.receipt = make_receipt(packed.plan, packed.copied, packed.report, tree, order.chosen_by)
    return packed.receipt


def hashes(plan: Plan, target: Path, jobs: int) -> list[Copied]:
    """The files of a plan as they lie in the target already."""
    with ThreadPoolExecutor(max_workers=max(1, min(jobs, 8))) as pool:
        return list(pool.map(lambda each: as_it_lies(each, target / each.place), plan.sorted()))


def remade(order: PackJob, plan: Plan, target: Path) -> Packed:
    """A tree that others have added files to, judged anew: theirs are told of as kept."""
    standing = compare(plan, target)
    allow(plan, standing, target, (), (".",))
    packed = Packed(plan, target, standing, "unchanged", copied=hashes(plan, target, order.jobs))
    receipt = _judged(order, packed, target)
    if plan.conflicts or (receipt.gate.verdict == "rejected" and not order.force):
        packed.state = "rejected"
    return packed


# --- the receipt ---


def check_receipt(order: PackJob, outside: Path) -> None:
    """Refuse a place for the receipt where it could not be written once the tree stands."""
    if order.receipt is None:
        return
    path = order.receipt.absolute()
    if not path.parent.is_dir():
        raise UsageFault(f"--receipt {order.receipt}: there is no such folder")
    if inside(path, [outside]):
        raise UsageFault(
            f"--receipt {order.receipt} lies in {outside}; choose a place outside, or give "
            "--receipt-in-tree"
        )


def receipt_folder(order: PackJob, outside: Path) -> Path:
    """Where the receipt goes: beside podium.toml, or where that lies in the tree, beside it."""
    base = order.base.resolve()
    top = outside.resolve()
    return top.parent if base == top or top in base.parents else order.base


def deliver(order: PackJob, packed: Packed, folder: Path) -> None:
    """Write the receipt and its page, outside the tree; what is there already is left as it is."""
    receipt = packed.receipt
    if receipt is None or packed.state not in ("packed", "unchanged"):
        return
    path = order.receipt or folder / RECEIPT_FILE
    packed.receipt_file = path
    page = path.with_name(SUMMARY_FILE) if path.name == RECEIPT_FILE else path.with_suffix(".md")
    _write(path, receipt.to_json())
    _write(page, to_markdown(receipt, packed.plan))
    order.tell("receipt written")
    if order.receipt_in_tree:
        _write(packed.target / RECEIPT_FILE, receipt.to_json())


def _write(path: Path, text: str) -> None:
    with contextlib.suppress(OSError):
        if path.read_bytes() == text.encode("utf-8"):
            return
    write_whole(path, text)
