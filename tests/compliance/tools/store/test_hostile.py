"""Hostile logs and side files: a store is built and queried, or one line reports the error."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from podium.compliance.judging.logs.log_rules import CRASHED
from tests.builders import build
from tests.compliance.command_line import podium
from tests.compliance.tools.review.rounds import NAME, submission
from tests.compliance.tools.store.stores import built, table
from tests.compliance.tools.store.test_cost import HEAD, LINE, TABLES, entry
from tests.hostile import Grammar

LOGS, FILES = 40, 60
ANALYSES = ("scaling", "variance", "rounds", "power")


def test_a_store_of_hostile_logs_is_built_and_analyzed(tmp_path: Path) -> None:
    good = build("training", "5.1", "closed", "llama31_8b").bytes().splitlines(keepends=True)
    submission(tmp_path)
    for number in range(LOGS):
        grammar = Grammar(f"store:{number}")
        at = grammar.rng.randrange(len(good))
        folder = tmp_path / NAME / f"Acme/results/sys{number // 10}/llama31_8b"
        folder.mkdir(parents=True, exist_ok=True)
        data = b"".join([*good[:at], grammar.lines(), *good[at:]])
        (folder / f"result_{number % 10}.txt").write_bytes(data)
    store = tmp_path / "store"
    built(store, tmp_path / NAME)
    files = {row["file"] for row in table(store, "records")}
    assert len(files) == LOGS + 3
    assert [row for row in table(store, "findings") if row["rule"] == CRASHED.id] == []
    for name in ANALYSES:
        done = podium("results", name, "--store", store)
        assert (done.exit_code, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout


SIDE = {
    "prices.csv": (HEAD + LINE.format(price=10)).encode(),
    "claims.csv": b"result,number,unit,against,claim\na/b,2.2,x,c/d,faster\n",
    "entry.json": msgspec.json.encode(entry(cost_per_hour=2.0)),
    "entry.tsv": TABLES["CIFAR10"].format(hours=2).encode(),
}


@pytest.mark.parametrize("name", SIDE)
def test_a_hostile_side_file_is_read_or_reported_in_one_line(name: str, tmp_path: Path) -> None:
    submission(tmp_path)
    store = tmp_path / "store"
    built(store, tmp_path / NAME)
    words = {
        "prices.csv": ("cost", "--store", store, "--prices", tmp_path / "prices.csv"),
        "claims.csv": ("claims", tmp_path / "claims.csv", "--store", store),
    }.get(name, ("cost", "--dawnbench", tmp_path / "entry.json"))
    for other, data in SIDE.items():
        (tmp_path / other).write_bytes(data)
    for number in range(FILES if name.startswith("entry") else FILES // 6):
        grammar = Grammar(f"{name}:{number}")
        data = grammar.json() if name.endswith("json") and number % 2 else b""
        (tmp_path / name).write_bytes(data or grammar.damaged(SIDE[name]))
        done = podium("results", *words)
        assert done.exit_code in (0, 1, 2), (number, done.stderr)
        assert done.stderr.count("\n") == (done.exit_code == 2), (number, done.stderr)
        assert "\x1b" not in done.output
