"""Redolake: replicate Oracle tables to Delta Lake, exactly, from archived redo logs."""

__version__ = "0.1.0"  # the only place; the distribution's metadata and `redolake --version` are made of it
