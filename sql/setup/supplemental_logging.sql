-- The supplemental logging that Redolake needs. Run as SYSDBA, off-peak: the first statement waits for open transactions.

-- Minimal supplemental logging for the whole database, in the root. Without it LogMiner cannot assemble rows.
ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;

-- Redo for direct-path loads, which NOLOGGING would omit.
ALTER DATABASE FORCE LOGGING;

-- The key of every changed row: either for all tables (in the root; or in a PDB with ALTER PLUGGABLE DATABASE) ...
ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS;

-- ... or per captured table, in its PDB. (ALL) also logs the columns that did not change and makes more redo;
-- only a table without a primary key needs it.
--   ALTER TABLE shop.orders ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS;
--   ALTER TABLE shop.orders ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;

-- Only archived logs are mined, and a quiet database switches none: force a switch at least every five minutes.
ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 300 SCOPE = BOTH;
