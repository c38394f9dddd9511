"""The runs that `podium pack` chooses: no copies, one experiment, and the median window."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.compliance.judging.logs.facts import Facts
from podium.compliance.judging.logs.seeds import SeededRun
from podium.compliance.judging.results.score import median_window, score_result
from podium.compliance.tools.packing.planning.choice import Candidate, Chooser
from podium.compliance.tools.packing.planning.config import ResultConfig
from podium.compliance.tools.packing.planning.sources import Source
from podium.rules.catalogue import find_round
from podium.rules.convergence.facts import RunFacts
from podium.rules.finding import Profile
from tests.builders import LogBuilder
from tests.compliance.packs import RESULT, Loose
from tests.compliance.trees import HOUR_MS, throughput


@pytest.fixture
def loose(tmp_path: Path) -> Loose:
    made = Loose(tmp_path)
    for path in (made.work / "runs").rglob("*.log"):
        path.unlink()
    return made


def plan(loose: Loose, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    loose.pack("--dry-run", "--format", "json", *options)
    reported: dict[str, Any] = json.loads(capsys.readouterr().out)
    return reported


def taken(reported: dict[str, Any]) -> list[str]:
    """Return the sources of the result's logs, in order of their numbers."""
    logs = {f["path"]: f["source"] for f in reported["files"] if f["path"].startswith(RESULT)}
    return [logs[f"{RESULT}/result_{number}.txt"] for number in range(len(logs))]


def why(reported: dict[str, Any]) -> dict[str, str]:
    return {each["source"]: each["why"] for each in reported["left_out"]}


def slower(log: LogBuilder, minutes: int) -> LogBuilder:
    """Return the same run with its end `minutes` minutes later."""
    lines = []
    for line in log.lines:
        record = line.record
        if record is not None and record.key == "run_stop":
            later = int(record.time_ms) + minutes * 60_000
            line = replace(line, record=msgspec.structs.replace(record, time_ms=later))
        lines.append(line)
    return replace(log, lines=tuple(lines))


def write(loose: Loose, path: str, log: LogBuilder) -> None:
    where = loose.work / path
    where.parent.mkdir(parents=True, exist_ok=True)
    log.write(where)


# --- the median window ---


