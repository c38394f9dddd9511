"""The rules of a round's tables and checks for readers, and the settings that they allow.

Imports rules and logging_spec only; `rulebook` imports the declarations of other folders.
"""
