"""DDL forms of a generated life beside those that change its columns: storage, constraints, partitions, names, and what only
another snapshot answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

Form = Callable[[], Iterator[str]]

PROPERTIES = (
    "PCTFREE 20", "INITRANS 3", "COMPRESS", "NOCOMPRESS", "ENABLE ROW MOVEMENT", "NOPARALLEL", "RESULT_CACHE (MODE DEFAULT)",
)  # fmt: skip


LONG = "A_NAME_OF_A_COLUMN_WITH_MORE_THAN_30_BYTES"


class MoreForms:
    """The part of a Life that these forms need. Each yields statements; a name that a test uses later stays in the Life."""

    table: str
    chance: random.Random
    fields: list[Any]
    cut = 60  # the next bound of a partition
    partitioned = False
    renamed = False  # since the last plan: nothing else may take the name before it
    another_object = False  # the name belongs to an object that no snapshot has read yet
    names = 0
    # A DDL changed rows without redo. The window with it must land before a later one alters the table: Oracle would no longer
    # show the table AS OF its end.
    must_land = False

    hides = False  # it may get a column's name that is too long for LogMiner
    unshown = False  # it has had one since it was read: changes are UNSUPPORTED

    def more_forms(self, *, by_pattern: bool, resnapshots: bool) -> list[Form]:
        found: list[Form] = [self.property, self.comment, self.constraint, self.hide, self.virtual, self.index, self.statistics]
        found.append(self.replication)
        if self.partitioned:
            found += [self.split, self.merge]
            if not self.another_object:
                found += [self.truncate_partition, self.drop_partition]
        if by_pattern and not self.another_object:
            found += [self.rename_for_good, self.rename_for_good]
        if resnapshots and not self.renamed:
            found += 2 * [self.recreate, self.redefine, self.change_key] + [self.not_understood]
        if self.hides:
            found += 12 * [self.lengthen]
        return found

    def property(self) -> Iterator[str]:
        yield f"ALTER TABLE {self.table} {self.chance.choice(PROPERTIES)}"

    def comment(self) -> Iterator[str]:
        yield f"COMMENT ON TABLE {self.table} IS 'it''s ß {self.chance.randrange(9)}'"
        if self.fields:
            yield f"COMMENT ON COLUMN {self.table}.{self.chance.choice(self.fields).quoted} IS 'a column'"

    def constraint(self) -> Iterator[str]:
        yield f"ALTER TABLE {self.table} ADD CONSTRAINT {self.table}_ck CHECK (id >= 0)"
        yield f"ALTER TABLE {self.table} RENAME CONSTRAINT {self.table}_ck TO {self.table}_ck2"
        yield f"ALTER TABLE {self.table} DROP CONSTRAINT {self.table}_ck2"
        strict = next((f for f in self.fields if not f.nullable), None)
        if strict is not None:
            yield f"ALTER TABLE {self.table} MODIFY {strict.quoted} NULL"
            strict.nullable = True

    def hide(self) -> Iterator[str]:
        if self.fields:
            column = self.chance.choice(self.fields)
            yield f"ALTER TABLE {self.table} MODIFY ({column.quoted} INVISIBLE)"
            if self.chance.random() < 0.7:
                yield f"ALTER TABLE {self.table} MODIFY ({column.quoted} VISIBLE)"

    def virtual(self) -> Iterator[str]:
        yield f"ALTER TABLE {self.table} ADD (twice NUMBER GENERATED ALWAYS AS (id * 2) VIRTUAL)"
        yield f"ALTER TABLE {self.table} DROP COLUMN twice"

    def index(self) -> Iterator[str]:
        if self.fields:
            yield f"CREATE INDEX {self.table}_ix ON {self.table} ({self.chance.choice(self.fields).quoted})"
            yield f"DROP INDEX {self.table}_ix"

    def statistics(self) -> Iterator[str]:
        plain = [f.name for f in self.fields if f.name.startswith("C") and len(f.name) == 2]
        if plain:
            group = f"FOR COLUMNS (ID, {plain[0]})"
            yield f"BEGIN DBMS_STATS.GATHER_TABLE_STATS('SHOP', '{self.table}', method_opt => '{group}'); END;"

    def replication(self) -> Iterator[str]:
        yield f"ALTER TABLE {self.table} ENABLE LOGICAL REPLICATION"

    # --- partitions

    def split(self) -> Iterator[str]:
        self.cut += 60
        yield (
            f"ALTER TABLE {self.table} SPLIT PARTITION rest AT ({self.cut - 60}) INTO (PARTITION p{self.cut}, PARTITION rest)"
        )

    def truncate_partition(self) -> Iterator[str]:
        self.must_land = True
        yield f"ALTER TABLE {self.table} TRUNCATE PARTITION {self.chance.choice(['first', 'rest'])} UPDATE INDEXES"

    def drop_partition(self) -> Iterator[str]:
        self.must_land = True
        yield from self.split()
        yield f"ALTER TABLE {self.table} DROP PARTITION p{self.cut} UPDATE GLOBAL INDEXES"

    def merge(self) -> Iterator[str]:
        yield from self.split()
        yield f"ALTER TABLE {self.table} MERGE PARTITIONS p{self.cut}, rest INTO PARTITION rest"
        self.cut -= 60

    # --- names

    def lengthen(self) -> Iterator[str]:
        if self.fields and not any(f.name == LONG for f in self.fields):
            column = self.chance.choice(self.fields)
            yield f"ALTER TABLE {self.table} RENAME COLUMN {column.quoted} TO {LONG}"
            column.name, self.unshown = LONG, True

    def shorten(self) -> Iterator[str]:
        for column in (f for f in self.fields if f.name == LONG):
            self.names += 1
            yield f"ALTER TABLE {self.table} RENAME COLUMN {LONG} TO S{self.names}"
            column.name = f"S{self.names}"

    def rename_for_good(self) -> Iterator[str]:
        """Give the table another name that the pipeline's pattern matches."""
        self.names += 1
        new = f"{self.table.partition('_')[0]}_R{self.names}"
        yield f"RENAME {self.table} TO {new}"
        self.table, self.renamed = new, True

    # --- what another snapshot answers

    def definition(self) -> str:
        raise NotImplementedError

    def recreate(self) -> Iterator[str]:
        yield f"DROP TABLE {self.table} PURGE"
        yield f"CREATE TABLE {self.table} {self.definition()}"
        yield f"ALTER TABLE {self.table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
        self.another_object = True

    def redefine(self) -> Iterator[str]:
        interim = f"{self.table}_INT"
        pair = f"'SHOP', '{self.table}', '{interim}'"
        yield f"CREATE TABLE {interim} {self.definition()}"
        yield f"ALTER TABLE {interim} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
        listed = ", ".join(["id", *(f.quoted for f in self.fields)])
        yield f"BEGIN DBMS_REDEFINITION.START_REDEF_TABLE({pair}, '{listed}'); END;"
        yield f"BEGIN DBMS_REDEFINITION.FINISH_REDEF_TABLE({pair}); END;"
        self.another_object = True
        if self.chance.random() < 0.5:
            yield f"DELETE FROM {interim}"
            yield "COMMIT"
        yield f"DROP TABLE {interim} PURGE"

    def not_understood(self) -> Iterator[str]:
        yield f"ALTER TABLE {self.table} NOLOGGING"
        yield f"ALTER TABLE {self.table} LOGGING"

    def change_key(self) -> Iterator[str]:
        yield f"ALTER TABLE {self.table} DROP PRIMARY KEY"
        yield f"ALTER TABLE {self.table} ADD PRIMARY KEY (id)"
