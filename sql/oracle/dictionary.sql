-- The dictionary of captured tables, read in the container that owns them.
-- Each statement reads one owner's tables; :names stands for a list of binds in one of a few lengths (source/dictionary.py).

-- name: table_object
-- Object ids and the time of the last DDL.
SELECT object_name AS table_name, object_id, data_object_id, last_ddl_time
  FROM all_objects
 WHERE owner = :owner AND object_name IN (:names) AND object_type = 'TABLE'

-- name: time_of_scn
-- In the time of the database's host, as LAST_DDL_TIME is.
SELECT CAST(SCN_TO_TIMESTAMP(:scn) AS DATE) AS scn_at FROM dual

-- name: scn_of_time
-- In the time of the database's host. ORA-08180 for a time that is too old or lies in the future.
SELECT TIMESTAMP_TO_SCN(CAST(:host_time AS TIMESTAMP)) AS scn FROM dual

-- name: table_kind
SELECT table_name, partitioned, iot_type, temporary, cluster_name, external, logging
  FROM all_tables
 WHERE owner = :owner AND table_name IN (:names)

-- name: table_replication
-- ALTER TABLE .. DISABLE LOGICAL REPLICATION, which DELETE TRANDATA of GoldenGate issues; and partitions that are external.
-- Releases before 19c lack both columns.
SELECT table_name, logical_replication, hybrid
  FROM all_tables
 WHERE owner = :owner AND table_name IN (:names)

-- name: table_columns
-- ALL_TAB_COLS and not ALL_TAB_COLUMNS: hidden stored columns are in the redo too.
SELECT table_name, column_name, data_type, data_length, char_length, data_precision, data_scale, nullable, column_id,
       segment_column_id, hidden_column, virtual_column, user_generated, default_length
  FROM all_tab_cols
 WHERE owner = :owner AND table_name IN (:names)
 ORDER BY table_name, internal_column_id

-- name: table_user_types
-- The kinds of columns of users' types. ALL_TYPES shows a type of another user only to those who may execute it. A nested
-- table may be an attribute: PARENT_TABLE_COLUMN is then "COLUMN"."ATTRIBUTE".
SELECT c.table_name, c.column_name, c.data_type, c.data_type_owner, c.data_type_mod, t.typecode, k.coll_type,
       CASE WHEN EXISTS (SELECT 1
                           FROM all_nested_tables n
                          WHERE n.owner = c.owner AND n.parent_table_name = c.table_name
                            AND (n.parent_table_column = c.column_name
                                 OR n.parent_table_column LIKE '"' || c.column_name || '".%')) THEN 'YES' END AS is_nested
  FROM all_tab_cols c
  LEFT JOIN all_types t
    ON t.owner = c.data_type_owner AND t.type_name = c.data_type
  LEFT JOIN all_coll_types k
    ON k.owner = c.data_type_owner AND k.type_name = c.data_type
 WHERE c.owner = :owner AND c.table_name IN (:names) AND c.data_type_owner IS NOT NULL
 ORDER BY c.table_name, c.internal_column_id

-- name: type_parts
-- The attributes of object types, or the elements of collections. ALL_TYPE_ATTRS and ALL_COLL_TYPES show what ALL_TYPES shows.
SELECT type_name AS table_name, attr_no AS position, attr_name AS part, attr_type_owner AS type_owner,
       attr_type_name AS part_type, length, precision, scale
  FROM all_type_attrs
 WHERE owner = :owner AND type_name IN (:names)
UNION ALL
SELECT type_name, upper_bound, coll_type, elem_type_owner, elem_type_name, length, precision, scale
  FROM all_coll_types
 WHERE owner = :owner AND type_name IN (:names)
 ORDER BY 1, 2

-- name: table_key
-- A disabled key has no index and is not logged. One that is NOVALIDATE over an index that is not unique lets rows from before
-- have equal keys.
SELECT c.table_name, k.column_name, c.constraint_name
  FROM all_constraints c
  JOIN all_cons_columns k
    ON k.owner = c.owner AND k.constraint_name = c.constraint_name AND k.table_name = c.table_name
 WHERE c.owner = :owner AND c.table_name IN (:names) AND c.constraint_type = 'P' AND c.status = 'ENABLED'
   AND (c.validated = 'VALIDATED'
        OR EXISTS (SELECT 1
                     FROM all_indexes i
                    WHERE i.owner = NVL(c.index_owner, c.owner) AND i.index_name = c.index_name AND i.uniqueness = 'UNIQUE'))
 ORDER BY c.table_name, k.position

