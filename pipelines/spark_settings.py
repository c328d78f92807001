"""Settings of Spark that are no user's choice."""

from __future__ import annotations

# By these Spark reads names and texts in statements as they are written. With the first one on, a column named "${env:SECRET}",
# or such a DEFAULT, would read the environment of Spark's driver; the second one changes what ends a text.
AS_WRITTEN = {"spark.sql.variable.substitute": "false", "spark.sql.parser.escapedStringLiterals": "false"}
