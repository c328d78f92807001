"""What happens at a DDL, by its kind."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redolake.config.values import Settings
from redolake.values.table import TableId


class OnDdl(Settings):
    """What to do at a DDL. The defaults remove no row and change no value.

    follow       do the same in Delta: to rows, or to the column
    keep         leave the rows in Delta as they are, and go on
    resnapshot   stop the table before the statement, and read it again by itself, within the limits of `resnapshot`
    hold         stop the table before the statement
    """

    truncate: Literal["follow", "keep", "hold"] = Field(
        "hold", description="TRUNCATE TABLE: delete the rows in Delta too, keep them there, or hold the table"
    )
    drop_partition: Literal["follow", "keep", "resnapshot", "hold"] = Field(
        "hold",
        description="DROP or TRUNCATE PARTITION: delete the rows in Delta too (capture reads the table's key again); "
        "keep them; snapshot the table again by itself; or hold it. EXCHANGE PARTITION holds it with "
        "`follow` and `keep` too",
    )
    computed_default: Literal["follow", "resnapshot", "hold"] = Field(
        "hold",
        description="ADD of a column whose older rows get values that only Oracle knows (SYSDATE, a sequence, a "
        "function; an identity column): read key and column of all rows again, snapshot the table again "
        "by itself, or hold it",
    )
    drop_table: Literal["keep", "hold"] = Field(
        "hold", description="DROP TABLE: keep the Delta table as it is and go on, or hold the table"
    )
    recreate: Literal["resnapshot", "hold"] = Field(
        "hold",
        description="a table of the same name was created, after DROP TABLE or by a redefinition: snapshot it by "
        "itself, or hold",
    )
    rename_column: Literal["follow", "hold"] = Field("follow", description="RENAME COLUMN: rename it in Delta too, or hold")
    narrow: Literal["follow", "hold"] = Field(
        "hold", description="MODIFY to a type that not all values of the old one fit: change the type in Delta too, or hold"
    )
    primary_key: Literal["resnapshot", "hold"] = Field(
        "hold", description="the key was added, dropped or changed: snapshot the table again by itself, or hold it"
    )
    unknown_ddl: Literal["resnapshot", "hold"] = Field(
        "hold",
        description="any other DDL that is not followed, or a transaction that may have changed the table in redo that was "
        "never read: snapshot the table again by itself, or hold it",
    )


class DdlPolicies(OnDdl):
    """Those of one table; `renamed_to` is its name in Oracle, as its entry declares it."""

    renamed_to: TableId | None = None


DEFAULT_POLICIES = DdlPolicies()
