"""Write-once Parquet with a manifest: the copy of record, after which the source is done with."""

from pipelines.land.chain_rules import build_manifest, captured_since
from pipelines.land.landing import Landing

__all__ = ["Landing", "build_manifest", "captured_since"]
