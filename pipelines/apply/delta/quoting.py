"""Quote names and paths in Spark SQL; they come from the dictionary and the configuration, and only this module quotes them."""

from __future__ import annotations


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def table_at(path: str) -> str:
    """Return the SQL name of the Delta table at a path."""
    return f"delta.{quoted(path)}"


def text_literal(text: str) -> str:
    """Return a string literal; Spark would replace ${..} in a statement."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"
