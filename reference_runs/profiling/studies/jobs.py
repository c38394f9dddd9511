"""Jobs to plan, from scaling studies or from a table of times."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

from podium.reference_runs.errors import RunFault
from podium.reference_runs.profiling.studies.study import Job

COLUMNS = ("job", "devices", "minutes")


def jobs_of(words: list[str]) -> list[Job]:
    """The jobs in some files: FILE.csv, or a scaling study, optionally with an @STEPS suffix.

    A table has a line for each job and number of devices: job, devices, minutes. The job of a study
    has the given number of optimizer steps; by default, those of a whole run. Raises RunFault.
    """
    jobs: list[Job] = []
    for word in words:
        name, _, steps = word.rpartition("@") if "@" in word else (word, "", "")
        if name.endswith(".csv"):
            jobs += _of_table(name)
        else:
            jobs.append(_of_study(name, steps))
    if not jobs:
        raise RunFault(f"no jobs in {', '.join(words)}")
    names = [job.name for job in jobs]
    # The same job may occur twice, but needs distinct names
    return [
        Job(name=f"{job.name} #{names[:index].count(job.name) + 1}", seconds=job.seconds)
        if names.count(job.name) > 1
        else job
        for index, job in enumerate(jobs)
    ]


def read_json(name: str) -> dict[str, Any]:
    """A file's JSON object; raises RunFault if there is none."""
    try:
        content = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise RunFault(f"{name} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise RunFault(f"{name} is not JSON") from None
    if not isinstance(content, dict):
        raise RunFault(f"{name} does not contain a JSON object")
    return content


def _of_study(name: str, steps: str) -> Job:
    study = read_json(name)
    if study.get("kind") != "scaling":
        raise RunFault(f"{name} is not a scaling study; run podium profile TRAINER --study scaling")
    try:
        count = int(steps or study["last_step"])
        seconds = {
            int(variant["ranks"]): count * float(variant["step_ms"]) / 1000
            for variant in study["variants"]
            if variant["state"] == "measured"
        }
    except (KeyError, TypeError, ValueError):
        raise RunFault(f"{name}: expected step times in the study, and a number after @") from None
    return _checked(name, Job(name=str(study.get("benchmark")), seconds=seconds))


def _of_table(name: str) -> list[Job]:
    times: dict[str, dict[int, float]] = {}
    try:
        with Path(name).open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                job, devices, minutes = (row[column] for column in COLUMNS)
                times.setdefault(job, {})[int(devices)] = float(minutes) * 60
    except OSError as error:
        raise RunFault(f"{name} cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError):
        raise RunFault(f"{name}: expected the columns {', '.join(COLUMNS)} with numbers") from None
    return [_checked(name, Job(name=job, seconds=seconds)) for job, seconds in times.items()]


def _checked(name: str, job: Job) -> Job:
    right = all(n > 0 and math.isfinite(time) and time > 0 for n, time in job.seconds.items())
    if not job.seconds or not right:
        raise RunFault(f"{name}: {job.name}: expected times above 0 by number of devices")
    return job
