"""Encrypt and decrypt archives: age, and the OpenSSL format of the official script.

Imports `format`. Imports age and cryptography only inside functions.
"""
