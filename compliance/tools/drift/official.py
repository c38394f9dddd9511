"""Run an installed `mlperf-logging`. This script runs by path, in a temporary folder.

It is self-contained, because its Python need not have podium. With the argument `about`, it writes
one JSON line with the version and the rule files. Without an argument, it reads JSON lines with
{"usage", "round", "text"}, and writes one line with the verdict for each.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
import json
import logging
import os
import re
import sys
from types import SimpleNamespace
from typing import Any

TESTS = {"CHECK": "each", "FIRST_CHECK": "first", "ATLEAST_ONE_CHECK": "some"}


class Checker:
    """The official checker: its rule files as data, and its verdicts."""

    def __init__(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self.module: Any = importlib.import_module(
                "mlperf_logging.compliance_checker.mlp_compliance"
            )
            self.yaml: Any = importlib.import_module("yaml")
        self.folder = os.path.dirname(os.path.abspath(str(self.module.__file__)))
        self.parsed: dict[str, Any] = {}
        # The checker parses its files again for every log, which takes most of its time
        vars(self.module)["yaml"] = SimpleNamespace(
            load=self._load, BaseLoader=self.yaml.BaseLoader
        )
        logging.disable(logging.CRITICAL)

    def _load(self, stream: Any, Loader: Any = None) -> Any:  # noqa: N803 - the caller's name
        name = stream.name
        if name not in self.parsed:
            self.parsed[name] = self.yaml.load(stream, Loader=Loader or self.yaml.BaseLoader)
        return self.parsed[name]

    def rules(self) -> dict[str, dict[str, Any]]:
        """The rule files by round, such as `training 6.1`, and by name without the extension."""
        rounds: dict[str, dict[str, Any]] = {}
        for folder in sorted(os.listdir(self.folder)):
            match = re.fullmatch(r"(training|hpc)_(\d+\.\d+)\.0", folder)
            if match:
                files = rounds.setdefault(f"{match[1]} {match[2]}", {})
                for name in sorted(os.listdir(os.path.join(self.folder, folder))):
                    if name.endswith(".yaml"):
                        path = os.path.join(self.folder, folder, name)
                        files[name.removesuffix(".yaml")] = self._keys(path)
        return rounds

    def _keys(self, path: str) -> dict[str, Any]:
        with open(path, encoding="utf-8") as stream:
            entries = self._load(stream) or []
        keys = [entry["KEY"] for entry in entries if isinstance(entry, dict) and "KEY" in entry]
        return {key["NAME"]: _rule(key) for key in keys}

    def runs(self) -> dict[str, Any]:
        """The number of runs that a result of each benchmark needs, by suite."""
        try:
            meta: Any = importlib.import_module("mlperf_logging.benchmark_meta")
            return {name: dict(meta.get_result_file_counts(name)) for name in ("training", "hpc")}
        except Exception:  # an older release has no such table
            return {}

    def names(self) -> dict[str, Any]:
        """The benchmarks of each round."""
        try:
            meta: Any = importlib.import_module("mlperf_logging.benchmark_meta")
        except ImportError:  # an older release has no such table
            return {}
        names = {}
        for title in self.rules():
            with contextlib.suppress(ValueError):
                names[title] = sorted({*meta.get_allowed_benchmarks(*title.split(" "))})
        return names

    def points(self) -> dict[str, Any]:
        """The reference points of each round, by benchmark and id."""
        folder = os.path.join(os.path.dirname(self.folder), "rcp_checker")
        points: dict[str, Any] = {}
        for title in self.rules():
            inner = os.path.join(folder, title.replace(" ", "_") + ".0")
            for name in sorted(os.listdir(inner)) if os.path.isdir(inner) else ():
                match = re.fullmatch(r"rcps_(\w+)\.json", name)
                if match:
                    with open(os.path.join(inner, name), encoding="utf-8") as stream:
                        records = json.load(stream)
                    benchmark_points = {point: _point(record) for point, record in records.items()}
                    points.setdefault(title, {})[match[1]] = benchmark_points
        return points

    def aliases(self) -> dict[str, str]:
        """The benchmarks by their other names, from the source of the summary."""
        module = os.path.join(
            os.path.dirname(self.folder), "result_summarizer", "result_summarizer.py"
        )
        try:
            with open(module, encoding="utf-8") as stream:
                source = stream.read()
        except OSError:
            return {}
        function = re.search(r"def _benchmark_alias\b.*?(?=\ndef )", source, re.DOTALL)
        pairs = r"== ['\"](\w+)['\"]:\s+return ['\"](\w+)['\"]"
        return dict(re.findall(pairs, function[0])) if function else {}

    def judge(self, usage: str, round_name: str, path: str) -> dict[str, Any]:
        """Whether a log passes, and the violated keys; or `crash`."""
        self.module.enqueued_configs.clear()
        checker = self.module.make_checker(usage, f"{round_name}.0", True, False)
        config = f"{usage}_{round_name}.0/common.yaml"
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                passes = bool(self.module.main(path, config, checker)[0])
            except Exception as error:  # the checker may raise any exception
                return {"passes": False, "keys": [], "crash": f"{type(error).__name__}: {error}"}
        return {"passes": passes, "keys": sorted(checker.overwritable), "crash": ""}


def _point(record: dict[str, Any]) -> dict[str, Any]:
    """A reference point: its batch size, and the point of convergence of each run."""
    values = record.get("Epochs to converge") or record.get("samples to converge") or []
    return {"batch_size": record.get("BS", 0), "to_converge": values}


def _rule(key: dict[str, Any]) -> dict[str, Any]:
    rule: dict[str, Any] = {"times": key.get("REQ", "")}
    for test, name in TESTS.items():
        expressions = key.get(test, [])
        rule[name] = [
            " ".join(text.split())
            for text in (expressions if isinstance(expressions, list) else [expressions])
        ]
    return rule


def main() -> int:
    """Answer requests until the input ends."""
    try:
        checker = Checker()
    except ImportError as error:
        sys.exit(str(error))
    out = sys.stdout
    if sys.argv[1:] == ["about"]:
        version = "unknown"
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            version = importlib.metadata.version("mlperf-logging")
        tables = ("rules", "runs", "names", "points", "aliases")
        tables_of_release = {"version": version} | {
            name: getattr(checker, name)() for name in tables
        }
        out.write(json.dumps(tables_of_release) + "\n")
        return 0
    for line in sys.stdin:
        request = json.loads(line)
        with open("result_0.txt", "w", encoding="latin-1", newline="") as stream:
            stream.write(request["text"])
        out.write(
            json.dumps(checker.judge(request["usage"], request["round"], "result_0.txt")) + "\n"
        )
        out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