def test_runs_are_numbered_by_launch_time_and_not_by_name(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, name in enumerate(("zebra", "10", "2")):
        loose.add_run(number, f"runs/{name}.log")
    assert taken(plan(loose, capsys)) == ["runs/zebra.log", "runs/10.log", "runs/2.log"]


def test_the_median_window_is_chosen_from_surplus_runs(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    # The median runs of the windows of three take 1, 5, 5 and 3 minutes. Of the two middle scores,
    # 3 and 5, the slower one counts. Of the two windows with 5, the first one is chosen.
    for number, minutes in enumerate((1, 1, 9, 5, 3, 2)):
        write(loose, f"runs/{number}.log", slower(loose.run_log(number), minutes))
    reported = plan(loose, capsys)
    middles = [sorted((1, 1, 9, 5, 3, 2)[i : i + 3])[1] for i in range(4)]
    assert middles == [1, 5, 5, 3]
    assert taken(reported) == ["runs/1.log", "runs/2.log", "runs/3.log"]
    outside = {"runs/0.log", "runs/4.log", "runs/5.log"}
    assert {s for s, said in why(reported).items() if "outside the median of 4" in said} == outside
    (said,) = [each["message"] for each in reported["remarks"] if each["path"] == RESULT]
    assert said.startswith("3 of 6 runs: the window with the median score, from run 2, among 4")


def test_a_run_that_did_not_converge_stays_in_its_window(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    failed = loose.run_log(1).meta("run_stop", status="aborted")
    write(loose, "runs/1.log", failed)
    reported = plan(loose, capsys)
    assert taken(reported) == ["runs/0.log", "runs/1.log", "runs/2.log"]
    notes = {each["source"]: each["why"] for each in reported["files"]}
    assert notes["runs/1.log"]
    assert notes["runs/0.log"] == ""


def test_all_runs_are_packed_if_the_submitter_requests_them(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        loose.add_run(number, f"runs/{number}.log")
    assert len(taken(plan(loose, capsys))) == 3
    loose.result(runs="all")
    assert len(taken(plan(loose, capsys))) == 5


def test_without_a_window_rule_the_submitter_chooses_the_runs() -> None:
    chosen = Chooser(find_round("training", "1.0")).choose(
        ResultConfig(system="s", benchmark="resnet", logs=["x"]),
        [candidate(number, benchmark="resnet") for number in range(6)],
        {},
    )
    assert "no rule for choosing runs" in chosen.problem
    assert len(chosen.taken) == 6


def test_missing_runs_are_reported(loose: Loose, capsys: pytest.CaptureFixture[str]) -> None:
    loose.add_run(0)
    reported = plan(loose, capsys)
    assert {"path": RESULT, "message": "1 runs; 3 are needed"} in reported["missing"]


# --- refused logs ---


def test_copies_are_refused_even_if_their_bytes_differ(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    data = (loose.work / "runs/1.log").read_bytes()
    loose.put("runs/same.log", data)
    loose.put("runs/touched.log", b"a line of another program\n" + data)
    reported = plan(loose, capsys)
    assert taken(reported) == ["runs/0.log", "runs/1.log", "runs/2.log"]
    assert why(reported)["runs/same.log"].startswith("a copy: identical to runs/1.log")
    assert why(reported)["runs/touched.log"].startswith("a copy: ")
    assert all(each["refused"] for each in reported["left_out"])


def test_a_log_under_two_names_is_used_once(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    (loose.work / "runs/link.log").symlink_to("1.log")
    assert len(taken(plan(loose, capsys))) == 3


def test_runs_with_other_hyperparameters_are_refused_with_the_difference(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    write(loose, "runs/odd.log", loose.run_log(3).set("global_batch_size", 16))
    reported = plan(loose, capsys)
    assert len(taken(reported)) == 3
    assert "global_batch_size is 16, not 1152" in why(reported)["runs/odd.log"]


def test_no_tree_is_written_if_no_settings_have_the_most_runs(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        log = loose.run_log(number)
        write(loose, f"runs/{number}.log", log.set("global_batch_size", 16) if number < 2 else log)
    assert loose.pack() == 1
    assert not loose.packed.exists()
    out = " ".join(capsys.readouterr().out.split())
    assert "no set has the most runs" in out
    assert "global_batch_size" in out


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("submission_benchmark", "flux1", "its submission_benchmark is flux1"),
        ("submission_division", "open", "its submission_division is open, not closed"),
    ],
)
def test_logs_of_another_benchmark_or_division_are_refused(
    loose: Loose, capsys: pytest.CaptureFixture[str], key: str, value: str, said: str
) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    write(loose, "runs/other.log", loose.run_log(3).set(key, value))
    reported = plan(loose, capsys)
    assert len(taken(reported)) == 3
    assert said in why(reported)["runs/other.log"]


def test_a_file_that_is_not_a_run_log_is_refused(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    loose.put("runs/notes.log", "nothing of a log\n")
    loose.put("runs/empty.log", "")
    loose.put("runs/old.log", b"\x1f\x8b\x08\x00compressed")
    write(loose, "runs/begun.log", loose.run_log(3).drop("run_start"))
    reported = plan(loose, capsys)
    assert len(taken(reported)) == 3
    said = why(reported)
    assert said["runs/notes.log"].startswith("it is not the log of a run")
    assert said["runs/empty.log"].startswith("it is not the log of a run")
    assert said["runs/old.log"].startswith("it is compressed (gzip)")
    assert said["runs/begun.log"].startswith("it has no run_start")


def test_a_log_cannot_belong_to_two_results(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    loose.fields["results"].append(loose.fields["results"][0] | {"system": "ex_n16"})
    loose.configure()
    assert loose.pack() == 1
    assert "each run counts once" in " ".join(capsys.readouterr().out.split())
    assert not loose.packed.exists()


def test_the_packed_tree_is_not_used_as_a_source(loose: Loose) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.txt")
    loose.result(logs=["**/*.txt"])
    assert loose.pack() == 0
    loose.add_run(3, "runs/3.txt")
    assert loose.pack("--replace", RESULT) == 0


def test_excluded_logs_are_left_out(loose: Loose, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    loose.add_run(4, "runs/warmup/4.log")
    loose.result(exclude=["runs/warmup"])
    reported = plan(loose, capsys)
    assert why(reported) == {"runs/warmup/4.log": "excluded"}


def test_a_glob_without_matches_is_reported(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    loose.result(logs=["nowhere/*.log"])
    said = [each["message"] for each in plan(loose, capsys)["absent"]]
    assert "no log matches nowhere/*.log" in said


def test_circular_links_are_not_followed(loose: Loose, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    for name in ("a", "b", "c"):  # following these links would give 3 to the power of 40 paths
        (loose.work / "runs" / name).symlink_to(".")
    assert len(taken(plan(loose, capsys))) == 3


@pytest.mark.parametrize("pattern", ["runs/**", "**", "runs/*.log", "./runs/[0-9].log"])
def test_globs_match_files_but_not_hidden_files(
    loose: Loose, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    loose.add_run(4, "runs/.hidden.log")
    loose.result(logs=[pattern])
    reported = plan(loose, capsys)
    assert len(taken(reported)) == 3
    assert "runs/.hidden.log" not in why(reported)
    loose.result(logs=["runs/.*.log"])
    assert taken(plan(loose, capsys)) == ["runs/.hidden.log"]


@pytest.mark.parametrize("pattern", ["runs/***", "/", "runs/**x"])
def test_an_invalid_glob_is_reported_in_one_line(
    loose: Loose, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    loose.result(logs=[pattern])
    status = loose.pack("--dry-run")
    reported = capsys.readouterr()
    assert status in (1, 2)
    assert "Traceback" not in reported.err
    assert reported.err.count("\n") <= 1


# --- logs with explicit names ---


def test_named_logs_have_the_given_names(loose: Loose, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    names = {f"result_{2 - number}.txt": f"runs/{number}.log" for number in range(3)}
    loose.result(logs=[], names=names)
    assert taken(plan(loose, capsys)) == ["runs/2.log", "runs/1.log", "runs/0.log"]


def test_a_named_log_must_have_a_valid_log_name(loose: Loose) -> None:
    loose.add_run(0, "runs/0.log")
    loose.result(logs=[], names={"run_0.log": "runs/0.log"})
    assert loose.pack("--force") == 1
    assert not loose.packed.exists()


def test_a_duplicate_log_name_is_refused(loose: Loose) -> None:
    for number in range(3):
        loose.add_run(number, f"runs/{number}.log")
    loose.add_run(8, "extra.log")
    loose.result(names={"result_0.txt": "extra.log"})
    assert loose.pack() == 1
    assert not loose.packed.exists()


# --- power logs ---


def test_power_logs_are_packed_with_their_runs(
    loose: Loose, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, name in enumerate(("c", "a", "b")):
        loose.add_run(number, f"runs/{name}.log")
        if name != "b":
            loose.put(f"power/{name}/node_0.txt", name)
    loose.result(power="power")
    reported = plan(loose, capsys)
    power = {f["path"]: f["source"] for f in reported["files"] if "/power/" in f["path"]}
    assert power == {
        f"{RESULT}/power/result_0/node_0.txt": "power/c/node_0.txt",
        f"{RESULT}/power/result_1/node_0.txt": "power/a/node_0.txt",
    }
    assert f"{RESULT}/power/result_2" in {each["path"] for each in reported["missing"]}


# --- throughput ---


def test_instances_that_did_not_converge_are_pruned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = throughput(tmp_path / "original")
    weak = tree.root / "results/wide/weak/deepcam"
    loose = Loose(tmp_path / "other")
    for log in weak.iterdir():
        loose.put(f"weak/{log.name}", log.read_bytes())
    data = (weak / "result_1.txt").read_text().replace('"success"', '"aborted"')
    loose.put("weak/result_1.txt", data)
    result = {"system": "wide", "benchmark": "deepcam", "scaling": "weak", "logs": ["weak/*"]}
    loose.configure(usage="hpc", round="3.0", division="open", results=[result])
    reported = plan(loose, capsys)
    places = {f["source"]: f["path"] for f in reported["files"]}
    base = "results/wide/weak/deepcam"
    assert places["weak/result_1.txt"] == f"{base}/pruned_results/result_0.txt"
    assert sum(place.startswith(f"{base}/result_") for place in places.values()) == 4


# --- properties ---


def candidate(
    number: int, minutes: float = 10.0, *, converged: bool = True, benchmark: str = "llama31_405b"
) -> Candidate:
    start = 1_700_000_000_000.0 + number * HOUR_MS
    run = RunFacts(
        name=f"{number}.log",
        benchmark=benchmark,
        converged=converged,
        minutes=minutes,
        to_converge=1.0 if converged else None,
        start_ms=start,
        stop_ms=start + minutes * 60_000,
    )
    source = Source(f"/nowhere/{number}.log", f"{number}.log", number, (number,))
    return Candidate(source, Facts(run, SeededRun(f"{number}.log", ())))


runs = st.lists(
    st.tuples(st.floats(1, 100, allow_nan=False), st.booleans()), min_size=3, max_size=12
)


def chosen(every: Sequence[Candidate]) -> list[Candidate]:
    result = ResultConfig(system="s", benchmark="llama31_405b", logs=["x"])
    return Chooser(find_round("training", "5.1")).choose(result, every, {}).taken


@given(runs, st.randoms())
def test_the_choice_does_not_depend_on_the_order_of_files(
    made: list[tuple[float, bool]], random: Any
) -> None:
    every = [candidate(i, minutes, converged=ok) for i, (minutes, ok) in enumerate(made)]
    first = chosen(every)
    random.shuffle(every)
    assert chosen(every) == first


@given(runs)
def test_the_chosen_runs_are_consecutive_and_score_like_all_runs(
    made: list[tuple[float, bool]],
) -> None:
    every = [candidate(i, minutes, converged=ok) for i, (minutes, ok) in enumerate(made)]
    window = chosen(every)
    at = every.index(window[0])
    assert window == every[at : at + 3]
    facts = [one.facts.run for one in every if one.facts]
    inside = [one.facts.run for one in window if one.facts]
    assert inside == median_window(facts, 3, 1)[0] or len(every) == 3
    named = ("training", "5.1", "llama31_405b")
    whole = score_result(*named, facts, Profile.POLICY)
    assert score_result(*named, inside, Profile.POLICY).minutes == whole.minutes
