-- move
alter table orders move
--> renumber

-- move online with its indexes, to a tablespace
alter table shop.orders move online tablespace users update indexes
--> renumber

-- compression by moving the rows
alter table orders move row store compress advanced parallel 4
--> renumber

-- move with columnar compression
alter table orders move column store compress for query high
--> refused: hybrid columnar compression may give updated rows new ROWIDs and is not supported

-- move without redo
alter table orders move nologging
--> refused: NOLOGGING allows rows to be written without redo

-- move of some rows only
alter table orders move including rows where amount > 0
--> refused: DDL that is not understood from 'including' on

-- move of a large object
alter table orders move lob (note) store as (tablespace users)
--> renumber

-- shrink
alter table orders shrink space cascade
--> renumber

-- the first half of a shrink
alter table orders shrink space compact
--> renumber

-- a shrink that is only tried
alter table orders shrink space check
--> unchanged

-- move with the storage of large objects and of indexes
alter table orders move online tablespace users lob (note) store as securefile note_seg (tablespace big nocache logging) update indexes (orders_ix tablespace ix) parallel (degree 4)
--> renumber

-- move of a large object that is compressed
alter table orders move lob (note) store as securefile (compress high)
--> renumber
