"""No input makes podium itself fail: a value beyond a limit is a finding or a usage error."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.reporting.conclusion import conclude
from podium.compliance.reporting.data import Rules
from podium.compliance.reporting.render import renderer
from podium.logging_spec.limits import (
    DEEPEST,
    MOST_DIGITS,
    BeyondLimitError,
    read_json,
    read_toml,
    shallow,
    too_deep,
    too_long,
)
from podium.logging_spec.reader.read import parse_log
from podium.rules import rounds
from podium.rules.finding import Profile, Severity
from tests.builders import LogBuilder, build
from tests.compliance.command_line import Done, podium
from tests.hostile import Grammar
from tests.hostile_calls import SIDE_FILES, Calls, faults
from tests.thorough import usually

LIMIT_S = 600
pytestmark = pytest.mark.usefixtures("never_hangs")

ROUNDS = [rounds[key] for key in rounds]


# --- the limits themselves ---


def lists(depth: int) -> str:
    return "[" * depth + "]" * depth


def objects(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize("nested", [lists, objects])
@pytest.mark.parametrize("read", [read_json, lambda text: read_toml(f"x = {text}")])
def test_a_value_may_be_nested_up_to_the_limit(
    nested: Callable[[int], str], read: Callable[[str], object]
) -> None:
    # The table of a TOML file counts as a level
    room = 0 if read is read_json else 1
    toml = (lambda text: text.replace(":", "=")) if room else str
    assert read(toml(nested(DEEPEST - room)))
    with pytest.raises(BeyondLimitError, match=f"more than {DEEPEST} deep"):
        read(toml(nested(DEEPEST + 1)))


def test_brackets_in_quotes_are_not_levels() -> None:
    text = json.dumps({"a" + "[{" * 500: '"\\' + "[" * 5000})
    assert not too_deep(text)
    assert not too_deep(text.encode())
    assert read_json(text)
    assert read_toml(f'x = \'{"[" * 500}\'\ny = """{"{" * 500}"""  # {"[" * 500}\n')


def test_adjacent_brackets_are_not_levels() -> None:
    assert read_json(f"[{'[],' * 5000}[]]")
    assert read_toml(f"x = [{'[],' * 5000}[]]")


def calls_during(work: Callable[[], object]) -> int:
    """Count the Python functions entered and the generators resumed by some work."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("piece", ["[]", '{"a": "}"}', '{"a\\\\": "\\"[["}'])
def test_the_depth_check_makes_no_python_call_per_bracket(piece: str) -> None:
    short, long = f"[{','.join([piece] * 1000)}]", f"[{','.join([piece] * 4000)}]"
    for text in (str, str.encode):
        assert not too_deep(text(long))
        assert calls_during(lambda: too_deep(text(long))) == calls_during(  # noqa: B023
            lambda: too_deep(text(short))  # noqa: B023
        )


def test_records_on_one_line_need_few_calls_per_record() -> None:
    record = b':::MLLOG {"time_ms": 1, "key": "seed", "value": [1], "metadata": {"file": "a"}} '
    log = parse_log(record * 1000)
    assert (len(log.records), len(log.lenient)) == (1, 999)
    assert calls_during(lambda: parse_log(record * 1000)) < 10 * 1000


@pytest.mark.parametrize("read", [read_json, lambda text: read_toml(f"x = {text}")])
def test_an_integer_may_have_digits_up_to_the_limit(read: Callable[[str], object]) -> None:
    assert read("9" * MOST_DIGITS)
    for text in ("9" * (MOST_DIGITS + 1), f"-{'9' * (MOST_DIGITS + 1)}"):
        with pytest.raises(BeyondLimitError, match=f"more than {MOST_DIGITS} digits"):
            read(text)


