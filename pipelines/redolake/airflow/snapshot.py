"""`<name>_snapshot`: load the first contents of tables AS OF one SCN. Started by hand."""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.assets import publish_table_events, tables_alias
from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.forms import chosen_tables, tables_param
from redolake.airflow.groups import group_evenly, group_label
from redolake.airflow.run_notes import leave_note
from redolake.airflow.settings import dag_settings
from redolake.airflow.spark import spark_task
from redolake.airflow.tasks import short_circuit_task, task
from redolake.airflow.texts import SNAPSHOT, TASKS, dag_text
from redolake.config import Pipeline
from redolake.errors import RedolakeError, TableHeld, Transient, one_line
from redolake.values.null_rule import nulled_text
from redolake.values.utc import beside

if TYPE_CHECKING:
    from redolake.steps.snapshots.begin import ReadShare
    from redolake.steps.snapshots.read import TableSnapshot

log = logging.getLogger(__name__)


def rows_text(done: TableSnapshot) -> str:
    nulled = f", {nulled_text(done.nulled)}" if done.nulled else ""
    return f"{one_line(done.table)}: {done.rows} rows AS OF SCN {done.scn}{beside(done.at)}{nulled}"


def grouped_shares(shares: Sequence[ReadShare]) -> dict[str, Any]:
    """Return the arguments of one `read`."""
    return {"shares": [{**asdict(share), "tables": list(share.tables)} for share in shares]}


def label_of(share: dict[str, Any]) -> str:
    """Return a table's name, with the worker of one in chunks."""
    name = group_label(share["tables"])
    return name if share["of"] == 1 else f"{name} {share['worker'] + 1}/{share['of']}"


def tables_of(begun: Iterable[dict[str, Any]]) -> list[str]:
    """Return the tables that were begun."""
    return list(dict.fromkeys(table for group in begun for share in group["shares"] for table in share["tables"]))


def read_each(
    read_one: Callable[[dict[str, Any]], TableSnapshot], shares: Sequence[dict[str, Any]], *, is_last: bool
) -> list[TableSnapshot]:
    """Read the shares of one task, and return those that were read.

    A table that cannot be read does not stop the others. Raise its error where a next try may read it, or where nothing was
    read: else `check` names the table. Rows that were read are not read again.
    """
    found: list[TableSnapshot] = []
    errors = list[RedolakeError]()
    for share in shares:
        try:
            found.append(read_one(share))
        except RedolakeError as error:
            log.error("%s", error)
            errors.append(error)
    for done in found:
        log.info("%s", rows_text(done))
    passing = [error for error in errors if isinstance(error, Transient)]
    if errors and (not found or (passing and not is_last)):
        raise (passing or errors)[0]
    return found


def snapshot_dag(pipeline: Pipeline) -> DAG:
    @short_circuit_task(doc_md=TASKS["begin"])
    def begin() -> list[dict[str, Any]]:
        """Return the arguments of each `read`; with none the run ends."""
        from redolake import steps

        context = get_current_context()
        chosen = context["params"]
        with resolved_pipeline(pipeline) as resolved:
            begun = steps.begin_snapshot(
                steps.Run(resolved, source_of(pipeline)),
                chosen_tables(chosen) or None,
                replace=bool(chosen["replace"]),
                only_held=bool(chosen["by_policy"]),
            )
        if begun.held:
            message = str(TableHeld(begun.held))
            if not begun.tables:
                raise AirflowFailException(message)
            log.warning("%s", message)
            context["ti"].xcom_push(key="held", value=message)
        names = one_line(", ".join(begun.tables)) or "no table is to be read"
        log.info("AS OF SCN %s%s: %s", begun.scn, beside(begun.at), names)
        leave_note(context, names)
        sessions = {str(t.id): resolved.settings(t.id).snapshot.sessions for t in resolved.tables} if begun.chunks else {}
        return [grouped_shares(group) for group in group_evenly(begun.shares(sessions))]

    @task(
        doc_md=TASKS["read"],
        multiple_outputs=False,
        max_active_tis_per_dagrun=max(pipeline.parallel_sessions, pipeline.snapshot.sessions),
        map_index_template="{{ table_label }}",
    )
    def read(shares: list[dict[str, Any]]) -> list[dict[str, Any]]:
        from redolake import steps

        context = get_current_context()
        context["table_label"] = group_label([label_of(share) for share in shares])  # type: ignore[typeddict-unknown-key]
        by_itself, is_last = bool(context["params"]["by_policy"]), context["ti"].try_number > context["ti"].max_tries
        with resolved_pipeline(pipeline) as resolved, steps.Run(resolved, source_of(pipeline)) as run:

            def read_one(share: dict[str, Any]) -> TableSnapshot:
                (table,), worker = share["tables"], (share["worker"], share["of"])
                return steps.read_snapshot_table(run, share["scn"], table, by_itself=by_itself, worker=worker, waits=False)

            return [asdict(done) for done in read_each(read_one, shares, is_last=is_last)]

    # A table that cannot be read does not stop the others: `check` fails the run at the end.
    @task(multiple_outputs=True, doc_md=TASKS["prepare"], trigger_rule="all_done_min_one_success")
    def prepare(done: Iterable[list[dict[str, Any]]], begun: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the batch, and the tables that were not read."""
        from redolake import steps

        reads = {item["table"]: item["scn"] for group in done for item in group if item["complete"]}
        unread = [table for table in tables_of(begun) if table not in reads]
        replace = bool(get_current_context()["params"]["replace"])
        with resolved_pipeline(pipeline) as resolved:
            return {"batch": steps.prepare_snapshot_load(resolved, reads, replace=replace), "unread": unread}

    @task(doc_md=TASKS["record"], outlets=[tables_alias(pipeline)])
    def record(batch: str, begun: list[dict[str, Any]], unread: list[str]) -> str:
        """Return a message about the tables that were not loaded."""
        from redolake import steps

        context = get_current_context()
        message, held = context["ti"].xcom_pull(task_ids="begin", key="held") or "", set()
        if unread:
            message += f"\nnot read, see their tasks: {one_line(', '.join(unread))}"
        with resolved_pipeline(pipeline) as resolved:
            try:
                said = "\n".join(map(rows_text, steps.record_snapshot_load(resolved, batch).tables))
                log.info("%s", said)
                leave_note(context, said)
            except TableHeld as error:
                message += f"\n{error}"
                held = {finding.subject for finding in error.findings}
            complete_to = steps.read_complete_to(resolved)
        loaded = {*tables_of(begun)} - held - {*unread}
        publish_table_events(context["outlet_events"], pipeline, loaded, complete_to)
        return message.strip()

    @task(doc_md=TASKS["check"])
    def check(message: str) -> None:
        if message:
            raise AirflowFailException(message)

    params = {
        "tables": tables_param(pipeline, [], "None chosen: all tables that have no contents yet."),
        "replace": Param(
            False,
            type="boolean",
            title="Replace",
            description="Read chosen tables again that have contents. One commit replaces them; older versions stay.",
        ),
        "by_policy": Param(
            False, type="boolean", title="By policy", description="Only held tables, within the limits of `resnapshot`."
        ),
    }
    with DAG(**dag_settings(pipeline, "snapshot"), params=params, doc_md=dag_text(SNAPSHOT, pipeline)) as dag:
        begun = begin()
        prepared = prepare(read.expand_kwargs(begun), begun)
        recorded = record(prepared["batch"], begun, prepared["unread"])
        spark_task(pipeline, prepared["batch"], TASKS["spark"]) >> recorded
        check(recorded)
    return dag
