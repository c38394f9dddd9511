"""The results of a probe: values of fields, and notes on values that it did not find."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class ProbedFields:
    """Values by field of the system description, as strings; `notes` are sentences."""

    fields: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def set(self, name: str, value: object) -> None:
        """Set a field unless the value is empty."""
        text = str(value).strip() if value is not None else ""
        if text:
            self.fields[name] = text

    def add(self, other: ProbedFields) -> None:
        """Add the results of another part of the probe."""
        self.fields |= other.fields
        self.notes += other.notes


def grouped(items: list[str]) -> str:
    """Items with their counts, the most frequent first: `8x 3.5TB NVMe SSD + 1x 480GB SSD`."""
    counts = {item: items.count(item) for item in items}
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return " + ".join(f"{count}x {item}" for item, count in order)


def decimal_size(size: int) -> str:
    """A size in bytes as disk vendors write it: `3.84TB`, `480GB`."""
    unit, name = (10**12, "TB") if size >= 10**12 else (10**9, "GB")
    return f"{size / unit:.3g}{name}"


def binary_size(size: int) -> str:
    """A size in bytes in whole GiB, written GB as descriptions do: `80GB`."""
    return f"{round(size / 2**30)}GB"