@pytest.mark.parametrize("text", [f"0.{'9' * 5000}", f"{'9' * 5000}.5", f'["{"9" * 5000}"]'])
def test_a_long_fraction_or_string_is_not_a_long_integer(text: str) -> None:
    """Python, and therefore the official verifier, reads such values."""
    assert not too_long(text)
    assert read_json(text) == json.loads(text)


def test_dotted_keys_count_as_levels() -> None:
    assert read_toml(f"{'.'.join('a' * 64)} = 1")
    with pytest.raises(BeyondLimitError, match="more than 64 parts"):
        read_toml(f"{'.'.join('a' * 500_000)} = 1")
    with pytest.raises(BeyondLimitError, match="more than 64 parts"):
        read_toml(f"[{' . '.join('a' * 65)}]")
    path = ".".join("a" * 60)
    with pytest.raises(BeyondLimitError, match="deep"):
        read_toml(f"[{path}]\n{path} = {{ {path} = 1 }}\n")


def test_a_truncated_value_keeps_its_strings() -> None:
    value: object = ["eval_accuracy", {"train_samples": 1}]
    for _ in range(2000):
        value = [value]
    text = json.dumps(shallow(value))
    assert not too_deep(text)
    assert "eval_accuracy" in text
    assert "train_samples" in text


# --- limits in files and arguments ---


@pytest.mark.parametrize("depth", [DEEPEST + 1, 900, 5_000])
@pytest.mark.parametrize("key", ["global_batch_size", "seed", "unknown"])
def test_a_deep_value_in_a_log_is_a_finding(
    depth: int, key: str, good: LogBuilder, tmp_path: Path
) -> None:
    value = lists(depth)
    line = f':::MLLOG {{"time_ms": 1, "key": "{key}", "value": {value}, "metadata": {{}}}}'
    good.noise(3, line.encode()).write(tmp_path / "result_0.txt")
    done = podium("check", tmp_path / "result_0.txt", "--round", "5.1", "--format", "json")
    assert done.exit_code in (0, 1)
    findings = json.loads(done.stdout)["findings"]
    rule = "log.too-deep" if can_be_read(value) else "log.not-json"
    found = next(each for each in findings if each["id"] == rule)
    assert "nested more than 128 deep" in found["message"]
    assert not [each for each in findings if each["id"].startswith("internal.")]


def can_be_read(text: str) -> bool:
    """Whether Python's parser reads this depth, which depends on its version."""
    try:
        json.loads(text)
    except RecursionError:
        return False
    return True


def test_a_deep_value_does_not_change_the_verdict_of_the_verifier() -> None:
    """The verifier uses Python's parser, which reads this depth."""
    good = build("training", "5.1", "closed", "llama31_8b")
    line = f':::MLLOG {{"time_ms": 1, "key": "x", "value": {lists(900)}, "metadata": {{}}}}'
    verdict = judge_log(
        parse_log(good.noise(3, line.encode()).bytes()),
        rounds["training", "5.1"],
        Profile.VERIFIER,
        "result_0.txt",
    )
    assert [(f.id, f.severity) for f in verdict.findings] == [("log.too-deep", Severity.NOTE)]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    return Calls(tmp_path_factory.mktemp("hostile"))


USAGE_ERRORS = [
    (name, text, limit)
    for name in SIDE_FILES
    for text, limit in ((lists(5_000), "128 deep"), ("9" * 5_000, "4300 digits"))
    if name.endswith((".toml", ".json")) and name not in ("receipt.json", "probe.json", "s.json")
]


@pytest.mark.parametrize(("name", "value", "limit"), USAGE_ERRORS)
def test_a_side_file_beyond_a_limit_is_a_usage_error_with_the_limit(
    name: str, value: str, limit: str, calls: Calls
) -> None:
    text = f"x = {value}\n" if name.endswith(".toml") else f'{{"x": {value}}}'
    done = calls.read(name, text.encode())
    assert done.exit_code == 2, done.output
    assert limit in done.output


