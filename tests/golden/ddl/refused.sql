-- truncate
TRUNCATE TABLE shop.orders DROP STORAGE
--> refused: TRUNCATE removed all rows, and `on_ddl: truncate` is `hold`

-- rename
rename orders to orders_old
--> refused: the table was renamed to SHOP.ORDERS_OLD

-- rename by ALTER TABLE
alter table shop.orders rename to orders_old
--> refused: the table was renamed to SHOP.ORDERS_OLD

-- a table of the same name
create table shop.orders (id number) tablespace users
--> refused: a table of this name was created again

-- a primary key added
alter table orders add constraint orders_pk primary key (id) using index
--> refused: DDL that changes the primary key is not supported

-- a primary key added, in parentheses
alter table orders add (primary key (id))
--> refused: DDL that changes the primary key is not supported

-- the primary key dropped
alter table orders drop primary key cascade
--> refused: DDL that changes the primary key is not supported

-- supplemental logging and a column in one statement
alter table orders add supplemental log data (all) columns add (x number)
--> refused: ALTER TABLE that is not understood

-- nologging
alter table orders nologging
--> refused: NOLOGGING allows rows to be written without redo

-- a partition exchanged
alter table orders exchange partition p1 with table other including indexes
--> refused: EXCHANGE PARTITION brought rows in from another table, or took them there, which no redo shows

-- a partition truncated
alter table orders truncate partition p1 update global indexes
--> refused: TRUNCATE PARTITION removed rows, and `on_ddl: drop_partition` is `hold`

-- a partition dropped
alter table orders drop partition p1
--> refused: DROP PARTITION removed rows, and `on_ddl: drop_partition` is `hold`

-- an unknown alteration
alter table orders fold twice
--> refused: ALTER TABLE that is not understood

-- an unknown statement
frobnicate orders
--> refused: DDL that is not understood

-- an empty text
;
--> refused: DDL that is not understood

-- a view of the same name
create or replace view orders as select 1 x from dual
--> refused: CREATE that is not understood

-- hybrid columnar compression
alter table orders column store compress for query high
--> refused: hybrid columnar compression may give updated rows new ROWIDs and is not supported

-- hybrid columnar compression, in older words
alter table orders compress for archive low
--> refused: hybrid columnar compression may give updated rows new ROWIDs and is not supported

-- nologging among other properties
alter table orders pctfree 5 nologging
--> refused: NOLOGGING allows rows to be written without redo

-- nologging after in memory
alter table orders no inmemory nologging
--> refused: NOLOGGING allows rows to be written without redo

-- a property and an unknown one
alter table orders pctfree 5 fold twice
--> refused: DDL that is not understood from 'fold' on

-- a column that only looks like statistics
alter table orders drop column sys_stuff
--> refused: DDL drops column SYS_STUFF, which the version of SCN 100 does not have

-- modify of a subpartition
alter table orders modify subpartition sp1 nologging
--> refused: NOLOGGING allows rows to be written without redo

-- modify of a nested table
alter table orders modify nested table items return as locator
--> unchanged

-- a table that may exist already
create table if not exists shop.orders (id number)
--> refused: a table of this name was created again

-- a temporary table of the same name
create global temporary table orders (id number) on commit delete rows
--> refused: a table of this name was created again

-- the tables of a cluster emptied
truncate cluster shop.things
--> refused: the rows of all tables of a cluster were removed, and this table is in that cluster or in another

-- a cluster dropped with its tables
drop cluster things including tables cascade constraints
--> refused: all tables of a cluster were dropped, and this table was in that cluster or is in another

-- its rows exchanged with a partition of another table
alter table stg.part exchange partition p1 with table shop.orders
--> refused: EXCHANGE PARTITION of STG.PART took the rows of the table and gave it those of the partition, which no redo shows

-- its rows exchanged, perhaps, with a partition of another table
alter table stg.part exchange subpartition for (1, 2) with table orders including indexes
--> refused: EXCHANGE PARTITION of STG.PART took the rows of the table and gave it those of the partition, which no redo shows; no owner is named with ORDERS, so it may be the table of that name in another schema
