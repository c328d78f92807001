"""Write-once Parquet with a manifest: the copy of record, after which the source is done with."""

from pipelines.land.breaks import Break
from pipelines.land.chain import build_manifest, captured_since
from pipelines.land.landing import Landing
from pipelines.land.record import SliceRecord

__all__ = ["Break", "Landing", "SliceRecord", "build_manifest", "captured_since"]