def test_a_value_on_the_command_line_has_the_same_limits() -> None:
    words = ("rules", "hparams", "bert", "--round", "5.1")
    done = podium(*words, "--set", f"seed={lists(5000)}")
    assert done.exit_code == 2
    assert "128 deep" in done.stderr


def test_control_characters_of_a_side_file_are_not_printed(calls: Calls) -> None:
    for name in ("\\ud800", "\\u001b[2J", "\\u202e"):
        done = calls.read("points.json", f'{{"{name}": 1}}'.encode())
        assert done.exit_code == 2
        assert done.output.removesuffix("\n").isprintable()


@pytest.mark.parametrize("value", ["[]", "[1]", "{}", "1", "true", "1979-05-27"])
@pytest.mark.parametrize("field", ["usage", "round"])
def test_a_wrong_type_of_usage_or_round_is_a_usage_error(
    field: str, value: str, calls: Calls
) -> None:
    done = calls.read("packed.toml", f'submitter = "Acme"\n{field} = {value}\n'.encode())
    assert done.exit_code == 2
    assert f"packed.toml: {field}: " in " ".join(done.output.split())


@pytest.mark.parametrize("name", ["podium.toml", "packed.toml", "waivers.toml", "receipt.json"])
def test_the_side_files_are_valid_before_they_are_broken(name: str, calls: Calls) -> None:
    """An invalid file would be refused for another reason, and its test would be empty."""
    done = calls.read(name, calls.good[name].encode())
    assert done.exit_code == 0, done.output


# --- random inputs ---


def check_logs(count: int, seed: int) -> None:
    """Judge hostile logs in both profiles, and render the findings as JSON and Markdown."""
    grammar, rng = Grammar(seed), random.Random(seed)
    good = build("training", "5.1", "closed", "llama31_8b").bytes()
    for number in range(count):
        data = grammar.lines()
        if rng.random() < 0.5:
            data = good + data
        rules = rng.choice(ROUNDS)
        for profile in Profile:
            log = parse_log(data, rules.generation)
            verdict = judge_log(log, rules, profile, "result_0.txt", with_facts=True)
            found = [f for f in verdict.findings if f.id.startswith("internal.")]
            assert not found, (seed, number, found)
            report = conclude(
                Rules(usage="training", round="5.1", profile="policy", chosen_by="option"),
                findings=verdict.findings,
            )
            for name in ("json", "markdown"):
                assert renderer(name)(report)


def check_calls(count: int, seed: int, calls: Calls) -> None:
    """Read hostile inputs of every kind."""
    for number in range(count):
        found = faults(calls.call(Grammar(f"{seed}:{number}")))
        assert not found, (seed, number, found)


def test_a_hostile_log_does_not_crash_a_rule() -> None:
    check_logs(1_000, seed=1)


def test_a_hostile_input_does_not_crash_podium(calls: Calls) -> None:
    check_calls(350, seed=1, calls=calls)


@pytest.mark.parametrize(
    ("status", "said", "wrong"),
    [
        (3, "podium: internal error", "exit status 3"),
        (0, "Traceback (most recent call last)", "traceback"),
        (1, "the rule [internal.rule-failed]", "internal.rule-failed"),
        (1, "a name \x1b[2J", "prints '\\x1b'"),
        (1, '{"a": NaN', "Expecting"),
        (1, "<?xml version='1.0'?><a>", "no element found"),
        (2, "podium: what a user can do", ""),
    ],
)
def test_every_kind_of_failure_is_detected(status: int, said: str, wrong: str) -> None:
    found = faults(Done(status, said, ""))
    assert bool(found) == bool(wrong)
    assert wrong in "".join(found)


@pytest.mark.long
@pytest.mark.parametrize("seed", usually([2], [2, 3]))
def test_many_hostile_inputs_do_not_crash_podium(seed: int, calls: Calls) -> None:
    check_logs(5_000, seed)
    check_calls(2_500, seed, calls)
