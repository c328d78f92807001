-- What the redo must say for Redolake to apply it. Run as SYSDBA, off-peak: the first statement waits for open transactions.

-- Minimal logging for the whole database, in the root. Without it LogMiner cannot put rows together.
ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;

-- Redo of direct-path loads, which is left out otherwise.
ALTER DATABASE FORCE LOGGING;

-- The key of every changed row: either for all tables (from the root; ALTER PLUGGABLE DATABASE in a PDB, for its own) ...
ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS;

-- ... or per captured table, in its PDB. (ALL) also gives the old values of columns that did not change, at the price of more redo;
-- only a table without a primary key needs it.
--   ALTER TABLE shop.orders ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS;
--   ALTER TABLE shop.orders ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;

-- A quiet database switches no log, and an archived log is all that is mined: switch at least every five minutes.
ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 300 SCOPE = BOTH;
