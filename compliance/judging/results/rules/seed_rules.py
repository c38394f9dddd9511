"""The rules on the seeds of a result's runs."""

from __future__ import annotations

from podium.rules.consequences import (
    OF_REPEATED_RECORDS,
    OF_THE_BEGINNING,
    OF_THE_SAME_LINE,
    Follows,
    Reach,
    of_its_file,
)
from podium.rules.finding import Finding, Severity
from podium.rules.fixed.edits import RESULT, drop, set_to
from podium.rules.fixed.fixed_rule import both, note, policy, verifier

CITES = "training rules, Random numbers"

SOURCE_EXTENSIONS = frozenset(
    ".py .cc .cpp .cxx .c .h .hh .hpp .hxx .sh .sub .cu .cuh".split()  # noqa: SIM905
)
"""Extensions of the files in which a seed may be logged."""

_SAME_RUN = "runs that start from the same random numbers are one run, not several"
_OWN_SEED = "give each run its own seed, and repeat the run"
_BEFORE_4_1 = "stated only by the official verifier before training 4.1, and in HPC rounds"
_FIRST, _SECOND = f"{RESULT}/result_0.txt", f"{RESULT}/result_1.txt"

_OF_COPIES = (*OF_REPEATED_RECORDS, Follows("result.copied-run"))
"""Causes of findings about seeds: records, or whole runs, that are logged more than once."""

# The log of the other run may also contain this run
_OF_ANOTHER_LOG = (*_OF_COPIES, Follows("log.several-attempts", Reach.RESULT, of_its_file))
"""Causes of findings about a seed that another log has as well."""


def _same_file(cause: Finding, finding: Finding) -> bool:
    # A seed that is not logged by a source file is a different error
    is_source = str(finding.actual).endswith(tuple(SOURCE_EXTENSIONS))
    return is_source and finding.actual in cause.actual


NONE = both(
    "seeds.none",
    says="every closed run logs a seed",
    why=_SAME_RUN,
    message="the run logs no seed; expected at least one",
    help="log the seed of the run's random generators",
    cites=CITES,
    expected="at least one",
    varies=_BEFORE_4_1,
    bad=(drop(_FIRST, "seed"),),
    follows=(*_OF_COPIES, OF_THE_BEGINNING),
)
NOT_INTEGER = both(
    "seeds.not-integer",
    says="a seed is an integer",
    why=_SAME_RUN,
    message="seed is {seed}; expected an integer",
    help="log the seed that is passed to the random generator",
    cites=CITES,
    expected="an integer",
    actual="seed",
    varies=_BEFORE_4_1,
    bad=(set_to(_FIRST, "seed", "random"),),
    good=(set_to(_FIRST, "seed", "42"),),
    follows=_OF_COPIES,
)
NO_PLACE = both(
    "seeds.no-place",
    says="a seed's record has the source line that logged it",
    why="seeds are compared by source file and line",
    message="the seed's record lacks {missing}, which names the source line",
    help="log seeds with mllog, which adds both",
    cites=CITES,
    expected="file and lineno",
    varies=_BEFORE_4_1,
    bad="the metadata of a run's seed has no lineno",
    good="it has file and lineno",
    follows=_OF_COPIES,
)
REPEATED = both(
    "seeds.repeated",
    says="no two runs of a result log the same seed at the same source line",
    why=_SAME_RUN,
    message="seed {seed} from {source} is already logged in {other}, line {other_line}",
    help=_OWN_SEED,
    cites=CITES,
    expected="a seed that no other run has",
    actual="seed",
    varies=f"{_BEFORE_4_1}, and for seeds that are equal only after the official verifier "
    "truncates them",
    bad=(set_to(_FIRST, "seed", 7), set_to(_SECOND, "seed", 7)),
    good=(set_to(_FIRST, "seed", 7), set_to(_SECOND, "seed", 8)),
    follows=_OF_ANOTHER_LOG,
)
REPEATED_IN_RUN = verifier(
    "seeds.repeated-in-run",
    says="a run logs a seed once",
    why="the official verifier cannot distinguish ranks that share a seed from runs that share one",
    message="seed {seed} from {source} is logged again in the same run{count}; the official "
    "verifier rejects this, although a run's processes may share a seed",
    help="log the seed from one process only",
    expected="one record of a seed",
    actual="seed",
    bad="a run logs its seed twice at the same source line",
    good="the run logs its seed once",
    follows=_OF_COPIES,
)
SEVERAL = both(
    "seeds.several",
    Severity.WARNING,
    says="a run logs one seed",
    why="with several seeds it is unclear on which one the run depends",
    message="the run logs {count} seeds; expected one",
    help="log the one seed from which the others are drawn",
    cites=CITES,
    expected="one seed",
    bad="a run logs the seeds 100 and 7",
    good="it logs the seed 100",
    follows=_OF_COPIES,
)
SHARED = policy(
    "seeds.shared",
    says="no two runs of a result log the same seed, at any source line",
    why=_SAME_RUN,
    message="seed {seed} is also a seed of {other}",
    help=_OWN_SEED,
    cites=CITES,
    expected="a seed that no other run has",
    actual="seed",
    bad="two runs log the seed 100, one at line 4 of train.py, the other at line 3",
    good="the second logs the seed 101",
    follows=_OF_ANOTHER_LOG,
)
SOURCE = policy(
    "seeds.source",
    says="a seed is logged by a source file of the submission",
    why="reviewers trace it to the code that uses it",
    message="the seed was logged in {file}{problem}",
    help="submit the code that ran, and log the seed in it",
    cites=CITES,
    expected="a file of the submission, ending in " + ", ".join(sorted(SOURCE_EXTENSIONS)),
    actual="file",
    bad="the metadata of the seeds has file: /workspace/notes.txt",
    good="it has file: /workspace/train.py",
    follows=(
        *OF_REPEATED_RECORDS,
        Follows("code.source-not-found", Reach.RESULT, _same_file),
        Follows("result.copied-run"),
    ),
)
RUN_INDEX = note(
    "seeds.run-index",
    says="the seeds of a result's runs come from a clock or another random source",
    why="seeds that only number the runs were chosen, and others may have been tried before",
    message="the seeds of the {count} runs are the numbers {first} to {last}; expected seeds from "
    "the clock, the system's random source, or a generator with such a seed",
    help="draw the seed of each run at random, or show reviewers where it was drawn",
    cites=CITES,
    expected="seeds drawn at random",
    bad="the three runs of a result log the seeds 0, 1 and 2",
    good="they log 16807, 282475249 and 1622650073",
    follows=_OF_COPIES,
)
UNREADABLE_LOG = verifier(
    "seeds.unreadable-log",
    says="the seeds of a log can be read",
    why="the official seed check stops at a line that it cannot read",
    message="the official verifier cannot compare this run's seeds: {problem}",
    help="copy the complete log of the run again",
    expected="a log that can be read",
    bad="a line of a run's log is truncated",
    good="the line is complete",
    follows=(*OF_THE_SAME_LINE, *_OF_COPIES),
)

VERIFIER_CRASH = verifier(
    "seeds.verifier-crash",
    says="the official seed check can compare the logged values",
    why="it crashes on a list or an object where it expects a file or a line, without a verdict",
    message="the official verifier crashes on this seed's file or lineno",
    help="log seeds with mllog",
    expected="a string, a number",
    bad="the metadata of a run's seed has lineno: [3]",
    good="it has lineno: 3",
    follows=_OF_COPIES,
)
