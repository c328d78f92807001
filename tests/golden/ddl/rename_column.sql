-- a column
ALTER TABLE SHOP.ORDERS RENAME COLUMN customer TO client
--> rename CLIENT VARCHAR2(40)
--> columns 1 ID (id 1), 2 CLIENT (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- to a name that needs quotes
alter table orders rename column "Mixed Case" to "mixed case"
--> rename mixed case DATE
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 mixed case (id 4); next id 5

-- a column of the key
alter table orders rename column id to order_id;
--> rename ORDER_ID NUMBER(10,0) not null
--> columns 1 ORDER_ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- to a name that is taken
alter table orders rename column customer to amount
--> refused: DDL renames CUSTOMER to AMOUNT, which the version of SCN 100 already has

-- a column that does not exist
alter table orders rename column nothing to something
--> refused: DDL renames column NOTHING, which the version of SCN 100 does not have

-- more words
alter table orders rename column customer to client cascade
--> refused: DDL that is not understood from 'cascade' on
