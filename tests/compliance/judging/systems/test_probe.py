"""The probe of a machine, with fake programs and a fake `sys`, including wrong ones."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.compliance.errors import UsageFault
from podium.compliance.judging.systems.probe import accelerators
from podium.compliance.judging.systems.probe.accelerators import ask, probe_accelerators
from podium.compliance.judging.systems.probe.finding import ProbedFields
from podium.compliance.judging.systems.probe.host import (
    probe_disks,
    probe_host,
    probe_network,
    probe_software,
)
from podium.compliance.judging.systems.probe.probe import Probe, probe_node, read_probe

Fake = Callable[[str, str], Path]

H100 = "NVIDIA H100 80GB HBM3, 81559, 1980, 5, 16, 575.57.08"
SMI_HEAD = "| NVIDIA-SMI 575.57.08    Driver Version: 575.57.08    CUDA Version: 12.9     |"
LINKS = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n" + "".join(
    f"\t Link {number}: 26.562 GB/s\n" for number in range(18)
)


def matrix(*rows: str) -> str:
    """The output of nvidia-smi topo -m, with the column of a network card."""
    names = "\t".join(f"GPU{number}" for number in range(len(rows)))
    body = "\n".join(
        f"GPU{at}\t{row.replace(' ', chr(9))}\tSYS\t0-51" for at, row in enumerate(rows)
    )
    head = f"\t\x1b[4m{names}\tNIC0\tCPU Affinity\x1b[0m"
    return f"{head}\n{body}\nNIC0\tSYS\tSYS\n\nLegend:\n\n  X    = Self\n"


def smi(rows: str, links: str = LINKS, topology: str = "") -> str:
    """A fake nvidia-smi that answers a query with these rows."""
    return f"""#!/bin/sh
case "$1" in
  --query-gpu*) /bin/cat <<'END'
{rows}
END
  ;;
  nvlink) /bin/cat <<'END'
{links}
END
  ;;
  topo) /bin/cat <<'END'
{topology}
END
  ;;
  *) echo '{SMI_HEAD}' ;;
esac
"""


MI300 = {
    "card0": {
        "Card Series": "AMD Instinct MI300X OAM",
        "Card Model": "0x74a1",
        "Card Vendor": "Advanced Micro Devices, Inc. [AMD/ATI]",
        "VRAM Total Memory (B)": "206141652992",
        "VRAM Total Used Memory (B)": "297410560",
    },
    "system": {"Driver version": "6.10.5"},
}


def rocm(text: str) -> str:
    return f"#!/bin/sh\n/bin/cat <<'END'\n{text}\nEND\n"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A function that puts programs on an otherwise empty PATH; torch is not installed."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", str(place))
    monkeypatch.setattr(accelerators, "find_spec", lambda _: None)

    def put(name: str, script: str) -> Path:
        (place / name).write_text(script)
        (place / name).chmod(0o755)
        return place / name

    return put


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine without an accelerator on its bus."""
    put(tmp_path / "root", {"bus/pci/devices/0000:00:01.0/class": "0x060000"})
    return tmp_path / "root"


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


# --- accelerators ---


def test_all_fields_are_read_from_nvidia_smi(fake: Fake, root: Path) -> None:
    fake("nvidia-smi", smi("\n".join([H100] * 8)))
    found = probe_accelerators(root)
    assert found.notes == []
    assert found.fields == {
        "accelerators_per_node": "8",
        "accelerator_model_name": "NVIDIA H100 80GB HBM3",
        "accelerator_memory_capacity": "80GB",
        "accelerator_memory_configuration": "HBM3",
        "accelerator_frequency": "1980MHz",
        "accelerator_host_interconnect": "PCIe Gen5 x16",
        "accelerator_interconnect": "NVLink 18x 26.562GB/s",
        "other_software_stack": "CUDA 12.9, driver 575.57.08",
    }


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        (matrix("X NV18 NV18", "NV18 X NV18", "NV18 NV18 X"), "18 NVLinks, all pairs"),
        (
            matrix("X NV2 SYS", "NV2 X SYS", "SYS SYS X"),
            "the link between NUMA nodes, 2 pairs; 2 NVLinks, 1 pair",
        ),
        (matrix("X PIX", "PIX X"), "one PCIe bridge, all pairs"),
        ("", None),
        ("GPU0\tX\tNV18\nGPU1\tError\tX\n", None),
        ("GPU0\tX\nGPU2\tNV1\n", None),
    ],
)
def test_the_topology_is_read_from_the_links_between_accelerators(
    topology: str, said: str | None, fake: Fake, root: Path
) -> None:
    fake("nvidia-smi", smi("\n".join([H100] * 3), topology=topology))
    found = probe_accelerators(root)
    assert found.fields.get("accelerator_interconnect_topology") == said
    assert found.notes == []


