"""Damages of a log: its text, its records and its run."""

from __future__ import annotations

from podium.rules.fixed.edits import append, drop, write
from tests.compliance.damages.base import (
    BENCHMARK,
    DESCRIPTION,
    LOGS,
    ODD,
    PUBLISHED,
    RESULT,
    Damage,
    in_bytes,
    lines,
    sub,
    value,
)

_ROWS = f"closed.{BENCHMARK}"

_OF_BERT = PUBLISHED.parent / "tinycorp/results/tinybox_red/bert/result_1.txt"

_TIME_OF = r'"time_ms": \d+(, "event_type": "{}", "key": "{}")'

DAMAGES = (
    # --- the text ---
    Damage("empty log", (write(ODD, ""),), "log.no-records", ODD, "PO"),
    Damage("no log line", (write(ODD, "epoch 1: loss 0.93\n"),), "log.no-records", ODD, "PO"),
    Damage(
        "UTF-16",
        (in_bytes(ODD, lambda data: data.decode().encode("utf-16")),),
        "log.encoding",
        ODD,
        "PO",
    ),
    Damage(
        "cut in the middle of a line",
        (in_bytes(ODD, lambda data: data[:9100]),),
        "result.unfinished-run-dropped",
        f"{ODD}:39",
        "O",
    ),
    Damage(
        "cut at the end of a line",
        (lines(ODD, lambda text: text[:40]),),
        "result.unfinished-run-dropped",
        f"{ODD}:40",
        "",
    ),
    Damage(
        "single quotes throughout",
        (in_bytes(ODD, lambda data: data.replace(b'"', b"'")),),
        "log.not-json",
        f"{ODD}:1",
        "PO",
    ),
    Damage(
        "single quotes in one line",
        (lines(ODD, lambda t: [*t[:8], t[8].replace(b'"', b"'"), *t[9:]]),),
        "log.not-json",
        f"{ODD}:9",
        "PO",
    ),
    Damage(
        "every line doubled by ranks",
        (lines(ODD, lambda text: [line for line in text for _ in range(2)]),),
        "log.repeated-by-ranks",
        f"{ODD}:2",
        "PO",
    ),
    Damage(
        "every line of every log doubled",
        tuple(lines(path, lambda text: [line for line in text for _ in range(2)]) for path in LOGS),
        "log.repeated-by-ranks",
        f"{LOGS[0]}:2",
        "PO",
    ),
    Damage(
        "a list for a record",
        (append(ODD, ":::MLLOG [42]"),),
        "log.not-an-object",
        f"{ODD}:59",
        "PO",
    ),
    Damage(
        "a record without value",
        (sub(ODD, '"value": 16, ', "", 1),),
        "log.missing-field",
        f"{ODD}:18",
        "PO",
    ),
    Damage(
        "a time as text",
        (sub(ODD, _TIME_OF.format("INTERVAL_START", "run_start"), r'"time_ms": "12:00"\1'),),
        "log.bad-time",
        f"{ODD}:21",
        "PO",
    ),
    # --- values ---
    Damage(
        "8 as a text in one log",
        (value(ODD, "global_batch_size", '"8"'),),
        "log.wrong-type",
        f"{ODD}:9",
        "PO",
    ),
    Damage(
        "8 as a text in all logs",
        tuple(value(path, "global_batch_size", '"8"') for path in LOGS),
        "log.wrong-type",
        f"{LOGS[0]}:9",
        "PO",
    ),
    Damage(
        "one odd batch size of ten",
        (value(ODD, "global_batch_size", "16"),),
        "result.mixed-settings",
        f"{ODD}:9",
        "PO",
    ),
    Damage(
        "a wrong lora_rank in one log",
        (value(ODD, "lora_rank", "8"),),
        f"{_ROWS}.lora_rank",
        f"{ODD}:18",
        "P",
    ),
    Damage(
        "a wrong lora_rank in all logs",
        tuple(value(path, "lora_rank", "8") for path in LOGS),
        f"{_ROWS}.lora_rank",
        f"{LOGS[0]}:18",
        "PO",
    ),
    Damage(
        "an unknown benchmark",
        (value(ODD, "submission_benchmark", '"llama2"'),),
        "closed.submission_benchmark",
        f"{ODD}:3",
        "PO",
    ),
    Damage(
        "the log of another benchmark",
        (value(ODD, "submission_benchmark", '"bert"'),),
        "result.other-benchmark",
        f"{ODD}:3",
        "PO",
    ),
    Damage(
        "the whole log of another benchmark",
        (in_bytes(ODD, lambda _: _OF_BERT.read_bytes()),),
        "result.other-benchmark",
        f"{ODD}:5",
        "PO",
    ),
    Damage(
        "another organisation",
        tuple(value(path, "submission_org", '"Nobody"') for path in LOGS),
        "system.submitter-mismatch",
        f"{LOGS[0]}:4",
        "",
    ),
    # --- keys ---
    Damage("no run_stop", (drop(ODD, "run_stop"),), "common.run_stop", ODD, "P"),
    Damage("no run_start", (drop(ODD, "run_start"),), "common.run_start", ODD, "P"),
    Damage("no cache_clear", (drop(ODD, "cache_clear"),), "common.cache_clear", ODD, "P"),
    Damage(
        "a setting that is not logged",
        (drop(ODD, "opt_gradient_clip_norm"),),
        f"{_ROWS}.opt_gradient_clip_norm",
        ODD,
        "P",
    ),
    Damage(
        "a misspelt key",
        (sub(ODD, "opt_gradient_clip_norm", "opt_gradient_clip_nrom"),),
        "closed.llama2_70b_lora.opt_gradient_clip_norm",
        ODD,
        "P",
    ),
    # --- seeds ---
    Damage("no seed", (drop(ODD, "seed"),), "seeds.none", ODD, "PO"),
    Damage("a repeated seed", (value(ODD, "seed", "3183"),), "seeds.repeated", f"{ODD}:8", "PO"),
    Damage(
        "a seed that is no number",
        (value(ODD, "seed", '"random"'),),
        "seeds.not-integer",
        f"{ODD}:8",
        "PO",
    ),
    # --- evaluations and the end ---
    Damage(
        "an eval_accuracy deleted",
        (lines(ODD, lambda text: [*text[:31], *text[32:]]),),
        "pairing.evaluation-without-outcome",
        f"{ODD}:31",
        "",
    ),
    Damage(
        "every eval_accuracy deleted",
        (drop(ODD, "eval_accuracy"),),
        f"{_ROWS}.eval_accuracy",
        ODD,
        "PO",
    ),
    Damage(
        "an evaluation before run_start",
        (
            sub(
                ODD,
                _TIME_OF.format("POINT_IN_TIME", "eval_accuracy"),
                r'"time_ms": 1745912000000\1',
                1,
            ),
        ),
        "evaluation.before-run",
        f"{ODD}:26",
        "",
    ),
    Damage(
        "an evaluation off the schedule",
        (sub(ODD, r'("samples_count": )1920\b', r"\g<1>1936"),),
        "evaluation.off-schedule",
        f"{ODD}:32",
        "",
    ),
    Damage(
        "a run that did not end in success",
        (sub(ODD, '"status": "success"', '"status": "aborted"'),),
        "run.not-converged",
        f"{ODD}:58",
        "",
    ),
    Damage(
        "two runs that did not end in success",
        tuple(sub(path, '"status": "success"', '"status": "aborted"') for path in LOGS[4:6]),
        "result.not-converged",
        RESULT,
        "PO",
    ),
    Damage(
        "two runs that missed the target",
        tuple(value(path, "eval_accuracy", "0.95") for path in LOGS[4:6]),
        f"{_ROWS}.target",
        f"{ODD}:56",
        "PO",
    ),
    Damage(
        "convergence in half the samples",
        tuple(
            sub(path, rf'("samples_count": ){count}\b', rf"\g<1>{count // 2}")
            for path in LOGS
            for count in (1536, 1920, 2304, 2688, 3072)
        ),
        "rcp.failed",
        RESULT,
        "PO",
    ),
    # --- the division, the round ---
    Damage(
        "one log of the other division",
        (value(ODD, "submission_division", '"open"'),),
        "result.other-division",
        f"{ODD}:5",
        "P",
    ),
    Damage(
        "all logs of the other division",
        tuple(value(path, "submission_division", '"open"') for path in LOGS),
        "system.division-mismatch",
        f"{DESCRIPTION}:15",
        "PO",
    ),
    Damage("a wrong round", (), "round.mismatch", ".", "PO", ("--round", "6.1")),
)
