"""Damaged logs: one fault at a time; the same log, kind and seed give the same bytes.

    damage(data, "drop_key", random.Random("seed"))  # bytes, or None if nothing can be damaged

Supports the lines of 0.7 and later, and of 0.6. Only the damaged lines are rewritten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

Record = dict[str, Any]

_OLD = re.compile(r"^(.*:::MLL) ([\d.]+) (\w+) ?:\s+(.+)$")
_NEW = re.compile(r"^(.*:::MLLOG )(.*)$")
_NOISE = {
    "tracked_stats",
    "throughput",
    "current_lr",
    "train_loss",
    "learning_rate",
    "train_accuracy",
    "eval_loss",
}
_MARKERS = (
    "init_start",
    "init_stop",
    "run_start",
    "run_stop",
    "eval_accuracy",
    "submission_division",
    "global_batch_size",
)
_METRICS = ("eval_accuracy", "eval_error", "averaged_validation_loss")
_BENCHMARKS = (  # noqa: SIM905
    "bert cosmoflow deepcam deepseekv3_671b dlrm dlrm_dcnv2 dlrmv4 flux1 gnmt gnn gpt3 gpt_oss_20b "
    "llama2_70b_lora llama31_405b llama31_8b maskrcnn minigo oc20 openfold qwen35_397b_grpo resnet "
    "retinanet rgat rnnt ssd stable_diffusion transformer unet3d resnet_sgd mask score"
).split()
# "common" is not a benchmark here: the official checker would not return.


class Nothing(LookupError):
    """The log has nothing that this kind can damage."""


@dataclass
class Line:
    """A line, with its record if it is a valid log line."""

    text: str
    head: str = ""
    record: Record | None = None
    old: bool = False
    was: str = ""

    def write(self) -> str:
        """Return the original line, or a new line if the record has changed."""
        if self.record is None or repr(self.record) == self.was:
            return self.text
        record = dict(self.record)
        if not self.old:
            return self.head + json.dumps(record)
        time, key = record.pop("time_ms", ""), record.pop("key", "")
        seconds = f"{time / 1000:.3f}" if isinstance(time, float) else str(time)
        return f"{self.head} {seconds} {key}: {json.dumps(record)}"


@dataclass
class Log:
    """The lines of a log, and the source of random choices."""

    lines: list[Line]
    rng: random.Random

    def records(self, *keys: str) -> list[int]:
        """Return the positions of the records: of all keys, or of these keys."""
        found = [i for i, line in enumerate(self.lines) if line.record is not None]
        return [i for i in found if self[i].get("key") in keys] if keys else found

    def of(self, *keys: str) -> list[int]:
        """Return the positions of at least one record; raises Nothing otherwise."""
        found = self.records(*keys)
        if not found:
            raise Nothing(keys)
        return found

    def __getitem__(self, index: int) -> Record:
        record = self.lines[index].record
        assert record is not None
        return record

    def key(self) -> str:
        """Choose a key with equal probability, except keys without a rule."""
        keys: list[str] = list(dict.fromkeys(self[i]["key"] for i in self.of()))
        return self.rng.choice([key for key in keys if key not in _NOISE] or keys)

    def any(self) -> int:
        """Choose a record of a random key."""
        return self.rng.choice(self.of(self.key()))

    def copy(self, index: int, at: int | None = None) -> Record:
        """Repeat a record after itself, or at another position; return the copy."""
        line = self.lines[index]
        again = replace(line, record=dict(self[index]))
        self.lines.insert(index + 1 if at is None else at, again)
        assert again.record is not None
        return again.record

    def move(self, index: int, at: int) -> None:
        """Move a line."""
        self.lines.insert(at, self.lines.pop(index))

    def drop(self, indices: list[int]) -> None:
        """Drop these lines."""
        for index in reversed(indices):
            del self.lines[index]


def read(data: bytes, rng: random.Random) -> Log:
    """Split a log into lines, and its log lines into records."""
    return Log([_line(text) for text in re.split("\r\n|\r|\n", data.decode("latin-1"))], rng)


def _line(text: str) -> Line:
    try:
        if match := _NEW.match(text):
            record, old, head = json.loads(match[2]), False, match[1]
        elif match := _OLD.match(text):
            record, old, head = json.loads(match[4]), True, match[1]
            record = {"time_ms": float(match[2]) * 1000, "key": match[3], **record}
        else:
            return Line(text)
    except (ValueError, TypeError):
        return Line(text)
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        return Line(text)
    return Line(text, head, record, old, repr(record))


Damage = Callable[[Log], bytes | None]
_DAMAGES: dict[str, Damage] = {}
_WEIGHTS: dict[str, float] = {}


def _kind(weight: float = 1.0, name: str = "") -> Callable[[Damage], Damage]:
    def register(function: Damage) -> Damage:
        label = name or function.__name__.strip("_")
        _DAMAGES[label] = function
        _WEIGHTS[label] = weight
        return function

    return register


def damage(data: bytes, kind: str, rng: random.Random) -> bytes | None:
    """Apply one kind of damage to a log; None if it has nothing to damage."""
    log = read(data, rng)
    try:
        done = _DAMAGES[kind](log)
    except (Nothing, OverflowError):  # OverflowError if an earlier fault made a number too large
        return None
    if done is None:
        done = _written(log)
    return None if done == data else done


def damages(data: bytes, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Damage the original log repeatedly; kinds with more effect are more frequent."""
    while True:
        kind = pick_kind(rng)
        damaged = damage(data, kind, rng)
        if damaged is not None:
            yield kind, damaged


