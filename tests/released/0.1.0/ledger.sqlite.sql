CREATE TABLE redolake_batches (
	pipeline VARCHAR(100) NOT NULL, 
	name VARCHAR(100) NOT NULL, 
	start_scn BIGINT NOT NULL, 
	end_scn BIGINT NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	spec_path TEXT NOT NULL, 
	result JSON, 
	created_at DATETIME NOT NULL, 
	changed_at DATETIME NOT NULL, 
	PRIMARY KEY (pipeline, name)
);

CREATE TABLE redolake_decisions (
	number INTEGER NOT NULL, 
	pipeline VARCHAR(100) NOT NULL, 
	kind VARCHAR(60) NOT NULL, 
	body JSON NOT NULL, 
	who VARCHAR(200) NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (number)
);

CREATE TABLE redolake_facts (
	pipeline VARCHAR(100) NOT NULL, 
	kind VARCHAR(40) NOT NULL, 
	name VARCHAR(300) NOT NULL, 
	body JSON NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (pipeline, kind, name)
);

CREATE TABLE redolake_format (
	only INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (only)
);

CREATE TABLE redolake_gaps (
	pipeline VARCHAR(100) NOT NULL, 
	name VARCHAR(60) NOT NULL, 
	body JSON NOT NULL, 
	recorded_at DATETIME NOT NULL, 
	PRIMARY KEY (pipeline, name)
);

CREATE TABLE redolake_leases (
	name VARCHAR(400) NOT NULL, 
	owner VARCHAR(400), 
	token BIGINT NOT NULL, 
	expires_at DATETIME, 
	PRIMARY KEY (name)
);

CREATE TABLE redolake_losses (
	pipeline VARCHAR(100) NOT NULL, 
	body JSON NOT NULL, 
	since DATETIME NOT NULL, 
	PRIMARY KEY (pipeline)
);

CREATE TABLE redolake_open_transactions (
	pipeline VARCHAR(100) NOT NULL, 
	con_id INTEGER NOT NULL, 
	xid VARCHAR(40) NOT NULL, 
	batch VARCHAR(100) NOT NULL, 
	thread INTEGER NOT NULL, 
	start_scn BIGINT NOT NULL, 
	first_at VARCHAR(40), 
	row_count BIGINT NOT NULL, 
	bytes BIGINT NOT NULL, 
	username VARCHAR(128), 
	PRIMARY KEY (pipeline, con_id, xid)
);

CREATE TABLE redolake_pipelines (
	pipeline VARCHAR(100) NOT NULL, 
	dbid BIGINT NOT NULL, 
	resetlogs_id BIGINT NOT NULL, 
	scn BIGINT NOT NULL, 
	created_at DATETIME NOT NULL, 
	PRIMARY KEY (pipeline)
);

CREATE TABLE redolake_table_ddl (
	pipeline VARCHAR(100) NOT NULL, 
	owner VARCHAR(128) NOT NULL, 
	table_name VARCHAR(128) NOT NULL, 
	hour DATETIME NOT NULL, 
	kind VARCHAR(40) NOT NULL, 
	changes BIGINT NOT NULL, 
	PRIMARY KEY (pipeline, owner, table_name, hour, kind)
);

CREATE TABLE redolake_table_rows (
	pipeline VARCHAR(100) NOT NULL, 
	owner VARCHAR(128) NOT NULL, 
	table_name VARCHAR(128) NOT NULL, 
	hour DATETIME NOT NULL, 
	inserted BIGINT NOT NULL, 
	updated BIGINT NOT NULL, 
	deleted BIGINT NOT NULL, 
	PRIMARY KEY (pipeline, owner, table_name, hour)
);

CREATE TABLE redolake_table_versions (
	pipeline VARCHAR(100) NOT NULL, 
	owner VARCHAR(128) NOT NULL, 
	table_name VARCHAR(128) NOT NULL, 
	from_scn BIGINT NOT NULL, 
	source VARCHAR(20) NOT NULL, 
	body JSON NOT NULL, 
	ddl TEXT, 
	recorded_at DATETIME NOT NULL, 
	PRIMARY KEY (pipeline, owner, table_name, from_scn)
);

CREATE TABLE redolake_tables (
	pipeline VARCHAR(100) NOT NULL, 
	owner VARCHAR(128) NOT NULL, 
	table_name VARCHAR(128) NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	captured_from_scn BIGINT NOT NULL, 
	snapshot_scn BIGINT, 
	complete_to_scn BIGINT, 
	resetlogs_id BIGINT, 
	delta_version BIGINT, 
	held_from VARCHAR(20), 
	held_at DATETIME, 
	error JSON, 
	changed_at DATETIME NOT NULL, 
	PRIMARY KEY (pipeline, owner, table_name)
);

CREATE TABLE redolake_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT redolake_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE redolake_windows (
	pipeline VARCHAR(100) NOT NULL, 
	name VARCHAR(60) NOT NULL, 
	resetlogs_id BIGINT NOT NULL, 
	start_scn BIGINT NOT NULL, 
	end_scn BIGINT NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	"plan" JSON NOT NULL, 
	token BIGINT NOT NULL, 
	planned_at DATETIME NOT NULL, 
	changed_at DATETIME NOT NULL, 
	ends_at DATETIME, 
	landed_at DATETIME, 
	applied_at DATETIME, 
	batch VARCHAR(100), 
	row_count BIGINT, 
	log_count INTEGER, 
	redo_bytes BIGINT, 
	mine_seconds FLOAT, 
	account JSON, 
	PRIMARY KEY (pipeline, name)
);

CREATE INDEX redolake_batches_latest ON redolake_batches (pipeline, changed_at);

CREATE INDEX ix_redolake_decisions_pipeline ON redolake_decisions (pipeline);

CREATE UNIQUE INDEX redolake_windows_place ON redolake_windows (pipeline, resetlogs_id, start_scn) WHERE state <> 'abandoned';

CREATE INDEX redolake_windows_state ON redolake_windows (pipeline, state);
