"""Where Airflow finds Redolake's page in a checkout. An installed Redolake is found by its entry point, and only once."""

from importlib.metadata import entry_points

if not entry_points(group="airflow.plugins", name="redolake"):
    from redolake.airflow.plugin import RedolakePlugin

    __all__ = ["RedolakePlugin"]