def pick_kind(rng: random.Random) -> str:
    return rng.choices(KINDS, [_WEIGHTS[kind] for kind in KINDS])[0]


# Whole keys and records


@_kind(6)
def drop_key(log: Log) -> None:
    log.drop(log.of(log.key()))


@_kind(3)
def drop_record(log: Log) -> None:
    log.drop([log.any()])


@_kind(2)
def double_same(log: Log) -> None:
    log.copy(log.any())


@_kind(2)
def double_equal_number(log: Log) -> None:
    index = log.any()
    value = log[index].get("value")
    if not isinstance(value, (int, float)):
        raise Nothing
    again = log.copy(index)
    again["value"] = (
        bool(value) if value in (0, 1) else float(value) if isinstance(value, int) else value
    )


@_kind(4)
def double_other(log: Log) -> None:
    index = log.any()
    again = log.copy(index, log.rng.choice([index, index + 1, len(log.lines)]))
    again["value"] = _bent(again.get("value"), log.rng)


@_kind(1)
def double_odd(log: Log) -> None:
    index = log.any()
    log[index]["value"] = value = log.rng.choice(
        [None, float("nan"), [1], [1.0], {"a": 1}, "", True, 0.0]
    )
    again = log.copy(index)
    again["value"] = log.rng.choice([value, value, None, -0.0, [1], {"a": 1.0}])


# Values


def _bent(value: Any, rng: random.Random) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool) or value is None:
        return rng.choice([not value, 0, 1, "true", "false"])
    if isinstance(value, (int, float)):
        near = [value + 1, value - 1, value + 0.5, value + 1e-6, value * 1.0000001, value * 2]
        far = [value / 2, -value, value * 10, value * 0.001, value * 1e12, 10**30]
        return rng.choice([*near, *far, 0, 1, -1, 0.02, 16, 1000])
    if isinstance(value, str):
        return rng.choice(
            [value + "x", value.upper(), value.capitalize(), "", value + " ", "other", value[::-1]]
        )
    if isinstance(value, list):
        return rng.choice([value[:-1], [*value, 1], [], value[::-1], [*value[:-1], "x"]])
    if isinstance(value, dict):
        members = dict(value)
        if members:
            member = rng.choice(list(members))
            if rng.random() < 0.4:
                del members[member]
            else:
                members[member] = rng.choice([0, 0.999, "x", None, -1, float("nan")])
        return members
    return 0


@_kind(12)
def bent(log: Log) -> None:
    record = log[log.any()]
    record["value"] = _bent(record.get("value"), log.rng)


@_kind(3)
def bent_everywhere(log: Log) -> None:
    for index in log.of(log.key()):
        log[index]["value"] = _bent(log[index].get("value"), log.rng)


_TYPES: dict[str, Any] = {
    "list": lambda value: [value],
    "object": lambda value: {"value": value},
    "string_of": str,
    "float": lambda value: float(value) if isinstance(value, int) else 0.5,
    "empty_list": [],
    "null": None,
    "true": True,
    "false": False,
    "empty": "",
    "word": "word",
    "nan": float("nan"),
    "infinity": float("inf"),
    "minus_infinity": float("-inf"),
    "minus_zero": -0.0,
    "huge_integer": 10**400,
}


