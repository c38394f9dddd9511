"""Bundle a submission into one archive, unpack it and verify it: `bundle`, `unpack`, `verify`.

`format` is the archive itself, and `encryption` imports `format`. The modules of this folder import
both, and `packing.receipt`.
"""
