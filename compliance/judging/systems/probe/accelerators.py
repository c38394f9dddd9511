"""Accelerators: nvidia-smi, rocm-smi and torch are run in turn, until one reports any.

The time and the output of a program are limited, and its answer is not trusted.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from podium.compliance.judging.systems.probe.finding import ProbedFields, binary_size
from podium.compliance.judging.systems.probe.host import accelerators_on_the_bus
from podium.compliance.judging.systems.probe.topology import DeviceLink, links_in, summary
from podium.logging_spec.limits import read_json

PATIENCE = 20.0
"""Seconds that a program may take; with a broken driver it never returns."""

MOST_OUTPUT = 1 << 20
"""Bytes of a program's output that are read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A program's output; `fault` is the reason for none, and empty if the program is missing."""

    text: str | None = None
    fault: str = ""


def ask(command: Sequence[str], patience: float | None = None) -> Answer:
    """Run a program and read its output; after the time limit, kill it and all its children."""
    executable, patience = shutil.which(command[0]), patience or PATIENCE
    if executable is None:
        return Answer()
    # A file, not a pipe: a pipe stays open as long as any grandchild lives.
    with tempfile.TemporaryFile() as output:
        try:
            # No shell, and only commands that are named in this module.
            child = subprocess.Popen(  # noqa: S603
                [executable, *command[1:]],
                # A program must not wait for input
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                # Answers are matched in English, with a decimal point
                env=os.environ | {"LC_ALL": "C"},
                # A separate group, so that killpg reaches all children of the program
                start_new_session=True,
            )
        except OSError as error:
            return Answer(fault=f"{command[0]} cannot be run: {error.strerror}")
        try:
            status = child.wait(patience)
        except subprocess.TimeoutExpired:
            _end(child)
            return Answer(fault=f"{command[0]} did not finish within {patience:g} s")
        output.seek(0)
        text = output.read(MOST_OUTPUT).decode("utf-8", "replace")
    if status:
        return Answer(fault=f"{command[0]} exited with status {status}")
    return Answer(text)


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    # Killed or not, a child stays a zombie until its parent waits for it
    child.wait()


MIB = 1 << 20

TORCH_PATIENCE = 90.0
"""Seconds: importing torch takes long on a cold disk."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One accelerator; unknown values are empty."""

    model: str
    memory: str = ""
    clock: str = ""
    bus: str = ""


def probe_accelerators(root: Path) -> ProbedFields:
    """The accelerators of this node; it is reported to have none only if the PCI bus shows none."""
    result = ProbedFields()
    # Vendors' programs first: they answer quickly, while importing torch may take long
    probes: tuple[Callable[[ProbedFields], list[Accelerator]], ...] = (_nvidia, _rocm, _torch)
    for probe in probes:
        devices = probe(result)
        if devices:
            _describe(result, devices)
            return result
    visible = accelerators_on_the_bus(root)
    # A failed program proves nothing: only an empty bus shows that the node has no accelerators
    if visible == 0 and not result.notes:
        result.set("accelerators_per_node", 0)
    else:
        pci_count = f"{visible} on the PCI bus" if visible else "none known"
        result.notes.append(f"no installed program reports accelerators ({pci_count})")
    return result


def _describe(result: ProbedFields, devices: list[Accelerator]) -> None:
    models = list(dict.fromkeys(device.model for device in devices))
    result.set("accelerators_per_node", len(devices))
    result.set("accelerator_model_name", " + ".join(models))
    if len(models) > 1:
        result.notes.append(f"the accelerators of this node differ: {', '.join(models)}")
    first = devices[0]
    result.set("accelerator_memory_capacity", first.memory)
    result.set("accelerator_memory_configuration", memory_kind(first.model))
    result.set("accelerator_frequency", first.clock)
    result.set("accelerator_host_interconnect", first.bus)


def memory_kind(model: str) -> str:
    """The kind of memory in the name of a model, such as `NVIDIA H100 80GB HBM3`."""
    match = re.search(r"\b(HBM\d?e?|GDDR\d\w?)\b", model, re.IGNORECASE)
    return match[1] if match else ""


# --- nvidia-smi ---

_QUERY = "name,memory.total,clocks.max.sm,pcie.link.gen.max,pcie.link.width.max,driver_version"


def _nvidia(result: ProbedFields) -> list[Accelerator]:
    command = ("nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits")
    rows = _rows(ask(command), result)
    devices = [_nvidia_device(row) for row in rows]
    if devices:
        driver = _known(rows[0][5])
        result.set("other_software_stack", ", ".join(filter(None, (_cuda(), _driver(driver)))))
        _nvlink(result)
        if len(devices) > 1 and (topology := summary(device_links())):
            result.set("accelerator_interconnect_topology", topology)
    return devices


def _rows(answer: Answer, result: ProbedFields) -> list[list[str]]:
    """The lines of the answer, each with every column; adds a note if it has none."""
    if answer.text is None:
        result.notes += [answer.fault] if answer.fault else []
        return []
    rows = [[cell.strip() for cell in row] for row in csv.reader(answer.text.splitlines()) if row]
    columns = _QUERY.count(",") + 1
    if any(len(row) != columns or not _known(row[0]) for row in rows):
        # A driver without devices is not an error: the accelerators may be from another vendor
        if "No devices were found" not in answer.text:
            result.notes.append("the output of nvidia-smi cannot be read")
        return []
    return rows


