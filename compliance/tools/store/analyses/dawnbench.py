"""DAWNBench's entries: a JSON file about a training and a TSV file of its epochs; read and written.

The time to accuracy is the time of the first row that reaches the task's target. The board rounds
seconds up and rounds costs to cents.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.files.given import read_given
from podium.compliance.tools.store.analyses.cost import cost_of
from podium.compliance.tools.store.analyses.table import Analysis, Shown
from podium.logging_spec.limits import read_json

LARGEST = 1 << 24


class Task(NamedTuple):
    """A task: its columns in a TSV file, the column with the target, and the target as a share."""

    name: str
    columns: tuple[str, ...]
    target: float

    @property
    def quality(self) -> str:
        """The column that must reach the target."""
        return self.columns[-1]


TASKS = (
    Task("ImageNet", ("epoch", "hours", "top1Accuracy", "top5Accuracy"), 0.93),
    Task("CIFAR10", ("epoch", "hours", "top1Accuracy"), 0.94),
    Task("SQuAD", ("epoch", "hours", "f1Score"), 0.73),
)


class DawnbenchEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of the JSON file; `cost_per_hour` in US dollars, the timestamp yyyy-mm-dd."""

    version: str = "v1.0"
    author: str
    author_email: str = msgspec.field(name="authorEmail")
    framework: str
    code_url: str = msgspec.field(name="codeURL", default="")
    model: str
    hardware: str
    cost_per_hour: float | None = msgspec.field(name="costPerHour", default=None)
    timestamp: str
    log_filename: str = msgspec.field(name="logFilename", default="")
    misc: dict[str, Any] = {}


class EpochRow(NamedTuple):
    """One line of the TSV file: hours since the start, and the task's measures as shares."""

    epoch: float
    hours: float
    qualities: tuple[float, ...]


class Training(NamedTuple):
    """The rows of a training, and their task."""

    task: Task
    rows: Sequence[EpochRow]

    @property
    def hours(self) -> float | None:
        """The hours of the first row that reaches the target; None if none does."""
        reached = (row.hours for row in self.rows if row.qualities[-1] >= self.task.target)
        return next(reached, None)


def read_entry(path: Path) -> DawnbenchEntry:
    """The entry in a JSON file; raises UsageFault for an invalid file."""
    try:
        return msgspec.convert(read_json(_text(path)), DawnbenchEntry, strict=False)
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageFault(f"{path} is not a DAWNBench entry: {error}") from None


def read_training(path: Path) -> Training:
    """The rows of a TSV file; accuracies of 0 to 100 become shares. Raises UsageFault."""
    rows = [row for row in csv.reader(io.StringIO(_text(path)), delimiter="\t") if row]
    head = tuple(cell.strip() for cell in rows[0]) if rows else ()
    task = next((task for task in TASKS if task.columns == head), None)
    if task is None:
        expected = "; ".join(" ".join(task.columns) for task in TASKS)
        raise UsageFault(f"{path} has the columns {' '.join(head) or 'none'}; expected {expected}")
    epochs = []
    for number, row in enumerate(rows[1:], 2):
        try:
            epoch, hours, *qualities = (float(cell) for cell in row)
        except ValueError:
            raise UsageFault(f"{path}, line {number}: a value is not a number") from None
        if len(row) != len(head) or not all(map(math.isfinite, (epoch, hours, *qualities))):
            raise UsageFault(f"{path}, line {number}: expected {len(head)} values, got {len(row)}")
        epochs.append(EpochRow(epoch, hours, tuple(qualities)))
    percent = any(value > 1 for row in epochs for value in row.qualities)
    scale = 100.0 if percent else 1.0
    rows_of = [row._replace(qualities=tuple(v / scale for v in row.qualities)) for row in epochs]
    return Training(task, rows_of)


def board_time(seconds: float) -> str:
    """A time as the board prints it: seconds rounded up, `2:38` or `13:10:31`."""
    # A product that differs from a whole second only in its last bits is that second
    whole_seconds = math.ceil(round(seconds, 6))
    minutes, remainder = divmod(whole_seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remainder:02}" if hours else f"{minutes}:{remainder:02}"


def board_cost(dollars: float) -> str:
    """A cost as the board prints it: rounded to cents, half up."""
    return f"${_cents(dollars)}"


def _cents(dollars: float) -> Decimal:
    return Decimal(repr(dollars)).quantize(Decimal("0.01"), ROUND_HALF_UP)


def board(entries: Sequence[tuple[DawnbenchEntry, Training]]) -> Analysis:
    """Time and cost to accuracy of entries, as on the board, the fastest first."""
    rows = [_row(entry, training) for entry, training in entries]
    rows.sort(key=lambda row: (row["task"], row["hours"] is None, row["hours"] or 0.0))
    columns = ("task", "author", "model", "hardware", "hours", "time", "cost", "timestamp")
    notes = ("time: the first epoch at the target, seconds rounded up; cost: hours x price.",)
    forms = {"time": board_time, "cost": board_cost}
    shown = [Shown(name, form=forms.get(name)) for name in columns]
    title = "DAWNBench: time and cost to accuracy"
    return Analysis("cost", title, columns, rows, shown=shown, notes=notes)


def _row(entry: DawnbenchEntry, training: Training) -> dict[str, Any]:
    hours, price = training.hours, entry.cost_per_hour
    is_priced = hours is not None and price is not None
    return {
        "task": training.task.name,
        "author": entry.author,
        "model": entry.model,
        "hardware": entry.hardware,
        "hours": hours,
        "time": None if hours is None else math.ceil(round(hours * 3600, 6)),
        "cost": float(_cents(cost_of(hours or 0.0, price or 0.0))) if is_priced else None,
        "timestamp": entry.timestamp,
    }


def _text(path: Path) -> str:
    try:
        return read_given(path, LARGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
