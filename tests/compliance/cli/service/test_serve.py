"""The Model Context Protocol server returns what the commands print."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import StdioServerParameters
from mcp.client import Client

from podium.compliance.cli.judging.serve import SERVED
from podium.compliance.cli.service import commands
from podium.compliance.cli.service.commands import Caller
from podium.compliance.cli.service.server import make_server
from tests.compliance.command_line import podium
from tests.compliance.packs import files_in
from tests.compliance.trees import usual

LOG = "results/ex_n8/llama31_405b/result_0.txt"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A submission with its round in podium.toml."""
    root = usual(tmp_path / "served" / "Acme").root
    (root / "podium.toml").write_text('round = "5.1"\n')
    return root


def asked(server: Any, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Whether a tool failed, and its answer: data, or the reason of the failure."""
    return answers(server, lambda client: client.call_tool(tool, arguments))


def answers(server: Any, ask: Callable[[Client], Awaitable[Any]]) -> tuple[bool, Any]:
    async def main() -> Any:
        async with Client(server) as client:
            return await ask(client)

    got = anyio.run(main)
    return got.is_error, got.content[0].text if got.is_error else got.structured_content


def here(root: Path, seconds: float = 60) -> Any:
    return make_server(Caller(root.resolve(), SERVED, seconds))


# --- answers ---


def test_check_returns_the_report_of_the_command(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tree / LOG
    log.write_text(log.read_text() + ":::MLLOG {\n")
    failed, reported = asked(here(tree), "check", path=".", format="json")
    assert not failed
    assert (reported["status"], reported["meaning"]) == (1, "at least one error")
    monkeypatch.chdir(tree)
    printed = podium("check", ".", "--format", "json", "--quiet")
    assert json.loads(reported["text"]) == json.loads(printed.stdout)
    assert "log.truncated" in reported["text"]


def test_a_rule_is_explained_and_an_unknown_rule_is_refused(tree: Path) -> None:
    rule = "closed.llama31_8b.opt_adamw_beta_2"
    _, reported = asked(here(tree), "explain", rule=rule, round="6.0")
    assert (
        reported["text"].split()
        == podium("rules", "explain", rule, "--round", "6.0").stdout.split()
    )
    failed, why = asked(here(tree), "explain", rule="--help")
    assert failed
    assert "--help is not a rule of training" in why


def test_illegal_hyperparameters_are_not_a_failed_call(tree: Path) -> None:
    values = {"opt_adamw_beta_2": 0.5}
    failed, reported = asked(
        here(tree), "hparams", benchmark="llama31_8b", values=values, round="6.0"
    )
    assert not failed
    assert reported["status"] == 1


def test_score_and_rules_return_their_output(tree: Path) -> None:
    server = here(tree)
    _, scores = asked(server, "score", path="results", format="json")
    assert json.loads(scores["text"])["schema"].startswith("podium.score")
    _, rules = asked(server, "rules", benchmark="dlrmv4", division="open", round="6.1")
    assert "dlrmv4" in rules["text"]


# --- limits ---


@pytest.mark.parametrize(
    "path", ["..", "../other", "/etc/passwd", "results/../../..", "out", "a\0b", "~"]
)
def test_a_path_outside_the_folder_is_refused(tree: Path, path: str) -> None:
    (tree.parent / "other").mkdir()
    (tree / "out").symlink_to(tree.parent / "other")
    failed, why = asked(here(tree), "check", path=path)
    assert failed
    assert (
        "is not below the served folder" in why or "is not a path" in why or "does not exist" in why
    )
    assert str(tree.parent) not in why


@pytest.mark.parametrize("name", ["-", "--output=x", "-h"])
def test_a_file_named_like_an_option_is_a_path(tree: Path, name: str) -> None:
    shutil.copyfile(tree / LOG, tree / name)
    before = files_in(tree)
    failed, reported = asked(here(tree), "check", path=name, round="5.1")
    assert not failed, reported
    assert "1 log " in reported["text"]
    # The status is that of the file; standard input is empty
    assert reported["status"] == 0
    assert files_in(tree) == before


def test_a_value_cannot_add_a_second_option(tree: Path) -> None:
    before = files_in(tree)
    failed, why = asked(here(tree), "check", path=".", round="5.1 --output=x")
    assert failed
    assert "5.1 --output=x" in why
    assert files_in(tree) == before


TOO_LONG = "does not exist" if sys.version_info >= (3, 14) else "is not a path: file name too long"
"""Since Python 3.14, `Path.exists` returns false for such a name."""


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("check", {"path": "a" * 5000}, TOO_LONG),
        ("check", {"path": ".", "round": "\0"}, "cannot be run: embedded null byte"),
        ("check", {"path": ".", "select": ["\ud800"]}, "cannot be run: "),
        ("explain", {"rule": "x" * 300_000}, "cannot be run: argument list too long"),
        ("check", {"path": ".", "round": "9.9"}, "9.9"),
        ("check", {"path": ".", "profil": "policy"}, "profil"),
        ("check", {}, "path"),
        ("hparams", {"benchmark": "bert", "global_batch_size": "many"}, "global_batch_size"),
    ],
)
def test_an_invalid_request_fails_with_a_reason(
    tool: str,
    arguments: dict[str, Any],
    reason: str,
    tree: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    failed, why = asked(here(tree), tool, **arguments)
    assert failed
    assert reason in why
    assert "Traceback" not in why
    assert not caplog.records


def test_a_tool_refuses_an_unknown_argument(tree: Path) -> None:
    async def main() -> Any:
        async with Client(here(tree)) as client:
            return (await client.list_tools()).tools

    assert all(tool.input_schema["additionalProperties"] is False for tool in anyio.run(main))
    failed, why = asked(here(tree), "check", path=".", output="x")
    assert failed
    assert "output" in why
    assert not (tree / "x").exists()


def test_an_answer_has_a_time_limit(tree: Path) -> None:
    failed, why = asked(here(tree, seconds=0.01), "check", path=".")
    assert failed
    assert "no answer within 0.01 seconds" in why


def test_a_long_answer_is_cut_or_refused(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "MOST", 300)
    _, reported = asked(here(tree), "rules", round="5.1")
    assert len(reported["text"]) < 400
    assert reported["text"].endswith("characters)\n")
    failed, why = asked(here(tree), "rules", round="5.1", format="json")
    assert failed
    assert "more than 300" in why


def test_every_tool_is_marked_as_read_only(tree: Path) -> None:
    async def main() -> Any:
        async with Client(here(tree)) as client:
            return (await client.list_tools()).tools

    tools = anyio.run(main)
    assert {tool.name for tool in tools} == {"check", "score", "explain", "rules", "hparams"}
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert all(tool.description for tool in tools)


# --- the command ---


def test_the_command_answers_on_standard_streams(tree: Path) -> None:
    line = [sys.executable, "-m", "podium", "serve", str(tree)]
    # The complete environment: by default the client passes only a few variables
    server = StdioServerParameters(command=line[0], args=line[1:], env={**os.environ})
    failed, reported = asked(server, "check", path=LOG)
    assert not failed
    assert reported["status"] == 0
    ended = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, b"")


def test_serve_needs_an_existing_folder(tmp_path: Path) -> None:
    done = podium("serve", tmp_path / "none")
    assert done.exit_code == 2
    assert done.stderr == f"podium: {tmp_path / 'none'} is not a folder\n"
