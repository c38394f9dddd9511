"""The examples in every `--help`, run without any extra of podium."""

from __future__ import annotations

import glob
import gzip
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import pytest

from podium.compliance.exit_codes import Exit
from tests.builders import build
from tests.compliance.cli.test_cli import CALLABLE, examples_of
from tests.compliance.command_line import podium
from tests.compliance.packs import Loose
from tests.compliance.trees import Submission, as_run, good, usual
from tests.core_only import Answer, Session, make_environment, session, shell
from tests.docs.raw_logs import raw_logs
from tests.docs.world import IDENTITY, RECORDED, as_clone

T = TypeVar("T")

EXAMPLES = [each for words in CALLABLE for each in examples_of(words, 300)]

NEEDS = {
    "podium serve": "mcp",
    "podium results build": "pyarrow",
    "podium run": "torch",
    "podium profile trainer llama31_8b": "torch",
    "podium profile trainer resnet": "torch",
    "podium profile trainer ncf": "torch",
    "podium profile trainer cosmoflow": "torch",
    "podium kernels run": "torch",
    "podium kernels from": "torch",
    "podium kernels compare NV_V100 NV_T4:fp32 --chart": "vl_convert",
    "podium rcp check logs": "matplotlib",
    "podium rcp curves result_0.txt wandb": "matplotlib",
    "podium bundle Acme Acme.tar.zst.age": "pyrage",
    "podium bundle Acme Acme.tar.gz.enc": "cryptography",
    "podium unpack Acme.tar.zst.age": "pyrage",
}
"""The beginnings of examples that need an extra: they end with a line that names the library."""

DATASET = "needs a published dataset; tests/reference_runs/preparing has small ones"
STORE = "needs a store of published rounds; tests/compliance/tools/store builds some"
SHEETS = "reads what earlier examples write with PyTorch; tests/reference_runs has such files"
OFFICIAL = "asks an installed official checker; tests/compliance/tools/drift has one"
NOT_RUN = {
    "podium results scaling": STORE,
    "podium results variance": STORE,
    "podium results breakdown": STORE,
    "podium results rounds": STORE,
    "podium results power": STORE,
    "podium results cost": STORE,
    "podium results claims": STORE,
    "podium results compare": STORE,
    "podium results query": STORE,
    "podium results site": STORE,
    "podium rules pages --write": "writes podium's own pages; tests/compliance/rulebook has them",
    "podium profile trainer --study": SHEETS,
    "podium profile schedule": SHEETS,
    "podium profile read": SHEETS,
    "podium profile compare": SHEETS,
    "podium kernels compare kernels/here": SHEETS,
    "podium data": DATASET,
    "podium rules drift": OFFICIAL,
    "podium rules test acme": "needs a plug-in; tests/compliance/judging/plugins installs one",
    "torchrun": "starts ranks by PyTorch; tests/reference_runs/engine starts some",
    "srun": "needs a cluster",
}
"""The beginnings of examples that cannot be run here, with the reason."""

BEFORE = {
    "podium init": ("Acme",),
    "podium review round training_results_v5.1": ("review",),
    "podium review round v5.1 --earlier": ("review",),
    "podium unpack Acme.tar.zst": ("review",),
    "podium system init systems/ex_n8.json": ("systems/ex_n8.json",),
    "podium bundle Acme Acme.tar.zst": tuple(
        f"Acme.tar.zst{ending}{hashed}"
        for ending in ("", ".age")
        for hashed in ("", ".sha1", ".sha256")
    ),
}
"""The files that must not exist before an example is run."""

