"""What people read of a pipeline: views, versions of schemas, lineage, statistics."""
