"""System descriptions: reading, checks, comparison with logs; `probe` fills them in.

Imports inputs and below.
"""
