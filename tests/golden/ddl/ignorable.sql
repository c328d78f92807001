-- a comment
COMMENT ON COLUMN shop.orders.customer IS 'who; and why'
--> unchanged

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
