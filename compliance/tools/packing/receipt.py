"""The receipt of a packed submission: its files, their sources, and the verdict of the check.

`podium pack` writes it; `podium unpack --verify` and others compare a tree with it.
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
"""The receipt as one page for people."""

SCHEMA: Literal["podium.receipt/1"] = "podium.receipt/1"

LARGEST_RECEIPT = 1 << 28
"""In bytes; a receipt of 100 000 files has about 30 MB."""

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
    """The rules that the tree was checked against; `chosen_by` is the source of the choice."""

    usage: Literal["training", "hpc"]
    round: str
    profile: Literal["policy", "verifier"] = "policy"
    chosen_by: Literal["option", "config", "pack", "folder", "default"] = "config"


class PackedFile(_Model):
    """One file or link of the tree: its path below the submitter's folder and its content.

    `source` is the path of the source, relative to the folder of podium.toml if it is below that
    folder. For a link, `link` is its target, and SHA-256 and size are those of the target string.
    """

    path: str = Field(description="path below the submitter's folder, with slashes")
    size: int = Field(ge=0)
    sha256: Hash
    source: str
    executable: bool = False
    link: str | None = Field(default=None, description="the target of a symbolic link")

    @field_validator("path")
    @classmethod
    def _below(cls, path: str) -> str:
        pure = PurePosixPath(path)
        # `podium unpack --verify` joins it to a folder, and the result must stay inside
        if not path or pure.is_absolute() or ".." in pure.parts or str(pure) != path:
            raise ValueError("must be a plain path below the tree")
        return path


class PackedWaiver(_Model):
    """A waiver that covers findings: rule, place, reason, author, expiry, number of findings."""

    rule: str
    place: str
    reason: str
    who: str
    until: str
    findings: int = Field(ge=0)


class PackedResult(_Model):
    """One result: its score according to `podium check`, and its margin to the RCPs.

    `rcp_margin` is (submission - minimum) / minimum: below zero, it converged too fast.
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

    `rejected_by` are the judges that reject the tree; one judge suffices.
    """

    verdict: Literal["accepted", "rejected"]
    official_verdict: Literal["accepted", "rejected"] | None = None
    rejected_by: tuple[Judge, ...] = ()
    counts: Counts
    errors: dict[str, int] = {}


class Receipt(_Model):
    """All files and verdicts of one call of `podium pack`.

    It contains no time stamp, so that the same input gives the same bytes. `forced` means that the
    tree was packed although the gate rejected it.
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
        """The receipt as JSON, indented by two spaces."""
        return self.model_dump_json(indent=2) + "\n"


def read_receipt(path: Path) -> Receipt:
    """The receipt in a file; raises UsageFault if the file is not a receipt."""
    try:
        data = read_given(path, LARGEST_RECEIPT + 1)
        if len(data) > LARGEST_RECEIPT:
            raise UsageFault(f"{path} is not a receipt: it is too large")
        return Receipt.model_validate_json(data)
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise UsageFault(f"{path} is not a receipt: {field}: {first['msg'].lower()}") from None


def receipt_schema() -> dict[str, Any]:
    """The JSON Schema of receipts."""
    schema: dict[str, Any] = Receipt.model_json_schema(by_alias=True)
    return schema


def official(verdict: str | None) -> str:
    """The verdict of the official verifier on a tree, as a clause."""
    says = {None: "gives no verdict", "accepted": "accepts"}
    return f"the official verifier {says.get(verdict, 'rejects')}"