def test_fields_that_nvidia_smi_does_not_know_are_omitted(fake: Fake, root: Path) -> None:
    fake("nvidia-smi", smi("NVIDIA GB10, [N/A], [Not Supported], [N/A], [N/A], 580.82", ""))
    found = probe_accelerators(root)
    assert found.fields == {
        "accelerators_per_node": "1",
        "accelerator_model_name": "NVIDIA GB10",
        "other_software_stack": "CUDA 12.9, driver 580.82",
    }


def test_accelerators_of_several_models_are_a_note(fake: Fake, root: Path) -> None:
    fake("nvidia-smi", smi(f"{H100}\nNVIDIA T4, 15360, 1590, 3, 16, 575.57.08"))
    found = probe_accelerators(root)
    assert found.fields["accelerator_model_name"] == "NVIDIA H100 80GB HBM3 + NVIDIA T4"
    assert found.notes == ["the accelerators of this node differ: NVIDIA H100 80GB HBM3, NVIDIA T4"]


@pytest.mark.parametrize("before", ["", "WARNING: AMD GPU device(s) is/are in a low-power state\n"])
@pytest.mark.parametrize("key", ["Card Series", "Card series"])
def test_names_and_memory_are_read_from_rocm_smi(
    fake: Fake, root: Path, before: str, key: str
) -> None:
    card = {key if name == "Card Series" else name: v for name, v in MI300["card0"].items()}
    cards = {f"card{n}": card for n in range(8)} | {"system": MI300["system"]}
    fake("rocm-smi", rocm(before + json.dumps(cards)))
    found = probe_accelerators(root)
    assert found.notes == []
    assert found.fields | {"other_software_stack": ""} == {
        "accelerators_per_node": "8",
        "accelerator_model_name": "AMD Instinct MI300X OAM",
        "accelerator_memory_capacity": "192GB",
        "other_software_stack": "",
    }
    assert "driver 6.10.5" in found.fields["other_software_stack"]


