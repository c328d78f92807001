"""Bind a Delta commit to the redo it holds: txn (application id, last SCN that is complete) and user metadata.

For MERGE and UPDATE both are settings of the session, so each commit has a session of its own, and several tables can be
committed at the same time. Delta skips a txn version that it already has without an error: one version must never stand for two
different contents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from redolake.apply.spark.session import session_like
from redolake.apply.target import Tag

APP_ID = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"
METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def text_of(metadata: Mapping[str, object]) -> str:
    """Return the user metadata of our commits; it begins with OURS. Spark would replace ${..} in a setting's value."""
    return json.dumps({"redolake": dict(metadata)}, sort_keys=True).replace("$", "\\u0024")


def options_of(tag: Tag) -> dict[str, str]:
    """Return the options of a DataFrameWriter."""
    txn = {"txnAppId": tag.app_id, "txnVersion": str(tag.version)} if tag.app_id else {}
    return {**txn, "userMetadata": text_of(tag.metadata)}


@contextmanager
def session_with_tag(spark: SparkSession, tag: Tag) -> Iterator[SparkSession]:
    """Yield a session with the views of `spark`; its commits have the tag."""
    with session_like(spark) as session:
        for key, value in ((APP_ID, tag.app_id), (VERSION, str(tag.version))) if tag.app_id else ():
            session.conf.set(key, value)
        session.conf.set(METADATA, text_of(tag.metadata))
        yield session
