"""Generate `rules/published_keys.json`: the keys in the published logs of each benchmark.

    python benchmarks/published_keys.py CORPUS [--write]

CORPUS contains folders such as training_results_v5.1. Without --write the file is only compared;
exit status 1 if it does not match the logs. A log counts for the benchmark that it names, in the
round of its folder; a log without a benchmark of the round is skipped.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from podium.compliance.judging.logs.policy import tolerant_run
from podium.logging_spec.reader.read import read_log
from podium.rules import published_keys
from podium.rules.catalogue import find_round
from podium.rules.model.round import Round, version_of

FOLDER = re.compile(r"(training|hpc)_results_v(\d+\.\d+)")
TARGET = Path(published_keys.__file__).resolve().with_name(published_keys.FILE)


def collect(corpus: Path) -> dict[str, Any]:
    """The data of all published logs below a folder."""
    found: dict[str, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
    logs = 0
    for folder in sorted(corpus.iterdir()):
        if named := FOLDER.fullmatch(folder.name):
            rules = find_round(*named.groups())
            for benchmark, keys in _logs(folder, rules):
                logs += 1
                for key in keys:
                    found[rules.usage][benchmark][key].add(rules.name)
    return {"source": f"{logs} logs of published results, by their folders", "keys": _sorted(found)}


def _logs(folder: Path, rules: Round) -> Iterator[tuple[str, set[str]]]:
    """Each log's benchmark, and its keys."""
    for path in sorted(folder.rglob("result_*")):
        if path.is_file():
            log = read_log(path)
            if log.generation == rules.generation and log.records:
                run = tolerant_run(log)
                name = rules.named_by(run)
                name = rules.aliases.get(name, name) if isinstance(name, str) else ""
                if name in rules.benchmarks:
                    yield name, set(run.where)


def _sorted(found: dict[str, Any]) -> dict[str, Any]:
    return {
        usage: {
            benchmark: {key: sorted(rounds, key=version_of) for key, rounds in sorted(keys.items())}
            for benchmark, keys in sorted(benchmarks.items())
        }
        for usage, benchmarks in sorted(found.items())
    }


def text_of(data: dict[str, Any]) -> str:
    """The file's content: a line for each key."""
    return re.sub(r"\[\s+([^\]]*?)\s+\]", _one_line, json.dumps(data, indent=1)) + "\n"


def _one_line(match: re.Match[str]) -> str:
    return f"[{' '.join(match[1].split())}]"


def main() -> int:
    """Compare or write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = text_of(collect(arguments.corpus))
    if arguments.write:
        TARGET.write_text(text, encoding="utf-8", newline="\n")
        return 0
    same = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text
    print(f"{TARGET.name} is {'up to date' if same else 'outdated: --write updates it'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
