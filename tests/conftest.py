"""Fixtures by subject; nothing else."""

pytest_plugins = ["tests.fix_postgres", "tests.fix_spark", "tests.fix_shop"]
