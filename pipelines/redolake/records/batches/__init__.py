"""A batch: the spec of its job, its manifest, and the open transactions whose rows it carries over."""
