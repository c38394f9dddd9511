"""Archives encrypted and decrypted: age, and the OpenSSL format of the official script.

Imports `format`; age and cryptography only inside functions.
"""
