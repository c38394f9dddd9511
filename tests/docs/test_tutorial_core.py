"""The tutorial without the extras: prepared logs replace those of the trainers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import build
from tests.compliance.trees import as_run
from tests.core_only import Session, make_environment, session, shell
from tests.docs.pages import commands, words_of
from tests.docs.test_tutorial import INSTALLS, tutorial_blocks


def illegal(place: Path) -> None:
    log = build("training", "6.1", "closed", "llama2_70b_lora")
    log.set("lora_rank", 8).write(place / "illegal.txt")


def dry(place: Path) -> None:
    build("training", "5.1", "open", "rgat").write(place / "dry.txt")


def trained(place: Path) -> None:
    log = build("training", "5.1", "open", "rgat").add("global_batch_size", 64, before="init_stop")
    for number in range(10):
        as_run(log, number).write(place / f"runs/rgat/result_{number}.txt")


STAND_INS: dict[str, Callable[[Path], None]] = {
    "podium run llama2_70b_lora --dry-log": illegal,
    "podium run rgat --round 5.1 --dry-log": dry,
    "podium run rgat --round 5.1 --division open --runs 10": trained,
}
"""Trainer commands, which need PyTorch, with functions that write their files."""

FOUND = {
    "podium preflight illegal.txt",
    "podium doctor packed/Example",
    "podium rcp make packed/Example",
}
"""Commands that must end with exit status 1."""


def carried_out(command: str, place: Path, core: Session, interpreter: Path) -> None:
    for begun, stand_in in STAND_INS.items():
        if command.startswith(begun):
            stand_in(place)
            return
    if command.startswith("podium "):
        answer = core.podium(place, *words_of(command, place))
        wanted = int(command.startswith(tuple(FOUND)))
        assert answer.status == wanted, f"{command}: {answer.text}"
        return
    done = shell(interpreter, command, place)
    assert done.returncode == 0 or command.startswith("grep"), f"{command}: {done.stderr}"
    assert not re.search("cp:|No such file", done.stderr), f"{command}: {done.stderr}"


def test_the_tutorial_works_without_a_trainer(tmp_path: Path) -> None:
    place = tmp_path / "tutorial"
    place.mkdir()
    interpreter = make_environment(tmp_path / "core")
    shown = [block for block in tutorial_blocks() if block.language == "console"]
    with session(interpreter) as core:
        for command, _ in (pair for block in shown for pair in commands(block.text)):
            if not command.startswith(INSTALLS):
                carried_out(command, place, core, interpreter)
    assert (place / "received/Example/systems/demo.json").is_file()


@pytest.mark.parametrize("begun", sorted({*STAND_INS, *FOUND}))
def test_the_tutorial_has_the_listed_command(begun: str) -> None:
    assert any(f"$ {begun}" in block.text for block in tutorial_blocks())
