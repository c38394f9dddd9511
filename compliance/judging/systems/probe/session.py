"""`podium system init`, from its sources to a file: the command line first, the probe last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.round_selection import config_bytes
from podium.compliance.judging.plugins.extensions import probed
from podium.compliance.judging.systems.fields import FIELDS
from podium.compliance.judging.systems.probe.fill import (
    Draft,
    hint,
    offer_found,
    offer_nodes,
    spelt,
)
from podium.compliance.judging.systems.probe.finding import ProbedFields
from podium.compliance.judging.systems.probe.probe import Probe, probe_node, read_probe
from podium.compliance.judging.systems.probe.sysinfo import read_surroundings, read_sysinfo
from podium.compliance.reporting.console import write_whole
from podium.compliance.text.terminal import clean
from podium.logging_spec.limits import read_toml
from podium.rules.model.round import Round


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of values; the first source that has a value wins.

    `given` are `FIELD=VALUE` arguments of the command line. `nodes` are probe files; without any,
    this machine is probed, unless `probe` is false. `root` is the folder of the machine's `sys`.
    """

    given: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None
    sysinfo: tuple[Path, ...] = ()
    nodes: tuple[Path, ...] = ()
    probe: bool = True
    root: Path = Path("/")


def draft_description(file: Path, rules: Round, sources: Sources) -> Draft:
    """A description for `file` from all sources; raises UsageFault for an invalid source."""
    draft = Draft(rules)
    for name, text in _given(sources.given, rules):
        draft.offer_one(name, text, "--set")
    offer_found(draft, *read_surroundings(sources.variables or {}))
    for path in sources.sysinfo:
        offer_found(draft, read_sysinfo(path), path.name)
    offer_found(draft, _configured(file), "podium.toml")
    for name, result in _from_plugins() if sources.probe and not sources.nodes else ():
        offer_found(draft, result, f"plug-in {name}")
    probes = [read_probe(path) for path in sources.nodes] or _own(sources)
    if probes:
        offer_nodes(draft, probes)
    draft.offer_one("system_name", file.stem, "file name")
    # Submission rules: training systems have the type datacenter
    if rules.usage == "training":
        draft.offer_one("system_type", "datacenter", "training")
    return draft


def _from_plugins() -> Iterator[tuple[str, ProbedFields]]:
    """Values from plug-ins; a plug-in that fails or has unknown fields adds notes."""
    for name, fields, reason in probed():
        result = ProbedFields()
        if reason:
            result.notes.append(clean(f"plug-in {name} is not used: {reason}"))
        for field, text in fields.items():
            if field in FIELDS:
                result.set(field, text)
            else:
                result.notes.append(clean(f"plug-in {name}: unknown field {field}"))
        yield name, result


def _own(sources: Sources) -> list[Probe]:
    return [probe_node(sources.root)] if sources.probe else []


def _given(texts: tuple[str, ...], rules: Round) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or name not in FIELDS:
            raise UsageFault(f"--set is {text!r}; expected FIELD=VALUE with a description's field")
        try:
            pairs.append((name, spelt(FIELDS[name], value, rules)))
        except ValueError as fault:
            raise UsageFault(f"--set: {fault}") from None
    return pairs


def _configured(file: Path) -> ProbedFields:
    """Submitter and division from the nearest podium.toml, from the file's folder upwards."""
    result = ProbedFields()
    for folder in file.absolute().parents:
        path = folder / "podium.toml"
        if not path.is_file():
            continue
        try:
            config = read_toml(config_bytes(path).decode())
        except (OSError, ValueError) as error:
            raise UsageFault(f"{path} cannot be read: {error}") from None
        for name in ("submitter", "division"):
            if isinstance(config.get(name), str):
                result.set(name, config[name])
        break
    return result


def ask_for_missing(
    draft: Draft, ask: Callable[[str, str], str], tell: Callable[[str], None]
) -> None:
    """Ask a person for every missing field, and ask again after an invalid answer.

    `ask` gets the field and its hint; an empty answer leaves the field marked.
    """
    asked_names: set[str] = set()
    while missing := [field for field in draft.missing() if field.name not in asked_names]:
        field = missing[0]
        answer = ask(field.name, hint(field, draft.rules)).strip()
        if not answer:
            asked_names.add(field.name)
            continue
        try:
            spelt(field, answer, draft.rules)
        except ValueError as fault:
            tell(str(fault))
            continue
        draft.offer_one(field.name, answer, "you")


def write_description(draft: Draft, file: Path, *, replace: bool) -> None:
    """Write the description atomically; replace an existing file only with `replace`."""
    refuse_older(file, replace=replace)
    write_whole(file, draft.to_json(), durable=True)


def refuse_older(file: Path, *, replace: bool) -> None:
    """Raise UsageFault if there is a file that may not be replaced."""
    if file.is_dir():
        raise UsageFault(f"{file} is a folder; name the file to write, such as systems/ex_n8.json")
    # exists() is false for a broken link, which must not be replaced either
    if (file.exists() or file.is_symlink()) and not replace:
        advice = f"use --replace to overwrite it, and --from {file} to keep its values"
        raise UsageFault(f"{file} exists already; {advice}")
