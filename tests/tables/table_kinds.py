"""The kinds of tables that tests/integration/test_table_kinds.py captures, and from which the page of kinds is generated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A table of the test: `definition` follows CREATE TABLE name; `note` is for the page."""

    title: str
    definition: str
    key: str = "primary"
    note: str = ""


MONTHS = """PARTITION BY RANGE (day) INTERVAL (NUMTOYMINTERVAL(1, 'MONTH'))
    (PARTITION p0 VALUES LESS THAN (DATE '2026-01-01')) ENABLE ROW MOVEMENT"""
CLUSTER = "CREATE CLUSTER things (id NUMBER(9)) SIZE 512 HASHKEYS 10"
KINDS = {
    "BY_MONTH": Kind(
        "partitioned by range, with intervals and row movement",
        f"(id NUMBER(9) PRIMARY KEY, day DATE NOT NULL, t VARCHAR2(20)) {MONTHS}",
        note="partitions that Oracle creates for a row are found in the dictionary; a moved row is a DELETE and an INSERT",
    ),
    "BY_PARENT": Kind(
        "partitioned by reference, ON DELETE CASCADE",
        "(id NUMBER(9) PRIMARY KEY, m NUMBER(9) NOT NULL CONSTRAINT by_parent_fk REFERENCES by_month ON DELETE CASCADE) "
        "PARTITION BY REFERENCE (by_parent_fk)",
    ),
    "BY_LIST": Kind(
        "partitioned by list, subpartitioned by hash",
        "(id NUMBER(9) PRIMARY KEY, region VARCHAR2(5), n NUMBER(9)) PARTITION BY LIST (region) SUBPARTITION BY HASH (n) "
        "SUBPARTITIONS 2 (PARTITION west VALUES ('W'), PARTITION east VALUES ('E', 'SE'))",
    ),
    "NO_KEY": Kind(
        "partitioned, without a primary key",
        "(n NUMBER(9), t VARCHAR2(20)) PARTITION BY RANGE (n) (PARTITION low VALUES LESS THAN (10), "
        "PARTITION high VALUES LESS THAN (MAXVALUE)) ENABLE ROW MOVEMENT",
        key="rowid",
    ),
    "BY_INDEX": Kind(
        "index-organized, with an overflow segment",
        "(a NUMBER(9), b VARCHAR2(5), t VARCHAR2(20), CONSTRAINT by_index_pk PRIMARY KEY (a, b)) "
        "ORGANIZATION INDEX INCLUDING b OVERFLOW",
        note="an UPDATE of the key is followed by the keys; beside a partial rollback it holds the table",
    ),
    "BY_MOMENT": Kind(
        "index-organized, with a point of time as its key",
        "(at TIMESTAMP(6) PRIMARY KEY, t VARCHAR2(30)) ORGANIZATION INDEX",
    ),
    "INDEX_PARTS": Kind(
        "index-organized and partitioned",
        "(a NUMBER(9), t VARCHAR2(20), CONSTRAINT index_parts_pk PRIMARY KEY (a)) ORGANIZATION INDEX "
        "PARTITION BY HASH (a) PARTITIONS 3",
    ),
    "IN_CLUSTER": Kind(
        "in a cluster",
        "(id NUMBER(9) PRIMARY KEY, t VARCHAR2(20)) CLUSTER things (id)",
        note="redo without a column of the cluster key holds the table",
    ),
    "COMPRESSED": Kind(
        "basic or advanced compression, row archival, identity, virtual and invisible columns",
        "(id NUMBER(9) GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a NUMBER(9), twice AS (a * 2), "
        "hidden NUMBER(9) INVISIBLE) ROW STORE COMPRESS ADVANCED ROW ARCHIVAL",
        note="virtual columns are not captured, archived rows are",
    ),
}
