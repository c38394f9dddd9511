"""The public names of `import podium`: the errors that they raise, and what they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.compliance.errors import UsageFault
from podium.compliance.reporting.models import Report
from tests.builders import LogBuilder, build

IMPORTS = (
    "from podium import mllog",
    "from podium.mllog import constants",
    "from podium.mllog.constants import WEIGHTS_INITIALIZATION",
    "from podium.mllog import constants as mlperf_constants",
    "import podium.mllog.constants as mllog_constants",
    "import podium.mllog as mllog",
    "import podium.mllog.mllog",
    "from podium.mllog import mllog",
    "from podium.mllog.mllog import MLLogger",
)
"""How published programs import the official package, with the package name replaced."""


def good() -> LogBuilder:
    return build("training", "5.1", "closed", "llama31_8b")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return good().write(tmp_path_factory.mktemp("api") / "result_0.txt")


@pytest.mark.parametrize("form", IMPORTS)
def test_every_published_import_of_mllog_works(form: str) -> None:
    program = f"{form}; import podium; print(podium.mllog.constants.EVAL_ACCURACY)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("eval_accuracy\n", "")


def test_every_import_gives_the_same_logger() -> None:
    from podium.logging_spec import mllog as inner
    from podium.mllog import mllogger

    assert podium.mllog.mllogger is mllogger is inner.mllogger


def test_dir_lists_only_the_public_names() -> None:
    assert dir(podium) == sorted(podium.__all__)
    assert all(hasattr(podium, name) for name in dir(podium))


@pytest.mark.parametrize("argument", ["select", "ignore"])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("closed.*", r"is the string 'closed\.\*'; expected a list such as \['closed\.\*'\]"),
        (["nope.*"], r"'nope\.\*' matches no rule"),
        (["closed.*", "log.mispelt-key"], ".* did you mean log.misspelt-key"),
        ([5], "has 5; expected rule ids or globs"),
    ],
)
def test_invalid_selectors_raise(log: Path, argument: str, given: Any, says: str) -> None:
    with pytest.raises(UsageFault, match=f"{argument} {says}"):
        podium.check(log, round="5.1", **{argument: given})


def test_a_list_of_valid_selectors_is_accepted(log: Path) -> None:
    report = podium.check(log, round="5.1", select=["closed.*", "log.misspelt-key"])
    assert report.verdict == "not judged"


def test_a_round_may_be_a_number(log: Path) -> None:
    assert podium.check(log, round=5.1).rules.round == "5.1"
    assert podium.score(log, round=5.1).results is not None
    assert podium.rounds["training", 5.1] is podium.rounds["training", "5.1"]
    for key in ("5.1", 5.1, ("training",)):
        with pytest.raises(KeyError, match="expected a usage and a round"):
            podium.rounds[key]  # type: ignore[index]
    with pytest.raises(UsageFault, match=r"no training round '9\.9'"):
        podium.check(log, round=9.9)


def test_an_unknown_profile_raises(log: Path) -> None:
    with pytest.raises(UsageFault, match="profile is 'offical'; expected 'policy' or 'verifier'"):
        podium.check(log, round="5.1", profile="offical")  # type: ignore[arg-type]


def test_a_report_prints_three_lines(log: Path) -> None:
    lines = repr(podium.check(log, round="5.1")).splitlines()
    assert lines == [
        "1 log checked against training 5.1 (profile policy, from the options)",
        "0 errors, 0 warnings, 0 notes, 0 waived",
        "ACCEPTED",
    ]


def test_rounds_print_their_names() -> None:
    assert repr(podium.rounds).startswith("<Rounds: training 0.5, 0.6, 0.7")


def test_a_missing_log_raises(tmp_path: Path, log: Path) -> None:
    with pytest.raises(FileNotFoundError):
        podium.read_log(tmp_path / "absent.txt")
    with pytest.raises(IsADirectoryError, match="expected a log"):
        podium.read_log(tmp_path)
    assert podium.read_log(log).records


# --- tables ---


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("faulty")
    broken = good().drop("opt_name").set("global_batch_size", 7)
    broken.write(folder / "result_0.txt")
    return podium.check(folder, round="5.1")


def test_findings_become_an_arrow_table(faulty: Any) -> None:
    pytest.importorskip("pyarrow")
    table = faulty.to_arrow()
    assert table.num_rows == len(faulty.findings)
    assert table.column("id").to_pylist() == [each.id for each in faulty.findings]
    assert table.column("line").to_pylist() == [each.line for each in faulty.findings]
    assert all(Path(path).is_file() for path in table.column("path").to_pylist())


def test_findings_become_a_data_frame(faulty: Any) -> None:
    pytest.importorskip("pandas")
    frame = faulty.to_dataframe()
    assert [*frame["id"]] == [each.id for each in faulty.findings]
    assert str(frame["line"].dtype) == "Int64"


def test_a_report_without_findings_is_an_empty_table(log: Path) -> None:
    pytest.importorskip("pyarrow")
    assert podium.check(log, round="5.1").to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("method", "library"), [("to_arrow", "pyarrow"), ("to_dataframe", "pandas")]
)
def test_a_missing_library_is_named(
    faulty: Any, method: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageFault, match=f"needs {library}: pip install {library}$"):
        getattr(faulty, method)()


def test_an_empty_path_raises() -> None:
    with pytest.raises(UsageFault, match="path is empty"):
        podium.check("")
