-- a longer text
ALTER TABLE SHOP.ORDERS MODIFY customer VARCHAR2(80 CHAR)
--> columns 1 ID (id 1), 2 CUSTOMER VARCHAR2(80) (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- a shorter text, which all values fit
alter table orders modify (customer varchar2(20))
--> columns 1 ID (id 1), 2 CUSTOMER VARCHAR2(20) (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- a wider number
alter table orders modify (amount number(14,2))
--> change_type AMOUNT NUMBER(14,2)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT NUMBER(14,2) (id 3), 4 Mixed Case (id 4); next id 5

-- a wider number with more decimals
alter table orders modify amount number(14,4)
--> change_type AMOUNT NUMBER(14,4)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT NUMBER(14,4) (id 3), 4 Mixed Case (id 4); next id 5

-- any number
alter table orders modify (amount number)
--> change_type AMOUNT NUMBER
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT NUMBER (id 3), 4 Mixed Case (id 4); next id 5

-- a narrower number
alter table orders modify (amount number(10,2))
--> refused: MODIFY of AMOUNT from NUMBER(12,2) to NUMBER(10,2) narrows the type, and `on_ddl: narrow` is `hold`

-- more decimals, fewer digits before the point
alter table orders modify (amount number(12,4))
--> refused: MODIFY of AMOUNT from NUMBER(12,2) to NUMBER(12,4) narrows the type, and `on_ddl: narrow` is `hold`

-- a number becomes a text, which needs an empty column
alter table orders modify (amount varchar2(20))
--> refused: MODIFY of AMOUNT from NUMBER(12,2) to VARCHAR2(20) narrows the type, and `on_ddl: narrow` is `hold`

-- a DATE becomes a TIMESTAMP
alter table orders modify ("Mixed Case" timestamp(6))
--> change_type Mixed Case TIMESTAMP(6)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case TIMESTAMP(6) (id 4); next id 5

-- a text becomes padded
alter table orders modify (customer char(40))
--> refused: MODIFY of CUSTOMER from VARCHAR2(40) to CHAR(40) lets Oracle rewrite the values of older rows, which no redo shows

-- a text becomes a large object
alter table orders modify (customer clob)
--> refused: MODIFY of CUSTOMER from VARCHAR2(40) to CLOB lets Oracle rewrite the values of older rows, which no redo shows

-- the type that it has
alter table orders modify (amount number(12,2))
--> unchanged

-- NOT NULL
alter table orders modify customer not null
--> columns 1 ID (id 1), 2 CUSTOMER not null (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- NOT NULL by a name, not validated
alter table orders modify (customer constraint customer_nn not null enable novalidate)
--> columns 1 ID (id 1), 2 CUSTOMER not null (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- NULL
alter table orders modify (customer null)
--> unchanged

-- the key may become NULL
alter table orders modify (id null)
--> refused: column ID of the key may become NULL

-- a constant default for later rows
alter table orders modify customer default 'none'
--> unchanged

-- a computed default
alter table orders modify (customer default upper(substr(sys_context('userenv', 'session_user'), 1, 40)) not null)
--> columns 1 ID (id 1), 2 CUSTOMER not null (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- a sequence as default, for explicit NULLs too
alter table orders modify id default on null for insert only shop.orders_seq.nextval
--> unchanged

-- no default
alter table orders modify customer default null
--> unchanged

-- a default that is an interval
alter table orders modify "Mixed Case" default sysdate - interval '1' day
--> unchanged

-- type, default and NOT NULL of several columns
ALTER TABLE orders MODIFY (customer varchar2(60) default 'x' not null, amount number(16,2) default 0, "Mixed Case" null)
--> change_type AMOUNT NUMBER(16,2)
--> columns 1 ID (id 1), 2 CUSTOMER VARCHAR2(60) not null (id 2), 3 AMOUNT NUMBER(16,2) (id 3), 4 Mixed Case (id 4); next id 5

-- a check and a reference
alter table orders modify (amount check (amount > 0), customer references shop.customers (name) on delete set null)
--> unchanged

-- a primary key in line
alter table orders modify (amount primary key)
--> refused: DDL that changes the primary key is not supported

-- visibility and type
alter table orders modify (customer varchar2(50) invisible)
--> columns 1 ID (id 1), 2 CUSTOMER VARCHAR2(50) (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- annotations and a type
alter table orders modify (customer varchar2(50) annotations (add "PII"))
--> columns 1 ID (id 1), 2 CUSTOMER VARCHAR2(50) (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- a column that does not exist
alter table orders modify nothing varchar2(10)
--> refused: DDL modifies column NOTHING, which the version of SCN 100 does not have

-- encryption
alter table orders modify (customer encrypt using 'AES256')
--> unchanged

-- a word that is not known
alter table orders modify (customer varchar2(50) folded)
--> refused: DDL that is not understood from 'folded' on

-- an unfinished default
alter table orders modify (customer default)
--> refused: DDL that is not understood from ')' on

-- MODIFY, ADD and DROP in one statement
alter table orders modify (amount number(14,2)) add (note varchar2(10), constraint c check (amount > 0)) drop (customer)
--> change_type AMOUNT NUMBER(14,2)
--> add NOTE VARCHAR2(10)
--> drop CUSTOMER VARCHAR2(40)
--> columns 1 ID (id 1), 2 AMOUNT NUMBER(14,2) (id 3), 3 Mixed Case (id 4), 4 NOTE (id 5); next id 6

-- MODIFY twice, with a property
alter table orders modify amount number(14,2) modify customer not null pctfree 5
--> change_type AMOUNT NUMBER(14,2)
--> columns 1 ID (id 1), 2 CUSTOMER not null (id 2), 3 AMOUNT NUMBER(14,2) (id 3), 4 Mixed Case (id 4); next id 5

-- ADD of a column and MODIFY of it
alter table orders add note varchar2(10) modify note varchar2(20)
--> add NOTE VARCHAR2(10)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 NOTE (id 5); next id 6

-- a constraint dropped and a column modified
alter table orders drop constraint some_ck modify amount number(14,2)
--> change_type AMOUNT NUMBER(14,2)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT NUMBER(14,2) (id 3), 4 Mixed Case (id 4); next id 5

-- a collation
alter table orders modify (customer varchar2(60) collate binary_ci not null)
--> columns 1 ID (id 1), 2 CUSTOMER VARCHAR2(60) not null (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- a domain
alter table orders modify (customer) add domain shop.name_d
--> unchanged

-- a domain of several columns
alter table orders modify (customer, amount) domain money_d
--> unchanged

-- no domain
alter table orders modify (customer) drop domain
--> unchanged

-- no domain, and its constraints kept
alter table orders modify customer drop domain preserve constraints
--> unchanged

-- a domain beside a type
alter table orders modify (customer varchar2(60) domain name_d default 'x' not null)
--> columns 1 ID (id 1), 2 CUSTOMER VARCHAR2(60) not null (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4); next id 5

-- encryption with all of its words
alter table orders modify (customer encrypt using 'AES256' identified by "a password" 'SHA-1' no salt, amount encrypt no salt)
--> unchanged

-- decryption
alter table orders modify (customer decrypt)
--> unchanged

-- encryption beside a type that changes the rows
alter table orders modify (customer char(40) encrypt)
--> refused: MODIFY of CUSTOMER from VARCHAR2(40) to CHAR(40) lets Oracle rewrite the values of older rows, which no redo shows
