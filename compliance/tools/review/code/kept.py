"""The code part of an earlier review: `code.json` in its folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.text.terminal import clean
from podium.compliance.tools.review.against import REVIEW_FILE, read_before
from podium.compliance.tools.review.code.model import CodeReview
from podium.compliance.tools.review.code.session import shown_hunks
from podium.logging_spec.limits import read_json

CODE_FILE = "code.json"
LARGEST = 1 << 28


def kept_hunks(folder: Path) -> frozenset[str]:
    """The hunks that a review has shown; empty if it was made without code."""
    path = folder / CODE_FILE
    if not path.exists():
        if not (folder / REVIEW_FILE).exists():
            raise UsageFault(f"{folder} is not the folder of a review")
        # It also refuses an anonymous review, whose code is not known
        read_before(folder)
        return frozenset()
    try:
        with open_plain(path) as stream:
            text = stream.read(LARGEST).decode()
        review = msgspec.convert(read_json(text), CodeReview, strict=False)
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageFault(f"{path} is not a review of code: {clean(str(error))}") from None
    return shown_hunks(review)