SYSINFO = {"host_memory_capacity": "384 GB", "cooling": "Air"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working directory of the examples, with the files that they name."""
    work = Loose(tmp_path_factory.mktemp("world")).work
    assert podium("pack", work, "--bundle", work / "Acme.tar.zst").exit_code == Exit.CLEAN
    rounds(work)
    usual(work)
    shutil.copytree(work / "Acme/systems", work / "systems")
    for name in ("tensorboard", "wandb"):
        shutil.copytree(RECORDED, work / name)
    logs(work)
    for name, value in (("config", {"global_batch_size": 1152}), ("sysinfo", SYSINFO)):
        (work / f"{name}.json").write_text(json.dumps(value))
    (work / "pass.txt").write_text("a passphrase of several words\n")
    (work / "key.txt").write_text(f"{IDENTITY}\n")
    key = IDENTITY.to_public()
    podium("bundle", work / "Acme", work / "Acme.tar.zst.age", "--recipient", key)
    shutil.copy(work / "podium.toml", work / "Acme/podium.toml")
    for name in ("n1", "n2"):
        podium("system", "probe", "--output", work / f"{name}.json")
    as_clone(work)
    return work


def rounds(work: Path) -> None:
    """Write whole rounds, and a clone of a round next to the folder."""
    for round_ in ("5.0", "5.1"):
        good(work / f"training_results_v{round_}", "training", round_, "llama31_405b")
    tree = work / "training_results_v5.1"
    for copy in ("old", "new", "v5.1"):
        shutil.copytree(tree, work / copy)
    shutil.copytree(work / "training_results_v5.0", work / "v5.0")
    for name in ("Dell", "NVIDIA"):
        which = build("training", "5.1", "closed", "llama31_8b")
        Submission(work / "v5.1", which, name).system().code().result()
    for copy in ("submission", "round/first", "round/second"):
        shutil.copytree(tree / "Acme", work / copy)
    assert podium("review", work / "v5.1", "--output", work / "review").exit_code in (0, 1)
    shutil.copytree(tree, work.parent / tree.name)
    as_clone(work.parent / tree.name)


def logs(work: Path) -> None:
    """Write logs of single runs, of results, and of reference runs."""
    log = build("training", "5.1", "closed", "llama31_8b")
    log.write(work / "result_0.txt")
    (work / "result_0.txt.gz").write_bytes(gzip.compress(log.bytes()))
    build("training", "6.0", "closed", "llama31_8b").write(work / "dry_run.txt")
    for system in ("my_system", "ex_n8"):
        bert = build("training", "5.0", "closed", "bert")
        for number in range(10):
            as_run(bert, number).write(work / f"results/{system}/bert/result_{number}.txt")
    for number in range(10):
        as_run(log, number).write(work / f"results/ex_n8/llama31_8b/result_{number}.txt")
    for name in ("logs", "reference_logs"):
        raw_logs(work / name)
    done = podium("rcp", "make", work / "logs", "--round", "6.1", "--output", work / "mine.json")
    assert done.exit_code in (Exit.CLEAN, Exit.FOUND)


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, Path]]:
    interpreter = make_environment(tmp_path_factory.mktemp("core") / "venv")
    with session(interpreter) as calls:
        yield calls, interpreter


def carried_out(example: str, folder: Path, core: tuple[Session, Path]) -> Answer:
    calls, interpreter = core
    if not example.startswith("podium ") or set(example) & set("|>$"):
        done = shell(interpreter, example, folder)
        return Answer(done.returncode, done.stdout + done.stderr)
    words = shlex.split(example)[1:]
    found = (sorted(glob.glob(word, root_dir=folder)) or [word] for word in words)
    return calls.podium(folder, *(word for each in found for word in each))


def of(example: str, table: Mapping[str, T], usual: T) -> T:
    """The entry of a table for the beginning of an example."""
    return next((each for begun, each in table.items() if example.startswith(begun)), usual)


@pytest.mark.parametrize("example", [each for each in EXAMPLES if not of(each, NOT_RUN, "")])
def test_an_example_runs_or_names_the_missing_library(
    example: str, world: Path, core: tuple[Session, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "world" / world.name
    # podium replaces files and never writes into them, so the copies may be links
    shutil.copytree(world.parent, folder.parent, symlinks=True, copy_function=os.link)
    for name in of(example, BEFORE, ()):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    answer = carried_out(example, folder, core)
    if library := of(example, NEEDS, ""):
        assert answer.status == 2, answer.text
        assert re.search(rf"\b{library}\b.*: pip install ", answer.text.replace("\n", " "))
        return
    # Findings are accepted; a usage error is not
    assert answer.status in (0, 1), answer.text


@pytest.mark.parametrize("begun", [*NEEDS, *NOT_RUN, *BEFORE])
def test_every_exception_matches_an_example(begun: str) -> None:
    assert any(example.startswith(begun) for example in EXAMPLES)
