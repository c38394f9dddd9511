"""Where a report goes: the terminal, a pipe, or a file; and the progress bar."""

from __future__ import annotations

import codecs
import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.compliance.report.data import Outcome
    from podium.compliance.report.render.sarif import RuleText

NARROWEST, WIDEST = 40, 120

MANY_FILES = 50
"""With fewer files to judge there is nothing to wait for, and no bar is drawn."""


def default_format() -> str:
    """`github` inside GitHub Actions, else `text`."""
    return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"


def width() -> int:
    """Columns to print in: the terminal's, within reason; 80 where there is none."""
    return max(NARROWEST, min(shutil.get_terminal_size((80, 24)).columns, WIDEST))


def deliver(
    report: Outcome,
    name: str,
    output: Path | None,
    *,
    color: bool,
    quiet: bool,
    describe: Callable[[Outcome], Mapping[str, RuleText]],
) -> None:
    """Render the report and print it, or write it to a file at once and whole.

    `describe` gives the texts of the report's rules, for a format that carries them.
    """
    if name == "text":
        from podium.compliance.report.render.text import render

        plain = output is not None or not sys.stdout.isatty() or "NO_COLOR" in os.environ
        text = render(report, width=width(), color=color and not plain, quiet=quiet)
    elif name == "sarif":
        from podium.compliance.report.render.sarif import render as sarif

        text = sarif(report, texts=describe(report))
    else:
        from podium.compliance.report.render import renderer

        text = renderer(name)(report)
    if output is None:
        print_text(text)
    else:
        write_whole(output, text)


def print_text(text: str) -> None:
    """Print to standard output; what its encoding cannot show is escaped as JSON does it."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, _ESCAPED).decode(encoding))


_ESCAPED = "podium.escaped"


def _escape(error: UnicodeError) -> tuple[str, int]:
    # Python's own `backslashreplace` writes \xe9 and \U0001f600, which no JSON reader takes.
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # A file's name that is no UTF-8 has lone surrogates, which utf-16 refuses without this handler
    pairs = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return re.sub("....", r"\\u\g<0>", pairs), error.end


codecs.register_error(_ESCAPED, _escape)


def write_whole(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a text file under a temporary name, then rename: never half a file."""
    write_bytes(path, text.encode("utf-8"), durable=durable)


def write_bytes(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write a file under a temporary name, then rename: never half a file.

    Where it is durable, it is on the disk when this returns; a report can be made again.
    A device or a pipe, such as /dev/null, is written to: a rename would put a file in its place.
    """
    from podium.compliance.files.atomic import draft_file  # a terminal needs none of its modules

    if path.exists() and not path.is_file():
        _write_special(path, data)
        return
    with draft_file(path, durable=durable) as stream:
        stream.write(data)


def _write_special(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageFault(f"{path} cannot be written: {error.strerror}") from None


def inside(output: Path, paths: list[Path]) -> bool:
    """Whether a file to write lies in one of the trees being read."""
    # Resolved: a link or a `..` would lead into the tree by another name
    target = output.absolute().resolve()
    roots = [path.absolute().resolve() for path in paths]
    return any(target == root or root in target.parents for root in roots)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error while many files are judged; silent where it is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        # Invisible until the number of files is known, and then only where it takes a while
        task = bar.add_task("judging", total=None, visible=False)

        def report_progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=total >= MANY_FILES)

        yield report_progress


def own_fault(error: Exception) -> str:
    """One line about a fault of podium itself, and how to report it."""
    # The innermost frame: one line is as much as people copy into a report of a fault
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return (
        f"podium: internal error: {type(error).__name__}: {error} ({where})\n"
        "This is a fault of podium, not of your submission. Please report it with this line and "
        "the command you ran."
    )
