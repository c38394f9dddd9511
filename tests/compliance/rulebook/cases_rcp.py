"""Cases of reference points, most of them of ResNet in training 4.0, which needs 5 runs."""

from __future__ import annotations

from pathlib import Path

from podium.compliance.tools.rcp.lint import lint
from podium.rules.catalogue import find_round
from podium.rules.convergence.data import Point
from podium.rules.finding import Finding
from tests.compliance.rulebook.case import Case, Reported

VALUES = tuple(float(30 + i % 3) for i in range(10))


def point(
    size: float = 1024,
    values: tuple[float, ...] = VALUES,
    name: str = "",
    benchmark: str = "resnet",
) -> Point:
    return Point(name or f"{benchmark}_{size:g}", benchmark, size, values)


def around(middle: float) -> tuple[float, ...]:
    """Ten values around a middle, so that two points do not share values."""
    return tuple(middle + i / 10 for i in range(10))


def linted(*points: Point, round_name: str = "4.0") -> Reported:
    def case(tmp_path: Path, profile: str) -> list[Finding]:
        """Lint points in the policy profile only: the official checker has no such program."""
        return lint(find_round("training", round_name), points) if profile == "policy" else []

    return case


def pair(*points: Point) -> Case:
    return Case(linted(*points), linted(point()))


def precise(precision: str | None, round_name: str = "5.1") -> Reported:
    made = Point("a", "retinanet", 256, VALUES, precision=precision)
    return linted(made, round_name=round_name)


def settings(**values: float) -> Reported:
    run = tuple(float(300_000 + 1000 * i) for i in range(6))
    made = Point("a", "llama31_405b", 1152, run, hyperparameters=values)
    return linted(made, round_name="5.0")


CASES: dict[str, Case] = {
    "rcp.benchmark": pair(point(benchmark="resnet50")),
    "rcp.duplicate-id": pair(point(name="a"), point(4096, around(50), name="a")),
    "rcp.duplicate-batch-size": pair(point(name="a"), point(values=around(31), name="b")),
    "rcp.copied-values": pair(point(), point(4096)),
    "rcp.too-few-runs": pair(point(values=VALUES[:4])),
    "rcp.outlier": pair(point(values=(*VALUES[:9], 300.0))),
    "rcp.batch-size": pair(point(8.5)),
    "rcp.unit": pair(point(values=(1e6, 1.1e6, 1.2e6) * 4)),
    "rcp.hyperparameter": Case(
        settings(opt_adamw_beta_1=0.5), settings(opt_base_learning_rate=8e-05)
    ),
    "rcp.precision": Case(precise("BF16", "5.0"), precise("FP32", "5.0")),
    "rcp.no-precision": Case(precise(None), precise("BF16")),
    "rcp.unused": pair(point(), point(2048, around(60)), point(4096, around(34))),
    "rcp.pruning-differs": pair(
        point(1, around(10)), point(2, around(14)), point(3, around(20)), point(4, around(16))
    ),
    "rcp.no-spread": pair(point(values=(30.0,) * 10)),
    "rcp.no-minimum": pair(point(values=(1.0, 1, 60, 60, 1, 60))),
}
