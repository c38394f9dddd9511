"""The same program on every rank, started by torchrun, srun or mpirun; only rank 0 writes.

`srun python multi_node.py /shared/result_0.txt`. All ranks make the same calls. At run_start and
run_stop they wait for each other if torch.distributed is initialized.
"""

from __future__ import annotations

import sys

from podium import Logger


def main(path: str) -> None:
    """One block and one evaluation."""
    log = Logger([path, sys.stdout])  # a file, and the output of the job
    with log, log.run() as run:
        with log.block(samples_count=0):
            print(f"rank {log.rank} trains")
        with log.evaluation(samples_count=12_288) as evaluation:
            evaluation.accuracy(3.29)
        run.success(samples_count=12_288)


if __name__ == "__main__":
    main(sys.argv[1])
