"""`podium serve DIR` reads no file outside DIR, even if links or configurations name them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.cli.service.guard import Guard
from podium.compliance.judging.inputs.boundary import VARIABLE
from tests.compliance.cli.service.test_serve import asked, here
from tests.compliance.trees import usual

RESULT = "results/ex_n8/llama31_405b"
SECRET = "SECRET-OUTSIDE"
HOUSE_RULE = f"""
round = "5.1"
[[rules]]
name = "above"
key = "submission_org"
bound = "nobody"
text = "{SECRET}"
severity = "error"
"""


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """The served folder, which contains a submission; other files are next to it."""
    root = tmp_path / "served"
    usual(root)
    return root


@pytest.fixture
def secret(served: Path) -> Path:
    """A log outside the served folder, with a text that must not be read."""
    path = served.parent / "secret.txt"
    fields = {"namespace": "", "time_ms": 1, "event_type": "POINT_IN_TIME", "metadata": {}}
    keys = ("submission_org", "submission_benchmark", "submission_division")
    records = (json.dumps(fields | {"key": key, "value": SECRET}) for key in keys)
    path.write_text("".join(f":::MLLOG {record}\n" for record in records))
    return path


def reported(root: Path, tool: str, **arguments: Any) -> str:
    """Everything that a tool returns: an answer, or the reason why it has no answer."""
    failed, answer = asked(here(root), tool, **arguments)
    return str(answer) if failed else str(answer["text"])


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("tool", ["check", "score"])
def test_a_link_to_a_log_outside_the_folder_is_refused(
    tool: str, form: str, served: Path, secret: Path
) -> None:
    logs = served / "logs"
    logs.mkdir()
    (logs / "result_0.txt").symlink_to(secret)
    text = reported(served, tool, path="logs", round="5.1", format=form)
    assert SECRET not in text
    if tool == "check":
        assert "symbolic link points outside the served folder" in text


def test_a_link_to_a_log_inside_the_folder_is_read(served: Path, secret: Path) -> None:
    (served / "logs").mkdir()
    (served / "logs/result_0.txt").symlink_to("../inside.txt")
    (served / "inside.txt").write_text(secret.read_text())
    assert SECRET in reported(served, "check", path="logs", round="5.1")


def test_a_podium_toml_above_the_folder_is_not_read(served: Path, secret: Path) -> None:
    (served.parent / "podium.toml").write_text(HOUSE_RULE)
    (served / "logs").mkdir()
    (served / "logs/result_0.txt").write_text(secret.read_text().replace(SECRET, "Acme"))
    assert SECRET not in reported(served, "check", path="logs", format="json")
    (served / "podium.toml").write_text(HOUSE_RULE)
    assert SECRET in reported(served, "check", path="logs", format="json")


def test_a_podium_toml_that_links_outside_is_refused_with_the_reason(
    served: Path, secret: Path
) -> None:
    (served / "podium.toml").symlink_to(secret)
    failed, why = asked(here(served), "check", path=".")
    assert failed
    assert "podium.toml is a link out of the served folder" in why
    assert SECRET not in why
    assert str(served.parent) not in why


def test_files_of_the_submission_around_the_folder_are_not_read(served: Path) -> None:
    """The served folder is inside `results`; the descriptions of its submission are above it."""
    (root,) = (each for each in served.rglob("systems") if each.is_dir())
    description = root / "ex_n8.json"
    fields = json.loads(description.read_text())
    description.write_text(json.dumps(fields | {"submitter": SECRET, "accelerator_memory": SECRET}))
    inner = root.parent / RESULT
    for tool in ("check", "score"):
        text = reported(inner.parent, tool, path=inner.name, round="5.1", format="json")
        assert SECRET not in text
        assert "systems/ex_n8.json" not in text


def files_of(root: Path) -> list[str]:
    extra = ("waivers.toml", f"{RESULT}/package_checker_params", f"{RESULT}/scaling.json")
    extra += ("package_checker_params", "results/ex_n8/entry.json", "README.md", "podium.toml")
    found = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return sorted({*found, *extra})


@pytest.mark.daily(2)
@pytest.mark.parametrize("tool", ["check", "score"])
def test_files_of_a_submission_that_link_outside_are_not_read(
    tool: str, served: Path, secret: Path
) -> None:
    (root,) = (each.parent for each in served.rglob("systems") if each.is_dir())
    for name in files_of(root):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        path.symlink_to(secret)
        assert SECRET not in reported(served, tool, path=".", round="5.1", format="json"), name
        path.unlink()
        if before is not None:
            path.write_bytes(before)


# --- the guard of the whole process ---


@pytest.fixture
def guard(served: Path, monkeypatch: pytest.MonkeyPatch) -> Guard:
    monkeypatch.setenv(VARIABLE, str(served))
    return Guard(served)


@pytest.mark.parametrize("event", ["open", "os.listdir", "os.scandir"])
def test_the_guard_refuses_paths_outside_the_folder(event: str, guard: Guard, served: Path) -> None:
    (served / "out").symlink_to(served.parent)
    for path in (served.parent, served / "out", served / "out/secret.txt", served / "../secret"):
        for each in (path, str(path), os.fsencode(path)):
            with pytest.raises(PermissionError, match="outside the served folder"):
                guard(event, (each, "r", os.O_RDONLY))


def test_the_guard_accepts_paths_that_the_process_needs(
    guard: Guard, served: Path, tmp_path: Path
) -> None:
    (served / "in").symlink_to(served)
    exclusive = os.O_RDWR | os.O_CREAT | os.O_EXCL
    for path in (served, served / "in", 0, os.devnull, json.__file__):
        guard("open", (path, "r", os.O_RDONLY))
    guard("open", (tmp_path / "made", None, exclusive))
    guard("import", (str(tmp_path),))
