"""Ten raw logs of one result, with arbitrary file names, for a first submission."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from tests.builders import Line, LogBuilder, build
from tests.compliance.trees import as_run

NAMES = (
    *("seed_1.out", "run-2.log", "result-3.txt", "results_4.txt", "llama_5.txt"),
    *("6.log", "slurm-4711.out", "job8.txt", "nine.log", "last.out"),
)
BATCH, INTERVAL, EVALUATIONS = 32, 12_288, 15
TARGET, ABOVE = 3.3, 3.5
MINUTE_MS = 60_000
CONFIG_NAME = "config.yaml"

CONFIG = """\
submission_benchmark = "llama31_8b"
global_batch_size = 32
gradient_accumulation_steps = 1
max_sequence_length = 8192
max_steps = 1200000
opt_name = "adamw"
opt_base_learning_rate = 4.0
opt_end_learning_rate = 0.4
opt_learning_rate_warmup_steps = 0.25
opt_learning_rate_decay_steps = 1199999.75
opt_learning_rate_decay_schedule = "cosine with linear warmup"
opt_adamw_beta_1 = 0.9
opt_adamw_beta_2 = 0.95
opt_adamw_epsilon = 1e-05
opt_adamw_weight_decay = 0.1
opt_gradient_clip_norm = 1.0
"""
"""The hyperparameters of the runs."""


def raw_logs(folder: Path) -> None:
    """Write the logs of ten runs of llama31_8b, training 6.1, that pass the RCP test."""
    log = _converging()
    for number, name in enumerate(NAMES):
        as_run(log, number).write(folder / name)


def _converging() -> LogBuilder:
    """Return a log with regular evaluations that reaches the target at the last evaluation."""
    log = build("training", "6.1", "closed", "llama31_8b").set("global_batch_size", BATCH)
    start, stop = log.where("block_start")[0], log.where("block_stop")[0] + 1
    block = log.lines[start:stop]
    last = log.where("block_stop")[-1] + 1
    blocks = tuple(_at(line, step) for step in range(1, EVALUATIONS + 1) for line in block)
    end = tuple(_at(line, EVALUATIONS) for line in log.lines[last:])
    log = replace(log, lines=(*log.lines[:start], *blocks, *end))
    log = log.set("eval_accuracy", ABOVE).set("config_filename", CONFIG_NAME)
    return log.set("eval_accuracy", TARGET, only=EVALUATIONS - 1)


def _at(line: Line, step: int) -> Line:
    """Convert a line of the first evaluation to the same line of a later evaluation."""
    record = line.record
    assert record is not None
    samples = step * INTERVAL
    places = {"samples_count": samples, "step_num": samples, "epoch_num": step}
    metadata = {name: places.get(name, value) for name, value in record.metadata.items()}
    if "first_epoch_num" in metadata:
        metadata["first_epoch_num"] = step
    time = int(record.time_ms) + (step - 1) * MINUTE_MS
    return replace(line, record=msgspec.structs.replace(record, time_ms=time, metadata=metadata))
