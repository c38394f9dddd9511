"""The PATHs of a call made readable: those on this disk as they are, URLs once they are fetched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from podium.compliance.errors import ComplianceError
from podium.compliance.judging.inputs.given_paths import URL, GivenPaths


@contextmanager
def at_hand(given: Sequence[str]) -> Iterator[GivenPaths]:
    """The paths of a call, where they can be read until the context ends; URLs are fetched.

    Raises UsageFault, NothingToJudge for a URL that cannot be. Such faults name URLs as they were
    given, those raised within the context, too.
    """
    if not any(map(URL.match, given)):
        yield GivenPaths([*map(Path, given)])
        return
    from podium.compliance.judging.inputs.remote import fetched

    with fetched(given) as there:
        try:
            yield there
        except ComplianceError as error:
            raise type(error)(there.as_given(str(error))) from None
