"""Every rule as data: listed, explained, compared, as pages and as texts of reports.

Imports all folders that declare rules.
"""
