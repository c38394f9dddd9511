"""The parts that all trainers share: launch, ranks, loop, checkpoints. Imports no benchmark."""
