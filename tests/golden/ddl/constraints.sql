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
