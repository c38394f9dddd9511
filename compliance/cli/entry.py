"""The command `podium`: parses arguments, calls one function, sets the exit status."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from podium.compliance.errors import ComplianceError, interrupted
from podium.compliance.exit_codes import Exit
from podium.compliance.files.streams import OutputRefused, drop_output, open_streams
from podium.compliance.interrupts import ignore, raise_once, take_over, was_raised


def main() -> None:
    """Run the command; every way out ends in one of the contract's exit statuses."""
    take_over()
    open_streams()
    status = run(sys.argv[1:])
    # What the interpreter does at its end would turn an interrupt into a traceback
    ignore(status)
    drop_output()
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """The exit status of one call; what went wrong is one line on standard error."""
    # Even absolute paths are compared with it
    try:
        os.getcwd()
    except OSError as error:
        _print_error(f"the working directory cannot be read: {error.strerror}")
        return Exit.USAGE
    try:
        status = _called(arguments)
    except ComplianceError as error:
        _print_error(str(error))
        return error.status
    except BrokenPipeError:
        # The reader (head, less) has seen enough
        return Exit.FOUND
    except KeyboardInterrupt:
        status = Exit.INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None and not interrupted(error):
            # A disk or a network's folder that fails in the middle is no fault of podium's
            _print_error(f"{os.fsdecode(error.filename)}: {error.strerror}")
            return Exit.USAGE
        status = _failed(error)
    if status == Exit.INTERRUPTED:
        _print_error("interrupted")
    return status


def _called(arguments: list[str]) -> int:
    # Imported here, so that `main` can have fewer collections meanwhile.
    from podium.compliance.cli.registry import SHELL_OPTIONS, load_commands

    if arguments and arguments[0] in SHELL_OPTIONS:
        from podium.compliance.cli.shell.completion import answer

        status: int | None = answer(arguments[0], arguments[1:])
    else:
        command = load_commands(arguments)
        raise_once()
        # click must not end the process itself: each end has one of podium's statuses
        status = command(arguments, prog_name="podium", standalone_mode=False)
    # While an output that takes no more can still be reported: at exit Python complains by itself
    sys.stdout.flush()
    return int(status or 0)


def _failed(error: Exception) -> int:
    """The exit status after an exception of click, or of podium itself."""
    import typer

    if isinstance(error, typer.Abort) or interrupted(error) or was_raised():
        return Exit.INTERRUPTED
    # Some versions of typer use click, others a copy of it: its errors are those that `show`.
    if hasattr(error, "show"):
        error.show()
        return Exit.USAGE
    from podium.compliance.reporting.console import own_fault

    _tell(own_fault(error))
    return Exit.INTERNAL


def _print_error(message: str) -> None:
    from podium.compliance.text.terminal import clean

    # A message may quote what a file holds
    _tell("podium: " + "\n".join(map(clean, message.split("\n"))))


def _tell(text: str) -> None:
    # Where standard error takes nothing, the exit status still tells
    with suppress(OSError, OutputRefused):
        sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
