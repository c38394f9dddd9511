"""Damaged packages: one published result with its description, and a few faults in them.

    damage_package(root, result, random.Random("seed"))  # returns a description of the damage

The same result and seed give the same faults. Faults in logs are those of `tests.damage`.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.damage import damage, pick_kind

Hurt = Callable[["Package", random.Random], str]

_VALUES: tuple[Any, ...] = (
    *("", "open", "closed", "Closed", "N/A", "8", "onprem", "cloud", "research", "Preview", " x"),
    *("Available on-premise", "Available cloud", "Research, Development, or Internal (RDI)"),
    *(None, 8, 0, 8.0, True, [], {}, ["a"]),
)
_FLAGS = ("rcp-bypass", "seed-checker-bypass", "--rcp-bypass", "rcp_bypass", "x", "")
_NAMES = ("resnet", "bert", "ssd", "Resnet", "dlrm", "unet3d", "llama2_70b_lora", "minigo", "x")
_LOG_NAMES = ("result_98.txt", "result_x.txt", "result_.txt", "results_9.txt", "result_9.log")


class Package:
    """A submission of one result, to be damaged."""

    def __init__(self, root: Path, result: Path) -> None:
        self.root, self.result = root, result
        system = result.relative_to(root).parts[1]
        self.description = root / "systems" / f"{system}.json"

    @property
    def logs(self) -> list[Path]:
        return sorted(self.result.glob("result_*.txt"))

    def some(self, rng: random.Random) -> list[Path]:
        logs = self.logs
        return rng.sample(logs, min(rng.choice([1, 1, 1, 2, 3, len(logs)]), len(logs)))

    def rewrite(self, logs: list[Path], pattern: bytes, instead: Any) -> None:
        for log in logs:
            log.write_bytes(re.sub(pattern, instead, log.read_bytes()))


def damage_package(root: Path, result: Path, rng: random.Random) -> list[str]:
    """Apply one to three faults; return their descriptions."""
    package = Package(root, result)
    done = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if package.logs:
            how = rng.choice(HURTS)
            done.append(f"{how.__name__}: {how(package, rng)}")
    return done


def log_bent(package: Package, rng: random.Random) -> str:
    kinds = []
    for log in package.some(rng):
        kind = pick_kind(rng)
        kinds.append(f"{kind} {log.name}")
        log.write_bytes(damage(log.read_bytes(), kind, rng) or log.read_bytes())
    return ", ".join(kinds)


def logs_bent_alike(package: Package, rng: random.Random) -> str:
    kind = pick_kind(rng)
    for log in package.some(rng):
        log.write_bytes(damage(log.read_bytes(), kind, random.Random(kind)) or log.read_bytes())
    return kind


def log_copied(package: Package, rng: random.Random) -> str:
    logs = package.logs
    source, target = rng.choice(logs), rng.choice(logs)
    if source != target:
        shutil.copyfile(source, target)
    return f"{source.name} over {target.name}"


def log_added(package: Package, rng: random.Random) -> str:
    name = rng.choice(_LOG_NAMES)
    shutil.copyfile(rng.choice(package.logs), package.result / name)
    return name


def log_dropped(package: Package, rng: random.Random) -> str:
    log = rng.choice(package.logs)
    log.unlink()
    return log.name


def log_emptied(package: Package, rng: random.Random) -> str:
    log = rng.choice(package.logs)
    log.write_bytes(b"")
    return log.name


def seeds_bent(package: Package, rng: random.Random) -> str:
    value = rng.choice([b"1", b'"1"', b"null", b"true", b"1.5", b'""', b"[1]"])
    package.rewrite(package.some(rng), rb'("key": "seed", "value": )[^,]+', rb"\g<1>" + value)
    return value.decode()


def seeds_dropped(package: Package, rng: random.Random) -> str:
    package.rewrite(package.some(rng), rb'.*"key": "seed".*\n?', b"")
    return ""


def sooner_or_later(package: Package, rng: random.Random) -> str:
    factor = rng.choice([0.1, 0.5, 0.8, 0.9, 0.95, 1.1, 2])

    def moved(match: re.Match[bytes]) -> bytes:
        at = float(match[2]) * factor
        return match[1] + (b"%d" % at if b"." not in match[2] and at > 50 else b"%.4f" % at)

    package.rewrite(package.logs, rb'("(?:epoch_num|samples_count)": )([\d.]+)', moved)
    return str(factor)


def batch_size_bent(package: Package, rng: random.Random) -> str:
    size = rng.choice([b"64", b"1", b"100000", b"256", b"3072", b'"256"', b"1024.0", b"[8]"])
    package.rewrite(
        package.some(rng), rb'("key": "global_batch_size", "value": )[^,]+', rb"\g<1>" + size
    )
    return size.decode()


def aborted(package: Package, rng: random.Random) -> str:
    package.rewrite(package.some(rng), rb'"status": "success"', b'"status": "aborted"')
    return ""


def field_dropped(package: Package, rng: random.Random) -> str:
    return _described(package, lambda fields: fields.pop(rng.choice(sorted(fields))))


def field_bent(package: Package, rng: random.Random) -> str:
    def bend(fields: dict[str, Any]) -> Any:
        name = rng.choice(["division", "status", *sorted(fields)])
        fields[name] = rng.choice(_VALUES)
        return name, fields[name]

    return _described(package, bend)


def _described(package: Package, change: Callable[[dict[str, Any]], Any]) -> str:
    try:
        fields = json.loads(package.description.read_text())
        changed = change(fields)
    except (ValueError, AttributeError, IndexError, TypeError):
        return "not possible"
    package.description.write_text(json.dumps(fields, indent=1))
    return repr(changed)


def description_broken(package: Package, rng: random.Random) -> str:
    text = package.description.read_text(errors="replace")
    broken = {
        "comma": text.rstrip().rstrip("}").rstrip() + ",}",
        "mark": "\ufeff" + text,
        "comment": "// x\n" + text,
        "cut": text[: len(text) // 2],
        "list": f"[{text}]",
        "twice": text.replace("{", '{"division":"open",', 1),
        "nan": text.replace("{", '{"more":NaN,', 1),
    }
    how = rng.choice(sorted(broken))
    package.description.write_text(broken[how])
    return how


def renamed(package: Package, rng: random.Random) -> str:
    place = package.result.with_name(rng.choice(_NAMES))
    if not place.exists():
        package.result = package.result.rename(place)
    return place.name


def flagged(package: Package, rng: random.Random) -> str:
    # At the top of a submission only the official scripts read it, and they are not tested here.
    place = rng.choice([package.result, package.result.parent])
    text = rng.choice(_FLAGS) + rng.choice(["", "\n", "\nrcp-bypass", "\r\nseed-checker-bypass"])
    (place / "package_checker_params").write_text(text)
    return repr(text)


def strayed(package: Package, rng: random.Random) -> str:
    root, result = package.root, package.result
    place = rng.choice([result / "notes.txt", root / "results" / "loose.txt", result / "power"])
    if place.suffix:
        place.write_text("x")
    else:
        place.mkdir(exist_ok=True)
    return place.name


HURTS: tuple[Hurt, ...] = (
    *(log_bent, log_bent, log_bent, logs_bent_alike, log_copied, log_added, log_dropped),
    *(log_emptied, seeds_bent, seeds_dropped, sooner_or_later, batch_size_bent, aborted),
    *(field_dropped, field_bent, field_bent, description_broken, renamed, flagged, strayed),
)
