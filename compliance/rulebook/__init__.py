"""Every rule as data: listed, explained, compared, as pages.

Imports what declares rules: submission and below.
"""
