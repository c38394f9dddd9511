"""The input of the pages: all results at once, and the rest round by round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from podium.compliance.tools.store.analyses.material import ResultRow, read_results, round_order
from podium.compliance.tools.store.index import RoundEntry, read_index
from podium.compliance.tools.store.queries.connection import fetch
from podium.compliance.tools.store.schema import EVALUATIONS, FINDINGS, RCPS, RESULTS, RUNS, SYSTEMS
from podium.compliance.tools.store.site.findings import Tally, tally
from podium.compliance.tools.store.site.row import Row, completed


class Material(NamedTuple):
    """The rows for pages of several rounds, in the order of suites, rounds and paths.

    `systems` are the descriptions by (submitter's folder, system), in the order of rounds.
    """

    rounds: Sequence[RoundEntry]
    results: Sequence[Row]
    analysed: Sequence[ResultRow]
    systems: dict[tuple[str, str], list[Row]]


class OfRound(NamedTuple):
    """The rows for the pages of one round's results, by the paths of results.

    `findings` are the findings in a result's folder, `counts` are the numbers of all findings, and
    `points` are the reference points by benchmark.
    """

    runs: dict[str, list[Row]]
    evaluations: dict[str, list[Row]]
    findings: dict[str, list[Row]]
    counts: Tally
    points: dict[str, list[Row]]


def read_material(store: Path, connection: Any) -> Material:
    """The rounds, results and systems of a store."""
    results = _rows(connection, RESULTS.name, RESULTS.names, "result")
    results.sort(key=lambda row: (row["suite"], round_order(row["round"]), row["result"]))
    homes = {_description(row): (row["submitter"], row["system"]) for row in results}
    systems: dict[tuple[str, str], list[Row]] = {key: [] for key in sorted({*homes.values()})}
    system_rows = _rows(connection, SYSTEMS.name, SYSTEMS.names, "file")
    system_rows.sort(key=lambda row: (row["suite"], round_order(row["round"]), row["file"]))
    for row in system_rows:
        key = homes.get(row["file"]) or (_home(row), row["system"] or "")
        systems.setdefault(key, []).append(row)
    index = sorted(
        read_index(store).rounds, key=lambda entry: (entry.suite, round_order(entry.round))
    )
    analysed = read_results(connection)
    minutes = {
        result.result: [run.minutes for run in result.runs if run.counts and run.minutes]
        for result in analysed
    }
    completed_rows = [completed(row, minutes.get(row["result"], [])) for row in results]
    return Material(index, completed_rows, analysed, systems)


def read_round(connection: Any, suite: str, name: str, results: Sequence[str]) -> OfRound:
    """The other rows for one round's pages; `results` are the paths of its results."""

    def of_round(table: Any, order: str) -> list[Row]:
        return _rows(connection, table.name, table.names, order, (suite, name))

    paths = {*results}
    inside: dict[str, list[Row]] = defaultdict(list)
    findings = of_round(FINDINGS, "file, line, rule, key, message, actual")
    for row in findings:
        home = _result_of(row["file"], paths)
        if home is not None:
            inside[home].append(row)
    return OfRound(
        _by(of_round(RUNS, "length(file), file"), "result"),  # result_2 before result_10
        _by(of_round(EVALUATIONS, "file, number, metric"), "result"),
        inside,
        tally(findings),
        _by(of_round(RCPS, "file, line, point"), "benchmark"),
    )


def _rows(
    connection: Any, table: str, columns: Sequence[str], order: str, of: Sequence[str] = ()
) -> list[Row]:
    # Names of tables and columns come from the schema
    text = f"SELECT {', '.join(columns)} FROM {table}"  # noqa: S608 # nosec B608
    text += " WHERE suite = ? AND round = ?" if of else ""
    records = fetch(connection.execute(f"{text} ORDER BY {order}", [*of]))
    return [dict(zip(columns, values, strict=True)) for values in records]


def _by(rows: Sequence[Row], column: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row[column] is not None:
            groups[row[column]].append(row)
    return groups


def _result_of(file: str | None, results: set[str]) -> str | None:
    """The result whose folder is a path or contains it."""
    path = file or ""
    while path and path not in results:
        path = path.rpartition("/")[0]
    return path or None


def _description(result: Row) -> str:
    """The path of the description of a result's system."""
    home = str(result["result"]).rpartition("/results/")[0]
    return f"{home}/systems/{result['system']}.json"


def _home(system_row: Row) -> str:
    """The submitter's folder that contains a description."""
    parts = PurePosixPath(system_row["file"]).parts
    return parts[-3] if len(parts) > 2 and parts[-2] == "systems" else system_row["submitter"] or ""


def newest_and_fastest(row: Row) -> tuple[Any, ...]:
    """The order of the results of one benchmark."""
    speed = row["score"] if row["scaling"] != "weak" else None
    return (
        [-number for number in round_order(row["round"])],
        row["division"] != "closed",
        speed is None,
        speed or 0.0,
        row["result"],
    )


def newest_of_each(row: Row) -> tuple[Any, ...]:
    """The order of results of several benchmarks."""
    newest = [-number for number in round_order(row["round"])]
    return (row["suite"] == "hpc", newest, row["model"], *newest_and_fastest(row)[1:])
