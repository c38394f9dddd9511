"""The tables contain the rules of the official checker, as listed in facts/rules.json."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from podium.logging_spec.reader.record import Record
from podium.rules.catalogue import find_round
from podium.rules.constraints.bounds import computes
from podium.rules.constraints.evaluation_points import FIRST, INTERVAL
from podium.rules.run import Run
from podium.rules.table import Row, Times, WholeLogRule
from podium.rules.training.benchmarks.qwen35_397b_grpo import START
from podium.rules.training.shared.tensors import tensor_names
from tests.locations import FACTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from podium.rules.constraints.constraint import Constraint
    from podium.rules.model.round import Round

RULES = FACTS / "rules.json"

pytestmark = pytest.mark.facts

OCCURS = {
    None: (0, None, ()),
    "optional": (0, None, ()),
    "exactly_one": (1, 1, ()),
    "at_least_one": (1, None, ()),
    "at_least(2)": (2, None, ()),
    "at_least_one_or(epoch_start)": (1, None, ("epoch_start",)),
    "at_least_one_or(epoch_stop)": (1, None, ("epoch_stop",)),
    "at_least_one_or(block_start)": (1, None, ("block_start",)),
    "at_least_one_or(block_stop)": (1, None, ("block_stop",)),
}

INIT_LIMIT = "time since the FIRST init_start is under "

WORDS: dict[str, tuple[str, ...]] = {
    "value is truthy": ("true",),
    "value is a boolean": ("true or false",),
    "no init_stop has been logged before this record": ("before init_stop",),
    "no run_start has been logged before this record": ("before run_start",),
    "an init_start has been logged before this record": ("after init_start",),
    "run_start has been logged before this record": ("after run_start",),
    "init_stop has been logged before this record": ("after init_stop",),
    "staging_start has been logged before this record": ("after staging_start",),
    f"{INIT_LIMIT}20 minutes (time_ms in milliseconds)": (
        "less than 20 minutes after the first init_start",
    ),
    f"{INIT_LIMIT}30 minutes (time_ms in milliseconds)": (
        "less than 30 minutes after the first init_start",
    ),
    "value is an integer multiple of 0.02 (tolerance 1e-5 on the quotient)": (
        "a multiple of 0.02",
    ),
    "value is an integer multiple of 1000 (tolerance 1e-5 on the quotient)": (
        "a multiple of 1000",
    ),
    "value is an integer multiple of 0.001 (tolerance 1e-5 on the quotient)": (
        "a multiple of 0.001",
    ),
    "value is 0.0001 times a power of two (tolerance 1e-5 on the base-2 logarithm)": (
        "0.0001 * 2**N, N whole",
    ),
    "value is an integer multiple of 0.02, or, when global_batch_size < 16, 0.02 is an integer "
    "multiple of value": ("K * 0.02, or 0.02 / K if global_batch_size < 16, K whole",),
    "the second boundary, divided by 50, minus 1, is an integer multiple of 0.1": (
        "a second boundary of 50 * (1 + K/10), K whole",
    ),
    "value is 1 or positive infinity (JSON Infinity)": ("1 or inf",),
    "value >= 0.712 when global_batch_size < 8192, else value >= 0.706; and value < 1.0": (
        "at least 0.712, or 0.706 if global_batch_size is at least 8192",
        "below 1.0",
    ),
    "value * 1152 == global_batch_size * 8e-5 exactly (floating point)": (
        "global_batch_size * 8e-05 / 1152",
    ),
    "value == 1200000 - opt_learning_rate_warmup_steps as logged earlier": (
        "1_200_000 - opt_learning_rate_warmup_steps",
    ),
    "value == 12000 - opt_learning_rate_warmup_steps as logged earlier": (
        "12_000 - opt_learning_rate_warmup_steps",
    ),
    "value == 2.4e-5 * sqrt(global_batch_size/16384) within 1e-9": (
        "2.4e-05 * sqrt(global_batch_size / 16_384), within 1e-09",
    ),
    "metadata.samples_count (as integer) == global_batch_size * floor(42 + "
    "24576/global_batch_size)": (
        "first at global_batch_size * floor(42 + 24_576 / global_batch_size) samples",
    ),
    "value == 2290835423": ("2_290_835_423",),
    "value >= 0.75 (target accuracy)": ("at least 0.75",),
    "value > 0.69 (target accuracy)": ("above 0.69",),
    "value == opt_base_learning_rate as logged earlier": ("opt_base_learning_rate",),
    "value == ceil(262144/global_batch_size)*global_batch_size": (
        "ceil(262_144 / global_batch_size) * global_batch_size",
    ),
    "value == 1e-6*sqrt(global_batch_size/256) within 1e-9": (
        "1e-06 * sqrt(global_batch_size / 256), within 1e-09",
    ),
    "value == 0.125*sqrt(256/global_batch_size) within 1e-9": (
        "0.125 * sqrt(256 / global_batch_size), within 1e-09",
    ),
    "global_batch_size == num_prompts_per_step * value": (
        "global_batch_size / num_prompts_per_step",
    ),
    "global_batch_size was logged earlier and 0.5e-6*global_batch_size/8192 <= value <= "
    "1.5e-6*global_batch_size/8192 (relative slack 1e-9)": (
        "from 5e-07 to 1.5e-06 times global_batch_size / 8192",
    ),
    "value is true and no init_start has been logged yet": ("true", "before init_start"),
    "neither init_stop nor run_start has been logged before this record": (
        "before init_stop",
        "before run_start",
    ),
    "an init_start was logged, no run_start yet, and under 20 minutes have passed since the first "
    "init_start (0.6 timestamps are in SECONDS)": (
        "after init_start",
        "before run_start",
        "less than 20 minutes after the first init_start",
    ),
    "run_start was logged, no evaluation is open, and metadata.status == 'success'": (
        "after run_start",
        'metadata.status "success"',
        "after run_start and after every evaluation has stopped",
    ),
    "between run_start and run_stop, no epoch open, and metadata.epoch_num is exactly one more "
    "than the last started epoch (first is 1)": (
        "in the timed part, epochs counted from 1, one open at a time",
    ),
    "an epoch is open and metadata.epoch_num equals its number": (
        "once for each epoch_start, with its epoch_num",
    ),
    "between run_start and run_stop, no evaluation open, the previous evaluation printed its "
    "accuracy, metadata.epoch_num is greater than the last evaluated epoch and not greater than "
    "the last started epoch": (
        "in the timed part, after the last accuracy, with a later epoch that has started",
    ),
    "an evaluation is open and metadata.epoch_num equals its epoch": (
        "while an evaluation is open, with the epoch_num of the last eval_start",
    ),
    "metadata.epoch_num equals the epoch of the last started evaluation": (
        "with the epoch_num of the evaluation started last",
    ),
    "between run_start and run_stop, no block open, metadata.epoch_count > 0, and "
    "metadata.first_epoch_num is: the last evaluated epoch when an epoch is open, else last "
    "started epoch + 1": (
        (
            "in the timed part, one open at a time, from the epoch after the last epoch_start; "
            "while an epoch is open, from the epoch evaluated last"
        ),
    ),
    "a block is open, the last evaluation printed its accuracy, and metadata.first_epoch_num "
    "equals that of the block's start": (
        "after the accuracy of its block, with its first_epoch_num",
    ),
    "an init_start was logged and run_start was not": ("after init_start and before run_start",),
    f"{INIT_LIMIT}the compile/init limit: 30 minutes in the closed division, 240 minutes in the "
    "open division (division read from submission_division seen earlier; limit is 0 when the "
    "division was not logged before init_stop)": (
        "less than 30 minutes (closed) or 240 minutes (open) after the first init_start",
    ),
    "if metadata has epoch_count it also has first_epoch_num": (
        "metadata with first_epoch_num (if epoch_count is given)",
    ),
    "if metadata has epoch_count it is > 0": (
        "metadata.epoch_count above 0 (if epoch_count is given)",
    ),
    "if metadata has step_num it is >= 0": ("metadata.step_num at least 0 (if step_num is given)",),
    "if metadata has samples_count it is >= 0": (
        "metadata.samples_count at least 0 (if samples_count is given)",
    ),
    "value == ceil(1200000*1152/global_batch_size) - warmup, where warmup is "
    "ceil(8000*1152/global_batch_size) computed from the batch size (the logged warmup value "
    "itself is only required once)": (
        "ceil(1_200_000 * 1152 / global_batch_size) - ceil(8000 * 1152 / global_batch_size)",
    ),
    "metadata.samples_count is a multiple of the evaluation interval in samples (see the dlrmv4 "
    "note below)": (f"at multiples of {INTERVAL.text} samples",),
    "metadata.samples_count (as integer) equals the first evaluation's sample count (see the "
    "dlrmv4 note below)": (f"first at {FIRST.text} samples",),
    "evaluations start at samples_count == global_batch_size*ceil(2.5 + 3840/global_batch_size) "
    "and then come exactly every global_batch_size samples, none skipped": (
        f"at {START.text} samples first, then after every batch",
    ),
    **{
        f"value has the field {name}": (f"a value with {name}",)
        for name in ("BBOX", "SEGM", "FID", "CLIP", "step_num", "samples_count")
    },
}
"""The text in the tables for each rule that the facts give in words."""

GENERATION = "once for each generation, in order"

OF_MINIGO: dict[str, tuple[str, ...]] = {
    "init_stop has been logged before this record": (
        "after init_stop, within 20 minutes of init_start",
    ),
    "run_start was logged, no epoch open, and metadata.epoch_num is exactly one more than the last "
    "started epoch": (GENERATION,),
    "an epoch is open and metadata.epoch_num equals its number": (GENERATION,),
    "an epoch is open, value.iteration equals its number and no model was saved in it yet": (
        GENERATION,
    ),
    "run_start was logged, no evaluation open, previous accuracy was printed, metadata.epoch_num "
    "is last evaluated epoch + 1 and not beyond the last started epoch": (GENERATION,),
    "an evaluation is open and metadata.epoch_num equals its epoch": (GENERATION,),
    "metadata.epoch_num equals the epoch of the last started evaluation": (GENERATION,),
    "intended: metadata.timestamp agrees within 1.5 ms with (time the model of metadata.iteration "
    "was saved - run_start time); as the incumbent writes it the absolute value is taken of the "
    "comparison's boolean, so only 'difference < 1.5e-3' counts; and metadata.iteration <= last "
    "evaluated epoch": ("after the model that it names is saved and evaluated",),
}
"""The same for MiniGo in 0.6, whose records have another order."""


class Case(NamedTuple):
    """A scope of a round."""

    usage: str
    round: str
    scope: str

    def __str__(self) -> str:
        return f"{self.usage} {self.round} {self.scope}"


@cache
def facts() -> dict[str, dict[str, dict[str, list[dict[str, Any]]]]]:
    loaded: dict[str, dict[str, dict[str, list[dict[str, Any]]]]] = json.loads(RULES.read_text())
    return loaded


def cases() -> Iterator[Case]:
    if not RULES.exists():
        return
    for usage, rounds in facts().items():
        for name, scopes in rounds.items():
            for scope in scopes:
                if scope != "score":  # the score reader of 0.6 needs it, its verifier does not
                    yield Case(usage, name, scope)


def lines_of(rules: Round, scope: str) -> list[Row | WholeLogRule]:
    """Return the lines of a scope that the verifier checks."""
    if scope == "common":
        found = rules.scopes("", "")[0]
    elif not rules.divided:
        found = rules.scopes("", scope)[1]
    else:
        division, _, name = scope.partition("_")
        if name == "common":
            found = rules.scopes(division, "")[1]
        elif name in rules.benchmarks:
            found = rules.scopes(division, name)[2]
        else:
            return list(variant_lines(rules, name))
    return [*(row for _, row in found.verified), *found.ends]


def variant_lines(rules: Round, name: str) -> Iterable[Row | WholeLogRule]:
    for benchmark in rules.benchmarks.values():
        for variant in benchmark.variants:
            if name == f"{benchmark.name}_{variant.name}":
                return variant.rows
    raise AssertionError(f"no scope {name}")


def times_of(times: Times) -> tuple[int, int | None, tuple[str, ...]]:
    return times.least, times.most, times.instead


# --- independent reading of a rule that the facts give as a field and a bound ---


def pick(record: Record, field: str) -> Any:
    if field == "value":
        return record.value
    if field == "len(value)":
        return len(record.value)
    where, _, name = field.partition(".")
    return (record.metadata if where == "metadata" else record.value)[name]


def obeys(spec: dict[str, Any], record: Record) -> bool:
    if "metadata_has" in spec:
        return spec["metadata_has"] in record.metadata
    if "metadata_has_any" in spec:
        return any(name in record.metadata for name in spec["metadata_has_any"])
    if "record_has" in spec:
        return True  # the reader drops records without it
    if "any_of" in spec:
        return any(all(obeys(part, record) for part in option) for option in spec["any_of"])
    value = pick(record, spec["field"])
    tests: dict[str, Callable[[Any], Any]] = {
        "gt": lambda bound: value > bound,
        "ge": lambda bound: value >= bound,
        "lt": lambda bound: value < bound,
        "le": lambda bound: value <= bound,
        "eq": lambda bound: value == bound,
        "ne": lambda bound: value != bound,
        "in": lambda bound: value in bound,
        "close_to": lambda bound: math.isclose(value, bound),
        "type": lambda bound: isinstance(value, {"int": int, "bool": bool}[bound]),
        "integer": lambda _: abs(round(value) - value) < 1e-5,
    }
    return all(bool(tests[name](bound)) for name, bound in spec.items() if name != "field")


def by_facts(specs: list[dict[str, Any]], record: Record) -> bool:
    try:
        return all(obeys(spec, record) for spec in specs)
    except (TypeError, KeyError, IndexError, ValueError, OverflowError):
        return False


def by_table(constraints: list[Constraint], record: Record) -> bool:
    run = Run([record])
    try:
        return all(constraint.holds(record, run) for constraint in constraints)
    except Exception:
        return False


PLAIN: tuple[Any, ...] = (
    *(None, True, False, "", "x", -1, 0, 0.0, 0.5, 1, 1.0, 1.5, 2, 3.0, 1e9, math.inf, math.nan),
    *([], [1], [1, 2], [1, 2, 3], {}),
)


def bounds_of(specs: list[dict[str, Any]]) -> Iterator[Any]:
    for spec in specs:
        for name, bound in spec.items():
            if name == "any_of":
                for option in bound:
                    yield from bounds_of(option)
            elif name == "in":
                yield from bound
            elif name in {"gt", "ge", "lt", "le", "eq", "ne", "close_to"}:
                yield bound


def bounds_in(what: Any) -> Iterator[Any]:
    """Yield every number and string in a constraint of the table, at any depth."""
    if isinstance(what, msgspec.Struct):
        for name in what.__struct_fields__:
            yield from bounds_in(getattr(what, name))
    elif isinstance(what, tuple | list):
        for item in what:
            yield from bounds_in(item)
    elif isinstance(what, int | float | str):
        yield what


def values_for(bounds: Iterable[Any]) -> list[Any]:
    values = list(PLAIN)
    for bound in bounds:
        values.append(bound)
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            values += [bound + 1, bound - 1, bound * 2, -bound]
            values += [math.nextafter(bound, math.inf), math.nextafter(bound, -math.inf)]
            values += [bound * (1 + 1e-8), bound * (1 + 1e-10)]
        elif isinstance(bound, str):
            values += [bound.upper(), bound + " ", [bound]]
    return values


def probes(specs: list[dict[str, Any]], constraints: list[Constraint]) -> Iterator[Record]:
    """Yield records on both sides of every bound, and records of every wrong type."""
    members = {"epoch_num", "samples_count", "step_num", "first_epoch_num", "epoch_count", "method"}
    members |= {"status", "tensor", "timestamp", "iteration"}
    full: dict[str, Any] = dict.fromkeys(sorted(members), 1)
    fields = {spec["field"] for spec in specs if "field" in spec}
    parts = {field.partition(".")[2] for field in fields if field.startswith("value.")}
    whole = dict.fromkeys(sorted(parts | {"BBOX", "SEGM", "FID", "CLIP", "step_num"}), 0.5)
    values = values_for([*bounds_of(specs), *bounds_in(constraints)])
    for value in values:
        yield Record("key", 0, value, full)
        for field in sorted(fields - {"value", "len(value)"}):
            where, _, name = field.partition(".")
            if where == "metadata":
                yield Record("key", 0, 1, {**full, name: value})
            else:
                yield Record("key", 0, {**whole, name: value}, full)
    for value in (1, whole):
        yield Record("key", 0, value, {})
        yield Record("key", 0, value, "")
        for name in full:
            yield Record("key", 0, value, {name: 1})
            yield Record("key", 0, value, {k: v for k, v in full.items() if k != name})


def same_rules(
    specs: list[dict[str, Any]], constraints: tuple[Constraint, ...], words: dict[str, Any]
) -> str:
    """Return the difference between the facts and the table, or an empty string.

    Constraints that only make the verifier compute a value are left to the comparison of verdicts.
    """
    left = [constraint for constraint in constraints if not isinstance(constraint, computes)]
    plain = []
    for spec in specs:
        for text in words[spec["words"]] if "words" in spec else ():
            named = [constraint for constraint in left if constraint.text() == text]
            if not named:
                return f"no {text!r} among {[c.text() for c in left]} for {spec}"
            left.remove(named[0])
        if "words" not in spec:
            plain.append(spec)
    for record in probes(plain, left):
        if by_facts(plain, record) != by_table(left, record):
            return f"{plain} and {[c.text() for c in left]} differ on {record}"
    return ""


def test_the_tables_have_exactly_the_scopes_of_the_facts() -> None:
    for usage, rounds in facts().items():
        for name, scopes in rounds.items():
            rules = find_round(usage, name)
            assert rules.verified
            if not rules.divided:
                named = set(scopes) - {"common", "score"}
                assert named == set(rules.benchmarks)
                continue
            variants = {f"{b.name}_{v.name}" for b in rules.benchmarks.values() for v in b.variants}
            closed = {s.removeprefix("closed_") for s in scopes if s.startswith("closed_")}
            opened = {s.removeprefix("open_") for s in scopes if s.startswith("open_")}
            assert closed - {"common"} == set(rules.benchmarks) | variants
            with_open = {b.name for b in rules.benchmarks.values() if b.open is not None}
            assert opened - {"common"} <= with_open
            assert with_open - opened <= set(rules.retired_with_rules)


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_keys_occurrences_and_rules_equal_the_facts(case: Case) -> None:
    wanted = facts()[case.usage][case.round][case.scope]
    lines = lines_of(find_round(case.usage, case.round), case.scope)
    rows = {line.key.name: line for line in lines if isinstance(line, Row)}
    specs = {spec["key"]: spec for spec in wanted if "key" in spec}
    words = WORDS | OF_MINIGO if case.scope == "minigo" else WORDS
    assert set(rows) == set(specs)
    for key, spec in specs.items():
        row = rows[key]
        assert times_of(row.times) == OCCURS[spec.get("occurs")], key
        for part, given in (("each", row.each), ("first", row.first), ("at_least_one", row.some)):
            assert not same_rules(spec.get(part, []), given, words), (key, part)


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_required_tensors_equal_the_facts(case: Case) -> None:
    wanted = [spec["end"] for spec in facts()[case.usage][case.round][case.scope] if "end" in spec]
    ends = [
        line
        for line in lines_of(find_round(case.usage, case.round), case.scope)
        if isinstance(line, WholeLogRule) and line.id != "global_batch_size.sign"
    ]
    assert len(ends) == len(wanted)
    for end, spec in zip(ends, wanted, strict=True):
        names = spec.get("initialized_tensors_exactly")
        if names is None:
            assert end.id == "opt_name.keys"
            continue
        records = [Record("weights_initialization", 0, None, {"tensor": name}) for name in names]
        assert sorted(names) in [sorted(tensor_names(b)) for b in (*BENCHMARKS, "retinanet")]
        assert not list(end.find(Run(records)))
        assert list(end.find(Run(records[1:])))
        assert list(end.find(Run([*records, records[0]])))


BENCHMARKS = ("bert", "dlrm", "maskrcnn", "minigo", "resnet", "rnnt", "ssd", "unet3d")
