"""Cases that are not anomalies: kernels of fixed length, whole steps, several equal systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance.judging.repository.secret_detectors import kind_of_secret
from tests.builders import LogBuilder
from tests.compliance.rulebook.cases_review import at_minutes, converging, peers
from tests.compliance.tools.review.rounds import (
    found,
    learning,
    relearned,
    submission,
    values,
)


def test_short_intervals_of_equal_length_are_not_regular_times(tmp_path: Path) -> None:
    tree = submission(tmp_path)
    relearned(tree, 0, change=lambda log: learning(log, [2_491.0] * 9, values(1)))
    assert found(tmp_path, "review.regular-times") == []


def test_a_result_on_the_minimum_is_not_a_near_miss(tmp_path: Path) -> None:
    # The lowest mean of the reference at this batch size
    converging(314_400, 1152)(tmp_path / "near")
    (one,) = found(tmp_path / "near", "review.near-miss")
    minimum = float(one.message.partition("minimum of ")[2].partition(";")[0])
    converging(round(minimum), 1152)(tmp_path / "on")
    for each in found(tmp_path / "on", "review.near-miss"):
        assert "0.00%" not in each.message


def test_a_configuration_of_n16_is_not_compared_with_n1(tmp_path: Path) -> None:
    tree = submission(tmp_path)
    for start, system in ((100, "ex_n1"), (200, "ex_n16")):
        relearned(tree.system(system), start, system)
    folder = f"benchmarks/{tree.benchmark}/implementations/ours"
    tree.write(f"{folder}/config_ex_n16.sh", "export GLOBAL_BATCH_SIZE=4608\n")
    (one,) = found(tmp_path, "review.config-disagrees")
    assert f"/results/ex_n16/{tree.benchmark}" in one.path


def test_a_cache_that_fills_is_not_a_cut_interval(tmp_path: Path) -> None:
    gaps = [60_000 * each for each in (19.2, 9.5, 5.0, 3.1)]

    def warming(log: LogBuilder) -> LogBuilder:
        return learning(log, gaps, values(1)[:4])

    tree = relearned(submission(tmp_path), 0, change=warming)
    assert [each for each in tree.check().findings if each.id == "speed.cut-interval"] == []
    (one,) = found(tmp_path, "review.slow-start")
    assert "fall from 19.2 to 3.1 min; affected: 3 of 3 runs" in one.message


def test_runs_that_all_overlap_are_not_reported(tmp_path: Path) -> None:
    at_minutes(0, 10, 20)(tmp_path)
    assert found(tmp_path, "review.overlapping-runs") == []


@pytest.mark.parametrize(
    ("field", "one", "other", "differs"),
    [
        ("accelerator_memory_capacity", "80 GB", "81559 MiB", False),
        ("accelerator_memory_capacity", "80 GB", "96 GB", True),
        ("host_memory_capacity", "1.6 TB", "1.7TB", False),
        ("host_memory_capacity", "24x64GB", "1.5 TB", False),
        ("host_memory_capacity", "24x64GB", "24x32GB", True),
        ("operating_system", "Ubuntu 22.04.4", "Ubuntu 22.04.5", False),
        ("operating_system", "Ubuntu 22.04", "Ubuntu 22.04.3 LTS (Jammy Jellyfish)", False),
        ("operating_system", "Ubuntu 22.04.4", "Ubuntu 24.04.1", True),
    ],
)
def test_rounded_capacities_and_patch_levels_are_not_changes(
    tmp_path: Path, field: str, one: str, other: str, differs: bool
) -> None:
    tree = submission(tmp_path).system(**{field: one})
    tree.system("ex_n16", **{field: other})
    relearned(tree, 20, "ex_n16")
    assert bool(found(tmp_path, "review.description-changes")) is differs


def test_systems_of_another_size_are_not_peers(tmp_path: Path) -> None:
    peers(3.0)(tmp_path)
    assert len(found(tmp_path, "review.too-fast")) == 1
    last = submission(tmp_path, "Peer5", start=50)
    last.system(number_of_nodes="16")
    assert found(tmp_path, "review.too-fast") == []


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ('echo "hunter2!" | sudo -S sh -c "sync"', True),
        ("sudo -S sync <<< hunter2x", True),
        ("sshpass -p hunter2x ssh node", True),
        ("curl -s -u ann:hunter2x https://x", True),
        ('echo "$PASSWORD" | sudo -S sync', False),
        ("sshpass -p $SECRET ssh node", False),
        ("curl -s -u ann:$TOKEN https://x", False),
        ("sudo -E sync", False),
    ],
)
def test_passwords_in_commands_are_secrets(line: str, secret: bool) -> None:
    assert (kind_of_secret(line) is not None) is secret