def _retyped(value: Any, name: str) -> Any:
    make = _TYPES[name]
    return make(value) if callable(make) else make


@_kind(10)
def retyped(log: Log) -> None:
    record = log[log.any()]
    record["value"] = _retyped(record.get("value"), log.rng.choice(list(_TYPES)))


def _retype(name: str) -> None:
    @_kind(0.5, f"retyped_{name}")
    def retype(log: Log) -> None:
        record = log[log.any()]
        record["value"] = _retyped(record.get("value"), name)


for _name in _TYPES:
    _retype(_name)


@_kind(1)
def retyped_everywhere(log: Log) -> None:
    name = log.rng.choice(list(_TYPES))
    for index in log.of(log.key()):
        log[index]["value"] = _retyped(log[index].get("value"), name)


@_kind(0.5)
def number_over_range(log: Log) -> bytes:
    return _instead(log, log.any(), '"value": 1e400')


@_kind(0.5)
def number_too_long(log: Log) -> bytes:
    return _instead(log, log.any(), '"value": ' + "7" * 4400)


@_kind(0.5)
def name_twice(log: Log) -> bytes:
    value = json.dumps(_bent(log[index := log.any()].get("value"), log.rng))
    return _instead(
        log,
        index,
        log.rng.choice([f'"value": {value}, "value": 1', f'"value": 1, "value": {value}']),
    )


def _instead(log: Log, index: int, text: str) -> bytes:
    """Write one record's value as the given text."""
    log[index]["value"] = "@@"
    line = Line(log.lines[index].write().replace('"value": "@@"', text))
    log.lines[index] = line
    return _written(log)


def _written(log: Log) -> bytes:
    return "\n".join(line.write() for line in log.lines).encode("latin-1", "replace")


# Metadata


def _members(log: Log) -> tuple[int, Record]:
    """Choose a record with informative metadata, and give it a copy of them."""
    telling = [i for i in log.of() if set(_metadata(log[i])) - {"file", "lineno"}]
    keys = sorted({log[i]["key"] for i in telling} - _NOISE)
    if not keys:
        raise Nothing
    key = log.rng.choice(keys)
    index = log.rng.choice([i for i in telling if log[i]["key"] == key])
    log[index]["metadata"] = metadata = dict(log[index]["metadata"])
    return index, metadata


def _metadata(record: Record) -> Record:
    metadata = record.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _member(log: Log, metadata: Record) -> str:
    names = [name for name in metadata if name not in ("file", "lineno")]
    if not names:
        raise Nothing
    return log.rng.choice(names)


@_kind(4)
def member_dropped(log: Log) -> None:
    _, metadata = _members(log)
    del metadata[_member(log, metadata)]


@_kind(3)
def member_dropped_everywhere(log: Log) -> None:
    index, metadata = _members(log)
    name = _member(log, metadata)
    for other in log.of(log[index]["key"]):
        log[other]["metadata"] = {k: v for k, v in _metadata(log[other]).items() if k != name}


@_kind(5)
def member_bent(log: Log) -> None:
    _, metadata = _members(log)
    name = _member(log, metadata)
    value = metadata[name]
    choices: list[Any] = [str(value), -1, 0.5, 0, 1, 10**30, float("nan")]
    choices += [None, True, False, [value], {}, ""]
    if isinstance(value, (int, float)):
        choices += [value + 1, value - 1, -value, float(value), value * 2]
    metadata[name] = log.rng.choice(choices)


@_kind(2)
def member_renamed(log: Log) -> None:
    _, metadata = _members(log)
    value = metadata.pop(_member(log, metadata))
    names = [
        "epoch_num",
        "samples_count",
        "step_num",
        "epoch_count",
        "first_epoch_num",
        "metric",
        "x",
    ]
    metadata[log.rng.choice(names)] = value


@_kind(4)
def metadata_bent(log: Log) -> None:
    index = _members(log)[0] if log.rng.random() < 0.7 else log.any()
    names = [name for name in _metadata(log[index]) if name not in ("file", "lineno")]
    name = log.rng.choice(names or ["x"])
    odd: list[Any] = [None, "", [], {}, 5, True, "text", name, f"x{name}x", [name], [[name]]]
    log[index]["metadata"] = log.rng.choice(odd)


