"""The rules on lines and files that cannot be read as logs, and on errors of podium itself."""

from __future__ import annotations

import json

from podium.logging_spec.limits import DEEPEST
from podium.logging_spec.reader.read import Fault
from podium.rules.citations import LIBRARY, LOGGING, OWN
from podium.rules.consequences import (
    OF_ANOTHER_ROUND,
    OF_THE_SAME_LINE,
    UNREAD_LINES,
    Follows,
    same_line,
)
from podium.rules.finding import Finding, Severity
from podium.rules.fixed.edits import RESULT, append, write
from podium.rules.fixed.fixed_rule import both, own, policy, verifier

_LOG = f"{RESULT}/result_0.txt"
_FIELDS = '"namespace": "", "event_type": "POINT_IN_TIME"'
_TIME = '"time_ms": 1735689600000'
_RECORD = f'{{{_FIELDS}, {_TIME}, "key": "seed", "value": 42, "metadata": {{}}}}'
_LINE = f":::MLLOG {_RECORD}"
_QUOTED = json.dumps({"log": f"{_LINE}\n", "stream": "stdout"})


def _of_the_name(cause: Finding, finding: Finding) -> bool:
    return f"no rules for the {(cause.key or '').removeprefix('submission_')}" in finding.message


_OF_NAMES = tuple(
    Follows(cause, when=_of_the_name)
    for cause in (
        "closed.submission_benchmark",
        "open.submission_benchmark",
        "common.submission_division",
    )
)
"""Where the verifier has no rules for a value, the rule of its key reports the value."""