-- name: table_unique_indexes
-- Indexes that identify every row by plain columns. A deferrable constraint has no unique index: it holds at commit only.
SELECT i.table_name, i.index_name, o.object_id, k.column_name
  FROM all_indexes i
  JOIN all_ind_columns k
    ON k.index_owner = i.owner AND k.index_name = i.index_name
  LEFT JOIN all_objects o
    ON o.owner = i.owner AND o.object_name = i.index_name AND o.object_type = 'INDEX'
 WHERE i.table_owner = :owner AND i.table_name IN (:names)
   AND i.uniqueness = 'UNIQUE' AND i.status = 'VALID' AND i.index_type IN ('NORMAL', 'NORMAL/REV')
 ORDER BY i.table_name, i.index_name, k.column_position

-- name: table_parents
-- The foreign keys by which TRUNCATE .. CASCADE of a parent, or DROP PARTITION of it where the table is partitioned by reference,
-- removes the table's rows. A parent that the user may not see has no name here.
SELECT c.table_name, p.owner AS parent_owner, p.table_name AS parent_name
  FROM all_constraints c
  LEFT JOIN all_constraints p
    ON p.owner = c.r_owner AND p.constraint_name = c.r_constraint_name
  LEFT JOIN all_part_tables t
    ON t.owner = c.owner AND t.table_name = c.table_name AND t.ref_ptn_constraint_name = c.constraint_name
 WHERE c.owner = :owner AND c.table_name IN (:names) AND c.constraint_type = 'R' AND c.status = 'ENABLED'
   AND (c.delete_rule = 'CASCADE' OR t.table_name IS NOT NULL)
 ORDER BY c.table_name, p.owner, p.table_name

-- name: table_log_groups
SELECT table_name, log_group_type FROM all_log_groups WHERE owner = :owner AND table_name IN (:names)

-- name: table_parts
-- Redo names the partition, and of an index-organized table its top index. A row of the overflow segment must not be missed.
SELECT object_name AS table_name, object_id, data_object_id
  FROM all_objects
 WHERE owner = :owner AND object_name IN (:names) AND object_type IN ('TABLE PARTITION', 'TABLE SUBPARTITION')
 UNION ALL
SELECT i.table_name, o.object_id, o.data_object_id
  FROM all_indexes i
  JOIN all_objects o
    ON o.owner = i.owner AND o.object_name = i.index_name
 WHERE i.table_owner = :owner AND i.table_name IN (:names) AND i.index_type = 'IOT - TOP'
   AND o.object_type IN ('INDEX', 'INDEX PARTITION', 'INDEX SUBPARTITION')
 UNION ALL
SELECT t.iot_name, o.object_id, o.data_object_id
  FROM all_tables t
  JOIN all_objects o
    ON o.owner = t.owner AND o.object_name = t.table_name
 WHERE t.owner = :owner AND t.iot_name IN (:names) AND t.iot_type = 'IOT_OVERFLOW'
   AND o.object_type IN ('TABLE', 'TABLE PARTITION', 'TABLE SUBPARTITION')
 ORDER BY 1, 2

-- name: table_columnar
-- Hybrid columnar compression, which a partition may have of its own.
SELECT table_name
  FROM all_tables
 WHERE owner = :owner AND table_name IN (:names) AND (compress_for LIKE 'QUERY%' OR compress_for LIKE 'ARCHIVE%')
 UNION
SELECT table_name
  FROM all_tab_partitions
 WHERE table_owner = :owner AND table_name IN (:names) AND (compress_for LIKE 'QUERY%' OR compress_for LIKE 'ARCHIVE%')
 UNION
SELECT table_name
  FROM all_tab_subpartitions
 WHERE table_owner = :owner AND table_name IN (:names) AND (compress_for LIKE 'QUERY%' OR compress_for LIKE 'ARCHIVE%')

