-- one column
ALTER TABLE SHOP.ORDERS ADD NOTE VARCHAR2(20)
--> add NOTE VARCHAR2(20)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 NOTE (id 5); next id 6

-- lower case, unqualified, with a semicolon, as redo contains it
alter table orders add (note varchar2(20 char));
--> add NOTE VARCHAR2(20)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 NOTE (id 5); next id 6

-- the word COLUMN is allowed
alter table shop.orders add column note clob
--> add NOTE CLOB
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 NOTE (id 5); next id 6

-- several columns, quoted and not
ALTER TABLE "SHOP"."ORDERS" ADD ("Mixed" NUMBER(10,2) DEFAULT 0 NOT NULL, placed TIMESTAMP(3), c$1# CHAR)
--> add Mixed NUMBER(10,2) not null default '0'
--> add PLACED TIMESTAMP(3)
--> add C$1# CHAR(1)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 Mixed (id 5), 6 PLACED (id 6), 7 C$1# (id 7); next id 8

-- two ADD clauses
alter table orders add (a number) add b date
--> add A NUMBER
--> add B DATE
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5), 6 B (id 6); next id 7

-- comments between the words
/* hi */ ALTER /* there */ TABLE orders -- now
  ADD note /* text */ varchar2(10) default /* it is */ 'x'
--> add NOTE VARCHAR2(10) default 'x'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 NOTE (id 5); next id 6

-- text with a doubled quote, a backslash and a semicolon
alter table orders add note varchar2(30) default 'it''s \ a;b'
--> add NOTE VARCHAR2(30) default "it's \\ a;b"
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 NOTE (id 5); next id 6

-- text in q-quotes
alter table orders add note varchar2(30) default q'[it's]'
--> add NOTE VARCHAR2(30) default "it's"
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 NOTE (id 5); next id 6

-- national text
alter table orders add note nvarchar2(30) default N'Grüße'
--> add NOTE NVARCHAR2(30) default 'Grüße'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 NOTE (id 5); next id 6

-- the empty text is NULL
alter table orders add note varchar2(30) default ''
--> add NOTE VARCHAR2(30)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 NOTE (id 5); next id 6

-- NULL as default
alter table orders add note varchar2(30) default null
--> add NOTE VARCHAR2(30)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 NOTE (id 5); next id 6

-- numbers in all forms, fitted to the type
alter table orders add (a number default -.5e2, b number(5,2) default +1.005, c integer default 3., d number(*,1) default (7), e float default 1.5, f number(6,-2) default 1250)
--> add A NUMBER default '-50'
--> add B NUMBER(5,2) default '1.01'
--> add C NUMBER(38,0) default '3'
--> add D NUMBER(38,1) default '7'
--> add E FLOAT(126) default '1.5'
--> add F NUMBER(6,-2) default '1300'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 A (id 5), 7 B (id 6), 8 C (id 7), 9 D (id 8), 10 E (id 9), 11 F (id 10); next id 11

-- a number for a text, and a text for a number
alter table orders add (a varchar2(5) default 0, b number(3) default '12')
--> add A VARCHAR2(5) default '0'
--> add B NUMBER(3,0) default '12'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 A (id 5), 7 B (id 6); next id 7

-- blanks fill a CHAR
alter table orders add a char(3) default 'N' not null
--> add A CHAR(3) not null default 'N  '
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5); next id 6

-- dates and times
alter table orders add (a date default DATE '2020-02-29', b timestamp default TIMESTAMP '2020-01-02 03:04:05.678900', c date default timestamp '2020-01-02 03:04:05', d timestamp(9) default date '1999-12-31')
--> add A DATE default '2020-02-29 00:00:00'
--> add B TIMESTAMP(6) default '2020-01-02 03:04:05.6789'
--> add C DATE default '2020-01-02 03:04:05'
--> add D TIMESTAMP(9) default '1999-12-31 00:00:00'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 A (id 5), 7 B (id 6), 8 C (id 7), 9 D (id 8); next id 9

