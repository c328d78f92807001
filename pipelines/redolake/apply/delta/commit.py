"""Bind a Delta commit to the redo it holds: txn (application id, last SCN that is complete) and user metadata.

For MERGE and UPDATE both are settings of the session, so each commit has a session of its own, and several tables can be
committed at the same time. Delta skips a txn version that it already has without an error: one version must never stand for two
different contents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from redolake.apply.spark.session import session_like

APP_ID = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"
METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def text_of(metadata: Mapping[str, object]) -> str:
    """Return the user metadata of our commits; it begins with OURS. Spark would replace ${..} in a setting's value."""
    return json.dumps({"redolake": dict(metadata)}, sort_keys=True).replace("$", "\\u0024")


@dataclass(frozen=True, slots=True)
class Tag:
    """The txn and user metadata of one commit; without an application id it has no txn. `metadata` is for DESCRIBE HISTORY; the
    code only reads whether it is ours, and what was checked."""

    app_id: str
    version: int
    metadata: Mapping[str, object]

    @property
    def text(self) -> str:
        return text_of(self.metadata)

    def options(self) -> dict[str, str]:
        """Return the options of a DataFrameWriter."""
        txn = {"txnAppId": self.app_id, "txnVersion": str(self.version)} if self.app_id else {}
        return {**txn, "userMetadata": self.text}


@contextmanager
def session_with_metadata(spark: SparkSession, metadata: Mapping[str, object]) -> Iterator[SparkSession]:
    """Yield a session with the views of `spark`; its commits have the user metadata, by which they are known as ours."""
    with session_with_tag(spark, Tag("", 0, metadata)) as session:
        yield session


@contextmanager
def session_with_tag(spark: SparkSession, tag: Tag) -> Iterator[SparkSession]:
    """Yield a session with the views of `spark`; its commits have the tag."""
    with session_like(spark) as session:
        for key, value in ((APP_ID, tag.app_id), (VERSION, str(tag.version))) if tag.app_id else ():
            session.conf.set(key, value)
        session.conf.set(METADATA, tag.text)
        yield session
