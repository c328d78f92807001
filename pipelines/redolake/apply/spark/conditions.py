"""What Delta's errors are called in Spark's, by what they mean. Nothing else names one."""

from __future__ import annotations

import re

OF_TARGET, CONCURRENT = "DELTA_", "DELTA_CONCURRENT"  # how all of them begin, and those of another writer
OF_JAVA = ("pyspark.", "py4j.", "delta.")  # modules whose exceptions have a trace of Java's
NO_LOG_PATH = "DELTA_CANNOT_CREATE_LOG_PATH"  # the exception below it says why
# A file of a version is gone.
NO_FILE = (
    "FILE_NOT_EXIST",
    "FileNotFoundException",
    "DELTA_FILE_NOT_FOUND",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
)
# Spark's and Delta's error classes and Java's exceptions for a file that is gone, cut short or changed.
SIGNS = re.compile(
    r"FAILED_READ_FILE|FILE_NOT_EXIST|FileNotFoundException|DELTA_FILE_NOT_FOUND|is not a Parquet file|"
    r"ParquetDecodingException|could not verify page|CORRUPT_FILES|MalformedInputException"
)
# Delta's conditions for a log that it cannot make a table of. Their texts need not name a file.
OF_LOG = re.compile(
    r"DELTA_(?:NO_COMMITS_FOUND|STATE_RECOVER_ERROR|TRUNCATED_TRANSACTION_LOG|VERSIONS_NOT_CONTIGUOUS|LOG_FILE_NOT_FOUND\b|"
    r"MISSING_PART_FILES|METADATA_ABSENT\b|TXN_LOG_FAILED_INTEGRITY|UNRECOGNIZED_FILE_ACTION|UNRECOGNIZED_LOGFILE)"
)

# What somebody has set on a Delta table, or `properties` of pipelines.yml on it, by the conditions of Delta.
REFUSALS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("DELTA_CANNOT_MODIFY_APPEND_ONLY",),
        "somebody has set delta.appendOnly on the Delta table",
        "run ALTER TABLE delta.`{path}` UNSET TBLPROPERTIES ('delta.appendOnly') in Spark",
    ),
    (
        ("DELTA_VIOLATE_CONSTRAINT", "DELTA_CONSTRAINT_", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"),
        "somebody has set a constraint on the Delta table, which Oracle's rows do not fulfil",
        "run ALTER TABLE delta.`{path}` DROP CONSTRAINT with its name in Spark",
    ),
    (
        ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "DELTA_MISSING_NOT_NULL_COLUMN_VALUE"),
        "somebody has set NOT NULL on a column of the Delta table",
        "run ALTER TABLE delta.`{path}` ALTER COLUMN .. DROP NOT NULL in Spark",
    ),
    (
        ("DELTA_GENERATED_COLUMNS", "DELTA_IDENTITY_COLUMNS", "DELTA_VIOLATE_TABLE_PROPERTY", "DELTA_ICEBERG_COMPAT"),
        "a setting of the Delta table forbids the change",
        "take it away from the table in Spark",
    ),
    (
        ("DELTA_UNSUPPORTED_FEATURES", "DELTA_INVALID_PROTOCOL_VERSION", "DELTA_UNSUPPORTED_FEATURE"),
        "the Delta table has a feature that this Delta does not write",
        "run ALTER TABLE delta.`{path}` DROP FEATURE in the Spark that has set it",
    ),
    (
        (
            "DELTA_UNKNOWN_CONFIGURATION",
            "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
            "DELTA_INVALID_INTERVAL",
            "DELTA_INVALID_CALENDAR_INTERVAL",
            "DELTA_INVALID_ISOLATION_LEVEL",
            "DELTA_INVALID_AUTO_COMPACT_TYPE",
        ),
        "Delta does not take a property of pipelines.yml",
        "correct `properties` of {table} in pipelines.yml",
    ),
)
