"""`podium data`: datasets made from what is published, and verified before a run needs them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.cli.delivery import warn
from podium.compliance.cli.help import examples, group
from podium.compliance.cli.options import (
    AnswerFormat,
    AnswerFormatOption,
    JobsOption,
    QuietOption,
    processes,
)
from podium.compliance.cli.running.progress import bar
from podium.compliance.cli.running.run import SetOption, SubsetOption, pairs, reported
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.reference_runs.engine.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Callable

    from podium.reference_runs.datasets.verify import SplitReport, Verified

app = group("Datasets of the bundled trainers: made from what is published, and verified.")

TrainerArgument = Annotated[
    str,
    typer.Argument(
        help="A benchmark; podium run --list names them.", metavar="TRAINER", show_default=False
    ),
]
FolderArgument = Annotated[
    Path, typer.Argument(help="The folder that --data names in a run.", metavar="DIR")
]
SamplesOption = Annotated[
    int | None,
    typer.Option("--samples", min=1, help="Read so many of each part; default all.", metavar="N"),
]
SumsOption = Annotated[
    Path | None,
    typer.Option(
        "--checksums",
        help="Compare with this list of md5sum, sha1sum, sha256sum or sha512sum.",
        metavar="FILE",
    ),
]
FromOption = Annotated[
    Path, typer.Option("--from", help="The folder with what is published.", metavar="DIR")
]
ToOption = Annotated[Path, typer.Option("--to", help="The new folder.", metavar="DIR")]
TokenizerOption = Annotated[
    Path | None,
    typer.Option("--tokenizer", help="tokenizer.json; default the one in --from.", metavar="FILE"),
]


@app.command(
    epilog=examples(
        "podium data prepare llama31_8b --from c4 --to tokens --tokenizer words.json",
        "podium data prepare resnet --from ILSVRC2012 --to imagenet --jobs 16",
    )
)
def prepare(
    trainer: TrainerArgument,
    source: FromOption,
    target: ToOption,
    tokenizer: TokenizerOption = None,
    allow_subset: SubsetOption = False,
    jobs: JobsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Make a benchmark's dataset from what is published: the untimed part, before any run.

    The folder appears when it is whole, with SHA256SUMS. A preparation that was cut short goes on
    when it is called again: pieces that were done lie beside the folder until then.

    Exit status: 0 made, 2 the source cannot be used.
    """
    with reported():
        from podium.reference_runs.datasets.prepare import prepare as make
        from podium.reference_runs.datasets.recipes import recipe_of

        recipe = recipe_of(trainer, source, tokenizer, subset=allow_subset)
        try:
            with bar("pieces", len(recipe.pieces), quiet=quiet) as move:
                made = make(recipe, target, processes(jobs), move)
        except OSError as error:
            raise UsageFault(f"{target} cannot be made: {error.strerror}") from None
    size = sum(path.stat().st_size for path in made)
    typer.echo(f"{target}: {len(made)} files, {size:,} bytes, and SHA256SUMS")


@app.command(
    epilog=examples(
        "podium data verify llama31_8b tokens --samples 10000",
        "podium data verify resnet imagenet --checksums imagenet.md5",
    )
)
def verify(
    trainer: TrainerArgument,
    folder: FolderArgument,
    samples: SamplesOption = None,
    checksums: SumsOption = None,
    allow_subset: SubsetOption = False,
    settings: SetOption = None,
    jobs: JobsOption = None,
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
    quiet: QuietOption = False,
) -> None:
    """Read a dataset as a run would, without training, and tell which samples are unusable.

    Compares the files with SHA256SUMS where the folder has it, or with --checksums.

    Exit status: 0 usable, 1 a fault was found, 2 bad arguments.
    """
    if not folder.is_dir():
        raise UsageFault(f"there is no folder {folder}")
    if checksums is not None and not checksums.is_file():
        raise UsageFault(f"--checksums: there is no file {checksums}")
    setting = Setting(scale="reference", data=folder, allow_subset=allow_subset, device="cpu")
    with reported():
        from podium.reference_runs.catalogue import need_torch
        from podium.reference_runs.engine.launch import run_request

        request = run_request(trainer, setting, pairs(settings or []))
        need_torch()
        from podium.reference_runs.datasets.verify import verified

        with bar("samples", None, quiet=quiet) as move:
            found = verified(
                request, (samples, processes(jobs) if jobs else 0), checksums, _told(move)
            )
    typer.echo(_json(found) if format is AnswerFormat.JSON else _text(folder, found))
    raise typer.Exit(Exit.CLEAN if found.usable else Exit.FOUND)


def _told(move: Callable[[int], None]) -> Callable[[SplitReport], None]:
    return lambda part: move(part.read)


def _json(found: Verified) -> str:
    return json.dumps({**asdict(found), "usable": found.usable}, indent=2)


def _text(folder: Path, found: Verified) -> str:
    lines = [_part_text(part) for part in found.parts]
    if found.sums is not None:
        wrong = len(found.sums.faults)
        lines.append(
            f"checksums   {found.sums.files:,} files of {found.sums.source}"
            + (f", {wrong:,} wrong" if wrong else ", all as listed")
        )
    for fault in found.faults:
        warn(fault)
    lines.append(f"{folder}: {'usable' if found.usable else 'not usable'}")
    return "\n".join(lines)


def _part_text(part: SplitReport) -> str:
    text = f"{part.name:<11} {part.samples:,} samples, "
    if not part.chosen:
        return text + "read as a whole when they were opened"
    text += f"{part.read:,} read in {part.seconds:.1f} s"
    return text + (f", {part.faulty:,} faulty" if part.faulty else "")
