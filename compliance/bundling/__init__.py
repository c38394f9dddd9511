"""One archive of a submission, encrypted or not, and unpacking it.

Imports the receipt and below.
"""
