"""The Spark job: connects decode, assemble and apply, for one batch or one snapshot load.

It reads a spec, commits to Delta and writes a manifest; it does not touch the ledger. `spark-submit job.py SPEC.json` runs
it, or `run` with any session, classic or Connect, that runs nothing else meanwhile.
"""
