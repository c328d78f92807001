"""A pyarrow that computes wrong texts is refused before its values are landed or decoded."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from redolake.apply.spark.failures import check_session
from redolake.errors import ConfigurationError
from redolake.host import arrow_check
from redolake.host.arrow_check import arrow_findings, check_arrow
from redolake.job.translation import translation
from redolake.mine.mining import mine_slice
from redolake.values.delivery import PLAIN
from redolake.values.redo import Encoding
from tests.support.assumes import assumes


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let `if_else` answer as that of pyarrow 23 does: the bytes of a slice begin at the start of the array's."""
    monkeypatch.setattr(arrow_check, "pc", SimpleNamespace(if_else=lambda *_: pa.array(["f", None, "\0\0\0"])))
    arrow_findings.cache_clear()
    yield
    arrow_findings.cache_clear()


@assumes(
    "`if_else` copies the texts of a slice as they are, which versions before 24 do not", of="pyarrow",
    used_in="pipelines/redolake/host/arrow_check.py", says="Versions before 24 do (apache/arrow#49410)",
)  # fmt: skip
def test_the_installed_pyarrow_is_sound() -> None:
    check_arrow()
    assert arrow_findings() == []


@pytest.mark.usefixtures("faulty")
def test_validate_names_the_version_and_the_cure() -> None:
    (finding,) = arrow_findings()
    assert (finding.severity, finding.subject) == ("error", "pyarrow")
    assert pa.__version__ in finding.what
    assert "pyarrow 24 or later" in finding.cure


@pytest.mark.usefixtures("faulty")
def test_nothing_is_mined_with_it() -> None:
    nothing: Any = None
    with pytest.raises(ConfigurationError, match="pyarrow"):
        mine_slice(nothing, nothing, nothing, tables=[], object_ids=frozenset(), container=None, fetch_rows=1)


@pytest.mark.usefixtures("faulty")
def test_nothing_is_decoded_with_it_and_no_table_is_held() -> None:
    """Spark's Python worker runs what mapInArrow is given; its error ends the job."""
    given: list[Any] = []
    frame: Any = SimpleNamespace(schema=[], mapInArrow=lambda work, _: given.append(work))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("redolake.job.translation.to_arrow_schema", lambda _: pa.schema([]))
        patch.setattr("redolake.job.translation.changes_schema", lambda *_: pa.schema([]))
        translation(Encoding(), show_row_data=False).decode(frame, SimpleNamespace(columns=()), PLAIN, {})
    (work,) = given
    with pytest.raises(ConfigurationError, match="pyarrow") as refused:
        next(work(iter([pa.record_batch([], names=[])])))

    as_spark_shows_it, no_session = RuntimeError(f"PythonException: {refused.value}"), cast("SparkSession", None)
    with pytest.raises(ConfigurationError, match="pyarrow of Spark's Python workers"):
        check_session(no_session, as_spark_shows_it)
