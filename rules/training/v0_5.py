"""Training 0.5: the first round. No verifier exists for it; these rules are the policy's.

Its lines name the benchmark, but not the division or the organization.
"""

from __future__ import annotations

from typing import Any

from podium.logging_spec.keys import V05
from podium.logging_spec.reader.record import Record
from podium.rules.constraints.bounds import equals, one_of
from podium.rules.constraints.constraint import Constraint
from podium.rules.model.benchmark import Benchmark, ConvergenceRules, by_name
from podium.rules.model.limits import Limits
from podium.rules.model.package_rules import PackageRules
from podium.rules.model.round import Round
from podium.rules.run import Run, as_number
from podium.rules.table import AT_LEAST_ONCE, OPTIONAL, Row, row

CITES = "training rules of 0.5, Submission Compliance Logs"
TARGETS = "training rules of 0.5, Benchmarks"
HYPERPARAMETERS = "training rules of 0.5, Hyperparameters"


def quality(value: Any) -> tuple[float, ...]:
    """The numbers of an eval_accuracy or eval_target: one, or one for boxes and one for masks."""
    if isinstance(value, dict):
        if "value" in value:
            return quality(value["value"])
        # Boxes before masks, as in the targets, whatever their order in the object
        return quality([value[name] for name in sorted(value) if name != "epoch"])
    if isinstance(value, list):
        return tuple(number for item in value for number in quality(item))
    number = as_number(value)
    return () if number is None else (number,)


def _reaches(value: Any, target: tuple[float, ...]) -> bool:
    numbers = quality(value)
    if not numbers or len(numbers) != len(target):
        return False
    return all(number >= bound for number, bound in zip(numbers, target, strict=True))


def benchmark_of(run: Run) -> Any:
    """The benchmark that the lines of the log name."""
    return run.records[0].namespace if run.records else None


def succeeded(run: Run) -> bool:
    """Whether run_stop reports success, or, if it has no status, whether the target was reached."""
    stop = run.first("run_stop")
    if stop is None:
        return False
    reported = stop.value.get("success") if isinstance(stop.value, dict) else None
    if reported is not None:
        # Both occur in public logs, and 60 of them have no status
        return reported is True or reported == "true"
    targets = run.of("eval_target")
    target = quality(targets[-1].value) if targets else ()
    return bool(target) and any(_reaches(r.value, target) for r in run.of("eval_accuracy"))


class reports_success(Constraint, frozen=True):  # noqa: N801 - a word of the tables
    """The run ended in success according to run_stop or to its accuracies."""

    def test(self, value: Any, run: Run) -> bool:
        return succeeded(run)

    def text(self) -> str:
        return "success true, or no success and an eval_accuracy that reaches eval_target"


class no_earlier_than(Constraint, frozen=True):  # noqa: N801 - reads like the policy
    """The time of the record is not before the time of another key: lines may be merged."""

    key: str

    def holds(self, record: Record, run: Run) -> bool:
        first = run.first(self.key)
        return first is not None and record.time_ms >= first.time_ms

    def text(self) -> str:
        return f"no earlier than {self.key}"

    def says(self, record: Record, run: Run | None) -> str:
        return f"{record.key} has an earlier time than {self.key}; must be {self.text()}"

    def advice(self, key: str, run: Run | None) -> str:
        return f"log {self.key} before the timed part and {key} after it"


class counted_up(Constraint, frozen=True):  # noqa: N801 - reads like the policy
    """Numbers start at 0 and never decrease."""

    def broken(self, positions: list[int], run: Run) -> list[int]:
        failures, last = [], 0.0
        for ordinal, index in enumerate(positions):
            number = as_number(run.records[index].value)
            if number is None or number < last or (ordinal == 0 and number != 0):
                failures.append(index)
            last = max(last, number or 0.0)
        return failures

    def holds(self, record: Record, run: Run) -> bool:
        return run.position not in self.broken(run.where[record.key], run)

    def text(self) -> str:
        return "counted up from 0"


class of_benchmark(Constraint, frozen=True):  # noqa: N801 - reads like the policy
    """The line names one of the benchmarks of the round."""

    names: tuple[str, ...]

    def holds(self, record: Record, run: Run) -> bool:
        return record.namespace in self.names

    def actual(self, record: Record) -> Any:
        return record.namespace

    def text(self) -> str:
        return f"of one of the benchmarks {', '.join(self.names)}"

    def says(self, record: Record, run: Run | None) -> str:
        return f"the line of {record.key} names {record.namespace}; must be {self.text()}"


class at_target(Constraint, frozen=True):  # noqa: N801 - reads like the policy
    """The quality reached is at least the target."""

    target: tuple[float, ...]

    def test(self, value: Any, run: Run) -> bool:
        return _reaches(value, self.target)

    def text(self) -> str:
        return " and ".join(f"at least {number}" for number in self.target)


