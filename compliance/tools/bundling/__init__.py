"""A submission as one archive, and the way back: `bundle`, `unpack`, `verify`.

`format` is the archive itself, `encryption` imports `format`, and the three modules here import
both, and `packing.receipt`.
"""
