"""`podium system`, and the official tools that check system descriptions and file names."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from podium.compliance.cli.compat.checkers import compat_repo, compat_system
from podium.compliance.errors import UsageFault
from tests.compliance.command_line import Done, podium
from tests.compliance.judging.systems.test_check import good


def run(*arguments: str) -> Done:
    return podium("system", *arguments)


def old(*arguments: str) -> Done:
    return podium("compat", *arguments)


def write(path: Path, **changes: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(good(**changes), indent=1))
    return path


def test_one_system_description_is_checked(tmp_path: Path) -> None:
    file = write(tmp_path / "ex_n8.json")
    done = run("check", str(file), "--round", "5.1")
    assert done.exit_code == 0
    assert "1 system description checked against training 5.1" in " ".join(done.stdout.split())
    write(file, status="onprem", number_of_nodes="x")
    done = run("check", str(file), "--round", "5.1")
    assert done.exit_code == 1
    assert "ex_n8.json:4" in done.stdout
    assert "did you mean 'Available on-premise'?" in " ".join(done.stdout.split())


def test_a_folder_of_system_descriptions_is_checked(tmp_path: Path) -> None:
    write(tmp_path / "training_results_v5.0" / "ex" / "systems" / "a.json")
    write(tmp_path / "training_results_v5.0" / "ex" / "systems" / "b.json", division="x")
    folder = str(tmp_path / "training_results_v5.0" / "ex")
    report = json.loads(run("check", folder, "--format", "json").stdout)
    assert [entry["path"] for entry in report["files"]] == ["systems/a.json", "systems/b.json"]
    assert {entry["kind"] for entry in report["files"]} == {"system"}
    assert report["rules"]["round"] == "5.0"
    assert [f["id"] for f in report["findings"]] == ["system.bad-division"]
    assert run("check", folder, "--strict").exit_code == 1
    assert run("check", folder, "--strict", "--ignore", "system.bad-*").exit_code == 0
    assert run("check", folder, "--profile", "verifier", "--strict").exit_code == 0


def test_a_glob_that_matches_no_rule_is_refused(tmp_path: Path) -> None:
    done = run("check", str(write(tmp_path / "a.json")), "--select", "sytem.*")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == ("podium: --select 'sytem.*' matches no rule; did you mean system.*?\n")


def test_descriptions_of_several_rounds_are_checked(tmp_path: Path) -> None:
    first = write(tmp_path / "training_results_v5.0" / "a.json", status="onprem")
    second = write(tmp_path / "hpc_results_v3.0" / "a.json", status="onprem")
    report = json.loads(run("check", str(first), str(second), "--format", "json").stdout)
    assert report["rules"]["round"] == "several"
    assert {e["round"]: e["verdict"] for e in report["files"]} == {
        "training 5.0": "fail",
        "hpc 3.0": "pass",
    }


def test_nothing_to_check_and_invalid_options_are_usage_errors(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        done = run("check", str(path))
        assert done.exit_code == 2
        assert done.stderr.startswith("podium: no ")
    file = str(write(tmp_path / "a.json"))
    assert run("check", file, "--round", "99").exit_code == 2
    assert run("check", str(tmp_path), "--output", str(tmp_path / "r")).exit_code == 2


def test_control_characters_in_names_are_not_printed(tmp_path: Path) -> None:
    file = write(tmp_path / "a\x1b[31m.json", division="\x1b[31m", cooling=...)
    done = run("check", str(file))
    assert "\x1b" not in done.stdout
    for text, _ in (compat_system(file, "training", "5.1.0"),):
        assert "\x1b" not in text


@pytest.mark.parametrize(("usage", "name"), [("training", "6.0"), ("hpc", "3.0")])
def test_the_schema_validates_a_system_description(tmp_path: Path, usage: str, name: str) -> None:
    done = run("schema", "--usage", usage, "--round", name)
    assert done.exit_code == 0
    schema = json.loads(done.stdout)
    assert schema["$schema"].endswith("2020-12/schema")
    jsonschema.validate(good(), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(good(framework=""), schema)
    place = tmp_path / "s.json"
    run("schema", "--usage", usage, "--round", name, "--output", str(place))
    assert json.loads(place.read_text()) == schema
    assert run("schema", "--round", "9.9").exit_code == 2


def test_the_schema_depends_on_the_round() -> None:
    new = json.loads(run("schema", "--round", "5.0").stdout)
    before = json.loads(run("schema", "--round", "1.1").stdout)
    assert "enum" in new["properties"]["status"]
    assert "enum" not in before["properties"]["status"]
    assert "host_network_card_count" in new["required"]
    assert "host_network_card_count" not in before["required"]


def test_system_desc_checker_prints_and_logs_its_verdict(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json")
    done = old("system_desc_checker", str(file), "training", "5.1.0")
    assert done.exit_code == 0
    assert done.stderr.endswith("INFO -   System description checker passed for ex_n8\n")
    write(file, cooling=..., hw_notes=...)
    log = tmp_path / "out" / "x.log"
    log.parent.mkdir()
    arguments = ("training", "5.1.0", "--werror", "--quiet", "--log_output", str(log))
    done = old("system_desc_checker", str(file), *arguments)
    assert done.exit_code == 1
    last = done.stderr.splitlines()[-1]
    assert last == (
        "ERROR -   System description checker failed for ex_n8 : "
        "['Missing field cooling', 'Missing field hw_notes']"
    )
    assert log.read_text() == done.stderr


def test_system_desc_checker_fails_where_the_official_checker_crashes(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", accelerators_per_node=8)
    text, passed = compat_system(file, "hpc", "3.0.0")
    assert not passed
    assert "failed for ex_n8" in text.splitlines()[-1]
    file.write_text("[]")
    text, passed = compat_system(file, "training", "4.0.0")
    assert not passed
    assert "checker failed for" in text.splitlines()[-1]
    for path, name in ((tmp_path, "5.0"), (tmp_path / "absent", "5.0"), (file, "9.0")):
        with pytest.raises(UsageFault):
            compat_system(path, "training", name)


def test_repo_checker_reports_a_name_with_a_space(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    done = old("repo_checker", str(tmp_path / "sub"), "training", "5.1.0")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (0, "INFO - ALL CHECKS PASSED.")
    (tmp_path / "sub" / "a b").write_text("")
    done = old("repo_checker", str(tmp_path / "sub"), "training", "5.1.0")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, "INFO - CHECKS FAILED.")
    assert "ERROR - a b: the name has a space" in done.stderr
    with pytest.raises(UsageFault):
        compat_repo(tmp_path / "absent", "training", "5.1")
