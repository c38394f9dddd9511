"""`podium compat result_summarizer` and `rcp_checker`: tables, last lines, exit codes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from podium.compliance.cli.compat.result_summarizer import columns_of, expand
from podium.compliance.errors import NothingToJudge
from podium.rules.catalogue import find_round
from tests.compliance.command_line import Done, podium
from tests.compliance.trees import Submission, usual


def compat(*arguments: object) -> Done:
    return podium("compat", *arguments)


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    return usual(tmp_path / "round")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# --- result_summarizer ---


def test_columns_are_in_the_official_order() -> None:
    columns = columns_of(find_round("training", "6.1"))["strong"]
    assert columns[:4] == ("division", "availability", "submitter", "system")
    assert columns[12:-2] == (
        "llama31_8b",
        "flux1",
        "llama2_70b_lora",
        "gpt_oss_20b",
        "deepseekv3_671b",
        "qwen35_397b_grpo",
        "dlrmv4",
    )
    first = columns_of(find_round("training", "0.6"))["strong"]
    assert first[12:-2] == ("resnet", "ssd", "maskrcnn", "gnmt", "transformer", "ncf", "minigo")
    weak = columns_of(find_round("hpc", "3.0"))["weak"]
    assert weak[12:15] == tuple(
        f"cosmoflow:{name}" for name in ("number_of_models", "instance_scale", "time_to_train_all")
    )


@pytest.mark.parametrize("flag", ["--csv", "-csv"])
def test_the_summary_is_printed_and_written_to_two_files(
    submission: Submission, tmp_path: Path, flag: str
) -> None:
    output = tmp_path / "sum.csv"
    for _ in range(2):  # the second call overwrites the files
        result = compat("result_summarizer", submission.root, "training", "5.1.0", flag, output)
        assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Strong Scaling Scores:\ndivision,availability,submitter")
    (row,) = rows(output)
    assert row["submitter"] == "Acme"
    assert float(row["llama31_405b"]) > 0
    assert row["llama31_8b"] == ""
    assert row["details_url"].endswith("training_results_v5.1/blob/main/Acme/systems/ex_n8.json")
    (details,) = rows(tmp_path / "sum_detailed.csv")
    assert float(details["llama31_405b:time_to_train"]) == float(row["llama31_405b"])
    assert details["llama31_405b:GBS"]


def test_braces_name_several_submissions(tmp_path: Path) -> None:
    first = usual(tmp_path)
    second = Submission(tmp_path, first.which, "Zeta").system().result()
    pattern = f"{tmp_path}/{{Zeta, Acme}}"
    output = tmp_path / "out" / "sum.csv"
    output.parent.mkdir()
    result = compat("result_summarizer", pattern, "training", "5.1.0", "--csv", output)
    assert result.exit_code == 0, result.output
    assert [row["submitter"] for row in rows(output)] == ["Acme", "Zeta"]
    assert expand(f"{tmp_path}/{{Acme,Zeta}}") == [str(first.root), str(second.root)]
    with pytest.raises(NothingToJudge):
        expand(f"{tmp_path}/{{Acme,Nobody}}")


def test_a_result_without_a_score_exits_with_1(submission: Submission) -> None:
    for number in (0, 1):
        submission.log(number, lambda log: log.meta("run_stop", status="aborted"))
    result = compat("result_summarizer", submission.root, "training", "5.1.0")
    assert result.exit_code == 1
    assert "ERROR: " in result.stdout
    quiet = compat("result_summarizer", submission.root, "training", "5.1.0", "--quiet")
    assert quiet.stdout.startswith("ERROR: ")


def test_a_result_without_a_description_exits_with_1(submission: Submission) -> None:
    (submission.root / "systems/ex_n8.json").unlink()
    submission.system("other")
    result = compat("result_summarizer", submission.root, "training", "5.1.0")
    assert result.exit_code == 1
    assert "ex_n8.json is missing" in result.stdout
    submission.write("systems/ex_n8.json", "[]")
    assert compat("result_summarizer", submission.root, "training", "5.1.0").exit_code == 1


def test_existing_private_ids_are_printed_and_none_are_generated(
    submission: Submission, tmp_path: Path
) -> None:
    output = tmp_path / "sum.csv"
    base = ["result_summarizer", submission.root, "training", "5.1.0", "--csv", output]
    assert compat(*base, "--generate_private_ids").exit_code == 0
    assert not [*submission.root.rglob("privateid.json")]
    submission.write("results/ex_n8/privateid.json", json.dumps({"private_id": "5.1-0007"}))
    compat(*base)
    assert rows(output)[0]["private_id"] == "5.1-0007"


def test_invalid_summary_arguments_are_a_usage_error(
    submission: Submission, tmp_path: Path
) -> None:
    base = ["result_summarizer", submission.root, "training", "5.1.0"]
    assert compat(*base, "--csv", submission.root / "x.csv").exit_code == 2
    assert compat("result_summarizer", tmp_path, "training", "5.1.0").exit_code == 2
    assert compat("result_summarizer", submission.root, "training", "9.9.0").exit_code == 2
    assert compat("result_summarizer", submission.root, "hpc").exit_code == 2


# --- rcp_checker ---


def folder(submission: Submission) -> Path:
    return submission.root / submission.folder()


def test_the_last_line_of_rcp_checker_matches_the_exit_code(submission: Submission) -> None:
    result = compat("rcp_checker", folder(submission), "--rcp_version", "5.1.0")
    last = result.stderr.splitlines()[-1]
    assert last.startswith(("INFO - RCP", "ERROR - RCP"))
    assert result.exit_code == (0 if "PASSED" in last else 1)
    verbose = compat("rcp_checker", folder(submission), "--rcp_version", "5.1.0", "--verbose")
    assert verbose.stderr.splitlines()[-1] == last


def test_rcp_checker_accepts_custom_points_and_the_full_set(corpus: Path, tmp_path: Path) -> None:
    place = corpus / "training_results_v4.0/tinycorp/results/tinybox_red/resnet"
    base = ["rcp_checker", place, "--rcp_version", "4.0.0"]
    assert compat(*base).exit_code == 0
    assert compat(*base, "--rcp_pass", "full_rcps").exit_code == 0
    slow = {"Benchmark": "resnet", "BS": 1536, "Epochs to converge": [90.0, 91, 92, 93, 94]}
    points = tmp_path / "points.json"
    points.write_text(json.dumps({"slow": slow}), encoding="utf-8")
    log = tmp_path / "check.log"
    result = compat(*base, "--custom_rcps", points, "--log_output", log)
    assert result.exit_code == 1
    assert "RCP test FAILED" in result.stderr.splitlines()[-1]
    assert log.read_text(encoding="utf-8") == result.stderr
    assert compat(*base, "--rcp_pass", "some").exit_code == 2
    assert compat("rcp_checker", tmp_path / "none").exit_code == 2
    assert compat("rcp_checker", tmp_path).exit_code == 2


def test_rcp_checker_accepts_bert_train_samples(corpus: Path) -> None:
    root = corpus / "training_results_v1.1/Graphcore/results"
    place = next(root.glob("*POPART-closed/bert"))
    said = compat("rcp_checker", place, "--rcp_version", "1.1.0", "--bert_train_samples")
    assert said.exit_code in (0, 1)
    assert said.stderr.splitlines()[-1].partition(" - ")[0] in ("INFO", "ERROR")
