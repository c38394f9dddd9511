"""`podium data`: prepare datasets from published files, and verify them before a run."""

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

app = group("Prepare and verify the datasets of the bundled trainers.")

TrainerArgument = Annotated[
    str,
    typer.Argument(help="Benchmark; see podium run --list.", metavar="TRAINER", show_default=False),
]
FolderArgument = Annotated[
    Path, typer.Argument(help="Folder of the dataset, as for podium run --data.", metavar="DIR")
]
SamplesOption = Annotated[
    int | None,
    typer.Option(
        "--samples", min=1, help="Samples to read of each part; default all.", metavar="N"
    ),
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
    Path, typer.Option("--from", help="Folder of the published files.", metavar="DIR")
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
    """Make a benchmark's dataset from the published files, before any run and untimed.

    The folder appears when it is complete, with SHA256SUMS. After an interruption the same call
    continues: finished pieces are kept next to the folder until then.

    Exit status: 0 made, 2 the source cannot be used.
    """
    with reported():
        from podium.reference_runs.datasets.prepare import prepare as make
        from podium.reference_runs.datasets.recipes import recipe_of

        recipe = recipe_of(trainer, source, tokenizer, subset=allow_subset)
        try:
            with bar("pieces", len(recipe.pieces), quiet=quiet) as advance:
                paths = make(recipe, target, processes(jobs), advance)
        except OSError as error:
            raise UsageFault(f"{target} cannot be made: {error.strerror}") from None
    size = sum(path.stat().st_size for path in paths)
    typer.echo(f"{target}: {len(paths)} files, {size:,} bytes, and SHA256SUMS")


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
    """Read a dataset as a run does, without training, and report unusable samples.

    The files are compared with SHA256SUMS, if the folder has it, or with --checksums.

    Exit status: 0 usable, 1 a fault was found, 2 bad arguments.
    """
    if not folder.is_dir():
        raise UsageFault(f"no such folder: {folder}")
    if checksums is not None and not checksums.is_file():
        raise UsageFault(f"--checksums: no such file: {checksums}")
    setting = Setting(scale="reference", data=folder, allow_subset=allow_subset, device="cpu")
    with reported():
        from podium.reference_runs.catalogue import need_torch
        from podium.reference_runs.engine.launch import run_request

        request = run_request(trainer, setting, pairs(settings or []))
        need_torch()
        from podium.reference_runs.datasets.verify import verified

        with bar("samples", None, quiet=quiet) as advance:
            result = verified(
                request, (samples, processes(jobs) if jobs else 0), checksums, _progress_of(advance)
            )
    typer.echo(_json(result) if format is AnswerFormat.JSON else _text(folder, result))
    raise typer.Exit(Exit.CLEAN if result.usable else Exit.FOUND)


def _progress_of(advance: Callable[[int], None]) -> Callable[[SplitReport], None]:
    return lambda split: advance(split.read)


def _json(result: Verified) -> str:
    return json.dumps({**asdict(result), "usable": result.usable}, indent=2)


def _text(folder: Path, result: Verified) -> str:
    lines = [_part_text(split) for split in result.parts]
    if result.sums is not None:
        mismatches = len(result.sums.faults)
        lines.append(
            f"checksums   {result.sums.files:,} files of {result.sums.source}"
            + (f", {mismatches:,} without a match" if mismatches else ", all match")
        )
    for fault in result.faults:
        warn(fault)
    lines.append(f"{folder}: {'usable' if result.usable else 'not usable'}")
    return "\n".join(lines)


def _part_text(split: SplitReport) -> str:
    text = f"{split.name:<11} {split.samples:,} samples, "
    if not split.chosen:
        return text + "read completely when opened"
    text += f"{split.read:,} read in {split.seconds:.1f} s"
    return text + (f", {split.faulty:,} faulty" if split.faulty else "")
