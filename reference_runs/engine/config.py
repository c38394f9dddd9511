"""The base class of benchmark configs: one object drives the run and the log's records."""

from __future__ import annotations

import ast
import difflib
import sys
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from podium.reference_runs.errors import RunFault, UnknownSetting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from podium.reference_runs.parallel.mesh import Mesh


class Unit(StrEnum):
    """The unit in which a benchmark's log counts training."""

    EPOCHS = "epochs"  # epoch_num 1, 2, 3 …
    FRACTIONS = "fractions"  # epoch_num 0.05, 0.1 …
    FRACTIONS_FROM_ONE = "fractions from one"  # epoch_num 1.05, 1.1 …
    SAMPLES = "samples"  # samples_count
    SAMPLES_AS_EPOCHS = "samples as epochs"  # samples, under the name epoch_num
    STEPS = "steps"  # step_num


@dataclass(frozen=True, kw_only=True)
class Config:
    """The fields of a config that the shared loop reads.

    Fields named like log keys are logged unchanged (see `records`), so the log cannot disagree with
    the run. A sample is the benchmark's unit of data: an image, a sequence, a volume.
    """

    name: ClassVar[str]
    """The benchmark's name, as in `podium run` and the newest round."""
    unit: ClassVar[Unit]
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    metric: ClassVar[str]
    """The name of the quality metric: "top-1 accuracy", "log perplexity"."""
    logs_error: ClassVar[bool] = False
    """Whether the quality is logged as `eval_error`, as two HPC benchmarks require."""

    evaluated_offline: ClassVar[bool] = False
    """Whether the rules stop the clock at the weight update that reaches the target, rather than at
    its evaluation."""

    samples_are_least: ClassVar[bool] = False
    """Whether `train_samples` is the minimum size of the training data, not the exact size.

    The run uses all training samples and logs their number."""

    reference_note: ClassVar[str] = ""
    """How a run at reference scale differs from the reference's run, for its log."""
    sends_activations: ClassVar[bool] = True
    """Whether ranks of a mesh exchange activations or weights in the precision of the run.

    Embedding tables send sums of rows in single precision."""

    rate_field: ClassVar[str] = "opt_base_learning_rate"
    """The field that scales all learning rates."""

    global_batch_size: int
    gradient_accumulation_steps: int = 1
    train_samples: int
    eval_samples: int
    target: float
    """The run succeeds at the first evaluation that is at least this good."""
    last_step: int
    """The run is aborted if it has not reached the target after this many optimizer steps."""
    workers: int = 0
    """Data-loading processes of each rank; 0 loads in the training process."""
    shuffled_labels: bool = False
    """Smoke scale only: shuffle the training targets, to show that learning then fails."""

    @property
    def epoch_samples(self) -> int:
        """The number of units that the benchmark counts in one pass over the training data."""
        return self.train_samples

    @property
    def sample_size(self) -> int:
        """The log's count for one sample (under SAMPLES_AS_EPOCHS): 1, or its number of tokens."""
        return 1

    @property
    def steps_per_epoch(self) -> int:
        """Whole global batches in one pass over the training data; the remainder is dropped."""
        # At least one step: otherwise no evaluation would end the run
        return max(1, self.epoch_samples // self.global_batch_size)

    def evaluation_steps(self) -> Iterator[int]:
        """Ascending optimizer steps after which quality is measured; by default every epoch."""
        yield from range(self.steps_per_epoch, self.last_step + 1, self.steps_per_epoch)

    def check_evaluated(self) -> None:
        """Raise RunFault if the run would end before its first evaluation."""
        if next(iter(self.evaluation_steps()), None) is not None:
            return
        endless = replace(self, last_step=sys.maxsize)
        first = next(iter(endless.evaluation_steps()))
        raise RunFault(
            f"last_step is {self.last_step}; expected {first} or more, the step of the first"
            " evaluation"
        )

    def check_mesh(self, mesh: Mesh) -> None:
        """Raise RunFault if the shapes cannot be divided; most checks follow from field names."""

    def check_filled(self) -> None:
        """Raise RunFault if the training data do not fill a batch, or allow no evaluation."""
        if self.epoch_samples < self.global_batch_size:
            raise RunFault(
                f"there are {self.epoch_samples} training samples; expected at least one batch:"
                f" global_batch_size is {self.global_batch_size}"
            )
        self.check_evaluated()

    def reached(self, quality: float) -> bool:
        """Whether a quality reaches the target."""
        return quality >= self.target if self.better == "higher" else quality <= self.target

    @property
    def target_text(self) -> str:
        """The target, for a note in the log."""
        return f"{self.metric} {self.target:g}"

    def figures(self, quality: float) -> str:
        """The results of an evaluation; with names if there are several metrics."""
        return f"{quality:.4f}"

    def missed(self, quality: float) -> str:
        """The targets that an evaluation missed, or all targets if it reached them."""
        sign = ">=" if self.better == "higher" else "<="
        return f"{self.metric} {sign} {self.target:g}"

    def quality_in(self, round_name: str, quality: float) -> float:
        """The quality in the unit of a round's logs; translation changed it."""
        return quality

    def quality_records(
        self, quality: float, division: str
    ) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
        """The records of an evaluation: keys, values, and metadata in addition to the position."""
        yield "eval_error" if self.logs_error else "eval_accuracy", quality, {}

    def benchmark_in(self, round_name: str) -> str:
        """The benchmark's name in the log of a round."""
        return self.name

    def unit_in(self, round_name: str) -> Unit:
        """The unit in the log of a round; some benchmarks changed it."""
        return self.unit

    def records(self, round_name: str) -> Mapping[str, Any]:
        """The hyperparameter records in a round's log: by default all fields that are log keys."""
        left_out = {"train_samples", "eval_samples"}  # logged at the start of the timed part
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}

    def metadata(self, round_name: str) -> Mapping[str, Mapping[str, Any]]:
        """Record metadata that a round requires, by key; empty for most benchmarks."""
        return {}

    def weights(self, round_name: str) -> tuple[str, ...]:
        """Tensor names whose initialization the round requires in the log; empty in most rounds."""
        return ()

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """A config with replaced fields; values are parsed as Python literals.

        Raises UnknownSetting for an unknown field, or a value of the wrong type.
        """
        return replace(self, **{name: self._value(name, text) for name, text in settings.items()})

    def _value(self, name: str, text: str) -> Any:
        known = {field.name for field in fields(self)}
        if name not in known:
            meant = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {meant[0]}" if meant else f"; it has {', '.join(sorted(known))}"
            raise UnknownSetting(f"--set {name}: {self.name}'s config has no such field{hint}")
        return _literal(name, text, getattr(self, name))


def _literal(name: str, text: str, now: Any) -> Any:
    """The value of a setting's string, converted to the type of the field's present value."""
    if isinstance(now, str):
        return text
    try:
        # Literals only: a setting must not be able to run code
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise UnknownSetting(f"--set {name} is {text!r}; expected a value like {now!r}") from None
    if isinstance(now, float) and type(value) is int:
        return float(value)
    # Not isinstance, which accepts True as an int
    if now is not None and type(value) is not type(now):
        raise UnknownSetting(f"--set {name} is {text}; expected a value like {now!r}")
    return value


def version(round_name: str) -> tuple[int, int]:
    """A round's name as a comparable pair of numbers: "5.1" is (5, 1)."""
    # As strings, "10.0" would sort before "9.0"
    major, _, minor = round_name.partition(".")
    return int(major), int(minor)
