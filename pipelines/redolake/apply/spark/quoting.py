"""Quote names, paths and texts for Spark SQL: they come from the dictionary, the redo and the configuration.

Only this module quotes them, and only `session.run_sql` runs statements that contain them. Names cannot be escaped against
Spark's substitution of ${..}, so that function also sees that the session does not substitute.
"""

from __future__ import annotations

# What Spark or Delta reads as more than itself: the escape, the end of the text, and the beginning of a variable.
ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "$": "\\u0024"})


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    """Return a string literal."""
    return f"'{text.translate(ESCAPES)}'"


def typed_literal(text: str | None, spark_type: str) -> str:
    """Return neutral text (schema.constant) as SQL of a type, e.g. CAST('5' AS DECIMAL(10,2)); None is NULL."""
    if text is not None and spark_type == "binary":
        return f"X'{bytes.fromhex(text).hex()}'"
    return f"CAST({'NULL' if text is None else text_literal(text)} AS {spark_type})"
