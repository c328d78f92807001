"""`python -m demo.warm_up ADDRESS FOLDER`: one MERGE on a Connect server, whose first one takes ten times as long.

A process of its own: a Connect client whose server goes away holds up the end of its process for minutes.
"""

from __future__ import annotations

import sys

from pipelines.apply.session import open_session


def warm(remote: str, folder: str) -> None:
    spark = open_session("connect", remote, {})
    spark.sql(f"CREATE TABLE delta.`{folder}` (id BIGINT, value STRING) USING delta").collect()
    source = "(SELECT id, CAST(id AS STRING) AS value FROM range(10)) AS s"
    merge = f"MERGE INTO delta.`{folder}` AS t USING {source} ON t.id = s.id"
    spark.sql(f"{merge} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *").collect()
    spark.stop()


if __name__ == "__main__":
    warm(sys.argv[1], sys.argv[2])
