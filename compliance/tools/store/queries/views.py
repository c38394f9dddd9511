"""Views beside the tables, and queries to begin with: SQL as data."""

from __future__ import annotations

from typing import NamedTuple


class View(NamedTuple):
    """A view, or a query to begin with: its name, what it shows, its SQL."""

    name: str
    says: str
    sql: str


VIEWS = (
    View(
        "valid",
        "Timed results that have a valid score, whatever the verdict. Open ones are among them.",
        "SELECT * FROM results WHERE scaling = 'strong' AND score IS NOT NULL",
    ),
    View(
        "fastest",
        "The fastest closed result of each benchmark and round; open results are never in it.",
        "SELECT * FROM valid WHERE division = 'closed' "
        "QUALIFY row_number() OVER (PARTITION BY suite, round, benchmark ORDER BY score, result) "
        "= 1",
    ),
)

QUERIES = (
    View(
        "rounds",
        "What the store holds.",
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
        "How often each log key is logged, and in how many logs.",
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
        "The evaluations of each run of a result; put its path in place of the last one.",
        "SELECT file, minutes, position, unit, value FROM evaluations\n"
        "WHERE result = (SELECT max(result) FROM results) ORDER BY file, number",
    ),
    View(
        "errors",
        "Which rules are broken most, as errors that nothing excuses.",
        "SELECT rule, count(*) AS findings, count(DISTINCT submitter) AS submitters\n"
        "FROM findings WHERE severity = 'error' AND NOT waived\n"
        "GROUP BY rule ORDER BY findings DESC, rule LIMIT 40",
    ),
    View(
        "records_again",
        "Minutes of each run, worked out from the records alone.",
        "SELECT file, (min(time_ms) FILTER (key = 'run_stop')\n"
        "              - min(time_ms) FILTER (key = 'run_start')) / 60000 AS minutes\n"
        "FROM records WHERE key IN ('run_start', 'run_stop') GROUP BY file ORDER BY file",
    ),
)
"""What `podium results sql` prints."""
