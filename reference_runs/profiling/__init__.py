"""Where a training step's time goes: by run, by layer and by kernel, and what measuring costs."""
