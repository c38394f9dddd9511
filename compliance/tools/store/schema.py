"""The tables of a store: their columns, in words, and the version that a change of them raises.

`docs/results.md` is made of this; a test compares them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

VERSION = 2
"""Raised by whatever makes a store of before unreadable, or its values mean something else."""

Kind = Literal["text", "word", "whole", "number", "truth"]
"""`word` is text of few different values; `whole` has 64 bits, `number` is a double."""


class Column(NamedTuple):
    """One column: what it is called, what it holds, and what that means."""

    name: str
    kind: Kind
    says: str


class Table(NamedTuple):
    """One table; each has a file for each round."""

    name: str
    says: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns, in order."""
        return tuple(column.name for column in self.columns)


SQL = {
    "text": "VARCHAR",
    "word": "VARCHAR",
    "whole": "BIGINT",
    "number": "DOUBLE",
    "truth": "BOOLEAN",
}
"""The type that a column has in a query."""

_WHERE = (
    Column("suite", "word", "`training` or `hpc`"),
    Column("round", "word", "the round, such as `5.1`"),
    Column("file", "word", "the file, below the folder that holds the round's"),
    Column("line", "whole", "its line in the file, from 1; null where an absence is at fault"),
)
"""What each row begins with."""

_WHOSE = (
    Column("result", "word", "the result's folder: what tables are joined by"),
    Column("submitter", "word", "who submits it"),
    Column("system", "word", "the system, by the name of its folder"),
    Column("benchmark", "word", "the benchmark, as logs name it"),
    Column("division", "word", "`closed`, `open`, or empty where nothing says it"),
)

RECORDS = Table(
    "records",
    "Every log line that holds a record, of any dialect; times of 0.5 and 0.6 in milliseconds.",
    (
        *_WHERE,
        Column("key", "word", "the log key"),
        Column("time_ms", "number", "milliseconds since 1970"),
        Column("event", "word", "`event_type`, where it is text"),
        Column("value", "text", "the value: text as it is, all else as JSON; null of null"),
        Column("type", "word", "what the value is: text, number, truth, list, object or null"),
        Column("number", "number", "the value as a number, also where its text spells one"),
        Column("metadata", "text", "the metadata as JSON"),
    ),
)

EVALUATIONS = Table(
    "evaluations",
    "Every outcome of an evaluation (`eval_accuracy` or `eval_error`), in file order.",
    (
        *_WHERE,
        Column("result", "word", "the result's folder, of a log that belongs to one"),
        Column("number", "whole", "the evaluation's number in its log, from 1"),
        Column("time_ms", "number", "milliseconds since 1970"),
        Column("minutes", "number", "minutes since `run_start`"),
        Column("metric", "word", "what the metadata calls it, else the key"),
        Column("value", "number", "the outcome"),
        Column("position", "number", "how far training was, in `unit`"),
        Column("unit", "word", "the metadata member that `position` is from"),
    ),
)

RUNS = Table(
    "runs",
    "Every log of a result. `line` is that of `run_start`, 1 without one.",
    (
        *_WHERE,
        *_WHOSE,
        Column("scaling", "word", "`strong`, or `weak` for an instance of HPC's throughput"),
        Column("verdict", "word", "of the log by the written rules: `pass` or `fail`"),
        Column("official_verdict", "word", "by the official verifier; null where it has none"),
        Column("started_ms", "number", "the first `run_start`, in milliseconds since 1970"),
        Column("stopped_ms", "number", "the `run_stop` that counts"),
        Column("minutes", "number", "from `run_start` to `run_stop`"),
        Column("converged", "truth", "whether the target was reached"),
        Column("role", "word", "scored, fastest, slowest, failed, outside, or instance"),
        Column("to_converge", "number", "how much training the target took, in `unit`"),
        Column("unit", "word", "epochs, samples, tokens or steps"),
        Column("batch_size", "number", "`global_batch_size`"),
        Column("quality", "number", "the outcome that counts"),
        Column("seed", "text", "the seeds logged, as a JSON list"),
        Column("init_minutes", "number", "from the first `init_start` to the last `init_stop`"),
        Column("staging_minutes", "number", "HPC: from `staging_start` to `staging_stop`"),
        Column("first_epoch_minutes", "number", "from `run_start` to the first `epoch_start`"),
        Column("evaluation_minutes", "number", "between `eval_start` and `eval_stop`, in all"),
        Column("evaluations", "whole", "how many outcomes are logged"),
        Column("epochs", "whole", "how many `epoch_start` are logged, of one process"),
        Column("joules", "number", "energy from `run_start` to `run_stop`, where it was measured"),
        Column("records", "whole", "how many records the log has"),
    ),
)

