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
    """Run the command and exit with one of the documented statuses."""
    take_over()
    open_streams()
    status = run(sys.argv[1:])
    # An interrupt while the interpreter shuts down would print a traceback
    ignore(status)
    drop_output()
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """The exit status of one call; a fault is printed as one line to standard error."""
    # Absolute paths are compared with it, too
    try:
        os.getcwd()
    except OSError as error:
        _print_error(f"cannot read the working directory: {error.strerror}")
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
            # A disk or a network folder that fails is not a fault of podium
            _print_error(f"{os.fsdecode(error.filename)}: {error.strerror}")
            return Exit.USAGE
        status = _failed(error)
    if status == Exit.INTERRUPTED:
        _print_error("interrupted")
    return status


def _called(arguments: list[str]) -> int:
    # Imported here, so that `main` can reduce garbage collections first
    from podium.compliance.cli.registry import SHELL_OPTIONS, load_commands

    if arguments and arguments[0] in SHELL_OPTIONS:
        from podium.compliance.cli.shell.completion import answer

        status: int | None = answer(arguments[0], arguments[1:])
    else:
        command = load_commands(arguments)
        raise_once()
        # click must not exit the process itself: the exit status must be one of podium's
        status = command(arguments, prog_name="podium", standalone_mode=False)
    # Flush while a failing output can still be reported: at exit, Python prints its own message
    sys.stdout.flush()
    return int(status or 0)


def _failed(error: Exception) -> int:
    """The exit status after an exception of click or of podium itself."""
    import typer

    if isinstance(error, typer.Abort) or interrupted(error) or was_raised():
        return Exit.INTERRUPTED
    # Some versions of typer use click, others a copy of it: their errors have a method `show`
    if hasattr(error, "show"):
        error.show()
        return Exit.USAGE
    from podium.compliance.reporting.console import own_fault

    _tell(own_fault(error))
    return Exit.INTERNAL


def _print_error(message: str) -> None:
    from podium.compliance.text.terminal import clean

    # A message may quote the content of a file
    _tell("podium: " + "\n".join(map(clean, message.split("\n"))))


def _tell(text: str) -> None:
    # If standard error cannot be written, the exit status still reports the fault
    with suppress(OSError, OutputRefused):
        sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
