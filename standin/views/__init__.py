"""The V$ and dictionary views of the stand-in, computed from the database's state at the moment of the query."""

from standin.views import accounts, code, dictionary, instance, keys, policies, redo, segments, sessions


def register() -> None:
    """Register all views."""
    for module in (redo, instance, sessions, dictionary, keys, accounts, policies, code, segments):
        module.register()