@_kind(1)
def metadata_empty_everywhere(log: Log) -> None:
    for index in log.of(log[_members(log)[0]]["key"]):
        log[index]["metadata"] = {}


# Positions and times


@_kind(1)
def moved_to_start(log: Log) -> None:
    log.move(log.any(), 0)


@_kind(1)
def moved_to_end(log: Log) -> None:
    log.move(log.any(), len(log.lines) - 1)


@_kind(2)
def swapped_with_next(log: Log) -> None:
    index = log.any()
    later = [i for i in log.records() if i > index]
    if not later:
        raise Nothing
    log.lines[index], log.lines[later[0]] = log.lines[later[0]], log.lines[index]


@_kind(5)
def moved_to_marker(log: Log) -> None:
    marker = log.rng.choice([key for key in _MARKERS if log.records(key)] or [""])
    index = log.of(log.key())[0]
    line = log.lines.pop(index)
    places = log.of(marker)
    log.lines.insert(places[0] + log.rng.randint(0, 1), line)


@_kind(2)
def copied_to_marker(log: Log) -> None:
    marker = log.rng.choice([key for key in _MARKERS if log.records(key)] or [""])
    log.copy(log.rng.choice(log.of(log.key())), log.rng.choice(log.of(marker)))


@_kind(1)
def shuffled_settings(log: Log) -> None:
    end = log.of("run_start", "init_stop")[0]
    found = [i for i in log.records() if i < end and log[i]["key"] not in _MARKERS[:4]]
    lines = [log.lines[i] for i in found]
    log.rng.shuffle(lines)
    for index, line in zip(found, lines, strict=True):
        log.lines[index] = line


@_kind(1)
def shuffled(log: Log) -> None:
    log.rng.shuffle(log.lines)


@_kind(1)
def time_shifted(log: Log) -> None:
    record = log[log.any()]
    if not isinstance(record.get("time_ms"), (int, float)):
        raise Nothing
    record["time_ms"] += log.rng.choice([-1, 1]) * log.rng.choice(
        [1, 1000, 60_000, 3_600_000, 10**9]
    )


@_kind(3)
def init_stretched(log: Log) -> None:
    start, stop = log.of("init_start")[0], log.rng.choice(log.of("init_stop"))
    began = log[start].get("time_ms")
    if not isinstance(began, (int, float)):
        raise Nothing
    minutes = log.rng.choice([0, 19, 20, 20, 29, 30, 30, 31, 239, 240, 240, 241, 1000])
    log[stop]["time_ms"] = began + minutes * 60_000 + log.rng.choice([-1, 0, 0, 1])


@_kind(2)
def time_bent(log: Log) -> None:
    index = (
        log.rng.choice(log.of("init_start", "init_stop", "run_start"))
        if log.rng.random() < 0.4
        else log.any()
    )
    time = log[index].get("time_ms")
    texts: list[Any] = [str(time), f" {time} ", "soon", "", "1_000", "nan", "1.2.3"]
    numbers: list[Any] = [float("nan"), float("inf"), -5, 0, 0.5, 10**400, True]
    log[index]["time_ms"] = log.rng.choice([*texts, *numbers, None, [time], {}])


# Fields and text


@_kind(2)
def field_missing(log: Log) -> None:
    record = log[log.any()]
    name = log.rng.choice(["key", "value", "metadata", "time_ms", "namespace", "event_type"])
    record.pop(name, None)


@_kind(2)
def text_broken(log: Log) -> bytes:
    index, rng = log.any(), log.rng
    line = log.lines[index]
    text, head = line.write(), line.head
    texts = [
        text[: len(head) + rng.randint(0, max(0, len(text) - len(head) - 1))],
        text.replace('"', "'"),
        text.replace('": ', '" ', 1) if not line.old else text.replace(": ", " ", 1),
        text + rng.choice([" x", "}", ",", "\x00", "\x85", "\xa0", " \t", "\x0b"]),
        text + text,
        text + " " + text[len(head) :],
        text.replace("null", "nullLambdaork").replace("true", "True"),
        text + " " + head,
        head + text,
        "noise " + head + " noise " + text,
        text.replace(":::MLLOG ", ":::MLLOG").replace(":::MLL ", ":::MLL  "),
        text.replace("value", "va\tlue", 1),
        text.replace("{", "{ ").replace("}", " }  "),
    ]
    log.lines[index] = Line(rng.choice(texts))
    return _written(log)


