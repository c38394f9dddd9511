"""System descriptions: read, judged, compared with logs; `probe` fills them in.

Imports inputs and below.
"""
