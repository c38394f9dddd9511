"""The time of a training step: by run, by layer and by kernel, with the overhead of measuring."""