-- a boolean
alter table orders add a boolean default true
--> add A BOOLEAN default 'true'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 A (id 5); next id 6

-- every supported type
alter table orders add (c01 number, c02 number(*), c03 number(7), c04 decimal, c05 dec(5,1), c06 numeric(5), c07 smallint, c08 float(10), c09 real, c10 double precision, c11 binary_float, c12 binary_double, c13 varchar(9 byte), c14 character varying(9), c15 nchar(2), c16 raw(16), c17 nclob, c18 blob, c19 timestamp with time zone, c20 timestamp(3) with local time zone, c21 interval year to month, c22 interval day(3) to second(2), c23 rowid, c24 json)
--> add C01 NUMBER
--> add C02 NUMBER
--> add C03 NUMBER(7,0)
--> add C04 NUMBER(38,0)
--> add C05 NUMBER(5,1)
--> add C06 NUMBER(5,0)
--> add C07 NUMBER(38,0)
--> add C08 FLOAT(10)
--> add C09 FLOAT(63)
--> add C10 FLOAT(126)
--> add C11 BINARY_FLOAT
--> add C12 BINARY_DOUBLE
--> add C13 VARCHAR2(9)
--> add C14 VARCHAR2(9)
--> add C15 NCHAR(2)
--> add C16 RAW(16)
--> add C17 NCLOB
--> add C18 BLOB
--> add C19 TIMESTAMP(6) WITH TIME ZONE
--> add C20 TIMESTAMP(3) WITH LOCAL TIME ZONE
--> add C21 INTERVAL YEAR TO MONTH
--> add C22 INTERVAL DAY TO SECOND
--> add C23 ROWID
--> add C24 JSON
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 C01 (id 5), 6 C02 (id 6), 7 C03 (id 7), 8 C04 (id 8), 9 C05 (id 9), 10 C06 (id 10), 11 C07 (id 11), 12 C08 (id 12), 13 C09 (id 13), 14 C10 (id 14), 15 C11 (id 15), 16 C12 (id 16), 17 C13 (id 17), 18 C14 (id 18), 19 C15 (id 19), 20 C16 (id 20), 21 C17 (id 21), 22 C18 (id 22), 23 C19 (id 23), 24 C20 (id 24), 25 C21 (id 25), 26 C22 (id 26), 27 C23 (id 27), 28 C24 (id 28); next id 29

-- constraints that change neither columns nor key
alter table orders add (a number constraint a_positive check (a > 0 and (b in (1,2))) disable, b number null unique, c number references other.parent (id) on delete set null not null enable, constraint uk unique (a, b) using index tablespace users, constraint fk foreign key (b) references parent)
--> add A NUMBER
--> add B NUMBER
--> add C NUMBER not null
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5), 6 B (id 6), 7 C (id 7); next id 8

-- invisible columns are stored like others
alter table orders add hush number invisible default 1 not null
--> add HUSH NUMBER not null default '1'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 HUSH (id 5); next id 6

-- DEFAULT ON NULL makes it NOT NULL
alter table orders add a number default on null 5
--> add A NUMBER not null default '5'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5); next id 6

-- a primary key
alter table orders add a number primary key
--> refused: DDL that changes the primary key is not supported

-- a primary key beside a column
alter table orders add (a number, constraint pk primary key (a))
--> refused: DDL that changes the primary key is not supported

-- SYSDATE
alter table orders add a date default sysdate
--> refused: DEFAULT of A is not a supported constant for DATE, and `on_ddl: computed_default` is `hold`

-- a sequence
alter table orders add a number default shop.seq.nextval
--> refused: DEFAULT of A is not a supported constant for NUMBER, and `on_ddl: computed_default` is `hold`

-- arithmetic
alter table orders add a number default 1 + 1
--> refused: DEFAULT of A is not a supported constant for NUMBER, and `on_ddl: computed_default` is `hold`

-- concatenated text
alter table orders add a varchar2(9) default 'a' || 'b'
--> refused: DEFAULT of A is not a supported constant for VARCHAR2(9), and `on_ddl: computed_default` is `hold`

