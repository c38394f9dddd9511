"""`podium system init`: a description from all sources, with marks for missing fields."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from podium.compliance.judging.systems.check import check_system
from podium.compliance.judging.systems.fields import FIELDS
from podium.compliance.judging.systems.probe.fill import MARK
from podium.compliance.judging.systems.probe.probe import Probe
from podium.compliance.judging.systems.schema import unfit
from podium.rules.catalogue import find_round
from podium.rules.finding import Profile

ROUNDS = [
    *(("training", name) for name in ("0.7", "1.1", "2.0", "2.1", "4.0", "5.1", "6.1")),
    *(("hpc", name) for name in ("0.7", "1.0", "3.0")),
]

NODE = {
    "host_processors_per_node": "2",
    "host_processor_model_name": "CPU 9",
    "host_processor_core_count": "64",
    "host_memory_capacity": "2048GB",
    "accelerators_per_node": "8",
    "accelerator_model_name": "ACC-100",
}


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("MLPERF_", "SLURM_", "DGXNNODES")):
            monkeypatch.delenv(name)


def init(file: Path, *more: str, round_: str = "5.1", usage: str = "training") -> int:
    call = ["system", "init", str(file), "--round", round_, "--usage", usage, "--no-probe"]
    return run([*call, *more])


def fields_of(file: Path) -> dict[str, str]:
    fields: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return fields


def marked(file: Path) -> set[str]:
    return {name for name, value in fields_of(file).items() if value.startswith(MARK)}


def node(path: Path, host: str, **changes: str) -> Path:
    fields = {name: value for name, value in (NODE | changes).items() if value}
    path.write_text(Probe(host=host, fields=fields).to_json())
    return path


def set_all(examples: Mapping[str, str]) -> list[str]:
    return [part for name, text in examples.items() for part in ("--set", f"{name}={text}")]


# --- marks, and the findings of check ---


@pytest.mark.parametrize(("usage", "name"), ROUNDS)
def test_check_reports_every_mark(usage: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "ex_n8.json"
    assert init(file, round_=name, usage=usage) == Exit.CLEAN
    found = check_system(file, file.name, find_round(usage, name), Profile.POLICY).findings
    assert list(fields_of(file)) == list(FIELDS)
    assert marked(file)
    assert marked(file) <= {finding.key for finding in found}


@pytest.mark.parametrize(("usage", "name"), ROUNDS)
@pytest.mark.parametrize("profile", list(Profile))
def test_a_description_without_marks_has_no_findings(
    usage: str, name: str, profile: Profile, tmp_path: Path
) -> None:
    file = tmp_path / "ex_n8.json"
    init(file, round_=name, usage=usage)
    filled = {each: FIELDS[each].example for each in marked(file)}
    assert init(file, "--replace", *set_all(filled), round_=name, usage=usage) == Exit.CLEAN
    assert marked(file) == set()
    rules = find_round(usage, name)
    assert check_system(file, file.name, rules, profile).findings == []
    assert unfit(fields_of(file), rules) == []
    status = run(["system", "check", str(file), "--round", name, "--usage", usage, "--strict"])
    assert status == Exit.CLEAN


def test_a_node_without_accelerators_has_no_accelerator_marks(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    init(file, "--set", "accelerators_per_node=0")
    assert not {name for name in marked(file) if name.startswith("accelerator")}


def test_a_preview_has_no_mark_for_its_core_count(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    init(file, "--set", "status=preview")
    assert fields_of(file)["status"] == "Preview"
    assert "host_processor_core_count" not in marked(file)
    init(tmp_path / "t.json", "--set", "host_processor_vcpu_count=128")
    assert "host_processor_core_count" not in marked(tmp_path / "t.json")


# --- sources ---


def test_every_field_can_be_set_by_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, field in FIELDS.items():
        variable = f"MLPERF_{name.upper().replace('-', '_')}"
        monkeypatch.setenv(variable, field.example or f"a note on {name}")
    file = tmp_path / "s.json"
    init(file)
    assert marked(file) == set()
    assert fields_of(file)["accelerator_on-chip_memories"] == "L1: 32 KB"
    assert fields_of(file)["hw_notes"] == "a note on hw_notes"


def test_a_field_is_read_from_variables_with_other_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {
        "MLPERF_SUBMISSION_ORG": "Acme",
        "MLPERF_HOST_OS": "Ubuntu 24.04 / DGX OS 7",
        "DGXNNODES": "64",
        "MLPERF_STATUS": "onprem",
        "MLPERF_DIVISION": "Closed",
        "MLPERF_SYSTEM_NAME": "UNKNOWN_MLPERF_SYSTEM_NAME",
        "MLPERF_COOLING": "",
        "MLPERF_ACCELERATORS_PER_NODE": "eight",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "ex_n64.json"
    init(file)
    fields = fields_of(file)
    assert (fields["submitter"], fields["number_of_nodes"]) == ("Acme", "64")
    assert fields["operating_system"] == "Ubuntu 24.04 / DGX OS 7"
    assert (fields["status"], fields["division"]) == ("Available on-premise", "closed")
    assert fields["system_name"] == "ex_n64"
    assert {"cooling", "accelerators_per_node"} <= marked(file)
    display_path = " ".join(capsys.readouterr().out.split())
    assert "MLPERF_SYSTEM_NAME still has a placeholder" in display_path
    assert "accelerators_per_node is 'eight'; expected a whole number" in display_path
    assert "64 ($DGXNNODES)" in display_path


def test_an_ambiguous_status_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLPERF_STATUS", "available")
    init(tmp_path / "new.json")
    assert "status" in marked(tmp_path / "new.json")
    init(tmp_path / "old.json", round_="2.0")
    assert fields_of(tmp_path / "old.json")["status"] == "available"


SYSINFO = {
    "submitter": "MyOrg",
    "system_name": "ex_h8",
    "status": "Available on-premise",
    "division": "closed",
    "number_of_nodes": 1,
    "host_processors_per_node": 2,
    "host_processor_core_count": 112,
    "host_networking_topology": "N/A",
    "host_memory_configuration": "Not detected: needs root",
    "cooling": "CHANGEME",
    "framework": "",
    "other_software_stack": {"CUDA": "12.9", "driver": "575"},
    "framework_name": "ngc",
    "mlperf_sysinfo": {"version": "1.0", "profile": "training", "complete": True},
}


def sysinfo(path: Path, **changes: object) -> Path:
    path.write_text(json.dumps(SYSINFO | changes))
    return path


def test_the_json_of_mlperf_sysinfo_is_imported(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    init(file, "--from", str(sysinfo(tmp_path / "in.json")))
    fields = fields_of(file)
    assert fields["system_name"] == "ex_h8"
    assert fields["host_processor_core_count"] == "112"
    assert fields["host_networking_topology"] == "N/A"
    assert fields["other_software_stack"] == "CUDA 12.9, driver 575"
    assert {"host_memory_configuration", "cooling", "framework"} <= marked(file)
    assert "framework_name" not in fields


def test_grouped_sysinfo_is_imported_if_all_nodes_are_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = {"accelerator_model_name": "ACC", "accelerators_per_node": 8}
    kind = {
        "host_processors_per_node": 2,
        "accelerator_info": [card | {"accelerator_memory_type": "HBM3"}],
    }
    grouped = {
        "system_availability_status": "preview",
        "system_category": "datacenter",
        "system_node_ensemble_total": 4,
        "node_types": [kind],
    }
    place, file = tmp_path / "in.json", tmp_path / "s.json"
    place.write_text(json.dumps(grouped))
    init(file, "--from", str(place))
    fields = fields_of(file)
    assert (fields["number_of_nodes"], fields["status"]) == ("4", "Preview")
    assert (fields["accelerators_per_node"], fields["accelerator_model_name"]) == ("8", "ACC")
    assert fields["accelerator_memory_configuration"] == "HBM3"
    place.write_text(json.dumps(grouped | {"node_types": [kind, kind]}))
    init(file, "--replace", "--from", str(place))
    assert "accelerators_per_node" in marked(file)
    assert "has 2 kinds of nodes" in capsys.readouterr().out


def test_a_sysinfo_line_in_a_raw_log_is_imported(tmp_path: Path) -> None:
    log = tmp_path / "raw.log"
    log.write_text(f"+ srun\n:::DLPAL x y\n:::SYSJSON {json.dumps(SYSINFO)}\nBeginning trial 1\n")
    init(tmp_path / "s.json", "--from", str(log))
    assert fields_of(tmp_path / "s.json")["submitter"] == "MyOrg"


def test_an_earlier_source_overrides_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLPERF_SUBMITTER", "by variable")
    monkeypatch.setenv("MLPERF_COOLING", "Air-cooled")
    (tmp_path / "podium.toml").write_text('submitter = "by toml"\ndivision = "open"\n')
    probe = node(tmp_path / "n.json", "n1", host_processor_core_count="56")
    given = sysinfo(tmp_path / "in.json", division="")
    more = ("--from", str(given), "--node", str(probe), "--set", "cooling=Liquid")
    (tmp_path / "systems").mkdir()
    init(tmp_path / "systems/s.json", *more)
    fields = fields_of(tmp_path / "systems/s.json")
    assert fields["cooling"] == "Liquid"
    assert fields["submitter"] == "by variable"
    assert fields["host_processor_core_count"] == "112"
    assert fields["division"] == "open"
    assert fields["accelerator_model_name"] == "ACC-100"


def test_a_config_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "podium.toml").write_text('submitter = "by toml"\n', encoding="utf-8-sig")
    init(tmp_path / "s.json")
    assert fields_of(tmp_path / "s.json")["submitter"] == "by toml"


def test_counts_that_differ_between_sources_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    probe = node(tmp_path / "n.json", "n1", host_processor_core_count="56")
    init(tmp_path / "s.json", "--from", str(sysinfo(tmp_path / "in.json")), "--node", str(probe))
    display_path = " ".join(capsys.readouterr().out.split())
    assert (
        "host_processor_core_count is 112 according to in.json, and 56 according to probe"
        in display_path
    )


def test_several_nodes_are_counted_and_their_differences_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    probes = [node(tmp_path / f"n{n}.json", f"n{n}") for n in range(5)]
    probes.append(node(tmp_path / "odd.json", "odd", host_memory_capacity="1024GB"))
    probes.append(node(tmp_path / "lame.json", "lame", accelerator_model_name=""))
    more = [part for probe in probes for part in ("--node", str(probe))]
    file = tmp_path / "s.json"
    assert init(file, *more) == Exit.CLEAN
    fields = fields_of(file)
    assert (fields["number_of_nodes"], fields["host_processor_core_count"]) == ("7", "64")
    assert {"host_memory_capacity", "accelerator_model_name"} <= marked(file)
    display_path = " ".join(capsys.readouterr().out.split())
    assert "host_memory_capacity: 2048GB (n0, n1, n2 and 3 more), 1024GB (odd)" in display_path
    assert "accelerator_model_name: ACC-100 (n0, n1, n2 and 3 more), nothing (lame)" in display_path


# --- the output file ---


def test_an_existing_description_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.json"
    file.write_text("mine")
    assert init(file) == Exit.USAGE
    assert capsys.readouterr().err == (
        f"podium: {file} exists already; "
        f"use --replace to overwrite it, and --from {file} to keep its values\n"
    )
    assert file.read_text() == "mine"
    assert init(file, "--replace") == Exit.CLEAN
    assert fields_of(file)["system_name"] == "s"
    assert [each.name for each in tmp_path.iterdir()] == ["s.json"]


def test_an_existing_description_can_be_completed(tmp_path: Path) -> None:
    file = tmp_path / "ex_n8.json"
    init(file, "--set", "cooling=Liquid", "--set", "hw_notes=two racks")
    left = marked(file)
    more = ("--replace", "--from", str(file), "--set", "submitter=Acme")
    assert init(file, *more, "--node", str(node(tmp_path / "n.json", "n1"))) == Exit.CLEAN
    fields = fields_of(file)
    assert (fields["cooling"], fields["hw_notes"]) == ("Liquid", "two racks")
    assert marked(file) == left - {"submitter", "number_of_nodes", *NODE}


def test_a_usage_error_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "empty.json").write_text("{}")
    partial = {"complete": False, "nodes_collected": 1, "nodes_expected": 2}
    sysinfo(tmp_path / "part.json", mlperf_sysinfo=partial)
    calls = {
        "expected FIELD=VALUE": ["--set", "colour=red"],
        "'cooling'; expected FIELD=VALUE": ["--set", "cooling"],
        "expected a whole number of at least 1": ["--set", "number_of_nodes=0"],
        "expected closed or open": ["--set", "division=ajar"],
        "expected datacenter or edge": ["--set", "system_type=cellar"],
        "expected one of Available on-premise": ["--set", "status=soon"],
        "cooling is empty": ["--set", "cooling= "],
        "neither a JSON object nor": ["--from", str(tmp_path / "bad.json")],
        "has no field": ["--from", str(tmp_path / "empty.json")],
        "1 of 2 nodes answered": ["--from", str(tmp_path / "part.json")],
        "absent.json cannot be read": ["--from", str(tmp_path / "absent.json")],
        "is not a podium probe": ["--node", str(tmp_path / "empty2.json")],
    }
    (tmp_path / "empty2.json").write_text("[]")
    for said, more in calls.items():
        assert init(tmp_path / "s.json", *more) == Exit.USAGE, said
        display_path = capsys.readouterr().err
        assert said in display_path
        assert display_path.count("\n") == 1
    assert init(tmp_path) == Exit.USAGE
    assert init(tmp_path / "absent" / "s.json") == Exit.USAGE
    assert not (tmp_path / "s.json").exists()


def test_a_probe_of_this_machine_is_written_and_read(tmp_path: Path) -> None:
    place = tmp_path / "probe-%h.json"
    assert run(["system", "probe", "--output", str(place)]) == Exit.CLEAN
    (probe,) = tmp_path.iterdir()
    assert "%h" not in probe.name
    assert init(tmp_path / "s.json", "--node", str(probe)) == Exit.CLEAN
    assert fields_of(tmp_path / "s.json")["operating_system"]


def test_this_machine_is_probed_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "bin"
    place.mkdir()
    row = "NVIDIA H100 80GB HBM3, 81559, 1980, 5, 16, 575.57.08"
    (place / "nvidia-smi").write_text(f"#!/bin/sh\nfor n in 1 2 3 4; do echo '{row}'; done\n")
    (place / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(place))
    file = tmp_path / "s.json"
    assert run(["system", "init", str(file), "--round", "5.1"]) == Exit.CLEAN
    fields = fields_of(file)
    assert fields["accelerators_per_node"] == "4"
    assert fields["accelerator_memory_capacity"] == "80GB"
    assert fields["host_processor_model_name"]
    assert fields["number_of_nodes"] == "1"
    assert "accelerator_interconnect" in marked(file)


# --- in a terminal ---


def in_terminal(file: Path, answers: str) -> str:
    """The output of a terminal while these answers are typed."""
    keyboard, terminal = pty.openpty()
    call = ["-m", "podium", "system", "init", str(file), "--round", "5.1", "--no-probe"]
    child = subprocess.Popen(
        [sys.executable, *call], stdin=terminal, stdout=terminal, stderr=terminal, close_fds=True
    )
    os.close(terminal)
    os.write(keyboard, answers.encode())
    display_path = b""
    while True:
        try:
            data = os.read(keyboard, 4096)
        except OSError:
            break
        if not data:
            break
        display_path += data
    os.close(keyboard)
    assert child.wait(60) == Exit.CLEAN
    return display_path.decode()


def test_missing_fields_are_asked_for_in_a_terminal(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    init(file)
    order = [name for name in FIELDS if name in marked(file)]
    file.unlink()
    answers = {name: FIELDS[name].example for name in order}
    answers["division"] = "ajar\nopen"
    answers["status"] = "cloud"
    answers["cooling"] = ""
    display_path = in_terminal(file, "".join(f"{answers[name]}\n" for name in order))
    assert "division is 'ajar'; expected closed or open" in display_path
    fields = fields_of(file)
    assert (fields["division"], fields["status"]) == ("open", "Available cloud")
    assert marked(file) == {"cooling"}
    assert run(["system", "check", str(file), "--round", "5.1"]) == Exit.CLEAN


def test_no_questions_are_asked_without_a_terminal(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "podium", "system", "init", str(tmp_path / "s.json")]
    done = subprocess.run(
        [*call, "--no-probe"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "fields are marked TODO" in done.stdout
