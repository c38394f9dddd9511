"""Writing files whole or not at all, the standard streams, and libraries that an extra brings.

Imports the errors only.
"""
