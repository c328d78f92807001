"""A session: what it may see and call, its names, its table locks, its branches of distributed transactions."""
