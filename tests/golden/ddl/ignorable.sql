-- a grant
grant select, insert on shop.orders to reader
--> unchanged

-- a revoke
revoke all on shop.orders from reader
--> unchanged

-- an index
create unique index orders_ux on shop.orders (upper(customer)) tablespace users online
--> unchanged

-- a bitmap index
create bitmap index orders_bx on shop.orders (customer)
--> unchanged

-- an index rebuilt
alter index shop.orders_ux rebuild online
--> unchanged

-- an index dropped
drop index shop.orders_ux
--> unchanged

-- statistics
analyze table shop.orders compute statistics
--> unchanged

-- audit
audit select on shop.orders by access
--> unchanged

-- a trigger
create or replace trigger orders_tr before insert on shop.orders for each row begin :new.id := 1; end;
--> unchanged

-- supplemental logging added
ALTER TABLE SHOP.ORDERS ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS
--> unchanged

-- a log group
alter table orders add supplemental log group g1 (id, customer) always
--> unchanged

-- supplemental logging of the key and of another group
alter table orders add supplemental log data (primary key, unique) columns, supplemental log group g2 (amount no log, id)
--> unchanged

-- supplemental logging dropped: each row is still checked for its key
alter table orders drop supplemental log data (all) columns
--> unchanged

-- logical replication off, as GoldenGate does: each row is still checked for its key
alter table orders disable logical replication
--> unchanged

-- logical replication on
ALTER TABLE SHOP.ORDERS ENABLE LOGICAL REPLICATION ALL KEYS
--> unchanged

-- a log group dropped
ALTER TABLE SHOP.ORDERS DROP SUPPLEMENTAL LOG GROUP g1
--> unchanged

-- a check constraint
alter table orders add constraint positive check (amount > 0) enable novalidate
--> unchanged

-- a foreign key without a name
alter table orders add foreign key (customer) references customers (name) on delete cascade
--> unchanged

-- a unique constraint in parentheses
alter table orders add (constraint uk unique (customer) using index (create unique index uk on orders (customer)))
--> unchanged

-- a constraint enabled
alter table orders enable novalidate constraint positive
--> unchanged

-- the state of a constraint
alter table orders modify constraint positive enable validate
--> unchanged

-- a constraint renamed
alter table orders rename constraint positive to amount_positive
--> unchanged

-- degree of parallelism
alter table orders parallel 4
--> unchanged

-- read only
alter table orders read only
--> unchanged

