-- a partition of a range
alter table orders add partition p2 values less than (10)
--> unchanged

-- a partition that Oracle added for a row
ALTER TABLE "SHOP"."ORDERS" ADD PARTITION "SYS_P123" VALUES LESS THAN (TO_DATE(' 2026-02-01 00:00:00', 'SYYYY-MM-DD HH24:MI:SS'))
--> unchanged

-- a partition of a hash
alter table orders add partition
--> renumber

-- a partition moved
alter table orders move partition p1 compress update indexes
--> renumber

-- a partition split
alter table orders split partition p9 at (5) into (partition p8, partition p9) update global indexes
--> renumber

-- partitions merged
alter table orders merge partitions p1, p2 into partition p3
--> renumber

-- a partition split by a value of it
alter table orders split partition for (5) at (3) into (partition low, partition high) update indexes
--> renumber

-- partitions merged by values of them
alter table orders merge partitions for (5), for (105) into partition low
--> renumber

-- a partition of a hash removed
alter table orders coalesce partition update indexes
--> renumber

-- a partition moved while its rows change, by a value
alter table orders move partition for (date '2026-01-01') online
--> renumber

-- a partition renamed by a value
alter table orders rename partition for (5) to low
--> unchanged

-- rows of a partition moved together, by a value
alter table orders modify partition for (5) shrink space cascade
--> renumber

-- a partition truncated by a value
alter table orders truncate partition for (5) drop storage update indexes
--> refused: TRUNCATE PARTITION removed rows, and `on_ddl: drop_partition` is `hold`

-- another interval
alter table orders set interval (numtodsinterval(1, 'DAY'))
--> unchanged

-- attributes of later partitions
alter table orders modify default attributes tablespace users
--> unchanged

-- a partition renamed
alter table orders rename partition p1 to p2
--> unchanged

-- a partition moved without redo
alter table orders move partition p1 nologging
--> refused: NOLOGGING allows rows to be written without redo

-- some rows of a partition moved
alter table orders move partition p1 including rows where amount > 0
--> refused: INCLUDING ROWS removes rows

-- a partition moved with columnar compression
alter table orders move partition p1 column store compress for query high
--> refused: hybrid columnar compression may give updated rows new ROWIDs and is not supported

-- partitions dropped
ALTER TABLE orders DROP PARTITIONS p1, p2 UPDATE GLOBAL INDEXES
--> refused: DROP PARTITIONS removed rows, and `on_ddl: drop_partition` is `hold`

-- a partition dropped by a value
alter table orders drop partition for (date '2020-01-01')
--> refused: DROP PARTITION removed rows, and `on_ddl: drop_partition` is `hold`

-- a subpartition truncated
alter table orders truncate subpartition p1_s1 reuse storage
--> refused: TRUNCATE SUBPARTITION removed rows, and `on_ddl: drop_partition` is `hold`

-- a subpartition exchanged
alter table orders exchange subpartition p1_s1 with table shop.other without validation
--> refused: EXCHANGE PARTITION brought rows in from another table, or took them there, which no redo shows

-- its unusable indexes built again
ALTER TABLE SHOP.ORDERS MODIFY PARTITION P1 REBUILD UNUSABLE LOCAL INDEXES
--> unchanged

-- its indexes made unusable
alter table orders modify subpartition p1_s1 unusable local indexes
--> unchanged

-- a value added to a list
alter table orders modify partition p1 add values ('X', date '2020-01-01')
--> unchanged

-- a value taken from a list
alter table orders modify partition for ('X') drop values ('X') online
--> unchanged

-- a partition shrunk
alter table orders modify partition p1 shrink space cascade
--> renumber

-- a shrink of a partition that is only tried
alter table orders modify subpartition p1_s1 shrink space check
--> unchanged

-- a partition that is read only
alter table orders modify partition p1 read only
--> unchanged

-- a partition's properties
alter table orders modify partition "P 1" pctfree 5 compress no inmemory indexing off read write deallocate unused
--> unchanged

-- large objects of a partition
alter table orders modify partition p1 lob (note) (cache)
--> unchanged

-- a coalesced subpartition
alter table orders modify partition p1 coalesce subpartition update indexes
--> renumber

-- a subpartition added to a hash
alter table orders modify partition p1 add subpartition s9
--> renumber

-- a subpartition with values
alter table orders modify partition p1 add subpartition s9 values less than (30)
--> unchanged

-- a partition without logging
alter table orders modify partition p1 pctfree 5 nologging
--> refused: NOLOGGING allows rows to be written without redo

-- a partition changed in an unknown way
alter table orders modify partition p1 fold twice
--> refused: MODIFY PARTITION that is not understood

-- a partition with columnar compression
alter table orders modify partition p1 column store compress for archive high
--> refused: hybrid columnar compression may give updated rows new ROWIDs and is not supported

-- a table partitioned otherwise
alter table orders modify partition by hash (id) partitions 4 online
--> refused: MODIFY PARTITION that is not understood

-- external partitions become possible
alter table orders add external partition attributes (type oracle_loader default directory d)
--> refused: DDL that is not understood from 'partition' on

-- an external partition
alter table orders add partition p9 values less than (9) external default directory d location ('p9.csv')
--> refused: an external partition has rows that are in no redo
