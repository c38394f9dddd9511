"""Stores are asked by SQL that reaches nothing else."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import podium as package
from podium import ComplianceError
from podium.compliance.tools.store.queries.views import QUERIES, VIEWS
from podium.compliance.tools.store.schema import SQL, TABLES
from tests.compliance.command_line import Done, podium
from tests.compliance.tools.store.stores import built, content, table
from tests.compliance.tools.store.test_build import made as made
from tests.locations import ROOT

pytestmark = pytest.mark.corpus


def ask(store: Path, sql: str, *more: object) -> Done:
    return podium("results", "query", sql, "--store", store, *more)


# --- what is answered ---


def test_views_have_the_columns_and_types_of_the_schema(published: Path) -> None:
    connection = package.results.open(published)
    for each in TABLES:
        told = connection.execute(f"DESCRIBE {each.name}").fetchall()
        assert [(name, kind) for name, kind, *_ in told] == [
            (column.name, SQL[column.kind]) for column in each.columns
        ]
        (count,) = connection.execute(f"SELECT count(*) FROM {each.name}").fetchone()
        assert count == len(table(published, each.name))


@pytest.mark.parametrize("query", [*QUERIES, *VIEWS], ids=lambda each: each.name)
def test_queries_to_begin_with_have_an_answer(query: object, published: Path) -> None:
    sql = podium("results", "sql", query.name).stdout if query in QUERIES else query.sql  # type: ignore[attr-defined]
    done = ask(published, sql)
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) > 1
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_open_results_are_never_the_fastest(published: Path, tmp_path: Path) -> None:
    rows = package.results.open(published).sql("SELECT DISTINCT division FROM fastest").fetchall()
    assert rows == [("closed",)]


def test_the_minutes_are_those_of_the_records(published: Path) -> None:
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


def test_a_connection_gives_data_frames(published: Path) -> None:
    frame = package.results.open(published).sql("SELECT round FROM results").to_arrow_table()
    assert set(frame.column("round").to_pylist()) == {"0.5", "0.6", "2.0", "5.0"}
    assert "training_results_v5.0" in package.results.rounds(published)


# --- what is not ---

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
    "",
]


@pytest.mark.parametrize("sql", [*OUTSIDE, *WRITING])
def test_nothing_outside_of_the_store_is_read_or_written(
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


def test_the_connection_itself_is_locked(published: Path, tmp_path: Path) -> None:
    """Also for programs, which may hand it what others wrote."""
    connection = package.results.open(published)
    in_memory = ("CREATE", "DROP", "PRAGMA")
    for sql in (each for each in [*OUTSIDE, *WRITING[2:-2]] if not each.startswith(in_memory)):
        text = sql.format(secret=ROOT / "LICENSE", folder=tmp_path, store=published)
        with pytest.raises(Exception, match=r"(disabled|locked|does not exist)"):
            connection.execute(text)


@pytest.mark.parametrize(
    "sql", ["selec", "SELECT nope FROM runs", "SELECT * FROM nope", "SELECT 'a"]
)
def test_bad_sql_is_one_line(sql: str, published: Path) -> None:
    done = ask(published, sql)
    assert done.exit_code == 2
    assert done.stderr.startswith("podium: the query cannot be followed: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_what_a_store_says_reaches_no_terminal_raw(form: str, published: Path) -> None:
    done = ask(published, "SELECT '=1' || chr(27) || '[31m' AS a", "--format", form)
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    if form == "csv":
        assert done.stdout.splitlines()[1].startswith("'=1")


# --- stores that cannot be asked ---


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    built(tmp_path / "store", made)
    return tmp_path / "store"


def _none(store: Path) -> None:
    shutil.rmtree(store)


def _other(store: Path) -> None:
    (store / "store.json").write_text('{"schema": "podium.results/0", "rounds": []}')


def _empty(store: Path) -> None:
    (store / "store.json").write_text('{"schema": "podium.results/1", "rounds": []}')


def _short(store: Path) -> None:
    (path,) = store.glob("*/records.parquet")
    path.write_bytes(path.read_bytes()[:-100])


def _gone(store: Path) -> None:
    next(store.glob("*/runs.parquet")).unlink()


def _link(store: Path) -> None:
    path = next(store.glob("*/runs.parquet"))
    path.rename(store.parent / "runs.parquet")
    path.symlink_to(store.parent / "runs.parquet")


def _footer(store: Path) -> None:
    (path,) = store.glob("*/runs.parquet")
    data = path.read_bytes()
    path.write_bytes(data[:-300] + b"\xff" * 292 + data[-8:])


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_none, "no store at "),
        (_other, "is a store of 'podium.results/0'"),
        (_empty, "holds no rounds"),
        (_short, "records.parquet is damaged: it is no whole Parquet file; build its round again"),
        (_gone, "runs.parquet cannot be read: No such file or directory"),
        (_footer, "cannot be read"),
        (_link, "is a link, which is not followed"),
    ],
)
def test_a_store_that_cannot_be_read_is_told_of(spoil: object, says: str, store: Path) -> None:
    spoil(store)  # type: ignore[operator]
    done = ask(store, "SELECT 1")
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    with pytest.raises(ComplianceError):
        package.results.open(store)


def test_an_unknown_query_is_told_of() -> None:
    done = podium("results", "sql", "nope")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    listed = podium("results", "sql").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [each.name for each in QUERIES]


def test_parquet_is_not_printed(published: Path) -> None:
    assert ask(published, "SELECT 1", "--format", "parquet").exit_code == 2
