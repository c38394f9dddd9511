"""Chrome traces that are built by hand, and their analysis by `podium profile read`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.compliance import command_line

Row = dict[str, Any]


def podium(*words: object) -> tuple[int, str, str]:
    done = command_line.podium(*words)
    return done.exit_code, done.stdout, done.stderr


def event(category: str, name: str, begin: float, length: float, **args: Any) -> Row:
    lane = args.pop("lane", 1)
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 7,
        "tid": lane,
        "ts": begin,
        "dur": length,
        "args": args,
    }


def launched(name: str, call: float, begin: float, length: float, **args: Any) -> list[Row]:
    """A kernel and the call of 5 us that launches it, with the same correlation number."""
    number = int(call * 10) + 1
    stream = args.pop("stream", 20)
    return [
        event("cuda_runtime", "cudaLaunchKernel", call, 5, correlation=number),
        event("kernel", name, begin, length, correlation=number, lane=stream, **args),
    ]


def written(folder: Path, rows: list[Row], name: str = "trace.json", **top: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps({"traceEvents": rows, **top}))
    return path


def analysis(folder: Path, *traces: Path) -> Any:
    status, _, err = podium("profile", "read", *traces, "--output", folder / "out")
    assert (status, err) == (0, "")
    return json.loads((folder / "out/traces.json").read_text())
