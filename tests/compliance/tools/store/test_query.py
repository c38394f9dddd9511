"""SQL queries of a store, which can access nothing else."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import podium as package
from podium import ComplianceError
from podium.compliance.tools.store.queries import sealed
from podium.compliance.tools.store.queries.connection import fetch
from podium.compliance.tools.store.queries.views import QUERIES, VIEWS
from podium.compliance.tools.store.schema import SQL, TABLES
from tests.compliance.command_line import Done, podium
from tests.compliance.tools.store.stores import built, content, table
from tests.compliance.tools.store.test_build import made as made
from tests.locations import ROOT

pytestmark = pytest.mark.corpus


def ask(store: Path, sql: str, *more: object) -> Done:
    return podium("results", "query", sql, "--store", store, *more)


# --- answers ---


def test_views_have_the_columns_and_types_of_the_schema(published: Path) -> None:
    connection = package.results.open(published)
    for each in TABLES:
        described = connection.execute(f"DESCRIBE {each.name}").fetchall()
        assert [(name, kind) for name, kind, *_ in described] == [
            (column.name, SQL[column.kind]) for column in each.columns
        ]
        (count,) = connection.execute(f"SELECT count(*) FROM {each.name}").fetchone()
        assert count == len(table(published, each.name))


@pytest.mark.parametrize("query", [*QUERIES, *VIEWS], ids=lambda each: each.name)
def test_predefined_queries_and_views_return_rows(query: object, published: Path) -> None:
    sql = podium("results", "sql", query.name).stdout if query in QUERIES else query.sql  # type: ignore[attr-defined]
    done = ask(published, sql)
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) > 1
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_fastest_results_are_closed(published: Path, tmp_path: Path) -> None:
    rows = package.results.open(published).sql("SELECT DISTINCT division FROM fastest").fetchall()
    assert rows == [("closed",)]


def test_the_minutes_agree_with_the_records(published: Path) -> None:
    again = next(each for each in QUERIES if each.name == "records_again")
    connection = package.results.open(published)
    found = dict(connection.execute(again.sql).fetchall())
    runs = {row["file"]: row["minutes"] for row in table(published, "runs")}
    for file, minutes in runs.items():
        assert found[file] == pytest.approx(minutes)


def test_every_format_has_the_same_rows(published: Path, tmp_path: Path) -> None:
    sql = "SELECT round, count(*) AS n, avg(score) AS mean FROM results GROUP BY round ORDER BY 1"
    as_json = json.loads(ask(published, sql, "--format", "json").stdout)
    as_csv = [*csv.DictReader(io.StringIO(ask(published, sql, "--format", "csv").stdout))]
    output = tmp_path / "rows.parquet"
    assert ask(published, sql, "--format", "parquet", "--output", output).exit_code == 0
    assert pq.read_table(output).to_pylist() == as_json
    assert [[row["round"], int(row["n"]), row["mean"] or None] for row in as_csv] == [
        [row["round"], row["n"], row["mean"] and repr(row["mean"])] for row in as_json
    ]
    text = ask(published, sql).stdout.splitlines()
    assert [line.split()[:2] for line in text[1:]] == [[r["round"], str(r["n"])] for r in as_json]


def test_a_connection_returns_arrow_tables(published: Path) -> None:
    frame = package.results.open(published).sql("SELECT round FROM results").to_arrow_table()
    assert set(frame.column("round").to_pylist()) == {"0.5", "0.6", "2.0", "5.0"}
    assert "training_results_v5.0" in package.results.rounds(published)


# --- access outside the store ---

OUTSIDE = [
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM read_parquet('{store}/../*.parquet')",
    "SELECT * FROM read_parquet('https://example.org/a.parquet')",
    "SELECT * FROM paths",
]
WRITING = [
    "COPY (SELECT 1) TO '{folder}/made'",
    "COPY (SELECT 1) TO '{file}'",
    "ATTACH '{folder}/made.db'",
    "EXPORT DATABASE '{folder}/made'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access=true",
    "SET lock_configuration=false",
    "CREATE TABLE a AS SELECT 1",
    "DROP VIEW records",
    "PRAGMA database_list",
    "SELECT 1; SELECT 2",
    "EXPLAIN COPY (SELECT 1) TO '{file}'",
    "EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '{file}' (FORMAT parquet, USE_TMP_FILE false)",
    "EXPLAIN (ANALYZE) COPY (SELECT 1 AS a) TO '{file}' (FORMAT parquet, USE_TMP_FILE false)",
    "/**/explain--\n/**/analyze copy (select 1 as a) to '{file}' (use_tmp_file false)",
    "EXPLAIN ANALYZE CREATE TABLE a AS SELECT 1",
    "EXPLAIN ANALYZE DROP VIEW records",
    "EXPLAIN ANALYZE SELECT 1; SELECT 2",
    "EXPLAIN",
    "",
]
OVERWRITING = (
    "COPY (SELECT 1 AS a) TO '{path}' (FORMAT parquet, USE_TMP_FILE false)",
    "COPY (SELECT 1 AS a) TO '{path}' (FORMAT csv, USE_TMP_FILE false)",
    "EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '{path}' (FORMAT parquet, USE_TMP_FILE false)",
    "COPY (SELECT 1 AS a) TO '{path}'",
    "ATTACH '{path}' AS a",
)
"""Statements that overwrite a file; DuckDB itself allows this for a file that a query may read."""


@pytest.mark.parametrize("sql", [*OUTSIDE, *WRITING])
def test_files_outside_the_store_are_not_read_or_written(
    sql: str, published: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("password")
    (file,) = published.glob("training_results_v5.0*/runs.parquet")
    before = content(published)
    done = ask(published, sql.format(secret=secret, folder=tmp_path, store=published, file=file))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert content(published) == before


def test_the_connection_is_locked(published: Path, tmp_path: Path) -> None:
    """Programs may pass SQL from untrusted sources to the connection."""
    connection = package.results.open(published)
    in_memory = ("CREATE", "DROP", "PRAGMA", "EXPLAIN", "/**/", "SELECT 1;")
    outside = (each for each in [*OUTSIDE, *WRITING] if each and "{file}" not in each)
    for sql in (each for each in outside if not each.startswith(in_memory)):
        text = sql.format(secret=ROOT / "LICENSE", folder=tmp_path, store=published)
        with pytest.raises(Exception, match=r"(disabled|locked|does not exist)"):
            connection.execute(text)


@pytest.mark.parametrize("can_seal", [True, False])
def test_a_connection_cannot_write_to_a_file_that_it_reads(
    can_seal: bool, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if can_seal and not sealed.CAN_SEAL:
        pytest.skip("this system has no sealed files")
    monkeypatch.setattr(sealed, "CAN_SEAL", can_seal)
    store = tmp_path / "store"
    shutil.copytree(published, store)
    before = content(store)
    connection = package.results.open(store)
    rows = connection.execute("SELECT * FROM runs ORDER BY ALL").fetchall()
    (allowed,) = connection.execute("SELECT current_setting('allowed_paths')").fetchone()
    assert bool(allowed) == can_seal
    opened = [f"/proc/self/fd/{each}" for each in os.listdir("/dev/fd")] if can_seal else []
    for path in (*allowed, *opened, *store.glob("*/*.parquet"), store / "store.json"):
        for sql in OVERWRITING:
            with pytest.raises(
                Exception, match=r"(truncate|disabled|Cannot|permitted|not a valid)"
            ):
                connection.execute(sql.format(path=path))
    assert content(store) == before
    assert [*Path("/").glob("*memfd*")] == []
    assert connection.execute("SELECT * FROM runs ORDER BY ALL").fetchall() == rows
    assert len(rows) > 10


@pytest.mark.parametrize("sql", ["EXPLAIN SELECT 1", "explain\nanalyze\nFROM runs;"])
def test_a_select_can_be_explained(sql: str, published: Path) -> None:
    done = ask(published, sql)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout


def test_open_queries_keep_their_data_when_the_store_changes(store: Path) -> None:
    answer = package.results.open(store).sql("SELECT count(*) FROM runs")
    cursor = package.results.open(store).cursor()
    gc.collect()
    (path,) = store.glob("*/runs.parquet")
    rows = len(table(store, "runs"))
    assert answer.fetchall() == [(rows,)]
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    assert cursor.execute("SELECT count(*) FROM runs").fetchall() == [(rows,)]
    found = package.results.open(store).sql("SELECT count(*) FROM runs").fetchall()
    assert found == [(0,)]


@pytest.mark.parametrize(
    "sql", ["selec", "SELECT nope FROM runs", "SELECT * FROM nope", "SELECT 'a"]
)
def test_invalid_sql_is_reported_in_one_line(sql: str, published: Path) -> None:
    done = ask(published, sql)
    assert done.exit_code == 2
    assert done.stderr.startswith("podium: the query failed: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_control_characters_in_rows_are_not_printed(form: str, published: Path) -> None:
    done = ask(published, "SELECT '=1' || chr(27) || '[31m' AS a", "--format", form)
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    if form == "csv":
        assert done.stdout.splitlines()[1].startswith("'=1")


# --- unusable stores ---


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    built(tmp_path / "store", made)
    return tmp_path / "store"


def _none(store: Path) -> None:
    shutil.rmtree(store)


def _other(store: Path) -> None:
    (store / "store.json").write_text('{"schema": "podium.results/0", "rounds": []}')


def _empty(store: Path) -> None:
    (store / "store.json").write_text('{"schema": "podium.results/2", "rounds": []}')


def _short(store: Path) -> None:
    (path,) = store.glob("*/records.parquet")
    path.write_bytes(path.read_bytes()[:-100])


def _gone(store: Path) -> None:
    next(store.glob("*/runs.parquet")).unlink()


def _link(store: Path) -> None:
    path = next(store.glob("*/runs.parquet"))
    path.rename(store.parent / "runs.parquet")
    path.symlink_to(store.parent / "runs.parquet")


def _pipe(store: Path) -> None:
    path = next(store.glob("*/runs.parquet"))
    path.unlink()
    os.mkfifo(path)


def _piped_index(store: Path) -> None:
    (store / "store.json").unlink()
    os.mkfifo(store / "store.json")


def _footer(store: Path) -> None:
    (path,) = store.glob("*/runs.parquet")
    data = path.read_bytes()
    path.write_bytes(data[:-300] + b"\xff" * 292 + data[-8:])


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_none, "no store at "),
        (_other, "is a store of 'podium.results/0'"),
        (_empty, "has no rounds"),
        (
            _short,
            "records.parquet is damaged: it is not a whole Parquet file; build its round again",
        ),
        (_gone, "runs.parquet cannot be read: No such file or directory"),
        (_footer, "cannot be read"),
        (_link, "is a link, which is not followed"),
        (_pipe, "runs.parquet cannot be read: it is not a regular file"),
        (_piped_index, "store.json cannot be read: it is not a regular file"),
    ],
)
def test_an_unusable_store_is_reported_in_one_line(spoil: object, says: str, store: Path) -> None:
    spoil(store)  # type: ignore[operator]
    done = ask(store, "SELECT 1")
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    with pytest.raises(ComplianceError):
        package.results.open(store)


@pytest.mark.parametrize("form", ["text", "json", "csv", "parquet"])
def test_text_that_is_not_utf_8_is_reported_in_one_line(
    form: str, store: Path, tmp_path: Path
) -> None:
    (path,) = store.glob("*/results.parquet")
    found = pq.read_table(path)
    data = b"\xff\xfe" * len(found)
    ends = pa.py_buffer(
        b"".join((2 * each).to_bytes(4, "little") for each in range(len(found) + 1))
    )
    broken = pa.StringArray.from_buffers(len(found), ends, pa.py_buffer(data))
    at = found.column_names.index("submitter")
    pq.write_table(found.set_column(at, found.schema.field(at), broken), path)
    words = (
        ("--format", form, "--output", tmp_path / "rows")
        if form == "parquet"
        else ("--format", form)
    )
    done = ask(store, "SELECT submitter FROM results", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("podium: the query failed: ")
    assert done.stderr.count("\n") == 1
    assert "/proc/" not in done.stderr
    assert podium("results", "variance", "--store", store).exit_code == 2


def test_an_unknown_query_is_reported() -> None:
    done = podium("results", "sql", "nope")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    listed = podium("results", "sql").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [each.name for each in QUERIES]


def test_parquet_output_requires_a_file(published: Path) -> None:
    assert ask(published, "SELECT 1", "--format", "parquet").exit_code == 2


def test_an_interrupted_query_raises_keyboard_interrupt() -> None:
    """DuckDB checks signals while it computes, and replaces the exception of the handler."""

    class Interrupted:
        def fetchall(self) -> list[object]:
            raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        fetch(Interrupted())