-- a function of constants
alter table orders add a date default to_date('2020-01-01', 'YYYY-MM-DD')
--> refused: DEFAULT of A is not a supported constant for DATE, and `on_ddl: computed_default` is `hold`

-- a text for a date depends on the session
alter table orders add a date default '01-JAN-20'
--> refused: DEFAULT of A is not a supported constant for DATE, and `on_ddl: computed_default` is `hold`

-- a decimal text for a number depends on the session
alter table orders add a number default '1,5'
--> refused: DEFAULT of A is not a supported constant for NUMBER, and `on_ddl: computed_default` is `hold`

-- a number that does not fit its type
alter table orders add a number(2) default 100
--> refused: DEFAULT of A is not a supported constant for NUMBER(2,0), and `on_ddl: computed_default` is `hold`

-- a day that does not exist
alter table orders add a date default date '2021-02-29'
--> refused: DEFAULT of A is not a supported constant for DATE, and `on_ddl: computed_default` is `hold`

-- a fraction of a second that Oracle would round
alter table orders add a timestamp(1) default timestamp '2020-01-01 00:00:00.25'
--> refused: DEFAULT of A is not a supported constant for TIMESTAMP(1), and `on_ddl: computed_default` is `hold`

-- blanks for a CHAR with letters of more than a byte depend on BYTE or CHAR
alter table orders add a nchar(3) default 'ä'
--> refused: DEFAULT of A is not a supported constant for NCHAR(3), and `on_ddl: computed_default` is `hold`

-- a virtual column, which is not in the segment
alter table orders add a number generated always as (amount * 2) virtual
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), <virtual> A; next id 5

-- virtual columns without a type, beside a stored one
alter table orders add (a as (amount * 2), b number, c number(9) as (nvl(amount, 0)) virtual invisible not null)
--> add B NUMBER
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 B (id 5), <virtual> A, <virtual> C; next id 6

-- a nullable column with a default after one without: the guard column stands in front of it
alter table orders add (a number, b number default 1, c number default 2)
--> add A NUMBER
--> add B NUMBER default '1'
--> add C NUMBER default '2'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5), 6 <guard>, 7 B (id 6), 8 C (id 7); next id 8

-- a column with a default, in a table with a large object: no guard column
alter table orders add (a clob, b number default 1)
--> add A CLOB
--> add B NUMBER default '1'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5), 6 B (id 6); next id 7

-- an identity column
alter table orders add a number generated by default as identity
--> refused: ADD of identity column A: only Oracle knows the numbers of the older rows, and `on_ddl: computed_default` is `hold`

-- an object type
alter table orders add a mdsys.sdo_geometry
--> refused: DDL that is not understood from 'mdsys' on

-- a vector
alter table orders add a vector(3, float32)
--> refused: DDL that is not understood from 'vector' on

-- LONG
alter table orders add a long raw
--> refused: DDL that is not understood from 'long' on

-- storage of a LOB
alter table orders add a clob lob (a) store as securefile
--> add A CLOB
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5); next id 6

-- an encrypted column
alter table orders add a number encrypt
--> add A NUMBER
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5); next id 6

-- a column that exists already
alter table orders add customer number
--> refused: DDL adds column CUSTOMER, which the version of SCN 100 already has

-- the same column twice
alter table orders add (a number, a date)
--> refused: DDL adds column A, which the version of SCN 100 already has

-- IF NOT EXISTS may have done nothing
alter table orders add if not exists a number
--> refused: DDL that is not understood from 'not' on

-- another table than the one of the redo row
alter table shop.customers add a number
--> refused: the redo row is of SHOP.ORDERS, but the statement names SHOP.CUSTOMERS

-- the same name in another schema
alter table other.orders add a number
--> refused: the redo row is of SHOP.ORDERS, but the statement names OTHER.ORDERS

-- a text without its closing quote
alter table orders add a varchar2(3) default 'abc
--> refused: DDL whose text cannot be read

-- nothing after ADD
alter table orders add
--> refused: DDL that is not understood from its end on

