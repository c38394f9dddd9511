"""The receipt of a packed submission: what was assembled, from where, and how it was judged.

It is written by `podium pack`; `podium unpack --verify` and others check a tree against it.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)

from podium.compliance.errors import UsageFault
from podium.compliance.files.given import read_given
from podium.compliance.reporting.data import Judge
from podium.compliance.reporting.models import Counts, RcpEntry, Tool

RECEIPT_FILE = "podium-receipt.json"
SUMMARY_FILE = "podium-summary.md"
"""The same on one page, for people."""

SCHEMA: Literal["podium.receipt/1"] = "podium.receipt/1"

LARGEST_RECEIPT = 1 << 28
"""Bytes; a receipt of 100 000 files has about 30 MB."""

Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        ser_json_inf_nan="strings",  # JSON has no infinity
        populate_by_name=True,
        serialize_by_alias=True,
    )


class PackedRules(_Model):
    """The rules by which the tree was judged; `chosen_by` is what named them."""

    usage: Literal["training", "hpc"]
    round: str
    profile: Literal["policy", "verifier"] = "policy"
    chosen_by: Literal["option", "config", "pack", "folder", "default"] = "config"


class PackedFile(_Model):
    """One file, or link, of the tree: its path below the submitter's folder and its content.

    `source` is where it was taken from, from the folder of podium.toml where it lies below that.
    A link has the SHA-256 and the size of its target's text, and that text as `link`.
    """

    path: str = Field(description="below the submitter's folder, with slashes")
    size: int = Field(ge=0)
    sha256: Hash
    source: str
    executable: bool = False
    link: str | None = Field(default=None, description="the target, where it is a symbolic link")

    @field_validator("path")
    @classmethod
    def _below(cls, path: str) -> str:
        pure = PurePosixPath(path)
        # `podium unpack --verify` joins it to a folder, which it must not leave
        if not path or pure.is_absolute() or ".." in pure.parts or str(pure) != path:
            raise ValueError("must be a plain path below the tree")
        return path


class PackedWaiver(_Model):
    """A waiver that covers something: what, where, why, by whom, until when, how many findings."""

    rule: str
    place: str
    reason: str
    who: str
    until: str
    findings: int = Field(ge=0)


class PackedResult(_Model):
    """One result: its score as `podium check` has it, and its margin to the reference points.

    `rcp_margin` is (submission - minimum) / minimum: below zero it converged too soon.
    """

    path: str
    system: str
    benchmark: str
    division: str
    scaling: Literal["strong", "weak"] = "strong"
    verdict: Literal["accepted", "rejected"]
    runs: int = Field(ge=0)
    failed_runs: int = Field(ge=0)
    minutes: float | None = None
    score: float | None = None
    rcp: RcpEntry | None = None
    rcp_margin: float | None = None
    waivers: tuple[PackedWaiver, ...] = ()


class Gate(_Model):
    """The verdict of `podium check` on the whole tree; `errors` are rule ids with counts.

    `rejected_by` are the judges that reject it, of whom one suffices.
    """

    verdict: Literal["accepted", "rejected"]
    official_verdict: Literal["accepted", "rejected"] | None = None
    rejected_by: tuple[Judge, ...] = ()
    counts: Counts
    errors: dict[str, int] = {}


class Receipt(_Model):
    """Everything one call of `podium pack` assembled. No time of day: same input, same bytes.

    `forced` says that the tree was kept though the gate rejected it.
    """

    # pydantic's models have a method named schema
    schema_: Literal["podium.receipt/1"] = Field(default=SCHEMA, alias="schema")
    tool: Tool
    rules: PackedRules
    submitter: str
    division: str | None = None
    gate: Gate
    forced: bool = False
    results: tuple[PackedResult, ...] = ()
    waivers: tuple[PackedWaiver, ...] = ()
    files: tuple[PackedFile, ...] = Field(default=(), description="in order of path")

    @field_validator("files")
    @classmethod
    def _once(cls, files: tuple[PackedFile, ...]) -> tuple[PackedFile, ...]:
        if len({file.path for file in files}) != len(files):
            raise ValueError("a path occurs twice")
        return files

    def to_json(self) -> str:
        """The receipt as JSON text, two spaces deep."""
        return self.model_dump_json(indent=2) + "\n"


def read_receipt(path: Path) -> Receipt:
    """The receipt in a file; raises UsageFault where it is not one."""
    try:
        data = read_given(path, LARGEST_RECEIPT + 1)
        if len(data) > LARGEST_RECEIPT:
            raise UsageFault(f"{path} is not a receipt: it is too large")
        return Receipt.model_validate_json(data)
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise UsageFault(f"{path} is not a receipt: {where}: {first['msg'].lower()}") from None


def receipt_schema() -> dict[str, Any]:
    """The JSON Schema of receipts."""
    schema: dict[str, Any] = Receipt.model_json_schema(by_alias=True)
    return schema


def official(verdict: str | None) -> str:
    """What the official verifier says of a tree, for a sentence."""
    says = {None: "gives no verdict", "accepted": "accepts"}
    return f"the official verifier {says.get(verdict, 'rejects')}"