def _known(cell: str) -> str:
    """A cell of nvidia-smi's output; empty if it is `[N/A]` or the reason for no value."""
    return "" if cell.startswith("[") or cell in ("N/A", "") or not cell.isprintable() else cell


def _nvidia_device(row: list[str]) -> Accelerator:
    name, memory, clock, generation, width, _ = map(_known, row)
    bus = f"PCIe Gen{generation} x{width}" if generation.isdigit() and width.isdigit() else ""
    return Accelerator(
        name,
        binary_size(int(memory) * MIB) if memory.isdigit() else "",
        f"{clock}MHz" if clock.isdigit() else "",
        bus,
    )


def _cuda() -> str:
    """The newest CUDA that the driver supports, from the head of nvidia-smi's default output."""
    match = re.search(r"CUDA Version:\s*(\d+\.\d+)", ask(("nvidia-smi",)).text or "")
    return f"CUDA {match[1]}" if match else ""


def _driver(version: str) -> str:
    return f"driver {version}" if version else ""


def _nvlink(result: ProbedFields) -> None:
    """Links of the first accelerator to others, if it has any."""
    text = ask(("nvidia-smi", "nvlink", "--status", "-i", "0")).text or ""
    speeds = re.findall(r"Link \d+:\s*([\d.]+) GB/s", text)
    if speeds:
        result.set("accelerator_interconnect", f"NVLink {len(speeds)}x {float(speeds[0]):g}GB/s")


def device_links() -> list[DeviceLink]:
    """The links between the NVIDIA GPUs of this node; empty if they cannot be read."""
    return links_in(ask(("nvidia-smi", "topo", "-m")).text or "")


# --- rocm-smi ---


def _rocm(result: ProbedFields) -> list[Accelerator]:
    arguments = ("--showproductname", "--showmeminfo", "vram", "--showdriverversion", "--json")
    answer = ask(("rocm-smi", *arguments))
    if answer.text is None:
        result.notes += [answer.fault] if answer.fault else []
        return []
    data = _json_in(answer.text)
    cards = {name: card for name, card in data.items() if _is_card(name, card)}
    if not cards:
        if answer.text.strip():
            result.notes.append("the output of rocm-smi cannot be read")
        return []
    result.set("other_software_stack", ", ".join(filter(None, (_rocm_version(), _amdgpu(data)))))
    return [_rocm_device(card) for _, card in sorted(cards.items(), key=_by_number)]


def _json_in(text: str) -> dict[str, Any]:
    """The JSON object in a text that may begin with warnings."""
    start = text.find("{")
    try:
        data, _ = read_json(text[start:], json.JSONDecoder().raw_decode) if start >= 0 else ({}, 0)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _is_card(name: str, card: object) -> bool:
    return bool(re.fullmatch(r"card\d{1,4}", name)) and isinstance(card, dict)


def _by_number(item: tuple[str, Any]) -> int:
    return int(item[0].removeprefix("card"))


def _rocm_device(card: dict[str, Any]) -> Accelerator:
    """One card; the case of its keys differs between releases."""
    facts = {str(key).casefold(): str(value).strip() for key, value in card.items()}
    names = (facts.get(key, "") for key in ("card series", "device name", "card model"))
    model = next((name for name in names if name and name != "N/A"), "AMD accelerator")
    memory = facts.get("vram total memory (b)", "")
    return Accelerator(model, binary_size(int(memory)) if memory.isdigit() else "")


def _amdgpu(data: dict[str, Any]) -> str:
    system = data.get("system")
    version = system.get("Driver version") if isinstance(system, dict) else None
    return _driver(str(version)) if version else ""


def _rocm_version() -> str:
    for path in ("/opt/rocm/.info/version", "/opt/rocm/.info/version-dev"):
        try:
            return f"ROCm {Path(path).read_text(encoding='utf-8').strip()[:40]}"
        except (OSError, UnicodeDecodeError):
            continue
    return ""


# --- torch ---

_TORCH = """
import json, torch
cuda = torch.cuda if torch.cuda.is_available() else None
found = [torch.cuda.get_device_properties(n) for n in range(cuda.device_count())] if cuda else []
print(json.dumps([[each.name, each.total_memory] for each in found]))
"""


def _torch(result: ProbedFields) -> list[Accelerator]:
    """Accelerators according to torch, in a separate process: importing it may never end."""
    if find_spec("torch") is None:
        return []
    # -P: the current folder may be a submission's, with a torch.py in it
    answer = ask((sys.executable, "-P", "-c", _TORCH), TORCH_PATIENCE)
    if answer.text is None:
        result.notes.append(answer.fault.replace(Path(sys.executable).name, "torch"))
        return []
    try:
        # Libraries may print while they are imported: the answer is the last line
        data = read_json(answer.text.strip().splitlines()[-1])
        return [Accelerator(str(name), binary_size(int(memory))) for name, memory in data]
    except (ValueError, TypeError, IndexError):
        result.notes.append("the output of torch cannot be read")
        return []
