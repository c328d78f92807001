-- drop
drop table shop.orders cascade constraints purge
--> refused: the table was dropped

-- the text that LogMiner shows where there is a recycle bin
drop table orders AS "BIN$1b58AAAAAAAAAAAAAAAAAA==$0"
--> refused: the table was dropped

-- taken out of the recycle bin
flashback table shop.orders to before drop
--> key constraint BIN$

-- taken out of the recycle bin under another name
flashback table "BIN$1b58AAAAAAAAAAAAAAAAAA==$0" to before drop rename to orders_old
--> refused: the table was renamed to SHOP.ORDERS_OLD

-- set back to an earlier state
flashback table orders to timestamp systimestamp - interval '1' hour
--> unchanged

-- purged without a DROP
purge table orders
--> refused: PURGE of a table whose DROP is not in the redo

-- dropped with one constraint
drop table orders cascade constraint purge
--> refused: the table was dropped