-- a column with annotations
alter table if exists orders add (note varchar2(20) annotations ("PII", "Owner" 'shop'))
--> add NOTE VARCHAR2(20)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 NOTE (id 5); next id 6

-- a name whose capital letters are more than its small ones
alter table orders add straße varchar2(20)
--> add STRAßE VARCHAR2(20)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 STRAßE (id 5); next id 6

-- statistics and a column in one statement
alter table orders add (SYS_STU1 as (upper(customer)) virtual by user for statistics, note varchar2(10))
--> add NOTE VARCHAR2(10)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 NOTE (id 5), <virtual> SYS_STU1; next id 6

-- a column for statistics, with a name and a type of its own
alter table orders add (amount_band number generated always as (trunc(amount / 100)) virtual by user for statistics)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), <virtual> AMOUNT_BAND; next id 5

-- storage of a LOB with what may be missing in the redo
alter table orders add a clob lob (a) store as securefile a_seg (enable storage in row compress medium)
--> add A CLOB
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5); next id 6

-- storage of a LOB without logging
alter table orders add (a clob) lob (a) store as basicfile (nocache nologging)
--> refused: DDL that is not understood from 'nologging' on

-- storage of two LOBs, then another column
alter table orders add (a clob, b blob) lob (a, b) store as (tablespace big chunk 8192 retention nocache logging) add c number
--> add A CLOB
--> add B BLOB
--> add C NUMBER
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5), 6 B (id 6), 7 C (id 7); next id 8

-- BOOL, as it is also called
alter table orders add (b bool default false)
--> add B BOOLEAN default 'false'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 B (id 5); next id 6

-- bytes
alter table orders add token raw(16) default hextoraw('0aff') not null
--> add TOKEN RAW(16) not null default '0AFF'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 TOKEN (id 5); next id 6

-- bytes from a text
alter table orders add token raw(4) default '0aFF'
--> add TOKEN RAW(4) default '0AFF'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 TOKEN (id 5); next id 6

-- no bytes
alter table orders add token raw(4) default hextoraw('')
--> add TOKEN RAW(4)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 TOKEN (id 5); next id 6

-- more bytes than fit
alter table orders add token raw(1) default hextoraw('0aff')
--> refused: DEFAULT of TOKEN is not a supported constant for RAW(1), and `on_ddl: computed_default` is `hold`

-- half a byte
alter table orders add token raw(4) default hextoraw('aff')
--> refused: DEFAULT of TOKEN is not a supported constant for RAW(4), and `on_ddl: computed_default` is `hold`

-- bytes for a text
alter table orders add a varchar2(9) default hextoraw('41')
--> refused: DEFAULT of A is not a supported constant for VARCHAR2(9), and `on_ddl: computed_default` is `hold`

-- bytes of a function
alter table orders add a raw(16) default sys_guid()
--> refused: DEFAULT of A is not a supported constant for RAW(16), and `on_ddl: computed_default` is `hold`

-- a collation
alter table orders add (a varchar2(9) collate binary_ci default 'x' not null, b varchar2(9) collate using_nls_comp invisible)
--> add A VARCHAR2(9) not null default 'x'
--> add B VARCHAR2(9)
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 A (id 5), 6 B (id 6); next id 7

-- a domain, whose default older rows would get
alter table orders add (a number domain shop.positive)
--> refused: DDL that is not understood from 'domain' on

-- a boolean whose default is a text
alter table shop.orders add (b boolean default 'Yes')
--> add B BOOLEAN default 'true'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 B (id 5); next id 6

-- a boolean whose default is a number
alter table shop.orders add (b bool default 0)
--> add B BOOLEAN default 'false'
--> columns 1 ID (id 1), 2 CUSTOMER (id 2), 3 AMOUNT (id 3), 4 Mixed Case (id 4), 5 <guard>, 6 B (id 5); next id 6

-- a boolean whose default is no truth value
alter table shop.orders add (b boolean default 'maybe')
--> refused: DEFAULT of B is not a supported constant for BOOLEAN, and `on_ddl: computed_default` is `hold`
