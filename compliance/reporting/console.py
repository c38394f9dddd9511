"""The output of a report to a terminal, a pipe or a file, and the progress bar."""

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
from typing import TYPE_CHECKING, NamedTuple

from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome
    from podium.compliance.reporting.grouping import OneMessage
    from podium.compliance.reporting.render.sarif import RuleText

NARROWEST, WIDEST = 40, 120

MANY_FILES = 50
"""With fewer files, a check is fast, and no bar is drawn."""


def default_format() -> str:
    """`github` inside GitHub Actions, else `text`."""
    return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"


def width() -> int:
    """The columns of the output: those of the terminal, within bounds; 80 without a terminal."""
    return max(NARROWEST, min(shutil.get_terminal_size((80, 24)).columns, WIDEST))


class Rulebook(NamedTuple):
    """The facts about rules that formats use: their texts, and whether they have one message."""

    texts: Callable[[Outcome], Mapping[str, RuleText]]
    one_message: OneMessage


class Printing(NamedTuple):
    """The format of the output, and its file if it is not printed.

    `full` lists every finding in formats that have a shorter form. `root` is the absolute folder
    that paths are relative to; empty for the working directory.
    """

    format: str
    output: Path | None = None
    color: bool = True
    quiet: bool = False
    full: bool = False
    root: str = ""

    @property
    def for_people(self) -> bool:
        """Whether the output is printed for a person to read."""
        return self.format == "text" and self.output is None and not self.quiet


def colored(requested: bool = True, output: Path | None = None) -> bool:
    """Whether to print in colors: on a terminal, unless the caller or the environment disables it.

    Files have no colors. NO_COLOR outweighs FORCE_COLOR and CLICOLOR_FORCE, and these outweigh
    CLICOLOR, TERM and the kind of standard output.
    """
    getenv = os.environ.get
    if not requested or output is not None or getenv("NO_COLOR"):
        return False
    forced = [getenv(name) for name in ("FORCE_COLOR", "CLICOLOR_FORCE")]
    if any(forced):
        return any(value not in ("", "0", None) for value in forced)
    return getenv("CLICOLOR") != "0" and getenv("TERM") != "dumb" and sys.stdout.isatty()


def plain_characters() -> bool:
    """Whether to draw with ASCII only, because the encoding or the locale has no more."""
    if not (sys.stdout.encoding or "").lower().startswith("utf"):
        return True
    # Python uses UTF-8 in the C locale, but a user who sets that locale expects ASCII
    return os.environ.get("LC_ALL") in ("C", "POSIX")


def rendered(report: Outcome, printing: Printing, rulebook: Rulebook) -> str:
    """The report in its format; `rulebook` is for formats that need more than the findings."""
    from podium.compliance.reporting.render import POINTING, renderer

    name = printing.format
    if name == "json":
        return renderer(name)(report)
    from podium.compliance.reporting.placing import placed

    root = printing.root or os.getcwd()
    placed_report = placed(report, root, existing=name in POINTING)
    if name == "text":
        from podium.compliance.reporting.render.text import render

        shine = colored(printing.color, printing.output)
        quiet, full = printing.quiet, printing.full
        return render(placed_report, width(), shine, quiet, full, rulebook.one_message)
    if name == "sarif":
        from podium.compliance.reporting.render.sarif import render as sarif

        return sarif(placed_report, root, rulebook.texts(report))
    if name in ("html", "markdown"):
        return renderer(name)(placed_report, one_message=rulebook.one_message)
    return renderer(name)(placed_report)


def send(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file atomically."""
    if output is None:
        print_text(text)
    else:
        write_whole(output, text)


def print_text(text: str) -> None:
    """Print to standard output; characters that its encoding lacks are escaped as in JSON."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, _ESCAPED).decode(encoding))


_ESCAPED = "podium.escaped"


def _escape(error: UnicodeError) -> tuple[str, int]:
    # Python's `backslashreplace` writes \xe9 and \U0001f600, which JSON readers reject.
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # A file name that is not UTF-8 has lone surrogates, which utf-16 refuses without this handler
    pairs = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return re.sub("....", r"\\u\g<0>", pairs), error.end


codecs.register_error(_ESCAPED, _escape)


def write_whole(path: Path, text: str, *, durable: bool = False) -> None:
    """Write a text file under a temporary name, then rename it: there is never a partial file."""
    write_bytes(path, text.encode("utf-8"), durable=durable)


def write_bytes(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write a file under a temporary name, then rename it: there is never a partial file.

    With `durable`, the file is on disk when this returns; a report needs no sync, because it can
    be made again. A device or a pipe, such as /dev/null, is written directly: a rename would
    replace it.
    """
    # A terminal needs none of these modules
    from podium.compliance.files.atomic import draft_file
    from podium.compliance.files.staging import remove_disposable

    if path.exists() and not path.is_file():
        _write_special(path, data)
        return
    remove_disposable(path)
    with draft_file(path, durable=durable) as stream:
        stream.write(data)


def _write_special(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageFault(f"{path} cannot be written: {error.strerror}") from None


def inside(output: Path, paths: list[Path]) -> bool:
    """Whether a file to write is inside one of the trees being read."""
    # Resolved, because a link or a `..` can lead into the tree by another name
    target = output.absolute().resolve()
    roots = [path.absolute().resolve() for path in paths]
    return any(target == root or root in target.parents for root in roots)


@contextmanager
def progress_bar(quiet: bool, color: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error while many files are judged; none if that is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # rich itself reads the settings of the environment
    console = Console(stderr=True, no_color=None if color else True)
    with Progress(*columns, console=console, transient=True) as bar:
        # Invisible until the number of files is known, and then only for many files
        task = bar.add_task("judging", total=None, visible=False)

        def report_progress(completed: int, total: int) -> None:
            bar.update(task, completed=completed, total=total, visible=total >= MANY_FILES)

        yield report_progress


def own_fault(error: Exception) -> str:
    """The message of a fault of podium itself: its location, and how to report it."""
    from podium.rules.model import benchmark

    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, benchmark.RoundError):
        # For contributors who edit a table: its module is the last caller outside the model
        model = Path(benchmark.__file__).parent
        tables = [frame for frame in frames if Path(frame.filename).parent != model]
        return f"podium: a table of rules is invalid: {error} ({_place(tables[-1])})"
    # The innermost frame: people copy only one line into a bug report
    location = _place(frames[-1])
    return (
        f"podium: internal error: {type(error).__name__}: {error} ({location})\n"
        "This is a bug in podium, not an error in your submission. Please report it with this line "
        "and the command that you ran."
    )


def _place(frame: traceback.FrameSummary) -> str:
    return f"{Path(frame.filename).name}:{frame.lineno}"
