"""Table versions: the columns and the key of a table from one SCN to the next DDL."""

from redolake.schema.derive import Derived, derive
from redolake.schema.dictionary_conflict import conflict_with_dictionary, guard_conflict, key_difference
from redolake.schema.versions import baseline, valid_at, version_as_of, versions_before

__all__ = [
    "Derived",
    "baseline",
    "conflict_with_dictionary",
    "derive",
    "guard_conflict",
    "key_difference",
    "valid_at",
    "version_as_of",
    "versions_before",
]
