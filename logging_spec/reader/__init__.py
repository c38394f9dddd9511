"""Reader from bytes of a log to records and faults, in every dialect since 0.5.

Imports only `keys`.
"""
