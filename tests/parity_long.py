"""Damage thousands of logs, and compare podium's verdicts with the official checker's.

    python tests/parity_long.py --count 25000 --seed 1 --cache /tmp/oracle-cache.jsonl

The logs are published logs (the smallest of each results folder) and logs generated from the rules,
for rounds, divisions and benchmarks without published logs. Source, kind and seed determine a case.
A cache of the official verdicts therefore needs only these three values, and a second run calls
only podium.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import hashlib
import json
import math
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # a script cannot import the tests before this
    sys.path.insert(0, str(ROOT))

from podium.compliance.judging.logs.judge import judge_log  # noqa: E402
from podium.logging_spec.reader.read import parse_log  # noqa: E402
from podium.rules.catalogue import find_round  # noqa: E402
from podium.rules.finding import Profile, Severity  # noqa: E402
from tests.damage import KINDS, damage, pick_kind  # noqa: E402  (needs sys.path)
from tests.locations import CORPUS, FACTS  # noqa: E402
from tests.oracle import OracleVerdict, judge, usage_and_round  # noqa: E402

RULES = FACTS / "rules.json"
LARGEST = 400_000  # bytes of a published log: larger logs show nothing new


def podium_verdict(data: bytes, name: str, usage: str, round_: str) -> tuple[bool, frozenset[str]]:
    """Judge a log in the verifier profile: whether it passes, and the keys with errors."""
    rules = find_round(usage, round_)
    log = parse_log(data, rules.generation)
    verdict = judge_log(log, rules, Profile.VERIFIER, name)
    errors = [finding for finding in verdict.findings if finding.severity is Severity.ERROR]
    return not errors, frozenset(finding.key for finding in errors if finding.key)


class Recipe(NamedTuple):
    """How to create a case: the source log, the kind of damage, and the seed."""

    source: str
    kind: str
    seed: int


class Known(NamedTuple):
    """The official verdict on a case of an earlier run, and the hash of its bytes."""

    mark: str
    verdict: OracleVerdict


@dataclass(frozen=True)
class Case:
    """A damaged log and both verdicts; ``podium`` is None if podium raised."""

    recipe: Recipe
    usage: str
    round: str
    mark: str
    cached: bool
    oracle: OracleVerdict
    podium: tuple[bool, frozenset[str]] | None
    fault: str | None

    @property
    def differs(self) -> bool:
        """Whether podium's verdict or its keys differ from the official checker's."""
        if self.fault is not None:
            return True
        if self.podium is None:
            return False
        ok, keys = self.podium
        if self.oracle.ok is None:  # no verdict: podium must fail the log, with any keys
            return ok
        return (ok, keys) != (self.oracle.ok, self.oracle.keys)

    @property
    def wrong_verdict(self) -> bool:
        """Whether podium's verdict itself differs from the official checker's."""
        if self.podium is None:
            return self.fault is not None
        return self.podium[0] != bool(self.oracle.ok)


# Sources of logs


def sources() -> dict[tuple[str, str], list[list[str]]]:
    """Find the published and the generated logs of each usage and round."""
    found: dict[tuple[str, str], list[list[str]]] = defaultdict(lambda: [[], []])
    for source in published():
        found[usage_and_round(Path(source))][0].append(source)
    for source in made():
        _, usage, round_, *_ = source.split("/")
        found[usage, round_][1].append(source)
    return found


def published() -> list[str]:
    """Find the smallest log of each results folder that has a verdict, if it is small enough."""
    smallest: dict[Path, tuple[int, str]] = {}
    verdicts: dict[str, Any] = json.loads((CORPUS / "verdicts.json").read_text())
    for name, verdict in sorted(verdicts.items()):
        size = (CORPUS / name).stat().st_size
        if verdict["ok"] is not None and size <= LARGEST:
            folder = Path(name).parent
            smallest[folder] = min(smallest.get(folder, (size, name)), (size, name))
    return sorted(name for _, name in smallest.values())


def made() -> list[str]:
    """Name all logs that can be generated: ``made/usage/round/division/benchmark[/optimizer]``."""
    names: list[str] = []
    for usage, rounds in _rules().items():
        for round_, scopes in rounds.items():
            for scope in scopes:
                if round_ == "0.6":
                    division, benchmark = "closed", scope
                else:
                    division, _, benchmark = scope.partition("_")
                if (
                    scope.endswith(("common", "_sgd", "_lars"))
                    or scope == "score"
                    or "deepcam_" in scope
                ):
                    continue
                name = f"made/{usage}/{round_}/{division}/{benchmark}"
                names += [name + tail for tail in _TAILS.get(scope, [""])]
    return names


_TAILS = {
    "closed_resnet": ["/sgd", "/lars"],
    "closed_deepcam": ["/LAMB+multistep", "/Adam+cosine_annealing"],
    "resnet": ["/sgd", "/lars"],
}


@cache
def _rules() -> dict[str, dict[str, dict[str, list[dict[str, Any]]]]]:
    rules: dict[str, dict[str, dict[str, list[dict[str, Any]]]]] = json.loads(RULES.read_text())
    return rules


@cache
def content(source: str) -> bytes:
    """Read a published log, or generate a log."""
    if source.startswith("made/"):
        return make(source)
    return (CORPUS / source).read_bytes()


Entry = tuple[str, Any, dict[str, Any]]  # key, value, metadata


def make(source: str) -> bytes:
    """Generate a log that satisfies the rules as far as possible."""
    _, usage, round_, division, benchmark, *tail = source.split("/")
    entries = list(_entries(usage, round_, division, benchmark, tail[0] if tail else ""))
    return "".join(
        _line(entry, 1_700_000_000_000 + 1000 * i, round_) for i, entry in enumerate(entries)
    ).encode()


def _line(entry: Entry, time_ms: int, round_: str) -> str:
    key, value, metadata = entry
    if round_ == "0.6":
        payload = json.dumps({"value": value, "metadata": metadata})
        return f":::MLL {time_ms / 1000:.3f} {key}: {payload}\n"
    record = {
        "namespace": "",
        "time_ms": time_ms,
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": metadata,
    }
    return f":::MLLOG {json.dumps(record)}\n"


_PHASES = set(
    "cache_clear init_start init_stop run_start run_stop staging_start staging_stop block_start "  # noqa: SIM905
    "block_stop epoch_start epoch_stop eval_start eval_stop eval_accuracy eval_error eval_result "
    "averaged_validation_loss aggregated_eval_accuracy save_model weights_initialization".split()
)
_LAST = [
    "opt_learning_rate_decay_steps",
    "num_generations_per_prompt",
    "opt_sparse_base_learning_rate",
]


def _entries(usage: str, round_: str, division: str, benchmark: str, tail: str) -> Iterator[Entry]:
    values, tensors = _values(usage, round_, division, benchmark, tail)
    batch, counts = (
        values["global_batch_size"],
        _evaluations(benchmark, values["global_batch_size"]),
    )
    yield from ((key, value, {}) for key, value in values.items() if key.startswith("submission_"))
    yield "cache_clear", True, {}
    yield "init_start", None, {}
    settings = [
        key for key in sorted(values) if key not in _PHASES and not key.startswith("submission_")
    ]
    yield "global_batch_size", batch, {}
    for key in sorted(settings, key=_LAST.__contains__):
        if key != "global_batch_size":
            yield key, values[key], {"method": "truncate"} if key == "max_sequence_length" else {}
    yield from (("weights_initialization", None, {"tensor": tensor}) for tensor in tensors)
    yield "init_stop", None, {}
    yield "run_start", None, {}
    if usage == "hpc":
        yield "staging_start", None, {}
        yield "staging_stop", None, {}
    old_minigo = (round_, benchmark) == ("0.6", "minigo")
    for number, count in enumerate(counts, 1):
        at = {
            "epoch_num": number,
            "epoch_count": 1,
            "first_epoch_num": number,
            "samples_count": count,
            "step_num": count,
        }
        yield "block_start", None, at
        yield "epoch_start", None, at
        if old_minigo:
            yield "save_model", {"iteration": number}, at
        yield "epoch_stop", None, at
        yield "eval_start", None, at
        if "aggregated_eval_accuracy" in values:
            yield "eval_accuracy", 80.0, {**at, "metric": "FID"}
            yield "eval_accuracy", 0.2, {**at, "metric": "CLIP"}
        else:
            for key in ("eval_accuracy", "eval_error", "averaged_validation_loss"):
                if key in values:
                    yield key, values[key], at
        yield "eval_stop", None, at
        yield "block_stop", None, at
    if old_minigo:
        yield "eval_result", None, {"iteration": 1, "timestamp": 0.5}
    yield (
        "run_stop",
        None,
        {
            "status": "success",
            "epoch_num": len(counts),
            "samples_count": counts[-1],
            "step_num": counts[-1],
        },
    )


def _values(
    usage: str, round_: str, division: str, benchmark: str, tail: str
) -> tuple[dict[str, Any], list[str]]:
    """Find a value for each key in the scopes, and the tensors that the scopes require."""
    first, _, second = tail.partition("+")
    ends = [{"LAMB": "lamb", "Adam": ""}.get(first, first), second]
    scopes = (
        ["common", f"{division}_common", f"{division}_{benchmark}"]
        if round_ != "0.6"
        else ["common", benchmark]
    )
    scopes += [f"{division}_{benchmark}_{end}" for end in ends if end]
    rules: dict[str, dict[str, Any]] = {}
    tensors: list[str] = []
    for scope in scopes:
        for rule in _rules()[usage][round_].get(scope, []):
            if "key" in rule:
                rules[rule["key"]] = rule
            end = rule.get("end", [])
            for check in end if isinstance(end, list) else [end]:
                tensors = check.get("initialized_tensors_exactly", tensors)
    values = {key: _value(rule) for key, rule in rules.items()}
    batch = _BATCHES.get(benchmark, 32)
    values |= {
        "submission_division": division,
        "submission_benchmark": benchmark,
        "global_batch_size": batch,
    }
    values |= {key: value for key, value in _computed(benchmark, batch).items() if key in values}
    if first:
        values["opt_name"] = first
    if second:
        values["scheduler_type"] = second
    if round_ == "0.6" and benchmark == "minigo":
        values |= {
            "opt_base_learning_rate": [0.1],
            "opt_learning_rate_decay_boundary_steps": [1],
            "virtual_losses": 1,
        }
    if round_ == "0.6" and benchmark == "resnet":
        mine = "opt_learning_rate_decay_boundary_epochs" if first == "sgd" else "lars_"
        optimizer = ("opt_learning_rate_decay_boundary_epochs", "lars_")
        values = {
            k: v for k, v in values.items() if not k.startswith(optimizer) or k.startswith(mine)
        }
    return values, tensors


_WORDS: list[tuple[str, Any]] = [
    ("multiple of 0.02", 0.04),
    ("multiple of 1000", 1000),
    ("multiple of 0.001", 0.002),
    ("power of two", 0.0002),
    ("second boundary", [40, 55]),
    ("truthy", True),
    ("boolean", True),
    ("0.712", 0.72),
]


def _value(rule: dict[str, Any]) -> Any:
    """Find a value that satisfies one rule, if the rule alone determines it."""
    parts = [*rule.get("each", []), *rule.get("at_least_one", [])]
    checks = [
        check for part in parts for check in (part["any_of"][0] if "any_of" in part else [part])
    ]
    members = sorted(
        {check["field"][6:] for check in checks if check.get("field", "").startswith("value.")}
    )
    if members:
        return {
            m: _value(
                {
                    "each": [
                        {**c, "field": "value"} for c in checks if c.get("field") == f"value.{m}"
                    ]
                }
            )
            for m in members
        }
    if any(check.get("field") == "len(value)" for check in checks):
        return [0.9, 0.999]
    bounds: dict[str, Any] = {}
    for check in checks:
        if check.get("field") == "value":
            bounds |= {name: bound for name, bound in check.items() if name != "field"}
    if "eq" in bounds or "close_to" in bounds:
        return bounds.get("eq", bounds.get("close_to"))
    if "in" in bounds:
        return bounds["in"][0]
    if "ne" in bounds:
        return "some"
    if bounds.keys() & {"ge", "gt", "le", "lt"}:
        return _between(bounds)
    words = " ".join(check.get("words", "") for check in checks)
    return next((value for text, value in _WORDS if text in words), 1)


def _between(bounds: dict[str, Any]) -> Any:
    low: Any = bounds.get("ge", bounds.get("gt"))
    high: Any = bounds.get("le", bounds.get("lt"))
    if low is not None and high is not None:
        return low if "ge" in bounds else high if "le" in bounds else (low + high) / 2
    if low is not None:
        return low if low and "ge" in bounds else low + 1
    return high if "le" in bounds else high / 2


_BATCHES = {
    "dlrmv4": 8192,
    "qwen35_397b_grpo": 256,
    "deepseekv3_671b": 15360,
    "flux1": 1024,
    "llama31_405b": 1152,
}


def _computed(benchmark: str, batch: int) -> dict[str, Any]:
    """Compute the values that depend on the batch size or on one another."""
    if benchmark == "dlrmv4":
        rate = 1e-6 * batch / 8192
        return {
            "train_samples": 2290835423,
            "opt_base_learning_rate": rate,
            "opt_sparse_base_learning_rate": rate,
            "eval_accuracy": 0.76,
        }
    if benchmark == "qwen35_397b_grpo":
        rates = {
            "opt_base_learning_rate": 1e-6 * (batch / 256) ** 0.5,
            "opt_gradient_clip_norm": 0.125 * (256 / batch) ** 0.5,
        }
        return {
            **rates,
            "num_prompts_per_step": batch // 16,
            "num_generations_per_prompt": 16,
            "eval_accuracy": 0.75,
        }
    if benchmark == "deepseekv3_671b":
        steps = {"opt_learning_rate_warmup_steps": 4, "opt_learning_rate_decay_steps": 12000 - 4}
        return {"opt_base_learning_rate": 2.4e-5 * (batch / 16384) ** 0.5, **steps}
    if benchmark == "flux1":
        return {"evaluation_frequency": math.ceil(262144 / batch) * batch}
    if benchmark == "llama31_405b":
        warmup = math.ceil(8000 * 1152 / batch)
        steps = {
            "opt_learning_rate_warmup_steps": warmup,
            "opt_learning_rate_decay_steps": math.ceil(1200000 * 1152 / batch) - warmup,
        }
        return {"opt_base_learning_rate": batch * 8e-5 / 1152, **steps}
    if benchmark in ("llama31_8b", "gpt_oss_20b"):
        return {
            "opt_learning_rate_warmup_steps": 128,
            "opt_learning_rate_decay_steps": 1200000 - 128,
        }
    return {}


def _evaluations(benchmark: str, batch: int) -> list[int]:
    """Compute the sample counts of the evaluations."""
    if benchmark == "dlrmv4":
        interval = max(1, math.ceil(0.001 * 2290835423 / batch)) * batch
        first = math.ceil(math.floor((4480 * batch + 135331840) / 3) / interval) * interval
        return [first, first + interval]
    if benchmark == "qwen35_397b_grpo":
        first = batch * math.ceil(2.5 + 3840 / batch)
        return [first, first + batch]
    if benchmark == "deepseekv3_671b":
        first = batch * math.floor(42 + 24576 / batch)
        return [first, first + batch]
    return [1000, 2000]


# Comparison


def recipes(count: int, seed: int, only_round: str | None) -> Iterator[Recipe]:
    """Choose cases: rounds and kinds of logs evenly, damage with more effect more often."""
    rng = random.Random(seed)
    groups = {
        key: kinds for key, kinds in sorted(sources().items()) if only_round in (None, key[1])
    }
    if not groups:
        raise SystemExit(f"no logs of round {only_round}")
    for number in range(count):
        kinds = groups[rng.choice(list(groups))]
        source = rng.choice(rng.choice([names for names in kinds if names]))
        yield Recipe(source, pick_kind(rng), seed * 1_000_000 + number)


def damaged(recipe: Recipe) -> tuple[str, bytes]:
    """Create the log of a case, always the same; use another kind if nothing can be damaged."""
    data, kind = content(recipe.source), recipe.kind
    rng = random.Random(f"{recipe.source}|{recipe.kind}|{recipe.seed}")
    while (result := damage(data, kind, rng)) is None:
        kind = rng.choice(KINDS)
    return kind, result


def setting(source: str) -> tuple[str, str]:
    """Return the usage and round of a source."""
    if source.startswith("made/"):
        _, usage, round_, *_ = source.split("/")
        return usage, round_
    return usage_and_round(Path(source))


def compare(task: tuple[Recipe, Known | None]) -> Case:
    """Create a case and get both verdicts; the official verdict comes from the cache if known."""
    recipe, known = task
    usage, round_ = setting(recipe.source)
    _, data = damaged(recipe)
    mark = _mark(data)
    cached = known is not None and known.mark == mark
    if known is not None and cached:
        oracle = known.verdict
    else:
        with tempfile.NamedTemporaryFile(suffix=".txt") as file:
            file.write(data)
            file.flush()
            oracle = judge(Path(file.name), usage, round_)
    podium, fault = None, None
    try:
        podium = podium_verdict(data, recipe.source, usage, round_)
    except Exception as error:  # podium must not raise for any bytes
        fault = f"{type(error).__name__}: {error}"
    return Case(recipe, usage, round_, mark, cached, oracle, podium, fault)


def load(path: Path | None) -> dict[Recipe, Known]:
    """Read the verdicts of earlier runs."""
    known: dict[Recipe, Known] = {}
    if path is None or not path.exists():
        return known
    for text in path.read_text().splitlines():
        row = json.loads(text)
        keys, other = frozenset(row["keys"]), tuple(row["other"])
        verdict = OracleVerdict(row["ok"], keys, other, row["crash"])
        known[Recipe(row["source"], row["kind"], row["seed"])] = Known(row["mark"], verdict)
    return known


def row(case: Case) -> str:
    """Return a cache line: the recipe, a hash of its bytes, and the official verdict."""
    oracle = case.oracle
    keys, other = sorted(oracle.keys), list(oracle.other)
    verdict = {"ok": oracle.ok, "keys": keys, "other": other, "crash": oracle.crash}
    return json.dumps({**case.recipe._asdict(), "mark": case.mark, **verdict}) + "\n"


def _mark(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def show(case: Case, folder: Path) -> str:
    """Describe one difference in a few lines, and write its log to the folder."""
    kind, data = damaged(case.recipe)
    path = folder / f"{case.usage}_{case.round}_{case.recipe.seed}.txt"
    path.write_bytes(data)
    oracle = case.oracle
    lines = [f"{kind}  {case.recipe.source}  {path}"]
    lines.append(f"incumbent {_word(oracle.ok)} {oracle.crash or ''}")
    if case.podium is None:
        lines.append(f"podium raised {case.fault}")
    else:
        ok, keys = case.podium
        lines[-1] += f", podium {_word(ok)}"
        if oracle.ok is not None:
            lines.append(f"only incumbent {sorted(oracle.keys - keys)}")
            lines.append(f"only podium {sorted(keys - oracle.keys)}")
    if oracle.other:
        lines.append(f"other {[text[:60] for text in oracle.other]}")
    return "\n    ".join(lines)


def _word(ok: bool | None) -> str:
    return "crash" if ok is None else "pass" if ok else "fail"


def main() -> int:
    """Run the comparison; exit with 1 if anything differs."""
    parser = argparse.ArgumentParser(
        description="compare podium with the incumbent on damaged logs"
    )
    parser.add_argument("--count", type=int, default=25_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only-round", help="such as 3.1")
    parser.add_argument("--cache", type=Path, help="verdicts of the incumbent: read, added to")
    parser.add_argument(
        "--keep",
        type=Path,
        help="folder for logs that differ",
    )
    parser.add_argument(
        "--limit", type=int, default=100, help="differences shown in full (default 100)"
    )
    arguments = parser.parse_args()
    known = load(arguments.cache)
    chosen = recipes(arguments.count, arguments.seed, arguments.only_round)
    keep = arguments.keep or Path(tempfile.mkdtemp(prefix="parity-"))
    keep.mkdir(parents=True, exist_ok=True)
    tasks = ((recipe, known.get(recipe)) for recipe in chosen)
    counts: Counter[str] = Counter()
    began = time.monotonic()
    for case in _compared(tasks, arguments.jobs):
        counts["cases"] += 1
        counts[_word(case.oracle.ok)] += 1
        counts["asked podium"] += case.podium is not None or case.fault is not None
        if not case.cached:
            counts["asked the incumbent"] += 1
            if arguments.cache:
                with arguments.cache.open("a") as file:
                    file.write(row(case))
        if case.differs:
            counts["different"] += 1
            counts["different verdict"] += case.wrong_verdict
            if counts["different"] <= arguments.limit:
                print(show(case, keep), flush=True)
    seconds = time.monotonic() - began
    print(", ".join(f"{name} {number}" for name, number in counts.items()), f"in {seconds:.0f} s")
    if asked := counts["asked podium"]:
        same = asked - counts["different"]
        print(f"same verdict and keys: {same} of {asked} ({100 * same / asked:.3f} %)")
    if not any(keep.iterdir()):
        shutil.rmtree(keep)
    return 1 if counts["different"] else 0


def _compared(tasks: Iterator[tuple[Recipe, Known | None]], jobs: int) -> Iterator[Case]:
    if jobs == 1:
        yield from map(compare, tasks)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap(compare, tasks, chunksize=20)


if __name__ == "__main__":
    raise SystemExit(main())
