"""The reader of system descriptions, with the line of every field.

A text without a syntax error is parsed at once; `recovering_parser` reads any other text.
"""

from __future__ import annotations

import codecs
import contextlib
import json
from pathlib import Path
from typing import Any

from podium.compliance.judging.inputs.source_files import read_plain
from podium.compliance.judging.systems.document import Document, TextFault, syntax_fault
from podium.compliance.judging.systems.system_rules import UNREADABLE
from podium.logging_spec.limits import read_json

LARGEST = 8 << 20
"""A longer file is not a system description, and is not read."""


def read_description(path: Path | str) -> Document:
    """Read a file; its errors are in the `faults` of the document."""
    try:
        # The one byte beyond the limit shows that a file is too long
        data = read_plain(path, LARGEST + 1, follow=True)
    except (OSError, ValueError) as error:
        return unread_description(getattr(error, "strerror", None) or str(error))
    if len(data) > LARGEST:
        problem = f"the file is larger than {LARGEST >> 20} MiB; not read"
        return Document(faults=[syntax_fault(None, problem, "keep nothing else in the file")])
    return parse_description(data)


def unread_description(reason: str) -> Document:
    """The document of a file that is not read, with the reason as an error."""
    return Document(faults=[TextFault(UNREADABLE, None, {"problem": reason})])


def parse_description(data: bytes) -> Document:
    """Read the bytes of a description."""
    document = Document()
    text, fields = _decode(data, document), None
    if not document.faults:
        # Nearly every file has no error, and is parsed at once
        with contextlib.suppress(ValueError):
            fields = read_json(text, _SOUND.decode)
    if isinstance(fields, dict):
        document.fields, document.text, document.is_object = fields, text, True
    else:
        _walk(text, document)
    return document


def _walk(text: str, document: Document) -> None:
    from podium.compliance.judging.systems.recovering_parser import Parser  # few files need it

    Parser(text, document).parse()


def line_of(document: Document, key: str) -> int | None:
    """The line that names a field; None if no line does."""
    if document.text and not document.lines and key in document.fields:
        # Lines are found only for a finding: nearly every description has none
        walked = Document()
        _walk(document.text, walked)
        document.lines = walked.lines
    return document.lines.get(key)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    # json silently keeps the last of two fields; the recovering parser reports both lines
    if len(fields) < len(pairs):
        raise ValueError("duplicate field")
    return fields


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


_SOUND = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_no_constant)


def _decode(data: bytes, document: Document) -> str:
    faults = document.faults
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if data.startswith(mark):
            problem = "the file is encoded in UTF-16; expected UTF-8"
            faults.append(syntax_fault(1, problem, "save the file as UTF-8 (podium fix does it)"))
            return data.decode(name, "replace")
    # The official verifier crashes on the mark; the policy still checks the fields after it
    if data.startswith(codecs.BOM_UTF8):
        problem = "the file begins with a byte order mark, which JSON does not allow"
        faults.append(syntax_fault(1, problem, "save it without the mark (podium fix does it)"))
        data = data[len(codecs.BOM_UTF8) :]
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"byte 0x{data[error.start]:02x} is not valid UTF-8"
        faults.append(syntax_fault(line, problem, "save the file as UTF-8"))
        # Latin-1 decodes any byte, so that the fields can still be checked
        return data.decode("latin-1")
