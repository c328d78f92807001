"""Names and paths inside Spark SQL; they come from the dictionary and the configuration, and are quoted here only."""

from __future__ import annotations


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def table_at(path: str) -> str:
    """The Delta table at a path."""
    return f"delta.{quoted(path)}"