-- extended statistics
alter table "SHOP"."ORDERS" add (SYS_STU#S8CY$K as (sys_op_combined_hash("ID","CUSTOMER")) virtual BY USER for statistics)
--> unchanged

-- extended statistics that the database chose
alter table "SHOP"."ORDERS" add (SYS_STSW_XK22 as (sys_op_combined_hash("ID","CUSTOMER")) virtual BY SYSTEM for statistics)
--> unchanged

-- extended statistics dropped
alter table "SHOP"."ORDERS" drop column "SYS_STU#S8CY$K"
--> unchanged

-- row movement enabled
alter table orders enable row movement
--> unchanged

-- row movement disabled
alter table orders disable row movement
--> unchanged

-- free space and transaction slots of new blocks
alter table orders pctfree 5 pctused 40 initrans 4 maxtrans 255
--> unchanged

-- storage
alter table orders storage (next 64K maxextents unlimited buffer_pool keep)
--> unchanged

-- compression of new blocks
alter table orders compress
--> unchanged

-- advanced compression of new blocks
alter table orders row store compress advanced
--> unchanged

-- advanced compression of new blocks, in older words
alter table orders compress for oltp
--> unchanged

-- no compression of new blocks
alter table orders nocompress logging
--> unchanged

-- in memory
alter table orders inmemory memcompress for query low priority critical distribute by rowid range duplicate all
--> unchanged

-- in memory, some columns
alter table orders inmemory memcompress for capacity high (id, customer) no inmemory (amount)
--> unchanged

-- not in memory
alter table orders no inmemory
--> unchanged

-- result cache
alter table orders result_cache (mode force)
--> unchanged

-- an extent
alter table orders allocate extent (size 10M instance 1)
--> unchanged

-- unused space freed
alter table orders deallocate unused keep 64K
--> unchanged

-- an ILM policy
alter table orders ilm add policy row store compress advanced segment after 30 days of no modification
--> unchanged

-- ILM policies disabled
alter table orders ilm disable_all
--> unchanged

-- monitoring
alter table orders monitoring
--> unchanged

-- records per block
alter table orders minimize records_per_block
--> unchanged

-- fast lookup in memory
alter table orders memoptimize for read no memoptimize for write
--> unchanged

-- annotations
alter table orders annotations (add if not exists "Owner" 'shop', drop "Old")
--> unchanged

-- annotations of columns
alter table orders modify (customer annotations (add "PII"), amount annotations (drop "x"))
--> unchanged

-- a statement for a table that may not exist
alter table if exists shop.orders pctfree 5
--> unchanged

-- several properties
alter table orders pctfree 5 initrans 4 storage (buffer_pool default) row store compress basic cache parallel 4
--> unchanged

-- a synonym
create or replace public synonym orders for shop.orders
--> unchanged

-- an editionable synonym
create or replace editionable synonym reader.orders for shop.orders
--> unchanged

-- a synonym dropped
drop public synonym orders force
--> unchanged

-- an editionable trigger
CREATE OR REPLACE EDITIONABLE TRIGGER "SHOP"."ORDERS_TR" before insert on orders for each row begin :new.id := 1; end;
--> unchanged

-- a noneditionable trigger
create noneditionable trigger orders_tr before insert on orders for each row begin null; end;
--> unchanged

-- an index if there is none
create index if not exists orders_ix on orders (customer)
--> unchanged

-- modify of a large object
alter table orders modify lob (note) (cache)
--> unchanged

-- a degree of parallelism, as it was written before
alter table orders parallel (degree 8 instances default)
--> unchanged

-- a default degree
alter table orders parallel default noparallel
--> unchanged

-- table locks
alter table orders enable table lock
--> unchanged

-- no table locks
ALTER TABLE "SHOP"."ORDERS" DISABLE TABLE LOCK
--> unchanged

-- a flashback archive
alter table orders flashback archive keep_a_year
--> unchanged

-- the default flashback archive
alter table orders flashback archive
--> unchanged

-- no flashback archive
alter table orders no flashback archive
--> unchanged

-- the collation of later columns
alter table orders default collation binary_ci
--> unchanged

-- attribute clustering
alter table orders add clustering by linear order (id) yes on load no on data movement
--> unchanged

-- attribute clustering changed
alter table orders modify clustering no on load
--> unchanged

-- no attribute clustering
alter table orders drop clustering
--> unchanged

-- cell memory
alter table orders cellmemory memcompress for capacity
--> unchanged

-- no cell memory
alter table orders no cellmemory
--> unchanged

-- in memory for a service
alter table orders inmemory priority low distribute by rowid range for service shop_rw
--> unchanged

-- in memory for a service alone, then nologging
alter table orders inmemory distribute for service default nologging
--> refused: NOLOGGING allows rows to be written without redo

-- for staging
alter table orders for staging
--> unchanged

-- a cache for a large object, its space
alter table orders modify lob (note) (cache reads pctversion 10 storage (next 1m)) pctfree 5
--> unchanged

-- a sequence of the same name
create sequence shop.orders start with 1 cache 20 cycle
--> unchanged

-- a dimension of the same name
alter dimension orders compile
--> unchanged

-- a package of the same name
create or replace noneditionable package body shop.orders as procedure p is begin execute immediate 'truncate table orders'; end; end;
--> unchanged

-- a zone map on the table
create materialized zonemap orders_zm on orders (customer)
--> unchanged

-- a join group with the table
create inmemory join group g (orders (id), lines (order_id))
--> unchanged

-- statistics of a function on the table
associate statistics with columns orders.amount using null
--> unchanged

-- an audit policy
create audit policy orders actions delete on shop.orders
--> unchanged

-- a role
drop role orders
--> unchanged

-- the log of a materialized view
alter materialized view log on orders add rowid
--> unchanged

-- a refresh of a materialized view
alter materialized view orders refresh fast on demand start with sysdate next sysdate + 1/24
--> unchanged

-- a materialized view compiled
alter materialized view shop.orders compile
--> unchanged

-- a materialized view that loses rows
alter materialized view orders truncate partition p1
--> refused: DDL that is not understood

-- a materialized view without logging
alter materialized view orders nologging
--> refused: DDL that is not understood

-- the recycle bin emptied
purge recyclebin
--> unchanged

-- a database link
create shared public database link orders connect to a identified by b using 'c'
--> unchanged

-- a view of another name
create or replace force editioning view shop.recent_orders as select id from orders
--> unchanged

-- a materialized view of another name
create materialized view orders_mv refresh fast on commit as select id, count(*) c from orders group by id
--> unchanged

-- a materialized view of the same name
create materialized view shop.orders as select 1 x from dual
--> refused: CREATE that is not understood

-- a tablespace
create bigfile tablespace orders datafile size 10m
--> unchanged

-- a tablespace dropped with what is in it
drop tablespace users including contents and datafiles
--> refused: DDL that is not understood

-- a user
create user orders identified by "x"
--> unchanged

-- a cluster
create cluster orders (id number(9)) size 512
--> unchanged

-- partial indexes from now on
alter table shop.orders indexing off
--> unchanged

-- a container map
alter table shop.orders enable container_map
--> unchanged

-- an immutable table that may be dropped later
alter table shop.orders no drop until 16 days idle
--> unchanged

-- rows that may not be deleted
alter table shop.orders no delete until 30 days after insert locked
--> unchanged

-- the index of an index-organized table is compacted
alter table shop.orders coalesce
--> unchanged

-- a hash partition is given up, and its rows move
alter table shop.orders coalesce partition
--> renumber

-- a policy that compresses rows in columns later
alter table orders ilm add policy column store compress for archive high segment after 90 days of no access
--> refused: hybrid columnar compression may give updated rows new ROWIDs and is not supported

-- a policy that compresses rows in columns later, in older words
alter table orders ilm add policy compress for query low row after 30 days of no modification
--> refused: hybrid columnar compression may give updated rows new ROWIDs and is not supported

-- a policy that moves rows to another tablespace later
alter table orders ilm add policy tier to cold segment after 1 years of no access
--> unchanged

-- deduplication of large objects that are not assembled from the redo
alter table orders modify lob (note) (deduplicate compress high)
--> unchanged

-- encryption of large objects that are not assembled from the redo
alter table orders modify lob (note) (encrypt using 'AES256' no salt)
--> unchanged

-- large objects without logging
alter table orders modify lob (note) (deduplicate nologging)
--> refused: DDL that is not understood from 'nologging' on

-- a new key for encrypted columns
alter table shop.orders rekey using 'AES192'
--> unchanged

-- what a query gets of a nested table
alter table orders modify nested table items return as value
--> unchanged

-- what the optimizer may believe of the primary key
alter table orders modify primary key rely
--> unchanged

-- the primary key disabled, with what the optimizer may believe
alter table orders modify primary key rely disable
--> refused: DDL that changes the primary key is not supported

-- the primary key disabled by its name, with what the optimizer may believe
alter table orders modify constraint orders_pk rely disable novalidate
--> refused: a constraint that is the primary key was dropped or disabled

-- annotations added
alter table orders add annotations (display 'Orders')
--> unchanged

-- a column called annotations
alter table orders add annotations number
--> add ANNOTATIONS NUMBER
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 ANNOTATIONS (id 5); next id 6

-- an earlier state of several tables
flashback table shop.customers, shop.orders to restore point before_load enable triggers
--> unchanged

-- a state that is not understood
flashback table orders to yesterday
--> refused: DDL that is not understood from 'to' on

-- a large object's segment shrunk, in which no row of the table lies
alter table orders modify lob (note) (shrink space cascade)
--> unchanged

-- a large object's extents
alter table orders modify lob (note) (allocate extent (size 1m) deallocate unused keep 1m)
--> unchanged

-- the objects of an array that are stored apart
alter table orders modify varray lines (cache pctversion 10)
--> unchanged

-- the objects of an array without logging
alter table orders modify varray lines (nocache nologging)
--> refused: DDL that is not understood from 'nologging' on

-- a large object whose contents are not logged
alter table orders modify lob (note) (nocache filesystem_like_logging)
--> refused: DDL that is not understood from 'filesystem_like_logging' on

-- in memory no longer as text
alter table orders no inmemory text (customer)
--> unchanged

-- a period of validity may add hidden columns
alter table orders add period for valid
--> refused: ADD PERIOD may add hidden columns, which redo of later rows contains

-- the data of older versions of a type rewritten
alter table orders upgrade including data
--> refused: UPGRADE rewrites the objects in the rows
