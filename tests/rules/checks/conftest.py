"""A good log for each benchmark, as records that a test may change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from podium.logging_spec.reader.read import parse_log
from podium.logging_spec.reader.record import Record
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.checks import Check, Context
from podium.rules.checks.catalogue import HPC
from podium.rules.checks.excerpt import START_MS, at
from podium.rules.model.round import Round
from podium.rules.run import MINUTE_MS, Run
from podium.rules.table import Violation

ROUNDS: dict[str, Round] = {
    f"{usage} {name}": rules for usage in USAGES for name, rules in rounds_of(usage).items()
}

BY_ID: dict[str, Check] = {each.id: each for each in HPC}

TARGETS: dict[str, tuple[Any, Any]] = {
    "llama31_8b": (3.4, 3.2),
    "gpt_oss_20b": (3.4, 3.2),
    "llama31_405b": (5.8, 5.5),
    "llama2_70b_lora": (0.94, 0.92),
    "flux1": (0.6, 0.58),
    "gpt3": (2.8, 2.68),
    "resnet": (0.7, 0.76),
    "retinanet": (0.2, 0.35),
    "bert": (0.6, 0.73),
    "unet3d": (0.8, 0.91),
    "dlrm": (0.79, 0.81),
    "dlrm_dcnv2": (0.79, 0.804),
    "rgat": (0.6, 0.73),
    "maskrcnn": ({"BBOX": 0.3, "SEGM": 0.3}, {"BBOX": 0.38, "SEGM": 0.34}),
    "cosmoflow": (0.2, 0.12),
    "openfold": (0.5, 0.81),
    "ssd": (0.1, 0.4),
    "minigo": (0.3, 0.6),
    "transformer": (0.2, 0.26),
    "stable_diffusion": (1.0, 1.0),
    "deepseekv3_671b": (3.7, 3.5),
}
"""A quality that misses the target, and a quality that reaches it."""


def records(lines: Iterable[str]) -> list[Record]:
    """Return the records of log lines."""
    return parse_log("\n".join(lines).encode()).records


class GoodLog:
    """A run with evaluations at given points, the last of which reaches the target."""

    def __init__(
        self,
        points: Iterable[float],
        benchmark: str = "llama31_8b",
        rules: str = "training 5.1",
        *,
        batch: int = 32,
        unit: str = "samples_count",
        division: str = "closed",
    ) -> None:
        self.rules, self.benchmark, self.division = ROUNDS[rules], benchmark, division
        key = "eval_error" if benchmark in ("cosmoflow", "oc20") else "eval_accuracy"
        lines = [
            at(-10, "init_start"),
            at(-10, "cache_clear", True),
            at(-10, "submission_benchmark", benchmark),
            at(-10, "submission_division", division),
            at(-10, "global_batch_size", batch),
            at(-10, "seed", 1234),
            at(-1, "init_stop"),
            at(0, "run_start"),
        ]
        if rules.startswith("hpc"):
            lines += [at(0.1, "staging_start"), at(0.2, "staging_stop")]
        points = list(points)
        missed, reached = TARGETS[benchmark]
        for place, point in enumerate(points):
            minute, where = 10 * (place + 1), {unit: point}
            quality = reached if place == len(points) - 1 else missed
            lines += [
                at(minute - 9, "block_start", first_epoch_num=place + 1, epoch_count=1),
                at(minute - 2, "block_stop", first_epoch_num=place + 1),
                at(minute - 1, "eval_start", **where),
                at(minute, key, quality, **where),
                at(minute, "eval_stop", **where),
            ]
        lines.append(at(10 * len(points) + 1, "run_stop", status="success"))
        self.records = records(lines)

    @property
    def context(self) -> Context:
        """The context that checks need in addition to the run."""
        return self.rules.context(self.division, self.benchmark)

    def of(self, key: str) -> int:
        """Return the index of the first record of a key."""
        return next(place for place, record in enumerate(self.records) if record.key == key)

    def add(self, *lines: str) -> GoodLog:
        """Add records, and sort all records by time."""
        self.records = sorted([*self.records, *records(lines)], key=lambda record: record.time_ms)
        return self

    def drop(self, *keys: str) -> GoodLog:
        """Remove all records of these keys."""
        self.records = [record for record in self.records if record.key not in keys]
        return self

    def put(self, *lines: str) -> GoodLog:
        """Add records, and remove all other records of the same keys."""
        return self.drop(*(record.key for record in records(lines))).add(*lines)

    def move(self, key: str, minute: float, which: int = 0) -> GoodLog:
        """Change the time of a record of a key, but not its index."""
        places = [place for place, record in enumerate(self.records) if record.key == key]
        record = self.records[places[which]]
        time_ms = START_MS + minute * MINUTE_MS
        self.records[places[which]] = Record(key, time_ms, record.value, record.metadata)
        return self

    def violations(self) -> dict[str, list[Violation]]:
        """Return the violations that the checks of the round find, by check id."""
        run = Run(self.records)
        run.ordered = run.exact = False
        found = {
            each.id: list(each.find(run, self.context))
            for each in self.rules.checks
            if each.applies(self.context)
        }
        return {id_: violations for id_, violations in found.items() if violations}

    def faults(self) -> list[str]:
        """Return the ids of the checks that find a violation."""
        return list(self.violations())


@pytest.fixture
def good() -> Callable[[], GoodLog]:
    """A function that builds a good log of llama31_8b in training 5.1."""
    return lambda: GoodLog([12_288, 24_576, 36_864])
