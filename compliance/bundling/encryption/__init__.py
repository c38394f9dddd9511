"""Archives closed and opened: age, and the OpenSSL format of the official script.

Imports `format`; age and cryptography only inside functions.
"""
