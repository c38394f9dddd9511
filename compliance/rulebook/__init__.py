"""Every rule there is, as data: listed, explained, compared, as pages and as texts of reports.

Imports whatever declares rules: all folders below `packing`.
"""
