"""The first files: a pipelines.yml proposed from the database, its grants, an OpenLogReplicator.json, the ledger's version."""
