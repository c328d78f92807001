"""For the tests of the product and for those of the stand-in: load the plugins, and make garbage collections cheap."""

import gc

from hypothesis import settings

pytest_plugins = ["tests.workers", "tests.unchanged_standin", "tests.thirds"]

# A slow machine is no fault of an example.
settings.register_profile("redolake", deadline=None)
settings.load_profile("redolake")


def pytest_collection_finish() -> None:
    """Leave what is imported by now out of garbage collections, and collect less often: they took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