NOT_JSON = both(
    "log.not-json",
    says="the token of a log line is followed by valid JSON",
    why="a line that cannot be parsed gives no record, so its value is lost",
    message="{problem}",
    help="write each record as one line of valid JSON after the token",
    cites=LOGGING,
    actual="excerpt",
    bad=(append(_LOG, _LINE.replace('"seed"', "seed")),),
    good=(append(_LOG, _LINE),),
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
NOT_AN_OBJECT = both(
    "log.not-an-object",
    says="the token of a log line is followed by a JSON object",
    why="the official verifier crashes on a list, a number or a string",
    message="{problem}",
    help="write each record as a JSON object with key, value, time_ms and metadata",
    cites=LOGGING,
    actual="excerpt",
    bad=(append(_LOG, ":::MLLOG [42]"),),
    good=(append(_LOG, _LINE),),
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
MISSING_FIELD = both(
    "log.missing-field",
    says="a record has time_ms, key, value and metadata, and time_ms is a number",
    why="the official verifier crashes if one of the four is missing",
    message="{problem}",
    help="give every record key, value, time_ms and metadata; value may be null",
    cites=LOGGING,
    actual="excerpt",
    bad=(append(_LOG, f':::MLLOG {{{_TIME}, "key": "seed", "value": 42}}'),),
    good=(append(_LOG, _LINE),),
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
BAD_TIME = both(
    "log.bad-time",
    says="time_ms is a number",
    why="every duration is the difference of two such times",
    message="{problem}",
    help="write time_ms as integer milliseconds since 1970",
    cites=f"{LIBRARY}, time_ms",
    actual="excerpt",
    bad=(append(_LOG, _LINE.replace("1735689600000", '"12:00:00"')),),
    good=(append(_LOG, _LINE),),
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
TEXT_AFTER_RECORD = both(
    "log.text-after-record",
    says="nothing follows a record on its line",
    why="the official verifier rejects the whole line, so the record counts as not logged; the "
    "usual cause is a progress bar that is written to the same stream",
    message="{problem}",
    help="end each record with a newline, and write progress bars to another stream",
    cites=LOGGING,
    actual="excerpt",
    bad=(append(_LOG, f"{_LINE}Epoch 0:   3%|3         | 8/256"),),
    good=(append(_LOG, _LINE),),
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
QUOTED_RECORD = both(
    "log.quoted-record",
    says="a record is not a string inside another JSON object",
    why="the official verifier cannot read the lines in which Docker's json-file driver, or a log "
    "collector, stores the output of a container",
    message="{problem}, as in Docker's log files",
    help="submit the output itself: docker logs CONTAINER, or jq -j .log FILE > NEW_FILE, with the "
    "name of the member that has the output",
    cites=LOGGING,
    actual="excerpt",
    bad=(append(_LOG, _QUOTED),),
    good=(append(_LOG, _LINE),),
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
COLOR_CODES = both(
    "log.color-codes",
    says="records contain no terminal color codes",
    why="the official verifier rejects a line with such codes in or after its record, and does not "
    "recognize a record that has them in its token",
    message="{problem}",
    help="remove the codes: sed 's/\\x1b\\[[0-9;]*[A-Za-z]//g' FILE, and log without colors",
    cites=LOGGING,
    actual="excerpt",
    varies="stated by podium only where the codes are in the token, because the official "
    "verifier does not see such lines",
    bad=(append(_LOG, f"{_LINE}\x1b[0m"),),
    good=(append(_LOG, f"\x1b[32m{_LINE}"),),
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
MISSING_TOKEN = own(
    "log.missing-token",
    Severity.ERROR,
    says="every record is preceded by `:::MLLOG ` on its line",
    why="no reader recognizes a line without the token, so the record counts as not logged",
    message="{problem}",
    help="write the token and a space before each record: `:::MLLOG {{...}}`",
    cites=f"{OWN}, Files",
    actual="excerpt",
    bad=(append(_LOG, _LINE.removeprefix(":::")),),
    good=(append(_LOG, _LINE),),
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
TRUNCATED = both(
    "log.truncated",
    says="a log is complete",
    why="a truncated file lacks the end of the run, and may lack its result",
    message="{problem}",
    help="copy the complete log of the run again; if the run itself was interrupted, repeat it",
    cites=LOGGING,
    actual="excerpt",
    bad=(append(_LOG, f':::MLLOG {{{_FIELDS}, {_TIME}, "key": "seed", "val'),),
    good=(append(_LOG, _LINE),),
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
CUT_OUT = own(
    "log.cut-out",
    Severity.ERROR,
    says="no part of a log is omitted",
    why="some tools that show or collect logs shorten them, and leave a mark such as "
    "`[truncated]` in place of the missing lines",
    message="{problem}",
    help="copy the complete log from the file that the run wrote",
    cites=f"{OWN}, Files",
    actual="excerpt",
    varies="a warning where the log has gaps but no other error; a note where it has neither",
    bad="a log lacks its run_stop, and has a line `[output truncated]`",
    good="the log has all of its lines",
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
ENCODING = both(
    "log.encoding",
    says="a log is encoded in UTF-8",
    why="the official verifier finds no record in a file with another encoding",
    message="{problem}; expected UTF-8",
    help="{fix}",
    cites=LOGGING,
    bad="a log that PowerShell's > wrote in UTF-16",
    good="the same text in UTF-8",
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
BAD_KEY = both(
    "log.bad-key",
    Severity.WARNING,
    says="the key of a record is a string",
    why="no rule looks up a record with any other key",
    message="{problem}",
    help="write the key as a string",
    cites=f"{LIBRARY}, key",
    actual="excerpt",
    bad=(append(_LOG, _LINE.replace('"seed"', "7")),),
    good=(append(_LOG, _LINE),),
)
SEVERAL_RECORDS = both(
    "log.several-records",
    Severity.WARNING,
    says="a line contains one record",
    why="the official verifier sees only the last record of a line; the others are lost",
    message="{problem}",
    help="end each record with a newline before writing the next one",
    cites=LOGGING,
    actual="excerpt",
    bad=(append(_LOG, f"{_LINE}{_LINE}"),),
    good=(append(_LOG, _LINE), append(_LOG, _LINE)),
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
NONSTANDARD_DIALECT = both(
    "log.nonstandard-dialect",
    says="a line of a round before 0.7 follows the format of that round",
    why="the official verifier of 0.6 cannot read such a line, although its meaning is clear",
    message="{problem}",
    help="write the record as JSON, as the round's format requires",
    cites=LOGGING,
    actual="excerpt",
    bad=":::MLL 1735689600.000 seed: {'value': 42, 'metadata': {}}",
    good=':::MLL 1735689600.000 seed: {"value": 42, "metadata": {}}',
    reads_content=False,
    follows=(OF_ANOTHER_ROUND,),
)
IGNORED_LINE = both(
    "log.ignored-line",
    Severity.WARNING,
    says="a line of 0.6 has its value in a JSON object",
    why="the official verifier of 0.6 skips a line without an object",
    message="{problem}",
    help="give every record a value; use null if there is none",
    cites=LOGGING,
    actual="excerpt",
    bad=":::MLL 1735689600.000 seed: 42",
    good=':::MLL 1735689600.000 seed: {"value": 42, "metadata": {}}',
)
LINE_TOO_LONG = own(
    "log.line-too-long",
    Severity.ERROR,
    Severity.ERROR,
    says="a line is no longer than 256 MiB",
    why="a longer line is never a record, and is not decoded",
    message="{problem}",
    help="keep each record well below 1 MiB",
    cites=f"{OWN}, Files",
    actual="excerpt",
    bad="a log has a line of more than 256 MiB",
    good="its lines have a few hundred bytes",
)
TOO_DEEP = own(
    "log.too-deep",
    Severity.WARNING,
    Severity.NOTE,
    says=f"the values of a record are nested at most {DEEPEST} levels deep",
    why="no rule needs deeper values, and the parsers of other tools fail on such a line",
    message="{problem}",
    help="log plain values: numbers, strings, short lists and objects",
    cites=f"{OWN}, Files",
    actual="excerpt",
    bad=(append(_LOG, _LINE.replace("42", "[" * 200 + "]" * 200)),),
    good=(append(_LOG, _LINE.replace("42", "[" * 9 + "]" * 9)),),
)
UNREADABLE_FILE = own(
    "log.unreadable-file",
    Severity.ERROR,
    Severity.ERROR,
    says="the file can be opened and read",
    why="a file that cannot be read cannot be checked, and is not accepted",
    message="{problem}",
    help="replace it with the log itself, as a readable file",
    cites=f"{OWN}, Files",
    actual="excerpt",
    bad=(write(f"{_LOG}/notes.md"),),
    reads_content=False,
)
BROKEN_COMPRESSION = own(
    "log.broken-compression",
    Severity.ERROR,
    Severity.ERROR,
    says="a compressed log can be decompressed completely",
    why="a truncated file lacks the end of the run",
    message="{problem}",
    help="compress the log again from the original",
    cites=f"{OWN}, Files",
    actual="excerpt",
    bad="a log that was compressed with gzip lacks its last bytes",
    good="the file is complete",
    reads_content=False,
)
NO_RECORDS = both(
    "log.no-records",
    says="the file contains at least one record in the format of the round",
    why="an empty log, or a log in the format of another round, does not document a run",
    message="the file has no log record in the format of {round}: {contents}",
    help="check that this is the log of a run, and that --round names its round",
    cites=LOGGING,
    expected="the log lines of one run",
    bad=(write(_LOG, "epoch 1: loss 2.31\n"),),
    reads_content=False,
    follows=(
        Follows("log.unreadable-file"),
        Follows("log.broken-compression"),
        *UNREAD_LINES,
        OF_ANOTHER_ROUND,
    ),
)
RECORDS_ONLY = policy(
    "log.records-only",
    says="a result file contains the full output of the framework, including the records",
    why="reviewers look in the framework's lines for information that no record has",
    message="the file contains only records; expected the full log of the framework",
    help="submit the standard output of the run; a log larger than 100 MiB may be shortened, but "
    "must keep all records",
    cites="submission rules, Result files",
    bad="a log of training 6.1 has no line that is not a record",
    good="the log has a line of the framework",
)

VERIFIER_CRASH = verifier(
    "log.verifier-crash",
    Severity.ERROR,
    says="the official verifier reaches a verdict on the log",
    why="it crashes on some logs, most of which violate other rules as well; the upload is then "
    "rejected without a reason",
    message="the official verifier crashes on this log: {reason}",
    help="fix the other findings; the verifier then reaches a verdict",
    varies="a warning in the policy profile where the log uses an older name of the benchmark, or "
    "where the official verifier has no rule file for a benchmark of the round",
    bad=(append(_LOG, ":::MLLOG [42]"),),
    good=(append(_LOG, _LINE),),
    follows=(*OF_THE_SAME_LINE, Follows("log.wrong-type", when=same_line), *_OF_NAMES),
)

CRASHED = own(
    "internal.rule-crashed",
    Severity.ERROR,
    Severity.ERROR,
    says="podium does not fail on a file",
    why="a fault in podium must not hide other findings: the rest of the report is still "
    "printed, and the exit status is 3",
    message="podium itself failed here: {error} ({where})",
    help="report this error, with the file if you may share it",
    cites=f"{OWN}, Own faults",
    bad="a rule of podium divides by zero on a log",
    good="the rule returns its findings",
    reads_content=False,
)

PROCESS_LOST = own(
    "internal.process-lost",
    Severity.ERROR,
    Severity.ERROR,
    says="the process that checks a file finishes and reports on it",
    why="a file that no process can check is not accepted, and must not keep the other files from "
    "being checked",
    message="the process that checked this file {how}",
    help="look at the content of the file; check it with --jobs 1 and more memory",
    cites=f"{OWN}, Own faults",
    bad="the kernel kills the process because of its memory use, also at the second try",
    good="the process ends normally",
    reads_content=False,
)


RULE_OF_FAULT = {
    Fault.JSON: NOT_JSON,
    Fault.TRAILING: TEXT_AFTER_RECORD,
    Fault.QUOTED: QUOTED_RECORD,
    Fault.COLORED: COLOR_CODES,
    Fault.UNMARKED: MISSING_TOKEN,
    Fault.TRUNCATED: TRUNCATED,
    Fault.MARKED_CUT: CUT_OUT,
    Fault.OBJECT: NOT_AN_OBJECT,
    Fault.MISSING: MISSING_FIELD,
    Fault.TIME: BAD_TIME,
    Fault.KEY: BAD_KEY,
    Fault.GLUED: SEVERAL_RECORDS,
    Fault.DIALECT: NONSTANDARD_DIALECT,
    Fault.IGNORED: IGNORED_LINE,
    Fault.LONG: LINE_TOO_LONG,
    Fault.DEEP: TOO_DEEP,
    Fault.UNREADABLE: UNREADABLE_FILE,
    Fault.COMPRESSED: BROKEN_COMPRESSION,
}
"""The rule of each fault of a line. The reader writes the message, because it has the line."""