@_kind(1.5)
def not_an_object(log: Log) -> bytes:
    index = log.any()
    line = log.lines[index]
    head = f"{line.head} 1.5 {log[index]['key']}: " if line.old else line.head
    scalars = ["5", '"x"', "null", "true", "NaN", ""]
    objects = ["[]", "{}", "[1, 2]", '{"time_ms": "x"}', '{"value": 1}', '{"metadata": {}}']
    text = log.rng.choice(scalars + objects)
    log.lines[index : index + log.rng.randint(0, 1)] = [Line(head + text)]
    return _written(log)


@_kind(0.5)
def last_line_truncated(log: Log) -> bytes:
    data = _written(log).rstrip()
    return data[: -log.rng.randint(1, 40)]


@_kind(0.5)
def cut_off(log: Log) -> bytes:
    data = _written(log)
    return data[: log.rng.randint(0, len(data))]


@_kind(0.3)
def no_final_newline(log: Log) -> bytes:
    return _written(log).rstrip()


@_kind(0.5)
def prefixed(log: Log) -> bytes:
    plain = [" 0: ", "[1,11]<stdout>:", "\x1b[O", "I0518 21:33:07 x.py] "]
    prefix = log.rng.choice([*plain, ":::MLLOG ", ":::MLL ", "50%|## |\r"])
    return b"\n".join(prefix.encode("latin-1") + line for line in _written(log).split(b"\n"))


@_kind(0.5)
def line_ends(log: Log) -> bytes:
    usual = [b"\r\n", b"\r", b"\r\r\n", b"\n\n", b"\n\r", b" \t\n"]
    end = log.rng.choice([*usual, b"\x85", b"\x0b", b"\x00\n"])
    return _written(log).replace(b"\n", end)


@_kind(0.5)
def latin_bytes(log: Log) -> bytes:
    text = log.rng.choice(["\xe9\xff", "\xc3\xa9", "\x80", "\xa0", "\x85"])
    return _instead(log, log.any(), f'"value": "{text}"')


@_kind(0.2)
def empty(log: Log) -> bytes:
    return log.rng.choice([b"", b"\n", b"nothing here\n", b"\xef\xbb\xbf"])


@_kind(0.3)
def noise_added(log: Log) -> bytes:
    token = log.rng.choice([":::MLLOG", "epoch 1 :::MLL", ":::MLLOGGER {}", "::MLLOG {}"])
    noise = log.rng.choice([token, token, ":::MLPv0.5.0 ssd 1.0 (x:1) run_start", "x" * 5000])
    log.lines.insert(log.rng.randint(0, len(log.lines)), Line(noise))
    return _written(log)


# The keys that choose the rules, and the keys that most rules refer to


@_kind(2)
def division_renamed(log: Log) -> None:
    record = log[log.of("submission_division")[0]]
    other = {"closed": "open", "open": "closed"}.get(str(record.get("value")), "closed")
    record["value"] = log.rng.choice(
        [other, other, other, "Closed", "clsed", "", None, 5, True, ["closed"], {}]
    )


@_kind(2)
def benchmark_renamed(log: Log) -> None:
    record = log[log.of("submission_benchmark")[0]]
    name = str(record.get("value"))
    odd: list[Any] = ["unknown", None, name.upper(), "", 5, [name], f"{name} "]
    others = [benchmark for benchmark in _BENCHMARKS if benchmark != name]
    record["value"] = log.rng.choice(others if log.rng.random() < 0.7 else odd)


@_kind(2)
def chooser_repeated(log: Log) -> None:
    index = log.rng.choice(
        log.of("submission_division", "submission_benchmark", "opt_name", "scheduler_type")
    )
    choices: dict[str, list[Any]] = {
        "submission_division": ["closed", "open", None, "clsed"],
        "submission_benchmark": list(_BENCHMARKS),
        "opt_name": ["sgd", "lars", "LAMB", "Adam", "adam"],
        "scheduler_type": ["multistep", "cosine_annealing", "MultiStep", None],
    }
    again = log.copy(index, log.rng.choice([index, index + 1, len(log.lines)]))
    again["value"] = log.rng.choice(choices[again["key"]])


