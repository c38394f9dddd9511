"""Damages of a submission outside its logs: names, numbers, descriptions and code."""

from __future__ import annotations

from pathlib import Path

from podium.rules.fixed.edits import copy, drop, link, remove, rename, set_to, write
from tests.compliance.damages.base import (
    CODE,
    DESCRIPTION,
    ODD,
    OURS,
    RESULT,
    SCALING,
    SYSTEM,
    Damage,
    in_bytes,
    log,
    sub,
)

_SCRIPT = f"{OURS}/run_and_time.sh"
_KEY = "-----{} OPENSSH PRIVATE KEY-----\n"  # in two parts, so that scanners do not report it


def _large(root: Path) -> None:
    with (root / OURS / "weights.txt").open("wb") as file:
        file.truncate((50 << 20) + 1)


RESULTS = (
    Damage("an extra result", (copy(ODD, log(10)),), "result.too-many-runs", RESULT, "PO"),
    Damage("a copied run", (copy(log(0), ODD),), "result.copied-run", ODD, "PO"),
    Damage("nine of ten runs", (remove(log(9)),), "result.too-few-runs", RESULT, "PO"),
    Damage("a gap in the numbers", (remove(ODD),), "result.numbering", RESULT, "PO"),
    Damage(
        "a log under another name",
        (rename(ODD, f"{RESULT}/results_4.txt"),),
        "tree.misnamed-log",
        f"{RESULT}/results_4.txt",
        "PO",
    ),
    Damage(
        "a log without a number",
        (rename(log(9), f"{RESULT}/result_last.txt"),),
        "result.invalid-log-name",
        f"{RESULT}/result_last.txt",
        "",
    ),
    Damage(
        "a log outside any benchmark",
        (rename(log(9), f"results/{SYSTEM}/result_9.txt"),),
        "tree.misplaced",
        f"results/{SYSTEM}/result_9.txt",
        "PO",
    ),
    Damage(
        "a misspelt folder of results",
        (rename(RESULT, f"results/{SYSTEM}/llama2-70b-lora"),),
        "tree.unknown-benchmark",
        f"results/{SYSTEM}/llama2-70b-lora",
        "P",
    ),
    Damage("no result", (remove(RESULT),), "tree.no-results", "results", "P"),
    Damage(
        "a factor that nobody granted",
        (write(SCALING, '{"scaling_factor": 0.9}'),),
        "result.unsupported-scaling",
        SCALING,
        "",
    ),
    Damage(
        "a factor that cannot be read",
        (write(SCALING, '{"scaling_factor": 1.03'),),
        "result.bad-scaling",
        SCALING,
        "",
    ),
    Damage(
        "junk among the logs",
        (write(f"{RESULT}/.DS_Store", "x"),),
        "repo.leading-dot",
        f"{RESULT}/.DS_Store",
        "o",
    ),
)

