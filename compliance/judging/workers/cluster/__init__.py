"""The engine of `--engine dask`: workers of a scheduler, here or on other machines."""
