"""The landing: write-once Parquet files with a manifest. After a window has landed, the source's logs are not needed."""

from pipelines.land.chain_rules import build_manifest, captured_since
from pipelines.land.landing import Landing

__all__ = ["Landing", "build_manifest", "captured_since"]
