"""`python -m demo.warm_up ADDRESS FOLDER`: run one MERGE on a Spark Connect server, since the first takes ten times as long.

It runs in its own process: a Connect client whose server has gone delays the exit of its process by minutes.
"""

from __future__ import annotations

import sys

from redolake.apply.spark.quoting import quote
from redolake.apply.spark.session import open_session


def warm_up(remote: str, folder: str) -> None:
    spark = open_session("connect", remote, {})
    spark.sql(f"CREATE TABLE delta.{quote(folder)} (id BIGINT, value STRING) USING delta").collect()
    source = "(SELECT id, CAST(id AS STRING) AS value FROM range(10)) AS s"
    merge = f"MERGE INTO delta.{quote(folder)} AS t USING {source} ON t.id = s.id"
    spark.sql(f"{merge} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *").collect()
    spark.stop()


if __name__ == "__main__":
    warm_up(sys.argv[1], sys.argv[2])
