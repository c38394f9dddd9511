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
    """The exit status of one call."""
    import typer

    from podium.compliance.commands.registry import load_commands

    try:
        status = load_commands(arguments)(arguments, prog_name="podium", standalone_mode=False)
        _flush()
    except typer.Abort:
        return Exit.INTERRUPTED
    except ComplianceError as error:
        typer.echo(f"podium: {error}", err=True)
        return Exit.USAGE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough; nothing more can be told to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FOUND
    except Exception as error:
        # Typer brings its own click in some versions: its errors are known by what they can do.
        if hasattr(error, "show") and hasattr(error, "exit_code"):
            error.show()
            return Exit.USAGE
        if interrupted(error):
            return Exit.INTERRUPTED
        from podium.compliance.report.console import own_fault

        typer.echo(own_fault(error), err=True)
        return Exit.INTERNAL
    return int(status or 0)


def _flush() -> None:
    sys.stdout.flush()


if __name__ == "__main__":
    main()
