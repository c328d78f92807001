-- another constraint dropped by its name
alter table orders drop constraint orders_customer_fk
--> unchanged

-- the primary key dropped by its name
alter table shop.orders drop constraint orders_pk cascade drop index
--> refused: a constraint that is the primary key was dropped or disabled

-- the primary key disabled by its name
alter table orders disable constraint orders_pk
--> refused: a constraint that is the primary key was dropped or disabled

-- another constraint disabled
alter table orders disable novalidate constraint orders_ck cascade keep index
--> unchanged

-- the primary key disabled by MODIFY CONSTRAINT
alter table orders modify constraint orders_pk disable
--> refused: a constraint that is the primary key was dropped or disabled

-- another constraint disabled by MODIFY CONSTRAINT
alter table orders modify constraint orders_ck disable novalidate
--> unchanged

-- a constraint enabled
alter table orders enable novalidate constraint orders_ck
--> unchanged

-- a unique constraint dropped by its columns
alter table orders drop unique (customer) cascade
--> unchanged

-- the primary key enabled
alter table orders enable primary key
--> refused: DDL that changes the primary key is not supported

-- a constraint renamed
alter table orders rename constraint orders_ck to orders_check
--> unchanged

-- the primary key renamed
alter table orders rename constraint orders_pk to orders_key
--> key constraint ORDERS_KEY

-- two constraints dropped in one statement
alter table orders drop constraint a drop constraint b
--> unchanged

-- another constraint and the key
alter table orders drop constraint a drop constraint orders_pk
--> refused: a constraint that is the primary key was dropped or disabled

-- exceptions into a table
alter table orders enable validate constraint orders_ck exceptions into shop.exceptions
--> unchanged

-- a property and a constraint
alter table orders memoptimize for read enable validate constraint orders_ck pctfree 5 drop constraint other_ck
--> unchanged

-- a property and a column
alter table orders read write add (note varchar2(20)) pctfree 5
--> add NOTE VARCHAR2(20)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 NOTE (id 5); next id 6

-- an index by its name
alter table orders add constraint orders_uk unique (customer) using index shop.orders_ix enable novalidate
--> unchanged

-- an index by its attributes
alter table orders add constraint orders_uk unique (customer) using index pctfree 5 local (partition a) compress 1 online nologging tablespace users rely
--> unchanged

-- an index without attributes
alter table orders add unique (customer) using index deferrable
--> unchanged

-- a primary key with an index
alter table orders add constraint pk2 primary key (amount) using index orders_ix enable novalidate
--> refused: DDL that changes the primary key is not supported

-- a constraint with a condition that is checked first
alter table orders add constraint orders_ck check (amount > 0) precheck
--> unchanged
