"""Bind a Delta commit to the redo it holds: txn (application id, last SCN that is complete) and user metadata.

For MERGE and UPDATE both are settings of the session, so a session must not write two tables at once. Delta skips a txn
version that it already has without an error: one version must never stand for two different contents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

APP_ID = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"
METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def text_of(metadata: Mapping[str, object]) -> str:
    """Return the user metadata of our commits; it begins with OURS."""
    return json.dumps({"redolake": dict(metadata)}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Tag:
    """The txn and user metadata of one commit. `metadata` is for DESCRIBE HISTORY; the code only reads whether it is ours."""

    app_id: str
    version: int
    metadata: Mapping[str, object]

    @property
    def text(self) -> str:
        return text_of(self.metadata)

    def options(self) -> dict[str, str]:
        """Return the options of a DataFrameWriter."""
        return {"txnAppId": self.app_id, "txnVersion": str(self.version), "userMetadata": self.text}


@contextmanager
def described(spark: SparkSession, metadata: Mapping[str, object]) -> Iterator[None]:
    """Give the user metadata, by which commits are known as ours, to every commit of the session in this block."""
    try:
        spark.conf.set(METADATA, text_of(metadata))
        yield
    finally:
        spark.conf.unset(METADATA)


@contextmanager
def tagged(spark: SparkSession, tag: Tag) -> Iterator[None]:
    """Give the tag to every commit of the session in this block."""
    try:
        spark.conf.set(APP_ID, tag.app_id)
        spark.conf.set(VERSION, str(tag.version))
        spark.conf.set(METADATA, tag.text)
        yield
    finally:
        for key in (APP_ID, VERSION, METADATA):
            spark.conf.unset(key)
