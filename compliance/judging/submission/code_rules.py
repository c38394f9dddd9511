"""The rules on the code and the documents of a submission."""

from __future__ import annotations

from podium.compliance.judging.inputs.tree_rules import STRUCTURE
from podium.compliance.judging.results.rules.seed_rules import CITES as RANDOM_NUMBERS
from podium.rules.fixed.edits import remove, rename, write
from podium.rules.fixed.fixed_rule import note, policy

INSPECTION = "submission rules, Source code requirements for training inspection"
REPLICATION = "submission rules, Source code requirements for replication"

_CODE = "benchmarks/llama31_405b"
_OURS = f"{_CODE}/implementations/ours"
_DESCRIPTION = f"{_OURS}/ex_n8_ours.json"
_SCRIPTS = ("setup.sh", "init_datasets.sh", "run_and_time.sh")

NO_CODE = policy(
    "code.none",
    says="a submission contains its code",
    why="reviewers must be able to read each implementation",
    message="the submission contains no code; reviewers must be able to read each implementation",
    help="add benchmarks/<benchmark>/implementations/<implementation>/{guess}",
    cites=INSPECTION,
    varies="an error from training 6.0 on: earlier rounds accepted submissions without code",
    bad=(remove("benchmarks"),),
)
NO_IMPLEMENTATION = policy(
    "code.no-implementation",
    says="every benchmark with results has an implementation",
    why="reviewers must be able to read the code of the runs",
    message="{result} has results but no code in {folder}",
    help="add the implementation under {folder}/implementations/{guess}",
    cites=INSPECTION,
    bad=(rename(_CODE, "benchmarks/llama31_8b"),),
)
NO_README = policy(
    "code.no-readme",
    says="every implementation has a README",
    why="reviewers read it first",
    message="{folder} has no README",
    help="describe the run command, the dataset and the model in README.md",
    cites=STRUCTURE,
    bad=(remove(f"{_CODE}/README.md"),),
)
THIN_README = policy(
    "code.thin-readme",
    says=(
        "the README states the run command and the sources of the dataset and the starting weights"
    ),
    why="the runs cannot be repeated without them",
    message="the README of {benchmark} does not say {missing}",
    help="add it to {readme}",
    cites=INSPECTION,
    bad=(write(f"{_CODE}/README.md", "Our implementation.\n"),),
)
NO_SOFTWARE_NAMED = note(
    "code.no-software-version",
    says="the README identifies the software that ran",
    why="a release, tag, commit, checksum or image identifies the software exactly",
    message="the README of {benchmark} names no release, tag, commit, checksum or image",
    help="add the version of each program to {readme}",
    cites=REPLICATION,
    bad=(
        write(f"{_CODE}/README.md", "Run ./run_and_time.sh; data and weights as in the reference"),
    ),
)
NO_DESCRIPTION = note(
    "code.no-implementation-description",
    says="each result has a description of its implementation",
    why="it names the starting weights and the data types; few published trees have it",
    message="{count} of {total} results have no {example} below {folder}",
    help="write <system>_<implementation>.json next to the scripts of each benchmark and system",
    cites=STRUCTURE,
    bad=(remove(_DESCRIPTION),),
)
NO_SCRIPT = policy(
    "code.no-script",
    says="an implementation has setup.sh, init_datasets.sh and run_and_time.sh",
    why="the submission rules name these scripts; many submitters use other names",
    message="{folder} has no {scripts}",
    help="add the scripts for setup, datasets and runs, with these names",
    cites=STRUCTURE,
    varies="a note where one of the scripts exists",
    bad=tuple(remove(f"{_OURS}/{script}") for script in _SCRIPTS),
)
NO_CONFIG = policy(
    "code.no-config",
    says="the submitted code contains the file that config_filename names",
    why="this file contains the settings of the run",
    message="config_filename is {config}; no file in the submitted code has that name",
    help="add the configuration under benchmarks/{benchmark}/",
    cites=INSPECTION,
    bad="a log of training 6.1 has config_filename: conf/x8.sh, and no folder contains x8.sh",
    good="benchmarks/<benchmark>/implementations/ours/x8.sh exists",
)
SOURCE_NOT_FOUND = policy(
    "code.source-not-found",
    says="the submitted code contains the source files that log lines name",
    why="reviewers look up where a value was logged; redacted files keep their line numbers",
    message="source file not in the submitted code: the log names {files}",
    help="add the files, or redacted versions of them with the same line numbers",
    cites=REPLICATION,
    actual="absent",
    bad=(rename(f"{_OURS}/train.py", f"{_OURS}/other.py"),),
)
SOURCE_TOO_SHORT = policy(
    "code.source-too-short",
    says="source files have all lines that log lines name",
    why="a shorter file is not the version that the runs used",
    message="the log names line {lineno} of {file}; {candidates} has fewer lines",
    help="submit the version of the file that the runs used",
    cites=REPLICATION,
    bad=(write(f"{_OURS}/train.py", "seed(3)\n"),),
)
SEED_LINE = note(
    "seeds.source-line",
    says="the source line that logs a seed mentions it",
    why="reviewers trace the seed from this line to the code that uses it",
    message="the seed was logged at line {lineno} of {file}; in the submitted code, no line near "
    "it mentions a seed",
    help="log the seed where the random generators are seeded, or submit the code that ran",
    cites=RANDOM_NUMBERS,
    bad=(write(f"{_OURS}/train.py", "pass\n" * 20),),
)