DESCRIPTIONS = (
    Damage(
        "no description", (remove(DESCRIPTION),), "tree.no-system-description", DESCRIPTION, "PO"
    ),
    Damage("no descriptions at all", (remove("systems"),), "tree.no-systems", ".", "PO"),
    Damage(
        "a description of no result",
        (copy(DESCRIPTION, "systems/spare.json"),),
        "tree.system-without-results",
        "systems/spare.json",
        "",
    ),
    Damage(
        "a description that is cut",
        (in_bytes(DESCRIPTION, lambda data: data[:700]),),
        "system.not-json",
        f"{DESCRIPTION}:19",
        "PO",
    ),
    Damage(
        "a comma too many",
        (sub(DESCRIPTION, r'"N/A"\n', '"N/A",\n'),),
        "system.not-json",
        f"{DESCRIPTION}:51",
        "PO",
    ),
    Damage(
        "a description in UTF-16",
        (in_bytes(DESCRIPTION, lambda data: data.decode().encode("utf-16")),),
        "system.not-json",
        f"{DESCRIPTION}:1",
        "PO",
    ),
    Damage(
        "a field twice",
        (sub(DESCRIPTION, r'"N/A"\n', '"N/A",\n"cooling": "water"\n'),),
        "system.duplicate-field",
        f"{DESCRIPTION}:52",
        "",
    ),
    Damage(
        "a wrong division",
        (set_to(DESCRIPTION, "division", "open"),),
        "system.division-mismatch",
        f"{DESCRIPTION}:15",
        "P",
    ),
    Damage(
        "a misspelt division",
        (set_to(DESCRIPTION, "division", "Closed"),),
        "system.bad-division",
        f"{DESCRIPTION}:15",
        "",
    ),
    Damage(
        "a wrong submitter",
        (set_to(DESCRIPTION, "submitter", "Nobody"),),
        "system.name-mismatch",
        f"{DESCRIPTION}:47",
        "",
    ),
    Damage(
        "a misspelt field",
        (sub(DESCRIPTION, '"framework"', '"frame_work"'),),
        "system.misspelt-field",
        f"{DESCRIPTION}:17",
        "PO",
    ),
    Damage(
        "a field that is missing",
        (drop(DESCRIPTION, "framework"),),
        "system.missing-field",
        DESCRIPTION,
        "PO",
    ),
    Damage(
        "a count in words",
        (set_to(DESCRIPTION, "number_of_nodes", "one"),),
        "system.bad-count",
        f"{DESCRIPTION}:38",
        "P",
    ),
    Damage(
        "no node",
        (set_to(DESCRIPTION, "number_of_nodes", "0"),),
        "system.bad-count",
        f"{DESCRIPTION}:38",
        "P",
    ),
    Damage(
        "a status of one's own",
        (set_to(DESCRIPTION, "status", "onprem"),),
        "system.bad-status",
        f"{DESCRIPTION}:46",
        "PO",
    ),
    Damage(
        "the text of a template",
        (set_to(DESCRIPTION, "system_name", "TBD"),),
        "system.placeholder",
        f"{DESCRIPTION}:49",
        "",
    ),
)

REST = (
    Damage(
        "a misspelt folder of code",
        (rename(CODE, "benchmarks/llama2"),),
        "code.no-implementation",
        CODE,
        "",
    ),
    Damage("no code", (remove("benchmarks"),), "code.none", "benchmarks", ""),
    Damage("no README", (remove(f"{CODE}/README.md"),), "code.no-readme", CODE, ""),
    Damage(
        "no script",
        tuple(remove(f"{OURS}/{name}.sh") for name in ("setup", "init_datasets", "run_and_time")),
        "code.no-script",
        CODE,
        "",
    ),
    Damage(
        "no source of what was logged",
        (remove(f"{OURS}/src"),),
        "code.source-not-found",
        log(0),
        "",
    ),
    Damage(
        "a broken link",
        (link(f"{OURS}/data", "nothing"),),
        "repo.broken-link",
        f"{OURS}/data",
        "o",
    ),
    Damage(
        "a link to this machine",
        (link(f"{OURS}/data", "/etc/hostname"),),
        "repo.absolute-link",
        f"{OURS}/data",
        "",
    ),
    Damage(
        "a private key",
        (write(f"{OURS}/id_rsa", f"{_KEY.format('BEGIN')}b3Blbn\n{_KEY.format('END')}"),),
        "repo.secret",
        f"{OURS}/id_rsa:1",
        "",
    ),
    Damage(
        "a password",
        (write(_SCRIPT, "true\npip --index https://joe:Zx9Qw8Er7T@example.org/simple\n"),),
        "repo.secret",
        f"{_SCRIPT}:2",
        "",
    ),
    Damage(
        "somebody's home",
        (write(_SCRIPT, "true\nexport DATA=/home/jdoe/data\n"),),
        "repo.local-path",
        f"{_SCRIPT}:2",
        "",
    ),
    Damage(
        "a cluster's file system",
        (write(f"{OURS}/config.sh", "export DATA=/lustre/users/jdoe/data\n"),),
        "repo.local-path",
        f"{OURS}/config.sh:1",
        "",
    ),
    Damage(
        "a name with a space",
        (write(f"{OURS}/my script.sh", "true\n"),),
        "repo.space-in-name",
        f"{OURS}/my script.sh",
        "o",
    ),
    Damage("a large file", (_large,), "repo.large-file", f"{OURS}/weights.txt", "o"),
    Damage(
        "a folder that nobody looks into",
        (write("measurements/notes.md", "x\n"),),
        "tree.unknown-folder",
        "measurements",
        "",
    ),
)
