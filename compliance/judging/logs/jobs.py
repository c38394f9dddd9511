"""The scheduler's job that a log names, in its records or in other lines."""

from __future__ import annotations

import re

from podium.logging_spec.reader.words import finder

HEAD = 1 << 20
"""Bytes of a log that are searched: launchers print the job at the beginning."""

_CONTAINER = b"container-name="
_OF_MANY = (b"SLURM_ARRAY_JOB_ID", b"SLURM_JOB_ID_", b"SLURM_JOBID_")
"""Words that look like a job's number but are not, or that name the job of many runs."""

_WORDS = (
    *_OF_MANY,
    *(b"SLURM_JOB_ID", b"SLURM_JOBID", b"slurm-", b"batch job "),
    *(b"PBS_JOBID", b"LSB_JOBID", b"PJM_JOBID", b"COBALT_JOBID", b"Job <"),
    *(b"JOB_ID", b"JOBID", b"jobid", b"job_id", b"JobId", b"JobID"),
    *(b"Job ID", b"Job id", b"job ID", b"job id"),
    _CONTAINER,
)
_find = finder(_WORDS)

_NUMBER = re.compile(rb"""[\\"']{0,2}[ \t]{0,2}[:=,]?[ \t]{0,2}[\\"']{0,2}(\d{3,9})(?!\d)""")
_SUFFIX = re.compile(rb"[\w.-]{0,80}?_(\d{4,9})(?![\w.-])")
"""Launchers give a container the name of the benchmark and the job: `language_model_5120`."""


def job_of(data: bytes) -> tuple[int, int] | None:
    """(number, line) of the job that a log names; None if it names none, or several."""
    head = memoryview(data)[:HEAD]
    jobs: dict[int, int] = {}
    for word, _, end in _find(head):
        text = _WORDS[word]
        if text in _OF_MANY:
            continue
        match = (_SUFFIX if text == _CONTAINER else _NUMBER).match(head, end)
        if match is not None:
            jobs.setdefault(int(match[1]), end)
        if len(jobs) > 1:
            return None
    return next(((number, data.count(b"\n", 0, end) + 1) for number, end in jobs.items()), None)
