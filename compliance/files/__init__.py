"""Writing files whole or not at all, and libraries that an extra brings.

Imports the errors only.
"""
