"""The command `podium`: parses arguments, calls one function, sets the exit status."""

from __future__ import annotations

import os
import sys

from podium.compliance.errors import ComplianceError, interrupted
from podium.compliance.exit_codes import Exit


def main() -> None:
    """Run the command; every way out ends in one of the contract's exit statuses."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit status of one call; what went wrong is one line on standard error."""
    try:
        status = _called(arguments)
    except ComplianceError as error:
        _print_error(str(error))
        return error.status
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe: what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
    from podium.compliance.commands.registry import load_commands

    # click must not end the process itself: each end has one of podium's statuses
    status = load_commands(arguments)(arguments, prog_name="podium", standalone_mode=False)
    # While a pipe that was closed can still be handled: at exit Python would complain by itself
    sys.stdout.flush()
    return int(status or 0)


def _failed(error: Exception) -> int:
    """The exit status after an exception of click, or of podium itself."""
    import typer

    if isinstance(error, typer.Abort) or interrupted(error):
        return Exit.INTERRUPTED
    # Some versions of typer use click, others a copy of it: its errors are those that `show`.
    if hasattr(error, "show"):
        error.show()
        return Exit.USAGE
    from podium.compliance.report.console import own_fault

    sys.stderr.write(f"{own_fault(error)}\n")
    return Exit.INTERNAL


def _print_error(message: str) -> None:
    sys.stderr.write(f"podium: {message}\n")


if __name__ == "__main__":
    main()