GARBAGE = {
    "html": "<html><body>502 Bad Gateway</body></html>",
    "too few columns": "NVIDIA H100 80GB HBM3, 81559",
    "too many columns": f"{H100}, more",
    "no name": ", 81559, 1980, 5, 16, 575",
    "one good row": f"{H100}\nUnable to determine the device handle for GPU1: Unknown Error",
    "escapes": "\x1b[2JNVIDIA, 81559, 1980, 5, 16, 575",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_invalid_output_of_nvidia_smi_is_a_note(name: str, fake: Fake, root: Path) -> None:
    fake("nvidia-smi", smi(GARBAGE[name]))
    found = probe_accelerators(root)
    assert found.fields == {}
    assert found.notes[0] == "the output of nvidia-smi cannot be read"


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", "null", '{"card0": 5}', '{"cardx": {}}', "Exception: no driver", "{" * 9000],
)
def test_invalid_output_of_rocm_smi_is_a_note(text: str, fake: Fake, root: Path) -> None:
    fake("rocm-smi", rocm(text))
    found = probe_accelerators(root)
    assert found.fields == {}
    assert found.notes[0] == "the output of rocm-smi cannot be read"


def test_invalid_numbers_of_rocm_smi_are_omitted(fake: Fake, root: Path) -> None:
    fake("rocm-smi", rocm('{"card0": {"Card Series": "N/A", "VRAM Total Memory (B)": "much"}}'))
    found = probe_accelerators(root)
    assert found.fields["accelerator_model_name"] == "AMD accelerator"
    assert "accelerator_memory_capacity" not in found.fields


def test_the_next_program_is_asked_if_a_driver_has_no_devices(fake: Fake, root: Path) -> None:
    fake("nvidia-smi", smi("No devices were found"))
    fake("rocm-smi", rocm(json.dumps(MI300)))
    found = probe_accelerators(root)
    assert (found.fields["accelerators_per_node"], found.notes) == ("1", [])


def test_a_program_that_hangs_is_ended_after_the_time_limit(
    fake: Fake, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accelerators, "PATIENCE", 0.5)
    fake("nvidia-smi", "#!/bin/sh\n/bin/sleep 600 &\n/bin/sleep 600\n")
    start = time.monotonic()
    found = probe_accelerators(root)
    assert time.monotonic() - start < 10
    assert found.notes[0] == "nvidia-smi did not finish within 0.5 s"
    assert "accelerators_per_node" not in found.fields


def test_a_program_that_fails_or_cannot_be_run_is_a_note(fake: Fake, root: Path) -> None:
    fake("nvidia-smi", "#!/bin/sh\necho driver mismatch; exit 9\n")
    fake("rocm-smi", "#!/no/such/interpreter\n")
    found = probe_accelerators(root)
    assert found.notes[:2] == [
        "nvidia-smi exited with status 9",
        "rocm-smi cannot be run: No such file or directory",
    ]
    assert found.fields == {}


def test_the_output_of_a_program_is_read_up_to_a_limit(fake: Fake) -> None:
    fake("flood", "#!/bin/sh\n/usr/bin/head -c 5000000 /dev/zero\n")
    text = ask(("flood",)).text
    assert text is not None
    assert len(text) == accelerators.MOST_OUTPUT


def test_a_node_without_programs_and_devices_has_0_accelerators(fake: Fake, root: Path) -> None:
    assert probe_accelerators(root).fields == {"accelerators_per_node": "0"}


def test_an_accelerator_on_the_bus_without_a_program_is_a_note(fake: Fake, root: Path) -> None:
    put(root, {"bus/pci/devices/0000:3b:00.0/class": "0x030200"})
    found = probe_accelerators(root)
    assert found.fields == {}
    assert found.notes == ["no installed program reports accelerators (1 on the PCI bus)"]
    assert probe_accelerators(root / "absent").fields == {}


def test_torch_is_asked_in_a_separate_process(
    fake: Fake, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accelerators, "find_spec", lambda _: object())
    for script, fields, notes in (
        ("echo '[[\"Card 9\", 68719476736]]'", {"accelerator_memory_capacity": "64GB"}, 0),
        ("echo warning; echo '[]'", {"accelerators_per_node": "0"}, 0),
        ("echo Segmentation fault", {}, 2),
        ("exit 139", {}, 2),
        ("true", {}, 2),
    ):
        monkeypatch.setattr(sys, "executable", str(fake("python", f"#!/bin/sh\n{script}\n")))
        found = probe_accelerators(root)
        assert fields.items() <= found.fields.items(), script
        assert len(found.notes) == notes, script


@given(st.text(max_size=300))
def test_any_output_of_a_program_is_parsed_without_an_exception(text: str) -> None:
    found = ProbedFields()
    accelerators._rows(accelerators.Answer(text), found)
    for card in accelerators._json_in(text).values():
        accelerators._is_card("card0", card)


# --- host, disks, network ---


def test_processors_are_counted_by_their_packages(root: Path) -> None:
    for number in range(8):
        place = f"devices/system/cpu/cpu{number}/topology/physical_package_id"
        put(root, {place: str(number // 4)})
    cache = "devices/system/cpu/cpu0/cache/index"
    put(root, {f"{cache}0/level": "1", f"{cache}0/type": "Data", f"{cache}0/size": "48K"})
    put(root, {f"{cache}1/level": "3", f"{cache}1/type": "Unified", f"{cache}1/size": "105M"})
    fields = probe_host(root).fields
    assert fields["host_processors_per_node"] == "2"
    assert fields["host_processor_caches"] == "L1d: 48K, L3: 105M"
    assert fields["host_processor_model_name"]
    assert fields["host_memory_capacity"].endswith("GB")
    assert fields["operating_system"]


def test_missing_kernel_information_gives_notes(root: Path) -> None:
    found = probe_host(root / "absent")
    assert "host_processors_per_node" not in found.fields
    assert "host_processor_core_count" not in found.fields
    assert found.notes == ["the number of processors cannot be read"]
    assert probe_disks(root).notes == ["no local disk is visible"]
    assert probe_network(root).notes == ["no network card is visible"]


def test_disks_are_grouped_by_size_and_kind(root: Path) -> None:
    for number in range(4):
        put(root, {f"block/nvme{number}n1/size": "7501476528"})
    put(root, {"block/sda/size": "937703088", "block/sda/queue/rotational": "0"})
    put(root, {"block/sdb/size": "15628053168", "block/sdb/queue/rotational": "1"})
    put(root, {"block/sdc/size": "62500000", "block/sdc/removable": "1"})
    put(root, {"block/loop0/size": "8", "block/dm-0/size": "7501476528", "block/sdd/size": "0"})
    put(root, {"block/sde/size": "odd"})
    found = probe_disks(root)
    assert found.fields == {
        "host_storage_type": "NVMe SSD + SSD + HDD",
        "host_storage_capacity": "4x 3.84TB NVMe SSD + 1x 480GB SSD + 1x 8TB HDD",
    }


def test_a_virtual_disk_has_a_size_but_no_kind(root: Path) -> None:
    put(root, {"block/vda/size": "2147483648", "block/vda/queue/rotational": "1"})
    found = probe_disks(root)
    assert found.fields == {"host_storage_capacity": "1x 1.1TB"}
    assert found.notes == ["the kind of a virtual disk is not known"]


def test_network_cards_are_counted_by_kind(root: Path) -> None:
    for number in range(8):
        port = f"class/infiniband/mlx5_{number}/ports/1"
        put(root, {f"{port}/rate": "400 Gb/sec (4X NDR)", f"{port}/link_layer": "InfiniBand"})
        put(root, {f"{port}/state": "4: ACTIVE" if number < 7 else "1: DOWN"})
    for name, speed in (("eth0", "100000"), ("eth1", "-1"), ("lo", "0"), ("docker0", "10000")):
        put(root, {f"class/net/{name}/speed": speed, f"class/net/{name}/type": "1"})
        if name.startswith("eth"):
            put(root, {f"class/net/{name}/device/vendor": "0x15b3"})
    assert probe_network(root).fields == {
        "host_networking": "400Gb/s InfiniBand NDR + 100GbE + Ethernet",
        "host_network_card_count": "7x 400Gb/s InfiniBand NDR + 1x 100GbE + 1x Ethernet",
    }


def test_software_is_read_from_the_environment_and_the_installation() -> None:
    fields = probe_software({"NCCL_VERSION": "2.27.3", "HOME": "/x"}).fields
    assert fields["other_software_stack"].startswith("NCCL 2.27.3, Python 3.")


# --- probe files ---


def test_a_probe_file_is_read_back_unchanged(fake: Fake, root: Path, tmp_path: Path) -> None:
    fake("nvidia-smi", smi(H100))
    probe = probe_node(root)
    assert probe.fields["accelerators_per_node"] == "1"
    assert "CUDA 12.9" in probe.fields["other_software_stack"]
    assert "Python" in probe.fields["other_software_stack"]
    (tmp_path / "n.json").write_text(probe.to_json())
    assert read_probe(tmp_path / "n.json") == probe


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"schema": "podium.probe/2"}', '{"fields": {"cooling": 5}}', '{"x": 1}'),
        *('{"fields": {"colour": "red"}}', f'{{"fields": {{"cooling": "{"x" * 9999}"}}}}'),
    ],
)
def test_a_file_that_is_not_a_probe_is_a_usage_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text(text)
    with pytest.raises(UsageFault, match="is not a podium probe"):
        read_probe(tmp_path / "n.json")
    with pytest.raises(UsageFault, match="cannot be read"):
        read_probe(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("absent", "named"),
    [
        (["psutil"], "psutil is not installed"),
        (["cpuinfo"], "py-cpuinfo is not installed"),
        (["psutil", "cpuinfo"], "psutil and py-cpuinfo are not installed"),
    ],
)
def test_missing_libraries_are_one_note_and_the_rest_is_probed(
    absent: list[str], named: str, fake: Fake, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in absent:
        monkeypatch.setitem(sys.modules, library, None)
    probe = probe_node(root)
    (note,) = [note for note in probe.notes if "not installed" in note]
    assert note.startswith(named)
    assert note.endswith("pip install psutil py-cpuinfo")
    assert probe.fields["operating_system"]


def test_a_failing_part_is_a_note_and_the_rest_is_probed(
    fake: Fake, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psutil

    def broken() -> None:
        raise OSError("no /proc here")

    monkeypatch.setattr(psutil, "virtual_memory", broken)
    probe = probe_node(root)
    assert "probing host failed: OSError" in probe.notes
    assert probe.fields["accelerators_per_node"] == "0"
    assert isinstance(probe, Probe)
