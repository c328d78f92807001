-- one column; later ones move down in the segment
ALTER TABLE SHOP.ORDERS DROP COLUMN CUSTOMER
--> drop CUSTOMER VARCHAR2(40)
--> columns 1 ID (id 1), 2 AMOUNT (id 3), 3 Mixed Case (id 4); next id 5

-- several columns
alter table orders drop (customer, "Mixed Case") cascade constraints
--> drop CUSTOMER VARCHAR2(40)
--> drop Mixed Case DATE
--> columns 1 ID (id 1), 2 AMOUNT (id 3); next id 5

-- the last column
alter table orders drop column "Mixed Case" invalidate;
--> drop Mixed Case DATE
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3); next id 5

-- a column in parentheses
alter table orders drop (amount)
--> drop AMOUNT NUMBER(12,2)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 Mixed Case (id 4); next id 5

-- a column of the primary key
alter table orders drop column id cascade constraints
--> refused: DDL drops column ID of the primary key

-- an unknown column
alter table orders drop column "mixed case"
--> refused: DDL drops column mixed case, which the version of SCN 100 does not have

-- with a checkpoint, which may stop partway
alter table orders drop column customer checkpoint 1000
--> refused: DDL that is not understood from 'checkpoint' on

-- together with another clause
alter table orders drop column customer add x number
--> drop CUSTOMER VARCHAR2(40)
--> add X NUMBER
--> columns 1 ID (id 1), 2 AMOUNT (id 3), 3 Mixed Case (id 4), 4 X (id 5); next id 6

-- unused columns
alter table orders drop unused columns
--> unchanged

-- set unused
alter table orders set unused (customer)
--> drop CUSTOMER VARCHAR2(40)
--> columns 1 ID (id 1), 2 <unused>, 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5
