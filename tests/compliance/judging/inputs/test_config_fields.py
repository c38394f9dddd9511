"""podium.toml accepts only the fields that podium knows; an error suggests the nearest field."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance.judging.inputs.config_fields import FIELDS
from podium.compliance.tools.packing.planning.config import TABLES, PackConfig
from tests.builders import build
from tests.compliance.command_line import podium


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return build("training", "5.1", "closed", "llama31_8b").write(tmp_path / "result_0.txt")


def test_the_known_fields_are_the_fields_of_the_models() -> None:
    models = {"": PackConfig, **{name: TABLES[name] for name in FIELDS if name}}
    assert {name: tuple(model.model_fields) for name, model in models.items()} == FIELDS


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('round = "5.1"\n[[ruls]]\nname = "a"\n', 2, "unknown table ruls; did you mean rules?"),
        ('\nrond = "5.1"\n', 2, "unknown field rond; did you mean round?"),
        ("[System]\nx = 1\n", 1, "unknown table System; did you mean systems?"),
        ("qwxz = 1\n", 1, "unknown field qwxz; expected one of submitter, usage"),
        ('[[results]]\nsytem = "n8"\n', 2, "unknown field sytem of results; did you mean system?"),
        ('[[code]]\nfoldr = "x"\n', 2, "unknown field foldr of code; did you mean folder?"),
    ],
)
@pytest.mark.parametrize("command", ["check", "score", "doctor", "rcp check"])
def test_an_unknown_field_or_table_is_refused_with_its_line(
    text: str, line: int, message: str, command: str, log: Path
) -> None:
    config = log.parent / "podium.toml"
    config.write_text(text)
    (log.parent / "results").mkdir()
    (log.parent / "systems").mkdir()
    done = podium(*command.split(), log.parent)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"podium: {config}:{line}: {message}")


@pytest.mark.parametrize("command", ["check", "score", "doctor", "rcp check", "pack"])
def test_an_unknown_table_is_refused_in_a_folder_with_only_podium_toml(
    command: str, tmp_path: Path
) -> None:
    config = tmp_path / "podium.toml"
    config.write_text(
        'submitter = "Acme"\nround = "5.1"\n[[result]]\nsystem = "n8"\n'
        'benchmark = "llama31_8b"\nlogs = ["*.log"]\n'
    )
    done = podium(*command.split(), tmp_path)
    assert done.exit_code == 2
    assert "result; did you mean results?" in done.stderr


@pytest.mark.parametrize("name", ["llama31-8b", "llama3.1_8b", "llama31_8"])
@pytest.mark.parametrize("command", ["check", "pack"])
def test_an_unknown_benchmark_is_refused(command: str, name: str, tmp_path: Path) -> None:
    build("training", "5.1", "closed", "llama31_8b").write(tmp_path / "a.log")
    (tmp_path / "podium.toml").write_text(
        'submitter = "Acme"\nround = "5.1"\n[[results]]\nsystem = "n8"\n'
        f'benchmark = "{name}"\nlogs = ["*.log"]\n'
    )
    done = podium(command, tmp_path)
    assert done.exit_code == 2
    assert f"{name} is not a benchmark of training 5.1; did you mean llama31_8b?" in done.stderr


def test_all_known_fields_are_accepted(log: Path) -> None:
    (log.parent / "podium.toml").write_text(
        'submitter = "Acme"\nround = "5.1"\nusage = "training"\ndivision = "closed"\n'
        'deadline = 2026-10-09\ninto = "packed"\nwaivers = "w.toml"\nmerge = []\n'
        '[systems]\nn8 = "n8.json"\n[documents]\n"README.md" = "README.md"\n'
        '[[results]]\nsystem = "n8"\nbenchmark = "llama31_8b"\nlogs = ["*.txt"]\n'
        '[[code]]\nfolder = "code"\n'
    )
    assert podium("check", log).exit_code == 0
