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
