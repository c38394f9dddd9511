"""The finding for a missing key names the line that probably logs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium import check
from tests.builders import build


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("lowest_numerical_precision_in_linear", "lowest_numerical_precision_linear"),
        ("opt_base_learning_rate", "opt_base_lr"),
        ("global_batch_size", "global_batchsize"),
        ("submission_platform", "submission_plattform"),
    ],
)
def test_a_missing_key_is_reported_with_the_line_of_the_misspelled_key(
    key: str, written: str, tmp_path: Path
) -> None:
    log = build("training", "6.1", "closed", "deepseekv3_671b")
    path = log.write(tmp_path / "result_0.txt")
    path.write_text(path.read_text().replace(f'"key": "{key}"', f'"key": "{written}"'))
    found = check(path, round="6.1").findings
    (missing,) = [each for each in found if each.key == key and each.severity == "error"]
    assert missing.hint == f"line {log.line_of(key)} logs {written}: log it as {key}"
    # The misspelled key follows from the missing one
    misspelt = [each for each in found if each.id == "log.misspelt-key"]
    assert {each.caused_by for each in misspelt} <= {missing.id}
