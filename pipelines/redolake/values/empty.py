"""Empty large objects: to Oracle EMPTY_CLOB() IS NOT NULL. Whoever shows one as NULL says beside it that it is empty."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def with_empty(values: Any, is_empty: pa.Array | pa.ChunkedArray) -> Any:
    """Return an array of texts or bytes, with an empty one wherever `is_empty` says so. Its type stays."""
    if not pc.any(is_empty).as_py():
        return values
    is_bytes = pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)
    return pc.if_else(is_empty, pa.scalar(b"" if is_bytes else "", values.type), values)