-- name: table_lobs
-- How large objects are stored, for doctor: what is not logged, or not as it is, cannot be assembled from the redo.
SELECT table_name, column_name, securefile, logging, compression, deduplication, encrypt, in_row
  FROM all_lobs
 WHERE owner = :owner AND table_name IN (:names)

-- name: table_comments
SELECT table_name, comments FROM all_tab_comments WHERE owner = :owner AND table_name IN (:names) AND comments IS NOT NULL

-- name: column_comments
SELECT table_name, column_name, comments
  FROM all_col_comments
 WHERE owner = :owner AND table_name IN (:names) AND comments IS NOT NULL

-- name: tables_of_owner
-- Suggests what a misspelt table name may mean.
SELECT table_name FROM all_tables WHERE owner = :owner

-- name: users
-- Without Oracle's own, for patterns of owners.
SELECT username FROM all_users WHERE oracle_maintained = 'N'

-- name: counted_rows
-- What the optimizer's statistics say, which were gathered at some time: an estimate for a progress bar.
SELECT num_rows FROM all_tables WHERE owner = :owner AND table_name = :table_name

-- name: table_size
-- What the optimizer's statistics say of a table's size, where DBA_SEGMENTS may not be read.
SELECT table_name, num_rows, avg_row_len FROM all_tables WHERE owner = :owner AND table_name IN (:names)

-- name: segment_size
-- The blocks of the tables' segments; large objects and indexes have segments of their own.
SELECT segment_name AS table_name, SUM(bytes) AS bytes
  FROM dba_segments
 WHERE owner = :owner AND segment_name IN (:names) AND segment_type IN ('TABLE', 'TABLE PARTITION', 'TABLE SUBPARTITION')
 GROUP BY segment_name

-- name: table_extents
-- Where a table's rows are. USER_EXTENTS has no file and block.
SELECT partition_name, relative_fno, block_id, bytes
  FROM dba_extents
 WHERE owner = :owner AND segment_name = :table_name AND segment_type IN ('TABLE', 'TABLE PARTITION', 'TABLE SUBPARTITION')

-- name: table_segments
-- The names of partitions, with the DATA_OBJECT_ID that their ROWIDs begin with.
SELECT subobject_name, object_type, data_object_id
  FROM all_objects
 WHERE owner = :owner AND object_name = :table_name
   AND object_type IN ('TABLE', 'TABLE PARTITION', 'TABLE SUBPARTITION')
   AND data_object_id IS NOT NULL

-- name: tables_of_owners
-- For patterns: all tables, with what tells plain ones from others. Object tables have a view of their own and are not here.
SELECT owner, table_name, temporary, external, nested, secondary, dropped, iot_type
  FROM all_tables
 WHERE owner IN (:names)

-- name: object_tables
-- CREATE TABLE .. OF a type; tables of XMLTYPE too.
SELECT owner, table_name FROM all_object_tables WHERE owner IN (:names)

-- name: mviews
SELECT owner, container_name AS table_name FROM all_mviews WHERE owner IN (:names)

-- name: mview_logs
SELECT log_owner AS owner, log_table AS table_name FROM all_mview_logs WHERE log_owner IN (:names)

-- name: queue_tables
SELECT owner, queue_table AS table_name FROM all_queue_tables WHERE owner IN (:names)

-- name: table_policies
-- VPD filters the rows that a SELECT returns, without an error; Label Security is built on it.
SELECT object_name AS table_name, policy_name, pf_owner, function
  FROM all_policies
 WHERE object_owner = :owner AND object_name IN (:names) AND sel = 'YES' AND enable = 'YES'

-- name: table_label_policies
-- The view does not exist where Label Security is not installed.
SELECT table_name, policy_name
  FROM all_sa_table_policies
 WHERE schema_name = :owner AND table_name IN (:names) AND status = 'ENABLED'

-- name: table_redactions
-- Data Redaction masks the values that a SELECT returns, without an error.
SELECT object_name AS table_name, policy_name
  FROM redaction_policies
 WHERE object_owner = :owner AND object_name IN (:names) AND TRIM(enable) <> 'NO'
