"""The tables of a store: their columns with descriptions, and the version of the tables.

`docs/site/tables.py` is made from this; a test compares them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

VERSION = 2
"""Increased by every change that makes older stores unreadable or changes the meaning of values."""

Kind = Literal["text", "word", "whole", "number", "truth"]
"""`word` is a string with few different values; `whole` has 64 bits, `number` is a double."""


class Column(NamedTuple):
    """One column: its name, type and description."""

    name: str
    kind: Kind
    says: str


class Table(NamedTuple):
    """One table, with one file for each round."""

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
"""The type of a column in a query."""

_WHERE = (
    Column("suite", "word", "`training` or `hpc`"),
    Column("round", "word", "the round, such as `5.1`"),
    Column("file", "word", "the path of the file, beginning with the name of the round's folder"),
    Column("line", "whole", "its line in the file, from 1; null if something is missing"),
)
"""The first columns of each table."""

_WHOSE = (
    Column("result", "word", "the result's folder, the key for joins of tables"),
    Column("submitter", "word", "the submitter"),
    Column("system", "word", "the name of the system's folder"),
    Column("benchmark", "word", "the name of the benchmark in logs"),
    Column("division", "word", "`closed`, `open`, or empty if unknown"),
)

RECORDS = Table(
    "records",
    "Every log line with a record, in any dialect; times of 0.5 and 0.6 in milliseconds.",
    (
        *_WHERE,
        Column("key", "word", "the log key"),
        Column("time_ms", "number", "milliseconds since 1970"),
        Column("event", "word", "`event_type`, if it is a string"),
        Column("value", "text", "the value: strings unchanged, all others as JSON; null for null"),
        Column("type", "word", "the type of the value: text, number, truth, list, object or null"),
        Column("number", "number", "the value as a number, also if it is a string with a number"),
        Column("metadata", "text", "the metadata as JSON"),
    ),
)

EVALUATIONS = Table(
    "evaluations",
    "Every outcome of an evaluation (`eval_accuracy` or `eval_error`), in file order.",
    (
        *_WHERE,
        Column("result", "word", "the result's folder, if the log belongs to a result"),
        Column("number", "whole", "the evaluation's number in its log, from 1"),
        Column("time_ms", "number", "milliseconds since 1970"),
        Column("minutes", "number", "minutes since `run_start`"),
        Column("metric", "word", "the name in the metadata, else the key"),
        Column("value", "number", "the outcome"),
        Column("position", "number", "the progress of training, in `unit`"),
        Column("unit", "word", "the metadata member with `position`"),
    ),
)

RUNS = Table(
    "runs",
    "Every log of a result. `line` is the line of `run_start`, 1 without one.",
    (
        *_WHERE,
        *_WHOSE,
        Column("scaling", "word", "`strong`, or `weak` for an instance of HPC throughput"),
        Column("verdict", "word", "verdict on the log by the written rules: `pass` or `fail`"),
        Column("official_verdict", "word", "verdict of the official verifier; null without one"),
        Column("started_ms", "number", "the first `run_start`, in milliseconds since 1970"),
        Column("stopped_ms", "number", "the `run_stop` that counts"),
        Column("minutes", "number", "from `run_start` to `run_stop`"),
        Column("converged", "truth", "whether the target was reached"),
        Column("role", "word", "scored, fastest, slowest, failed, outside, or instance"),
        Column("to_converge", "number", "the training needed to reach the target, in `unit`"),
        Column("unit", "word", "epochs, samples, tokens or steps"),
        Column("batch_size", "number", "`global_batch_size`"),
        Column("quality", "number", "the quality that counts"),
        Column("seed", "text", "the seeds logged, as a JSON list"),
        Column("init_minutes", "number", "from the first `init_start` to the last `init_stop`"),
        Column("staging_minutes", "number", "HPC: from `staging_start` to `staging_stop`"),
        Column("first_epoch_minutes", "number", "from `run_start` to the first `epoch_start`"),
        Column("evaluation_minutes", "number", "the total between `eval_start` and `eval_stop`"),
        Column("evaluations", "whole", "number of logged outcomes"),
        Column("epochs", "whole", "number of logged `epoch_start` of one process"),
        Column("joules", "number", "energy from `run_start` to `run_stop`, if it was measured"),
        Column("records", "whole", "number of records in the log"),
    ),
)

RESULTS = Table(
    "results",
    "Every result. `file` and `line` are from its first run.",
    (
        *_WHERE,
        *_WHOSE,
        Column("model", "word", "the name of the benchmark that all rounds share"),
        Column("comparable_from", "word", "first comparable round in MLCommons' table"),
        Column(
            "comparable_to",
            "word",
            "last comparable round; the round itself if none other is comparable",
        ),
        Column("system_name", "word", "the system's name in its description, else in the logs"),
        Column("category", "word", "availability, such as `Available cloud` or `Preview`"),
        Column("category_as_written", "word", "the same as spelled in the description or the logs"),
        Column("scaling", "word", "`strong`, or `weak` for HPC throughput"),
        Column("verdict", "word", "by the written rules: accepted, rejected, null for loose logs"),
        Column("official_verdict", "word", "verdict of the official verifier; null without one"),
        Column("minutes", "number", "time to train: the olympic mean of the runs"),
        Column("factor", "number", "the published factor of the mean, 1 without one"),
        Column("score", "number", "minutes times factor; null without a valid score"),
        Column("runs", "whole", "number of runs"),
        Column("converged", "whole", "number of runs that reached the target"),
        Column("needed", "whole", "number of runs that a result of the benchmark needs"),
        Column("dropped", "whole", "number of runs dropped at each end"),
        Column("nodes", "whole", "nodes of the system"),
        Column("chips", "whole", "accelerators; processors if the system has no accelerators"),
        Column("chip", "word", "the model of these chips, in normalized spelling"),
        Column("chip_as_written", "word", "the same as spelled in the description"),
        Column("framework", "word", "the framework in the description"),
        Column("batch_size", "number", "the global batch size, if all runs agree"),
        Column("to_converge", "number", "mean of the runs that the convergence test includes"),
        Column("unit", "word", "unit of `to_converge`; empty if its size matches no unit"),
        Column("deviation", "number", "standard deviation of the times, in minutes"),
        Column("rcp_verdict", "word", "pass, fail, missing or not_applicable"),
        Column("rcp_case", "word", "found, interpolated, below_range, above_range or none"),
        Column("rcp_mean", "number", "mean of the reference"),
        Column("rcp_minimum", "number", "the lowest value that passes"),
        Column("official_joules", "number", "energy as computed by the official summary"),
        Column("energy_gap", "text", "why `official_joules` is null although power was measured"),
        Column("joules", "number", "podium's own: mean energy of the scored runs, not scaled"),
        Column("models", "whole", "HPC throughput: models trained"),
        Column("minutes_of_all", "number", "HPC: from the first start to the last stop"),
        Column("models_per_minute", "number", "HPC: models over that time"),
        Column("quality", "number", "open division: geometric mean of the runs' outcomes"),
    ),
)

SYSTEMS = Table(
    "systems",
    "Every system description. `line` is the line of `system_name`, else 1.",
    (
        *_WHERE,
        Column("submitter", "word", "the submitter in the description"),
        Column("system", "word", "the name of its file, also used for folders of results"),
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
        Column("verdict", "word", "verdict on the file by the written rules: `pass` or `fail`"),
        Column("fields", "text", "every field as written, as JSON"),
    ),
)

RCPS = Table(
    "rcps",
    "The reference convergence points of the round; `file` is a file of podium.",
    (
        *_WHERE,
        Column("benchmark", "word", "the benchmark"),
        Column("point", "word", "the point's name"),
        Column("batch_size", "number", "global batch size"),
        Column("runs", "whole", "number of reference runs"),
        Column("mean", "number", "mean of all of them, in `unit`"),
        Column("to_converge", "text", "the value of each run, as a JSON list"),
        Column("unit", "word", "the unit in the source, mostly epochs"),
        Column("hyperparameters", "text", "as JSON"),
    ),
)

FINDINGS = Table(
    "findings",
    "The findings of `podium check`, by the written rules.",
    (
        *_WHERE,
        Column("submitter", "word", "the submitter of the submission"),
        Column("rule", "word", "the rule's id"),
        Column("severity", "word", "error, warning or note"),
        Column("key", "word", "the log key or JSON field"),
        Column("message", "text", "description of the problem"),
        Column("expected", "text", "the expected value"),
        Column("actual", "text", "the actual value, as JSON"),
        Column("cites", "word", "the document and section of the rule"),
        Column("stated_by", "word", "verifier, policy, both or podium"),
        Column("waived", "truth", "whether it is waived"),
        Column("caused_by", "word", "the rule of the finding that causes it"),
        Column("official", "truth", "whether the official verifier rejects for it"),
    ),
)

POWER = Table(
    "power",
    "Every log of a power meter. `line` is the line of its first reading, else 1.",
    (
        *_WHERE,
        Column("result", "word", "the result's folder"),
        Column("run", "word", "the run's log"),
        Column("part", "word", "`node` or `switch`"),
        Column("readings", "whole", "number of readings"),
        Column("first_ms", "number", "time of the first reading, in milliseconds since 1970"),
        Column("last_ms", "number", "time of the last reading"),
        Column("joules", "number", "energy from `run_start` to `run_stop`"),
    ),
)

TABLES = (RECORDS, EVALUATIONS, RUNS, RESULTS, SYSTEMS, RCPS, FINDINGS, POWER)
"""Every table of a store."""
