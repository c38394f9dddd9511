"""What every benchmark's config holds: one object drives the run and writes the log's records."""

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
    """The part of a config that the shared loop reads.

    Fields that are named like log keys are logged as they stand (see `records`), so the log cannot
    disagree with the run. A sample is what the benchmark counts: an image, a sequence, a volume.
    """

    name: ClassVar[str]
    """The benchmark's name, as `podium run` and the newest round spell it."""
    unit: ClassVar[Unit]
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    metric: ClassVar[str]
    """What the quality is, in words: "top-1 accuracy", "log perplexity"."""
    logs_error: ClassVar[bool] = False
    """Whether the quality is logged as `eval_error`, as two HPC benchmarks want it."""

    evaluated_offline: ClassVar[bool] = False
    """Whether the rules have the clock stop with the update of the weights that pass, not with
    their evaluation."""

    samples_are_least: ClassVar[bool] = False
    """Whether `train_samples` is the fewest that the training data must hold, not their number.

    The run uses all of them and logs their number."""

    reference_note: ClassVar[str] = ""
    """In which way a run at reference scale is not the reference's, for its log."""
    sends_activations: ClassVar[bool] = True
    """Whether ranks of a mesh exchange activations or weights in the precision of the run.

    Tables send sums of rows in single precision."""

    rate_field: ClassVar[str] = "opt_base_learning_rate"
    """The field that scales all learning."""

    global_batch_size: int
    gradient_accumulation_steps: int = 1
    train_samples: int
    eval_samples: int
    target: float
    """The run has succeeded at the first evaluation that is as good as this."""
    last_step: int
    """The run is aborted when this many optimizer steps have not reached the target."""
    workers: int = 0
    """Processes that load data, for each rank; 0 loads in the training process."""
    shuffled_labels: bool = False
    """Smoke scale only: give every training sample another's target, to see that learning fails."""

    @property
    def epoch_samples(self) -> int:
        """What the benchmark counts of one pass over the training data: each sample, once."""
        return self.train_samples

    @property
    def sample_size(self) -> int:
        """As how much the log counts one sample (under SAMPLES_AS_EPOCHS): 1, or its tokens."""
        return 1

    @property
    def steps_per_epoch(self) -> int:
        """Whole global batches in one pass over the training data; the rest is left out."""
        # At least one step: with none there would be no evaluation to end the run
        return max(1, self.epoch_samples // self.global_batch_size)

    def evaluation_steps(self) -> Iterator[int]:
        """Optimizer steps after which quality is measured, rising; here, after every epoch."""
        yield from range(self.steps_per_epoch, self.last_step + 1, self.steps_per_epoch)

    def check_evaluated(self) -> None:
        """Raise RunFault where the run would end before it is evaluated for the first time."""
        if next(iter(self.evaluation_steps()), None) is not None:
            return
        endless = replace(self, last_step=sys.maxsize)
        first = next(iter(endless.evaluation_steps()))
        raise RunFault(
            f"last_step is {self.last_step}; must be {first} or more, after which step the first"
            " evaluation comes"
        )

    def check_mesh(self, mesh: Mesh) -> None:
        """Raise RunFault where the shapes cannot be divided so; most follow from their names."""

    def check_filled(self) -> None:
        """Raise RunFault where the training data do not fill a batch, or lead to no evaluation."""
        if self.epoch_samples < self.global_batch_size:
            raise RunFault(
                f"there are {self.epoch_samples} training samples; must be at least one batch,"
                f" global_batch_size is {self.global_batch_size}"
            )
        self.check_evaluated()

    def reached(self, quality: float) -> bool:
        """Whether an evaluation is as good as the target."""
        return quality >= self.target if self.better == "higher" else quality <= self.target

    @property
    def target_text(self) -> str:
        """The target, for a note in the log."""
        return f"{self.metric} {self.target:g}"

    def figures(self, quality: float) -> str:
        """What an evaluation has measured; by name where that is more than the metric."""
        return f"{quality:.4f}"

    def missed(self, quality: float) -> str:
        """The targets that an evaluation has missed, or all where it has reached them."""
        sign = ">=" if self.better == "higher" else "<="
        return f"{self.metric} {sign} {self.target:g}"

    def quality_records(
        self, quality: float, division: str
    ) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
        """What an evaluation logs: keys, values and metadata beside the place in training."""
        yield "eval_error" if self.logs_error else "eval_accuracy", quality, {}

    def benchmark_in(self, round_name: str) -> str:
        """What the log of a round calls the benchmark."""
        return self.name

    def unit_in(self, round_name: str) -> Unit:
        """How the log of a round counts; some benchmarks changed their unit."""
        return self.unit

    def records(self, round_name: str) -> Mapping[str, Any]:
        """The hyperparameter records of a round's log: by default all fields that are log keys."""
        left_out = {"train_samples", "eval_samples"}  # logged when the timed part begins
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}

    def metadata(self, round_name: str) -> Mapping[str, Mapping[str, Any]]:
        """What a round wants in a record's metadata, by key; nothing for most benchmarks."""
        return {}

    def weights(self, round_name: str) -> tuple[str, ...]:
        """Tensor names whose initialisation the round wants logged; none in most rounds."""
        return ()

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """A config with fields replaced, values read as Python literals.

        Raises UnknownSetting for a name that is no field, or a value of another type.
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
    """The value that a text means, of the type that the field has now."""
    if isinstance(now, str):
        return text
    try:
        # Literals only: the text of a setting must not be able to run code
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise UnknownSetting(f"--set {name} is {text!r}; must be like {now!r}") from None
    if isinstance(now, float) and type(value) is int:
        return float(value)
    # Not isinstance, which takes True for an int
    if now is not None and type(value) is not type(now):
        raise UnknownSetting(f"--set {name} is {text}; must be like {now!r}")
    return value


def version(round_name: str) -> tuple[int, int]:
    """A round's name as numbers that compare: "5.1" is (5, 1)."""
    # As numbers: as text "10.0" would come before "9.0"
    major, _, minor = round_name.partition(".")
    return int(major), int(minor)
