"""`podium score`: what it prints, writes, explains, compares and refuses."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
from rich.cells import cell_len

from podium.compliance import score
from podium.compliance.cli.scoring.score import Format
from podium.compliance.errors import NothingToJudge
from podium.compliance.files import optional_imports
from podium.compliance.tools.scoring.compare import comparable
from podium.compliance.tools.scoring.render import BINARY, sheets
from podium.compliance.tools.scoring.render.table import Heading, table
from podium.compliance.tools.scoring.report import Scores
from tests.builders import LogBuilder, build
from tests.compliance import command_line
from tests.compliance.command_line import Done
from tests.compliance.trees import HOUR_MS, Submission, as_run, usual

PRINTED = [name.value for name in Format if name not in BINARY]


def podium(*arguments: object, columns: int = 80) -> Done:
    return command_line.podium("score", *arguments, columns=columns)


def scores(*arguments: object) -> dict[str, Any]:
    result = podium(*arguments, "--format", "json")
    assert result.exit_code in (0, 1), result.output
    document: dict[str, Any] = json.loads(result.stdout)
    jsonschema.validate(document, Scores.model_json_schema())
    return document


def ids(document: dict[str, Any], severity: str = "error") -> list[str]:
    return [one["id"] for one in document["findings"] if one["severity"] == severity]


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    """One result of 405B in training 5.1, with runs of 30, 31 and 32 minutes."""
    made = usual(tmp_path / "training_results_v5.1")
    for number in range(3):
        made.log(number, lambda log, n=number: log.lasting(30 + n))  # type: ignore[misc]
    return made


# --- one result ---


def test_scores_have_an_entry_per_result_and_per_run(submission: Submission) -> None:
    document = scores(submission.root)
    assert document["schema"] == "podium.scores/1"
    assert document["rules"]["round"] == "5.1"
    (entry,) = document["results"]
    assert entry["path"] == "results/ex_n8/llama31_405b"
    named = [entry[name] for name in ("submitter", "system", "benchmark", "division", "scaling")]
    assert named == ["Acme", "ex_n8", "llama31_405b", "closed", "strong"]
    assert (entry["runs"], entry["converged"], entry["unit"]) == (3, 3, "samples")
    assert entry["minutes"] == pytest.approx(31)
    assert entry["score"] == pytest.approx(31 * entry["factor"])
    assert [run["role"] for run in entry["run_list"]] == ["fastest", "scored", "slowest"]
    assert [run["scored"] for run in entry["run_list"]] == [False, True, False]
    assert [run["seed"] for run in entry["run_list"]] == [[100], [101], [102]]
    assert all(run["stop_ms"] > run["start_ms"] for run in entry["run_list"])
    assert document["findings"] == []


def test_the_python_function_returns_the_same_scores(submission: Submission) -> None:
    assert json.loads(score(submission.root).to_json()) == scores(submission.root)
    with pytest.raises(NothingToJudge):
        score(submission.root / "nowhere")


def test_a_failed_run_counts_as_the_slowest(submission: Submission) -> None:
    submission.log(0, lambda log: log.lasting(1).meta("run_stop", status="aborted"))
    (entry,) = scores(submission.root)["results"]
    assert entry["converged"] == 2
    assert [run["role"] for run in entry["run_list"]] == ["failed", "fastest", "scored"]
    assert entry["minutes"] == pytest.approx(32)


def test_a_result_with_two_failed_runs_has_no_score(submission: Submission) -> None:
    for number in (0, 1):
        submission.log(number, lambda log: log.meta("run_stop", status="aborted"))
    result = podium(submission.root)
    assert result.exit_code == 1
    document = scores(submission.root)
    assert document["results"][0]["minutes"] is None
    assert ids(document) == ["score.invalid"]
    assert "2 of 3 runs failed" in document["findings"][0]["message"]


def test_too_few_runs_have_a_score_only_in_the_verifier_profile(tmp_path: Path) -> None:
    made = Submission(tmp_path, build("training", "5.1", "closed", "llama31_8b")).system()
    made.result(runs=4)
    document = scores(made.root, "--round", "5.1")
    (entry,) = document["results"]
    assert entry["minutes"] is not None
    assert entry["score"] is None
    hints = [one["hint"] for one in document["findings"] if one["id"] == "score.invalid"]
    assert hints == [
        "add 6 more runs of llama31_8b; `podium score --explain` shows the problem of each run"
    ]
    verified = scores(made.root, "--round", "5.1", "--profile", "verifier")
    assert verified["results"][0]["score"] is not None


def test_extra_runs_are_scored_by_the_median_window(submission: Submission) -> None:
    for number, minutes in ((3, 40), (4, 20)):
        submission.log(number, lambda log, m=minutes: log.lasting(m))  # type: ignore[misc]
    (entry,) = scores(submission.root)["results"]
    assert sum(run["role"] == "outside" for run in entry["run_list"]) == 2
    assert entry["minutes"] == pytest.approx(32)  # windows 31, 32, 32


def test_mixed_batch_sizes_and_absurd_convergence_are_findings(submission: Submission) -> None:
    submission.log(2, lambda log: log.set("global_batch_size", 9216))
    submission.log(1, lambda log: log.meta("eval_accuracy", samples_count=10**12))
    document = scores(submission.root)
    assert {"score.mixed-batch-sizes", "score.absurd-convergence"} <= {*ids(document)}
    assert document["results"][0]["batch_size"] is None


@pytest.mark.parametrize("profile", ["policy", "verifier"])
def test_integers_too_large_for_a_float_are_findings(submission: Submission, profile: str) -> None:
    submission.log(0, lambda log: log.set("global_batch_size", 10**400))
    submission.log(1, lambda log: log.meta("eval_accuracy", samples_count=10**400))
    document = scores(submission.root, "--profile", profile)
    assert "score.mixed-batch-sizes" in ids(document)
    assert document["results"][0]["batch_size"] is None


def test_a_run_that_ends_before_it_starts_is_an_error(submission: Submission) -> None:
    submission.log(1, lambda log: log.lasting(-5))
    assert "score.negative-time" in ids(scores(submission.root))


def test_times_in_seconds_are_an_error(submission: Submission) -> None:
    log = submission.root / submission.folder() / "result_1.txt"
    log.write_text(re.sub(r'("time_ms": ?\d+)\d{3}', r"\1", log.read_text()))
    [found] = [each for each in scores(submission.root)["findings"] if each["severity"] == "error"]
    assert (found["id"], found["path"].rpartition("/")[2]) == ("score.time-unit", "result_1.txt")
    assert "the score would be 1000 times too good" in found["message"]
    assert podium(submission.root).exit_code == 1
    # The finding that explains the other numbers comes first
    assert ids(scores(submission.root))[0] == "score.time-unit"
    explained = podium(submission.root, "--explain", submission.folder()).stdout
    first = " ".join(explained.partition("\n1. ")[0].split())
    assert "error: result_1.txt: time_ms looks like seconds" in first


def test_runs_without_times_have_no_score(submission: Submission) -> None:
    for number in range(3):
        submission.log(number, lambda log: log.drop("run_start"))
    document = scores(submission.root)
    assert document["results"][0]["minutes"] is None
    assert {*ids(document)} & {"score.invalid", "score.no-time"}


def test_files_that_are_not_logs_have_no_score(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "x" / "bert"
    folder.mkdir(parents=True)
    for number, text in enumerate((b"", b"\x00\xff", b":::MLLOG {", b":::MLLOG []\n")):
        (folder / f"result_{number}.txt").write_bytes(text)
    document = scores(tmp_path, "--round", "5.0")
    (entry,) = document["results"]
    assert (entry["benchmark"], entry["system"], entry["minutes"]) == ("bert", "x", None)
    assert ids(document)


def test_a_log_that_violates_rules_counts_in_the_policy_profile(submission: Submission) -> None:
    submission.log(0, lambda log: log.lasting(30).set("submission_org", 3))
    document = scores(submission.root)
    assert document["results"][0]["minutes"] == pytest.approx(31)
    if "score.broken-run-counted" in ids(document, "warning"):
        verified = scores(submission.root, "--profile", "verifier")["results"][0]
        assert verified["minutes"] == pytest.approx(32)


# --- factors ---


def test_the_factor_in_scaling_json_wins(submission: Submission) -> None:
    submission.write(f"{submission.folder()}/scaling.json", '{"scaling_factor": 1.5}')
    document = scores(submission.root)
    (entry,) = document["results"]
    assert (entry["factor"], entry["factor_source"]) == (1.5, "scaling.json")
    assert entry["score"] == pytest.approx(46.5)
    assert (entry["published_factor"], entry["computed_factor"]) == (1.5, 1)
    assert "result.unsupported-scaling" in ids(document, "warning")


@pytest.mark.parametrize("text", ["", "[]", '{"scaling_factor": "x"}', "[" * 100_000])
def test_a_broken_scaling_json_is_ignored(submission: Submission, text: str) -> None:
    submission.write(f"{submission.folder()}/scaling.json", text)
    assert scores(submission.root)["results"][0]["factor_source"] != "scaling.json"


def test_scaling_json_is_written_only_with_write_scaling(corpus: Path, tmp_path: Path) -> None:
    source = corpus / "training_results_v3.1/Fujitsu/results"
    name = "primergy-cdi-A100x8-pytorch-ngc23.09_gbs320"
    folder = tmp_path / "training_results_v3.1/F/results" / name / "ssd"
    folder.mkdir(parents=True)
    for log in (source / name / "ssd").glob("result_*.txt"):
        (folder / log.name).write_bytes(log.read_bytes())
    assert not [*folder.glob("scaling.json")]
    first = podium(folder)
    assert (first.exit_code, [*folder.glob("scaling.json")]) == (0, [])
    written = podium(folder, "--write-scaling")
    assert "written: " in written.stderr
    given = json.loads((folder / "scaling.json").read_text(encoding="utf-8"))
    assert given == {"scaling_factor": pytest.approx(37 / 36)}
    (folder / "scaling.json").write_text('{"scaling_factor": 2}', encoding="utf-8")
    kept = podium(folder, "--write-scaling")
    assert "kept: " in kept.stderr
    assert (folder / "scaling.json").read_text(encoding="utf-8") == '{"scaling_factor": 2}'
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


# --- throughput and energy ---


@pytest.fixture
def instances(tmp_path: Path) -> Submission:
    """Five concurrent instances of DeepCAM on a system of 40 nodes."""
    log = build("hpc", "3.0", "closed", "deepcam")
    made = Submission(tmp_path / "hpc_results_v3.0", log)
    made.system(number_of_nodes=40, accelerators_per_node=8)
    for number in range(5):
        back = -number * HOUR_MS / 60_000

        def at_once(one: LogBuilder, back: float = back, late: int = number) -> LogBuilder:
            return one.shift_all(back).lasting(30 + late)

        made.log(number, at_once, scaling="weak")
    return made


def test_throughput_counts_every_instance(instances: Submission) -> None:
    (entry,) = scores(instances.root)["results"]
    assert (entry["scaling"], entry["models"], entry["instance_scale"]) == ("weak", 5, 64)
    assert entry["total_scale"] == 320
    assert entry["time_to_train_all"] == pytest.approx(34)
    assert entry["models_per_minute"] == pytest.approx(5 / 34)
    assert entry["minutes"] is None
    printed = podium(instances.root).output
    assert "models/minute" in printed
    explained = podium(instances.root, "--explain", "deepcam").output
    assert "34.0" in explained


def test_a_failed_instance_must_be_pruned(instances: Submission) -> None:
    instances.log(0, lambda log: log.meta("run_stop", status="aborted"), scaling="weak")
    document = scores(instances.root)
    assert "must be pruned" in " ".join(one["message"] for one in document["findings"])
    logs = instances.root / instances.folder(scaling="weak")
    pruned = logs / "pruned_results"
    pruned.mkdir()
    (logs / "result_0.txt").rename(pruned / "result_0.txt")
    (entry,) = scores(instances.root)["results"]
    assert entry["models"] == 4


def test_energy_is_the_mean_of_the_scored_runs(corpus: Path) -> None:
    root = corpus / "training_results_v4.0" / "smc-dc-power"
    (entry,) = scores(root)["results"]
    kept = [run["energy_joules"] for run in entry["run_list"] if run["scored"]]
    assert entry["energy_joules"] == pytest.approx(sum(kept) / 8)
    assert entry["scaled_energy_joules"] == pytest.approx(entry["energy_joules"] * entry["factor"])
    assert "2.150 MJ" in podium(root).output


# --- formats ---


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("name", ["hpc_results_v3.0", "training_results_v4.0"])
def test_text_fits_the_terminal(corpus: Path, name: str, columns: int) -> None:
    result = podium(corpus / name, columns=columns)
    assert result.stderr == ""
    assert all(cell_len(line) <= max(columns, 70) for line in result.stdout.splitlines())
    explained = podium(corpus / name, "--explain", "*", columns=columns)
    assert explained.exit_code in (0, 1)


def test_control_characters_in_names_are_not_printed(tmp_path: Path) -> None:
    made = usual(tmp_path / "training_results_v5.1")
    (made.root / "results/ex_n8").rename(made.root / "results/\x1b[31mred")
    for name in PRINTED:
        assert "\x1b" not in podium(made.root, "--format", name).output
    assert "\x1b" not in podium(made.root, "--explain", "llama31_405b").output


def test_csv_has_a_row_per_result_or_per_run(submission: Submission) -> None:
    wide = [*csv.DictReader(io.StringIO(podium(submission.root, "--format", "csv").stdout))]
    assert len(wide) == 1
    assert float(wide[0]["minutes"]) == pytest.approx(31)
    assert wide[0]["rcp_verdict"]
    long = podium(submission.root, "--format", "csv", "--long").stdout
    rows = [*csv.DictReader(io.StringIO(long))]
    assert [row["run"] for row in rows] == ["0", "1", "2"]
    assert rows[0]["seed"] == "[100]"
    assert rows[0]["scored"] == "false"


def test_csv_cells_are_not_formulas(submission: Submission) -> None:
    (submission.root / "results/ex_n8").rename(submission.root / "results/=1+1")
    row = next(csv.DictReader(io.StringIO(podium(submission.root, "--format", "csv").stdout)))
    assert row["system"] == "'=1+1"


def test_markdown_and_html_escape_names(submission: Submission) -> None:
    (submission.root / "results/ex_n8").rename(submission.root / "results/<b>|x")
    page = podium(submission.root, "--format", "html").stdout
    assert "&lt;b&gt;|x" in page
    assert "<b>" not in page
    text = podium(submission.root, "--format", "markdown").stdout
    assert "| &#60;b&#62;&#124;x |" in text
    assert "31.0000" in text


@pytest.mark.parametrize("name", ["xlsx", "parquet"])
def test_a_missing_extra_is_reported_in_one_line(
    submission: Submission, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(module: str) -> ModuleType:
        raise ImportError(module)

    for module in (sheets, optional_imports):
        monkeypatch.setattr(module, "import_module", missing)
    output = tmp_path / f"scores.{name}"
    result = podium(submission.root, "--format", name, "--output", output)
    assert result.exit_code == 2
    assert "pip install openpyxl pyarrow" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not output.exists()


def test_an_xlsx_file_can_be_read(submission: Submission, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    output = tmp_path / "scores.xlsx"
    assert podium(submission.root, "--format", "xlsx", "--output", output).exit_code == 0
    book = openpyxl.load_workbook(output)
    assert book.sheetnames == ["results", "runs", "findings"]
    assert book["runs"].max_row == 4


@pytest.mark.parametrize("long", [False, True])
def test_a_parquet_file_can_be_read(submission: Submission, tmp_path: Path, long: bool) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    output = tmp_path / "scores.parquet"
    arguments = ["--format", "parquet", "--output", output, *["--long"] * long]
    assert podium(submission.root, *arguments).exit_code == 0
    assert parquet.read_table(output).num_rows == (3 if long else 1)


def test_output_writes_the_complete_document(submission: Submission, tmp_path: Path) -> None:
    output = tmp_path / "scores.json"
    result = podium(submission.root, "--format", "json", "--output", output)
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(output.read_text(encoding="utf-8"))["schema"] == "podium.scores/1"


# --- explain and compare ---


def test_explain_prints_the_arithmetic(submission: Submission) -> None:
    said = podium(submission.root, "--explain", "llama31_405b").output
    assert "dropped as fastest" in said
    assert "(31.000000) / 1 = 31.0" in said
    assert "4. Score: 31.0 x " in said
    for name in ("results/ex_n8/llama31_405b", "ex_n8/llama31_405b", "*405b"):
        assert podium(submission.root, "--explain", name).output == said


def test_explain_says_why_a_score_is_missing(submission: Submission) -> None:
    for number in (0, 1):
        submission.log(number, lambda log: log.meta("run_stop", status="aborted"))
    result = podium(submission.root, "--explain", "llama31_405b")
    assert result.exit_code == 1
    assert "it did not converge: it counts as slowest" in " ".join(result.output.split())
    assert "No valid score: 2 of 3 runs failed" in result.output


def test_two_trees_are_compared(submission: Submission, tmp_path: Path) -> None:
    other = usual(tmp_path / "old" / "training_results_v5.1")
    for number in range(3):
        other.log(number, lambda log: log.lasting(62))
    other.log(0, system="gone")
    text = podium(submission.root, "--compare", other.root).output
    assert "-50.00%" in text
    assert "only in the second" in text
    found = json.loads(podium(submission.root, "--compare", other.root, "--format", "json").stdout)
    assert found["schema"] == "podium.comparison/1"
    assert [one["why_not"] for one in found["changes"]] == [None, "only in the second"]
    assert found["changes"][0]["change"] == pytest.approx(-0.5, abs=0.01)


@pytest.mark.parametrize(
    ("first", "second", "benchmark", "other", "may"),
    [
        ("training 4.0", "training 3.1", "resnet", "resnet", True),
        ("training 0.5", "training 0.6", "resnet", "resnet", False),
        ("training 1.1", "training 2.0", "ssd", "ssd", False),
        ("training 4.1", "training 5.0", "ssd", "retinanet", True),
        ("training 4.0", "training 5.1", "gnn", "rgat", True),
        ("training 1.0", "training 1.1", "rnnt", "rnnt", False),
        ("training 6.0", "training 6.1", "flux1", "flux1", False),
        ("hpc 0.7", "hpc 1.0", "deepcam", "deepcam", True),
        ("hpc 1.0", "hpc 2.0", "cosmoflow", "cosmoflow", False),
        ("hpc 1.0", "training 1.0", "bert", "bert", False),
        ("hpc 3.0", "hpc 3.0", "openfold", "openfold", True),
    ],
)
def test_only_compatible_rounds_are_compared(
    first: str, second: str, benchmark: str, other: str, may: bool
) -> None:
    assert (comparable(first, second, benchmark, other) == "") is may


# --- invalid arguments and special inputs ---


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "xlsx"], "needs --output"),
        (["--explain", "x", "--compare", "."], "exclude each other"),
        (["--explain", "nothing"], "no result matches"),
        (["--explain", "x", "--format", "json"], "--explain needs the text format"),
        (["--compare", ".", "--format", "csv"], "text or json"),
        (["--round", "9.9"], "9.9"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line(
    submission: Submission, arguments: list[str], said: str
) -> None:
    result = podium(submission.root, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_outputs_inside_the_tree_are_refused(submission: Submission) -> None:
    assert podium(submission.root, "--output", submission.root / "x").exit_code == 2
    log = submission.root / submission.folder() / "result_0.txt"
    assert podium(log, "--write-scaling").exit_code == 2
    assert podium(submission.root / "nowhere").exit_code == 2


def test_a_single_log_is_a_result_of_one_run(good: LogBuilder, tmp_path: Path) -> None:
    path = as_run(good, 0).write(tmp_path / "result_0.txt")
    document = scores(path, "--round", "5.1")
    (entry,) = document["results"]
    assert (entry["benchmark"], entry["runs"], entry["score"]) == ("llama31_8b", 1, None)


def test_loose_logs_of_several_benchmarks_are_several_results(tmp_path: Path) -> None:
    for number, name in enumerate(("llama31_8b", "llama31_405b")):
        build("training", "5.1", "closed", name).write(tmp_path / f"result_{number}.txt")
    document = scores(tmp_path, "--round", "5.1")
    assert [entry["benchmark"] for entry in document["results"]] == ["llama31_405b", "llama31_8b"]


def test_the_command_module_loads_no_heavy_library() -> None:
    code = "import sys; from podium.compliance.cli.scoring import rcp, score\n"
    code += "print([n for n in ('rich.table', 'pydantic', 'scipy', 'numpy') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_table_wraps_words_and_keeps_numbers() -> None:
    lines = table(("name", "n"), [Heading("group"), ("long words wrap", "12345")], 18)
    assert lines == [
        "name             n",
        "-----------  -----",
        "group",
        "long words   12345",
        "wrap",
    ]


def test_a_system_name_that_is_not_valid_unicode_is_scored(submission: Submission) -> None:
    system = submission.root / "results" / "ex_n8"
    system.rename(submission.root / "results" / "ex\udcff")
    document = scores(submission.root)
    assert document["results"][0]["system"] == "ex\udcff"
    for name in PRINTED:
        assert podium(submission.root, "--format", name).exit_code == 0


def test_missing_runs_are_counted_among_the_chosen_runs(tmp_path: Path) -> None:
    """NCF of 0.5 uses the first 50 runs that converge; the number of runs is not limited."""
    tree = Submission(tmp_path, build("training", "0.5", "closed", "ncf"))
    for number in range(60):
        tree.log(number, (lambda log: log) if number < 45 else never_converged)
    hints = [f["hint"] for f in scores(tree.root, "--round", "0.5")["findings"]]
    assert any(hint.startswith("add 5 more runs of ncf") for hint in hints)


def never_converged(log: LogBuilder) -> LogBuilder:
    return log.set("run_stop", {"success": False})
