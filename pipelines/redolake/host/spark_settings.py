"""Settings of Spark that are no user's choice."""

from __future__ import annotations

# Which Python executors start their workers with. pyspark itself reads this setting in spark-submit only.
WORKERS_PYTHON, DRIVERS_PYTHON = "spark.pyspark.python", "spark.pyspark.driver.python"

# Where the rows of a batch are kept between its steps, and the folder of Spark's reliable checkpoints.
KEPT, CHECKPOINTS = "spark.redolake.kept", "spark.checkpoint.dir"

# Whether small tables are merged by Spark or in the driver's Python (config/spark.py).
FEW_CHANGES = "spark.redolake.fewChanges"

# By these Spark reads names and texts in statements as they are written. With the first one on, a column named "${env:SECRET}",
# or such a DEFAULT, would read the environment of Spark's driver; the second one changes what ends a text.
AS_WRITTEN = {"spark.sql.variable.substitute": "false", "spark.sql.parser.escapedStringLiterals": "false"}
# By these a value is read and written as it is, and no row is left out, whatever a server's defaults or a user's settings say.
EXACT = {
    "spark.sql.ansi.enabled": "true",  # else a value that does not fit becomes NULL
    "spark.sql.storeAssignmentPolicy": "ANSI",
    # else 0.5 that meets a decimal(38,0) is rounded to 1; so one with more digits than fit is an error
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",  # what TIMESTAMP means in a statement
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # else dates before 1582 are moved
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # INT96 ends in 2262 for most readers, MILLIS cuts
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",  # else rows would be left out without a word
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.sources.partitionOverwriteMode": "STATIC",  # else a snapshot would leave old partitions
    "spark.databricks.delta.schema.autoMerge.enabled": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
}
FIXED = {**AS_WRITTEN, **EXACT}
# Properties that Delta gives to each new table.
DEFAULT_PROPERTIES = "spark.databricks.delta.properties.defaults."


def default_property(setting: str) -> str | None:
    """Return the property of Delta that a setting gives to each new table; None for any other setting."""
    return f"delta.{setting.removeprefix(DEFAULT_PROPERTIES)}" if setting.startswith(DEFAULT_PROPERTIES) else None
