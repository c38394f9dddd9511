"""Views in addition to the tables, and example queries: SQL as data."""

from __future__ import annotations

from typing import NamedTuple


class View(NamedTuple):
    """A view or an example query: its name, description and SQL."""

    name: str
    says: str
    sql: str


VIEWS = (
    View(
        "valid",
        "Timed results with a valid score and any verdict, including open results.",
        "SELECT * FROM results WHERE scaling = 'strong' AND score IS NOT NULL",
    ),
    View(
        "fastest",
        "The fastest closed result of each benchmark and round, without open results.",
        "SELECT * FROM valid WHERE division = 'closed' "
        "QUALIFY row_number() OVER (PARTITION BY suite, round, benchmark ORDER BY score, result) "
        "= 1",
    ),
)

QUERIES = (
    View(
        "rounds",
        "The content of the store.",
        "SELECT suite, round, count(*) AS results, count(DISTINCT submitter) AS submitters,\n"
        "       count(DISTINCT benchmark) AS benchmarks, sum(runs) AS runs\n"
        "FROM results GROUP BY suite, round ORDER BY suite, round",
    ),
    View(
        "fastest",
        "The fastest closed result of each benchmark and round.",
        "SELECT suite, round, benchmark, submitter, system, category, chips,\n"
        "       round(score, 4) AS minutes\n"
        "FROM fastest ORDER BY suite, benchmark, round",
    ),
    View(
        "keys",
        "The number of records of each log key, and the number of logs with it.",
        "SELECT key, count(*) AS records, count(DISTINCT file) AS logs\n"
        "FROM records GROUP BY key ORDER BY records DESC, key LIMIT 40",
    ),
    View(
        "settings",
        "The optimizer and the batch size of each result, from the records of its runs.",
        "SELECT r.round, r.benchmark, r.submitter, r.system, r.batch_size,\n"
        "       any_value(p.value) AS optimizer\n"
        "FROM results r JOIN runs n USING (result) JOIN records p ON p.file = n.file\n"
        "WHERE p.key = 'opt_name' GROUP BY ALL ORDER BY ALL",
    ),
    View(
        "curve",
        "The evaluations of each run of a result; replace the last one by its path.",
        "SELECT file, minutes, position, unit, value FROM evaluations\n"
        "WHERE result = (SELECT max(result) FROM results) ORDER BY file, number",
    ),
    View(
        "errors",
        "The rules with the most errors, without waived ones.",
        "SELECT rule, count(*) AS findings, count(DISTINCT submitter) AS submitters\n"
        "FROM findings WHERE severity = 'error' AND NOT waived\n"
        "GROUP BY rule ORDER BY findings DESC, rule LIMIT 40",
    ),
    View(
        "records_again",
        "Minutes of each run, computed from the records alone.",
        "SELECT file, (min(time_ms) FILTER (key = 'run_stop')\n"
        "              - min(time_ms) FILTER (key = 'run_start')) / 60000 AS minutes\n"
        "FROM records WHERE key IN ('run_start', 'run_stop') GROUP BY file ORDER BY file",
    ),
)
"""The queries that `podium results sql` prints."""
