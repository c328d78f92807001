"""Every JSON record that Redolake writes, with one codec for all.

A file of the landing has its record in the module of its folder's name: `windows/..` in `windows`, `batches/../spec-..` in
`batches.spec`. Files of `backfills/` are those of a batch. Beside them: `jobs`, what a Spark job reads and leaves, whichever
folder it is of; `file_digest`, which manifests contain; `shown_facts`, which are in the ledger only.
"""
