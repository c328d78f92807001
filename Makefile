# Everything runs in .venv, which `make setup` builds; each target that needs it builds it by itself.
# PYTHON names another interpreter: make setup PYTHON=/opt/python3.12/bin/python3
# VERSIONS says which versions of the packages `make setup` takes: each file is held against its hash, those that build others too.

SHELL := /bin/sh
VENV := .venv
HASHES := constraints-hashes.txt
VERSIONS := -c $(HASHES) --build-constraints $(HASHES)
BIN := $(VENV)/bin
STAMP := $(VENV)/.redolake-setup
# Without byte code every process compiles Airflow anew.
unexport PYTHONDONTWRITEBYTECODE
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup demo sql kill stop test test-fast coverage test-oldest witness driver-tests oracle-set-up oracle-abort test-oracle selftest verified-on soak mutants bench bench-full findings readers \
	ci workflows release pins check clean

help: ## List these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -e 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  make %-13s %s\n' "$$name" "$$text"; done

setup: $(STAMP) ## Build .venv with everything in it, Java and Delta for Spark included

$(STAMP): pyproject.toml $(HASHES)
	@set -eu; \
	found=; \
	for python in "$(PYTHON)" python3.11 python3.12 python3.13 python3; do \
		[ -n "$$python" ] || continue; \
		if "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "set-up stopped: no Python from 3.11 to 3.13 was found on PATH." >&2; \
		echo "  do this: install one (e.g. apt-get install python3.11 python3.11-venv), or: make setup PYTHON=/path/to/python3.11" >&2; \
		exit 1; \
	fi; \
	if ! [ -x $(BIN)/python ] || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		echo "[1/3] $$($$found --version) into $(VENV)"; \
		if ! "$$found" -m venv $(VENV); then \
			echo "set-up stopped: $$found cannot make virtual environments." >&2; \
			echo "  do this: install its venv package (e.g. apt-get install python3-venv)" >&2; \
			exit 1; \
		fi; \
	fi; \
	echo "[2/3] packages (about a minute the first time)"; \
	pip="$(BIN)/python -m pip --quiet --disable-pip-version-check"; \
	sed -n '/^uv==/,/[^\\]$$/p' $(HASHES) > $(VENV)/uv.txt; \
	if ! { $$pip install --require-hashes -r $(VENV)/uv.txt \
		&& $(BIN)/uv pip install --quiet --python $(BIN)/python $(VERSIONS) -e '.[dev]' --compile-bytecode; }; then \
		echo "      uv cannot do it here (it knows nothing of pip's own settings): pip does it, more slowly"; \
		sed '/^pyspark/,/[^\\]$$/d' $(HASHES) > $(VENV)/built.txt; \
		$$pip install --require-hashes --no-deps -r $(VENV)/built.txt; \
		$$pip install --require-hashes --no-deps --no-build-isolation -r $(HASHES); \
		$$pip install --no-deps --no-build-isolation -e .; \
	fi; \
	echo "[3/3] Spark, and compiled code"; \
	$(BIN)/redolake spark setup; \
	$(BIN)/redolake spark compile; \
	touch $(STAMP); \
	echo "set up. Next: make demo"

demo: $(STAMP) ## Run everything here: Oracle stand-in, workload, Airflow, Spark, Delta, comparison (KEEP=1 leaves it running, ORACLE=1 takes your Oracle, SOURCE=olr reads by OpenLogReplicator, SOURCE=standby a standby, SOURCE=standby-alone without its primary)
	@$(BIN)/python -m demo $(if $(KEEP),--keep) $(if $(ORACLE),--oracle) $(if $(SOURCE),--source $(SOURCE))

sql: $(STAMP) ## Open a SQL prompt on the source of a demo that was kept running
	@$(BIN)/python -m demo sql

kill: $(STAMP) ## Kill Airflow and Spark of a demo that was kept running, which starts them again
	@$(BIN)/python -m demo kill

stop: $(STAMP) ## Stop a demo that was kept running
	@$(BIN)/python -m demo stop

# A module at a time to each worker, in the order of tests/workers.py: slow ones first.
PYTEST = $(BIN)/python -m pytest -n $(or $(WORKERS),2) --dist loadfile --no-loadscope-reorder

test: $(STAMP) ## Run all tests (WORKERS=4 on more cores; ARGS="-n 0 -k name" for some of them in one process; BASE=main without the stand-in's, if it is as there)
	@$(PYTEST) $(if $(BASE),--standin-base $(BASE)) $(ARGS)

.PHONY: test-standin
test-standin: $(STAMP) ## Run the stand-in's own tests
	@$(PYTEST) standin/tests $(ARGS)

test-fast: $(STAMP) ## Run the first check: no Spark, no Airflow, no whole pipelines (five minutes on two cores)
	@$(PYTEST) -m "not spark and not airflow and not slow and not witness and not driver" $(ARGS)

coverage: $(STAMP) ## Run that check and print which lines and branches of pipelines/ it does not reach (ALL=1: of all tests)
	@$(PYTEST) $(if $(ALL),,-m "not spark and not airflow and not slow and not witness and not driver") --cov --cov-report=term-missing $(ARGS)

OLDEST = .venv-oldest
test-oldest: ## Run that check with the oldest packages that pyproject.toml allows, in an environment of its own
	@$(MAKE) test-fast VENV=$(OLDEST) VERSIONS="--resolution lowest-direct"

witness: $(STAMP) ## Run an unmodified Debezium on the stand-in, and compare it with the source and with Redolake (needs Maven; 5 minutes)
	@$(BIN)/python -m pytest -n 0 -m "witness or not witness" tests/witness $(ARGS)

driver-tests: $(STAMP) ## Run python-oracledb's own tests on the stand-in, from its source package or ORACLEDB_TESTS=folder; prints the report (4 minutes)
	@$(BIN)/python -m pytest -n 0 -rP -m "driver or not driver" tests/driver $(ARGS)

# On the database that REDOLAKE_ORACLE_DSN names, else on the stand-in: docs/how-to/try-a-real-oracle.md. The reports are in .oracle/.
oracle-set-up: $(STAMP) ## Prepare the database of the container REDOLAKE_ORACLE_DOCKER: ARCHIVELOG mode, user, grants
	@$(BIN)/python -m tests.oracle.container set-up

oracle-abort: $(STAMP) ## Kill the container REDOLAKE_ORACLE_DOCKER, and start it again: a test of an outage
	@$(BIN)/python -m tests.oracle.container abort

test-oracle: $(STAMP) ## Run the tests that a real Oracle answers, on REDOLAKE_ORACLE_DSN (else on the stand-in)
	@$(BIN)/python -m pytest -n 0 -m oracle tests/oracle --junitxml=.oracle/tests.xml $(ARGS)

selftest: $(STAMP) ## Run `redolake selftest` on REDOLAKE_ORACLE_DSN (else on the stand-in)
	@$(BIN)/python -m tests.oracle.selftest_command .oracle/selftest.json

verified-on: $(STAMP) ## Print a pull request for docs/verified-on.md, made of what test-oracle, selftest and demo ORACLE=1 have left
	@mkdir -p .oracle
	@$(BIN)/python -m tests.oracle.pull_request .oracle/tests.xml .oracle/selftest.json .demo/report.json > .oracle/verified-on.md
	@cat .oracle/verified-on.md

HUNTS = tests/e2e/test_kills_everywhere.py tests/e2e/test_cluster_kills.py tests/e2e/test_compose_services.py tests/integration/test_histories.py tests/integration/test_table_lives.py \
	tests/integration/test_objects_from_redo.py tests/integration/test_pipeline.py tests/integration/spark/test_assembled_histories.py \
	tests/integration/spark/test_batch.py tests/integration/test_key_logging.py tests/integration/test_mapped_lives.py tests/integration/test_mapping_matrix.py tests/integration/test_schemas.py \
	tests/unit/steps/test_any_order.py tests/integration/test_olr.py tests/integration/test_olr_rac.py tests/integration/test_table_writers.py tests/integration/spark/test_history.py \
	tests/integration/test_quarantine_lives.py tests/integration/spark/test_verify_buckets.py tests/integration/test_filled_columns.py
# Of these a run of all tests makes a third: tests/tables/dear_tests.py.
HUNTS += tests/e2e/airflow_pages/test_forms.py tests/e2e/airflow_pages/test_page.py tests/e2e/test_cluster.py tests/e2e/test_two_hosts.py \
	tests/integration/test_as_of.py tests/integration/test_backfill_ranges.py tests/integration/test_damaged_files.py tests/integration/test_damaged_logs.py \
	tests/integration/test_history.py tests/integration/test_keyless.py tests/integration/test_transactions.py tests/integration/test_lake_trouble.py tests/integration/test_mapping.py tests/integration/test_null_by_rule.py \
	tests/integration/test_quarantine.py tests/integration/test_recover_in_delta.py tests/integration/test_table_kinds.py tests/integration/spark/test_readers.py \
	tests/integration/spark/test_null_keys.py tests/integration/spark/test_maintenance.py tests/integration/spark/test_resnapshot.py tests/integration/spark/test_damaged_log.py \
	tests/contract/test_migrations.py tests/integration/test_chunks.py tests/integration/test_large_objects.py tests/integration/test_many_cores.py tests/integration/test_standby_lives.py tests/integration/test_unknown_transactions.py tests/integration/test_vanished_partitions.py tests/integration/test_whole_tables.py tests/unit/airflow/test_approval.py tests/witness/test_debezium.py
EXAMPLES = 200
# Once more with few changes of small tables merged without Spark.
COMMITS = $(addprefix tests/integration/spark/test_,batch.py batch_columns.py batch_holds.py followed_ddl.py guarded_commits.py history.py \
	maintenance.py resnapshot.py small_tables.py target_options.py types.py)

soak: $(STAMP) ## Hunt for hours: a kill after every write of every command, and EXAMPLES=200 new generated histories
	@set -e; export REDOLAKE_ALL_KILLS=1 REDOLAKE_PACKAGED_SCHEMAS=1 REDOLAKE_EXAMPLES=$(EXAMPLES) REDOLAKE_HISTORIES=$(EXAMPLES) REDOLAKE_SEED=$${REDOLAKE_SEED:-$$$$}; \
	echo "REDOLAKE_SEED=$$REDOLAKE_SEED repeats this hunt"; \
	$(PYTEST) --hypothesis-seed=$$REDOLAKE_SEED $(HUNTS) $(ARGS); \
	REDOLAKE_FEW_CHANGES=direct $(PYTEST) $(COMMITS) $(ARGS); \
	$(MAKE) mutants

mutants: $(STAMP) ## Change the deciders' code in thousands of ways, and see that a test turns red each time (an hour or two)
	@$(BIN)/python -m tests.mutants

readers: $(STAMP) ## Ask each reader of the lake for every value in every way, and compare with docs/reference/readers.md (WRITE=1 writes the table; half an hour)
	@$(BIN)/python -m tests.support.kernel_java
	@REDOLAKE_ALL_READERS=1 REDOLAKE_WRITE_READERS=$(WRITE) $(BIN)/python -m pytest -n 0 tests/integration/spark/test_readers.py $(ARGS)

findings: ## Run findings/*.sh, which show what libraries around a lake do unexpectedly, and print a line of each (installs their versions; no part of CI)
	@failed=0; \
	for script in findings/*.sh; do \
		if seen=$$(bash "$$script" 2>/dev/null); then \
			printf '%s: %s\n' "$$script" "$$(printf '%s\n' "$$seen" | tail -n 1)"; \
		else \
			printf '%s: FAILED: its libraries behave otherwise now, or were not installed; bash %s shows which\n' "$$script" "$$script"; failed=1; \
		fi; \
	done; \
	exit $$failed

bench: $(STAMP) ## Measure decode, small and large batches, many tables, capture; figures of each batch in bench-*.json (about 10 minutes)
	@$(BIN)/python benchmarks/parse_redo_sql.py
	@$(BIN)/python benchmarks/apply_batch.py --batches 4 --json bench-small.json
	@$(BIN)/python benchmarks/large_batch.py --json bench-large.json
	@$(BIN)/python benchmarks/many_tables.py --tables 10 50
	@$(BIN)/python benchmarks/capture.py --rows 20000 --turns 3 --terms 1
	@$(BIN)/python benchmarks/stream.py

bench-full: $(STAMP) ## Measure all in full size, Debezium's parser and a bare MERGE beside it, and the latency with Airflow (an hour)
	@$(BIN)/python benchmarks/parse_redo_sql.py --debezium
	@$(BIN)/python benchmarks/parse_redo_sql.py --debezium --columns 5
	@$(BIN)/python benchmarks/parse_redo_sql.py --debezium --columns 100
	@$(BIN)/python benchmarks/apply_batch.py --json bench-small.json
	@$(BIN)/python benchmarks/apply_batch.py --connect --json bench-connect.json
	@$(BIN)/python benchmarks/apply_batch.py --connect --tables 50 --warm-up 2 --batches 3 --json bench-fifty.json
	@$(BIN)/python benchmarks/large_batch.py --changes 500000 --rows 2000000 --bare --warm-up 3 --json bench-large.json
	@$(BIN)/python benchmarks/many_tables.py
	@$(BIN)/python benchmarks/many_ddl.py
	@$(BIN)/python benchmarks/quiet.py
	@$(BIN)/python benchmarks/history.py
	@$(BIN)/python benchmarks/capture.py --json bench-capture.json
	@$(BIN)/python benchmarks/big_transaction.py --changes 1000000 --json bench-transaction.json
	@$(BIN)/python benchmarks/latency.py --ways follow connect --schedule "every 3s" --warm-up 6 --rounds 4 --json bench-warm.json
	@$(BIN)/python benchmarks/latency.py --ways submit --warm-up 1 --rounds 3 --json bench-submit.json

ci: ## Run what continuous integration runs: all checks and all tests (PYTHON=python3.12 for another Python)
	@PYTHON="$(PYTHON)" .ci/run

ACTIONLINT = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
workflows: ## Lint .github/workflows with actionlint: the one on PATH, else built by Go
	@if command -v actionlint >/dev/null; then actionlint; else go run $(ACTIONLINT); fi

release: $(STAMP) ## Build the tag of this version into dist/, check it, and run the demo with it in an empty environment (10 minutes)
	@BIN="$(BIN)" TAG="$(TAG)" .ci/release

pins: $(STAMP) ## Write constraints-hashes.txt: the versions of constraints.txt, and the hashes of their files
	@printf 'setuptools\nwheel\n' | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make pins" -c constraints.txt --extra dev pyproject.toml - -o $(HASHES)

check: $(STAMP) ## Format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean: ## Remove what runs leave behind; .venv stays (rm -rf .venv for a fresh start)
	rm -rf .demo .release .oracle dist $(OLDEST) .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse metastore_db derby.log
	find pipelines standin demo tests dags -name __pycache__ -type d -prune -exec rm -rf {} +
