"""What all trainers share: launching, ranks, the loop, checkpoints. Imports no benchmark."""
