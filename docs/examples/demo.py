"""The main job on logs made on the spot: check them, see what is wrong, mend it, check again.

`make demo` runs this. The trainer here trains nothing: it only logs what a run of Llama 2 70B LoRA
of training 5.1 logs, through the emitter and on a clock of its own, so that there is something to
judge.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from logging_spec import Logger

START_MS = 1_760_000_000_000
BATCH, INTERVAL = 8, 384
SETTINGS = {
    "submission_benchmark": "llama2_70b_lora",
    "submission_division": "closed",
    "submission_org": "Example",
    "submission_platform": "8xExample",
    "global_batch_size": BATCH,
    "gradient_accumulation_steps": 1,
    "train_samples": 3901,
    "eval_samples": 173,
    "lora_alpha": 32,
    "opt_adamw_weight_decay": 0.0001,
    "opt_gradient_clip_norm": 0.3,
    "opt_base_learning_rate": 0.0004,
    "opt_learning_rate_warmup_steps": 0,
    "opt_learning_rate_training_steps": 1024,
}


class Clock:
    """A clock that stands still between the steps of a run that takes no time."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        """Now, in milliseconds since 1970."""
        return self.now_ms

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now_ms += round(seconds * 1000)


def log_run(path: Path, seed: int, rank: int) -> None:
    """Write the log of one run that reaches its target at the third evaluation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    clock = Clock(START_MS + seed * 10_000_000)
    with Logger(str(path), clock=clock) as log:
        log.event("cache_clear", True)
        with log.init():
            log.hyperparameters({**SETTINGS, "lora_rank": rank, "seed": seed})
            clock.wait(95)
        clock.wait(2)
        with log.run() as run:
            samples = 0
            for loss in (0.9471, 0.9302, 0.9244):
                log.start("block_start", metadata={"samples_count": samples})
                samples += INTERVAL if samples else 4 * INTERVAL  # three evaluations are skipped
                clock.wait(48)
                at = {"samples_count": samples}
                log.end("block_stop", metadata=at)
                log.start("eval_start", metadata=at)
                clock.wait(9)
                log.event("eval_accuracy", loss, metadata=at)
                log.end("eval_stop", metadata=at)
            run.success(samples_count=samples)


def podium(*arguments: str) -> int:
    """Show a podium command, run it, and return its exit status."""
    print(f"\n$ podium {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "compliance", *arguments]
    status = subprocess.run(command, check=False).returncode
    print(f"(exit status {status})", flush=True)
    return status


def main() -> None:
    """Ten runs, one with a forbidden LoRA rank; found, mended, accepted."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "llama2_70b_lora"
        for seed in range(10):
            log_run(folder / f"result_{seed}.txt", seed, rank=8 if seed == 7 else 16)
        print("Ten logs of Llama 2 70B LoRA, one of them with a forbidden setting.")
        assert podium("check", str(folder), "--round", "5.1") == 1
        print("\nWhat does the rule say?")
        assert podium("rules", "explain", "closed.llama2_70b_lora.lora_rank", "--round", "5.1") == 0
        print("\nThe run is repeated with the right setting.")
        (folder / "result_7.txt").unlink()
        log_run(folder / "result_7.txt", 7, rank=16)
        assert podium("check", str(folder), "--round", "5.1") == 0


if __name__ == "__main__":
    main()