def _given(name: str, *constraints: Constraint) -> Row:
    """A hyperparameter that the policy fixes, if it is logged."""
    return row(V05[name], *constraints, times=OPTIONAL, cites=HYPERPARAMETERS)


def _metric(*target: float) -> tuple[Row, ...]:
    return (
        row(
            V05["eval_accuracy"],
            # Training by iterations has no epochs and logs its accuracy under this key
            times=AT_LEAST_ONCE.otherwise("eval_iteration_accuracy"),
            some=(at_target(target),),
            cites=TARGETS,
        ),
    )


RESNET = Benchmark(
    name="resnet",
    title="Image classification: ResNet-50 v1.5 on ImageNet",
    runs=5,
    # 0.6 raised this target, and the targets of SSD and GNMT
    target="top-1 accuracy of 74.9 %",
    also_called=("resnet50",),
    cites=HYPERPARAMETERS,
    closed=(
        *_metric(0.749),
        _given("eval_target", equals(0.749)),
        _given("opt_momentum", equals(0.9)),
        _given("preproc_num_train_examples", equals(1_281_167)),
        _given("preproc_num_eval_examples", equals(50_000)),
    ),
    open=None,
)

SSD = Benchmark(
    name="ssd",
    title="Light object detection: SSD with ResNet-34 on COCO",
    runs=5,
    target="21.2 % mAP",
    also_called=("ssd300",),
    cites=HYPERPARAMETERS,
    closed=(*_metric(0.212), _given("eval_target", equals(0.212))),
    open=None,
)

MASKRCNN = Benchmark(
    name="maskrcnn",
    title="Heavy object detection: Mask R-CNN on COCO",
    runs=5,
    target="box mAP of 0.377 and mask mAP of 0.339",
    also_called=("mask", "mask_rcnn"),
    starts_from_weights=True,
    cites=HYPERPARAMETERS,
    closed=_metric(0.377, 0.339),
    open=None,
)

TRANSFORMER = Benchmark(
    name="transformer",
    title="Translation: Transformer big on WMT17 English-German",
    runs=10,
    target="BLEU of 25.0",
    comparable=("0.5", "0.7"),
    cites=HYPERPARAMETERS,
    closed=(*_metric(25.0), _given("eval_target", equals(25.0))),
    open=None,
)

GNMT = Benchmark(
    name="gnmt",
    title="Recurrent translation: GNMT on WMT16 English-German",
    runs=10,
    target="BLEU of 21.8",
    comparable=("0.5", "0.7"),
    also_called=("nmt",),
    cites=HYPERPARAMETERS,
    closed=(*_metric(21.8), _given("eval_target", equals(21.8))),
    open=None,
)

NCF = Benchmark(
    name="ncf",
    title="Recommendation: NeuMF on MovieLens 20M",
    # Only some of the files in the public repository's list of successes converge, so the logs
    # decide which runs count
    runs=50,
    target="hit rate at 10 of 0.635, in 50 of 100 runs",
    first_converging=True,
    cites=HYPERPARAMETERS,
    closed=(
        *_metric(0.635),
        _given("eval_target", equals(0.635)),
        _given("model_hp_mf_dim", equals(64)),
        _given("model_hp_mlp_layer_sizes", one_of([256, 256, 128, 64], "[256, 256, 128, 64]")),
        _given("input_hp_num_neg", equals(4)),
        _given("eval_hp_num_neg", equals(999)),
        _given("eval_hp_num_users", equals(138_493)),
        _given("preproc_hp_min_ratings", equals(20)),
    ),
    open=None,
)

MINIGO = Benchmark(
    name="minigo",
    title="Reinforcement learning: MiniGo",
    runs=20,
    target="40 % of professional moves predicted",
    comparable=("0.5", "2.1"),
    convergence=ConvergenceRules(tested=False),
    cites=HYPERPARAMETERS,
    closed=_metric(0.4),
    open=None,
)

_ALL = (RESNET, SSD, MASKRCNN, TRANSFORMER, GNMT, NCF, MINIGO)

V0_5 = Round(
    usage="training",
    name="0.5",
    verified=False,
    generation="mlpv",
    divided=False,
    names_in=(),
    aliases={"mask": "maskrcnn"},
    named_by=benchmark_of,
    succeeded=succeeded,
    package=PackageRules(described_by_entry=True, nested_submissions=True, code_folder="code"),
    # Initialization is part of the timed run in this round; epochs count from 1 only since 0.7
    limits=Limits(init_closed=None, init_open=None, epochs_from=0),
    common=(
        row(V05["run_start"], of_benchmark(tuple(b.name for b in _ALL)), cites=CITES),
        row(V05["run_stop"], no_earlier_than("run_start"), some=(reports_success(),), cites=CITES),
        row(
            V05["train_epoch"],
            counted_up(),
            # Training by iterations has a loop and no epochs
            times=AT_LEAST_ONCE.otherwise("train_loop"),
            cites="training rules of 0.5, Epoch numbering",
        ),
    ),
    closed=(),
    open=(),
    benchmarks=by_name(_ALL),
)