RESULTS = Table(
    "results",
    "Every result. `file` and `line` are those of its first run.",
    (
        *_WHERE,
        *_WHOSE,
        Column("model", "word", "what the benchmark is called over all rounds"),
        Column("comparable_from", "word", "first round that MLCommons' table lets compare with it"),
        Column("comparable_to", "word", "the last one; the round itself where no other may be"),
        Column("system_name", "word", "the system's name in its description, else in the logs"),
        Column("category", "word", "availability, such as `Available cloud` or `Preview`"),
        Column("category_as_written", "word", "the same as the description or the logs spell it"),
        Column("scaling", "word", "`strong`, or `weak` for HPC's throughput"),
        Column("verdict", "word", "by the written rules: accepted or rejected; null of loose logs"),
        Column("official_verdict", "word", "by the official verifier; null where it has none"),
        Column("minutes", "number", "time to train: the olympic mean of the runs"),
        Column("factor", "number", "what the mean is multiplied by, 1 where nothing is published"),
        Column("score", "number", "minutes times factor; null where no score is valid"),
        Column("runs", "whole", "how many runs there are"),
        Column("converged", "whole", "how many of them reached the target"),
        Column("needed", "whole", "how many runs a result of the benchmark needs"),
        Column("dropped", "whole", "how many are dropped at each end"),
        Column("nodes", "whole", "nodes of the system"),
        Column("chips", "whole", "accelerators; processors of a system that has none"),
        Column("chip", "word", "the model of what `chips` counts, in one spelling"),
        Column("chip_as_written", "word", "the same as the description spells it"),
        Column("framework", "word", "as the description names it"),
        Column("batch_size", "number", "where all runs agree on it"),
        Column("to_converge", "number", "mean of the runs that the test of convergence takes"),
        Column("unit", "word", "what `to_converge` counts; empty where its size fits no unit"),
        Column("deviation", "number", "standard deviation of the times, in minutes"),
        Column("rcp_verdict", "word", "pass, fail, missing or not_applicable"),
        Column("rcp_case", "word", "found, interpolated, below_range, above_range or none"),
        Column("rcp_mean", "number", "what the reference takes"),
        Column("rcp_minimum", "number", "the least that passes"),
        Column("official_joules", "number", "energy as the official summary adds it up"),
        Column("energy_gap", "text", "why `official_joules` is null where power was measured"),
        Column("joules", "number", "podium's own: mean energy of the scored runs, not scaled"),
        Column("models", "whole", "HPC's throughput: models trained"),
        Column("minutes_of_all", "number", "HPC: from the first start to the last stop"),
        Column("models_per_minute", "number", "HPC: models over that time"),
        Column("quality", "number", "open division: geometric mean of the runs' outcomes"),
    ),
)

SYSTEMS = Table(
    "systems",
    "Every system description. `line` is that of `system_name`, else 1.",
    (
        *_WHERE,
        Column("submitter", "word", "as the description names it"),
        Column("system", "word", "the name of its file, which folders of results have"),
        Column("name", "word", "`system_name`"),
        Column("division", "word", "`closed`, `open`, or null"),
        Column("category", "word", "availability, such as `Available cloud` or `Preview`"),
        Column("nodes", "whole", "`number_of_nodes`"),
        Column("processors", "whole", "host processors of all nodes"),
        Column("processor", "word", "`host_processor_model_name`"),
        Column("accelerators", "whole", "accelerators of all nodes"),
        Column("accelerator", "word", "`accelerator_model_name`"),
        Column("framework", "word", "`framework`"),
        Column("operating_system", "word", "`operating_system`"),
        Column("verdict", "word", "of the file by the written rules: `pass` or `fail`"),
        Column("fields", "text", "every field as written, as JSON"),
    ),
)

RCPS = Table(
    "rcps",
    "The reference convergence points of the round; `file` is one of podium's own.",
    (
        *_WHERE,
        Column("benchmark", "word", "the benchmark"),
        Column("point", "word", "the point's name"),
        Column("batch_size", "number", "global batch size"),
        Column("runs", "whole", "how many runs the reference made"),
        Column("mean", "number", "their mean in `unit`, all runs counted"),
        Column("to_converge", "text", "what each run took, as a JSON list"),
        Column("unit", "word", "the source's word, epochs for most"),
        Column("hyperparameters", "text", "as JSON"),
    ),
)

FINDINGS = Table(
    "findings",
    "What `podium check` finds, by the written rules.",
    (
        *_WHERE,
        Column("submitter", "word", "whose submission it is in"),
        Column("rule", "word", "the rule's id"),
        Column("severity", "word", "error, warning or note"),
        Column("key", "word", "the log key or JSON field"),
        Column("message", "text", "what is wrong"),
        Column("expected", "text", "what must be"),
        Column("actual", "text", "what is, as JSON"),
        Column("cites", "word", "where the rule stands"),
        Column("stated_by", "word", "verifier, policy, both or podium"),
        Column("waived", "truth", "whether something excuses it"),
        Column("caused_by", "word", "the rule of the finding that it follows from"),
        Column("official", "truth", "whether the official verifier rejects for it"),
    ),
)

POWER = Table(
    "power",
    "Every power meter's log of a run. `line` is that of its first reading, else 1.",
    (
        *_WHERE,
        Column("result", "word", "the result's folder"),
        Column("run", "word", "the run's log"),
        Column("part", "word", "`node` or `switch`"),
        Column("readings", "whole", "how many readings there are"),
        Column("first_ms", "number", "the first reading, in milliseconds since 1970"),
        Column("last_ms", "number", "the last one"),
        Column("joules", "number", "energy from `run_start` to `run_stop`"),
    ),
)

TABLES = (RECORDS, EVALUATIONS, RUNS, RESULTS, SYSTEMS, RCPS, FINDINGS, POWER)
"""Every table of a store."""
