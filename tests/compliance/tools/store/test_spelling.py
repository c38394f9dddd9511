"""Spellings of chips and categories, paths without a benchmark folder, and units by size."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium import results
from podium.compliance.tools.store.building.spelling import category_name, chip_of, place_in
from tests.builders import build
from tests.compliance.trees import Submission


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA A100-SXM4-80GB",
        "NVIDIA A100-SXM4-80GB (400W)",
        "A100-SXM4-80GB(400W)",
        "A100 SXM4 80 GB",
        "Nvidia A100-SXM4-80GB GPU",
    ],
)
def test_spellings_of_a_chip_are_unified(text: str) -> None:
    assert chip_of(text) == "A100-SXM4-80GB"


@pytest.mark.parametrize(
    ("text", "chip"),
    [
        ("tpu-v3", "TPU-V3"),
        ("TPU v3", "TPU-V3"),
        ("AMD Instinct MI300X 192GB HBM3", "MI300X-192GB"),
        ("Intel(R) Gaudi(R) 2 AI Accelerator", "GAUDI2"),
        ("NVIDIA", "NVIDIA"),
    ],
)
def test_a_chip_name_has_no_vendor(text: str, chip: str) -> None:
    assert chip_of(text) == chip


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("onprem", "Available on-premise"),
        ("Available On-Premise", "Available on-premise"),
        ("cloud", "Available cloud"),
        ("research", "Research, Development, or Internal (RDI)"),
        ("available", "available"),
        ("someday", "someday"),
    ],
)
def test_spellings_of_a_category_are_unified(text: str, category: str) -> None:
    assert category_name(text) == category


def test_submitter_and_system_are_read_from_a_path() -> None:
    assert place_in("Acme/results/ex_n8") == ("Acme", "ex_n8")
    assert place_in("somewhere") == ("", "")


def test_the_store_has_both_spellings_and_plausible_units(tmp_path: Path) -> None:
    which = build("training", "1.1", "closed", "bert")
    tree = Submission(tmp_path / "training_results_v1.1", which).code()
    tree.system(accelerator_model_name="NVIDIA A100-SXM4-80GB (400W)", status="onprem")
    tree.result(change=lambda log: log.set("global_batch_size", 4096))
    results.build([tree.place], tmp_path / "store")
    store = results.open(tmp_path / "store")
    (row,) = store.sql(
        "SELECT chip, chip_as_written, category, category_as_written, system_name FROM results"
    ).fetchall()
    assert row[:2] == ("A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB (400W)")
    assert row[2] == "Available on-premise"
    assert row[4]
    # The unit is samples only if the value is large enough: steps are not called samples
    found = store.sql("SELECT to_converge, unit FROM runs").fetchall()
    assert all(value is None or value > 10_000 or unit != "samples" for value, unit in found)
