"""Gaps in the numbers of runs and jobs: in logs, in file names and in log names."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance.judging.logs.jobs import HEAD, job_of
from tests.compliance.rulebook.cases_review import of_jobs
from tests.compliance.tools.review.rounds import found, own, submission
from tests.compliance.trees import Submission

RULE = "review.missing-numbers"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("+ srun --container-name=language_model_5120 --container-mounts=a", 5120),
        ("+ srun --container-name=llama2_70b_lora_184467 bash", 184467),
        ("BASE_DIR=results/slurm-000786", 786),
        ("SLURM_JOB_ID=4711", 4711),
        ("SLURM_JOB_ID , SLURM_NTASKS , SLURM_PROCID", None),
        ("Submitted batch job 4711", 4711),
        ("PBS_JOBID: 4711.server", 4711),
        ("Job <4711> is submitted to queue <normal>.", 4711),
        ('{"SLURM_JOBID": "4711"}', 4711),
        (r'{"value": "{\"job_id\": \"4711\"}"}', 4711),
        ("Job ID: 4711", 4711),
        # An array of runs has one number; the others are a time in digits and a rank
        ("SLURM_ARRAY_JOB_ID=4711", None),
        ("slurm-240510190402846980797", None),
        ("job_id=7", None),
        ("--container-name=language_model", None),
        ("SLURM_JOB_ID=4711\nlast checkpoint of slurm-4700", None),
        ("SLURM_JOB_ID=4711 in slurm-4711.out", 4711),
        ("", None),
    ],
)
def test_a_job_number_is_read_from_a_log(text: str, number: int | None) -> None:
    assert job_of(f"first\n{text}\n".encode()) == (None if number is None else (number, 2))


def test_only_the_beginning_of_a_log_is_searched_for_a_job() -> None:
    assert job_of(b"x" * HEAD + b"\nSLURM_JOB_ID=4711\n") is None
    assert job_of(b"SLURM_JOB_ID=" * 200_000) is None


def messages(place: Path) -> list[str]:
    return [each.message for each in found(place, RULE)]


def test_a_gap_is_reported_with_its_log_and_line(tmp_path: Path) -> None:
    of_jobs(5119, 5120, 5122)(tmp_path)
    (one,) = found(tmp_path, RULE)
    assert one.path.endswith("result_2.txt")
    assert one.line == 1
    assert "the jobs in the logs are numbered 5119, 5120, 5122; 5121 is missing" in one.message


@pytest.mark.parametrize(
    "numbers",
    [(5119, 5122, 5125), (5119, 5120, 5120), (5119, 5190, 5244), (5119, 5120, 5120 + 10_000)],
    ids=["even", "too few", "a busy cluster", "another day"],
)
def test_numbers_without_a_clear_gap_are_not_reported(
    tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    of_jobs(*numbers)(tmp_path)
    assert messages(tmp_path) == []


def beside(place: Path, *names: str) -> None:
    tree = submission(place)
    for name in names:
        tree.write(f"{tree.folder()}/{name}", "output\n")


@pytest.mark.parametrize("name", ["slurm-{}.out", "train.o{}", "job_{}/out.txt"])
def test_job_numbers_in_file_and_folder_names_are_found(tmp_path: Path, name: str) -> None:
    beside(tmp_path, *(name.format(number) for number in (123456, 123457, 123459)))
    (message,) = messages(tmp_path)
    assert "the jobs in names are numbered 123456, 123457, 123459; 123458 is" in message


def renamed(place: Path, *names: str) -> Submission:
    tree = submission(place)
    folder = tree.root / tree.folder()
    for number, name in enumerate(names):
        tree.log(number, lambda log, n=number: own(log, n))
        (folder / f"result_{number}.txt").rename(folder / name)
    return tree


def test_numbers_at_the_end_of_long_names_start_at_one(tmp_path: Path) -> None:
    renamed(tmp_path, *(f"result_5119-2405_0{number}.txt" for number in (6, 7, 8)))
    (message,) = messages(tmp_path)
    assert "the logs are numbered 6, 7, 8; 1, 2, 3, 4, 5 are missing" in message


@pytest.mark.parametrize("first", [0, 1])
def test_long_names_without_a_gap_are_not_reported(tmp_path: Path, first: int) -> None:
    renamed(tmp_path, *(f"result_5119-2405_{first + number}.txt" for number in range(3)))
    assert messages(tmp_path) == []