@_kind(3)
def optimizer_renamed(log: Log) -> None:
    record = log[log.rng.choice(log.of("opt_name", "scheduler_type"))]
    value = str(record.get("value"))
    names: list[Any] = ["sgd", "lars", "LAMB", "Adam", "AdamW", "adamw", "lamb", "sgd_decay"]
    names += ["multistep", "cosine_annealing", value.upper(), value.lower(), value.capitalize()]
    record["value"] = log.rng.choice([*names, None, [value], "", 5, True])


@_kind(1)
def key_renamed(log: Log) -> None:
    record = log[log.any()]
    key = str(record["key"])
    odd: list[Any] = [key[:-1], key.upper(), key + " ", key + "s", f"submission_{key}"]
    record["key"] = log.rng.choice([*odd, None, [key], 5])


@_kind(1)
def keys_swapped(log: Log) -> None:
    one, two = log[log.any()], log[log.any()]
    if "submission_benchmark" in (one["key"], two["key"]):  # "common" must not become a benchmark
        raise Nothing
    one["key"], two["key"] = two["key"], one["key"]


@_kind(2)
def status_bent(log: Log) -> None:
    record = log[log.rng.choice(log.of("run_stop"))]
    metadata = dict(_metadata(record))
    metadata["status"] = log.rng.choice(
        ["aborted", "fail", "", None, True, 0, ["success"], "SUCCESS"]
    )
    if log.rng.random() < 0.3:
        del metadata["status"]
    record["metadata"] = metadata


@_kind(5)
def target_missed(log: Log) -> None:
    numbers: list[Any] = [0, -1, 0.1, 0.5, 0.7, 1, 1.0, 2.6, 3.31, 100, float("nan"), True]
    value = log.rng.choice([*numbers, "0.9", None, {}, {"BBOX": 0.1}, [1]])
    for index in log.of(*_METRICS):
        log[index]["value"] = value


@_kind(2)
def metric_bent_once(log: Log) -> None:
    record = log[log.rng.choice(log.of(*_METRICS))]
    numbers: list[Any] = [0, 1, 99, float("nan"), False]
    objects: list[Any] = [{}, {"BBOX": 0.4}, {"BBOX": 0.1, "SEGM": "x"}, [], "x", None]
    record["value"] = log.rng.choice(numbers + objects)


@_kind(1)
def evaluations_removed(log: Log) -> None:
    keep = set(log.of(*_METRICS)[: log.rng.randint(0, 1)])
    log.drop([i for i in log.of(*_METRICS) if i not in keep])


@_kind(2)
def phase_repeated(log: Log) -> None:
    index = log.rng.choice(
        log.of("run_start", "run_stop", "init_stop", "init_start", "cache_clear", "staging_start")
    )
    again = log.copy(
        index,
        log.rng.choice([index, index + 1, len(log.lines), log.rng.randint(0, len(log.lines))]),
    )
    if log.rng.random() < 0.4:
        again["value"] = 1
    if log.rng.random() < 0.4 and isinstance(again.get("time_ms"), (int, float)):
        again["time_ms"] += log.rng.choice([-7_200_000, -60_000, 60_000, 7_200_000])


@_kind(3)
def batch_size_bent(log: Log) -> None:
    indices = log.of("global_batch_size")
    index = log.rng.choice(indices)
    value = log[index].get("value")
    sizes: list[Any] = [0, -1, 1, 8, 16, 64, 1152, 8191, 8192, 16384, 0.5, 1e308, 10**400]
    sizes += [None, "8192", [1], True, float("nan")]
    if isinstance(value, (int, float)):
        sizes += [value * 2, value + 1, float(value), -value]
    record = (
        log[index]
        if log.rng.random() < 0.6
        else log.copy(index, log.rng.choice([index, index + 1, *log.of()]))
    )
    record["value"] = log.rng.choice(sizes)


@_kind(1.5)
def tensor_bent(log: Log) -> None:
    record = log[log.rng.choice(log.of("weights_initialization"))]
    metadata = dict(_metadata(record))
    metadata["tensor"] = log.rng.choice(["other", None, 5, [], True])
    record["metadata"] = metadata


@_kind(5)
def two_faults(log: Log) -> bytes:
    """Two faults at once: one may hide or cause the other."""
    first, second = pick_kind(log.rng), pick_kind(log.rng)
    if "two_faults" in (first, second):
        raise Nothing
    once = damage(_written(log), first, log.rng)
    twice = damage(once, second, log.rng) if once is not None else None
    if twice is None:
        raise Nothing
    return twice


KINDS: tuple[str, ...] = tuple(_DAMAGES)
