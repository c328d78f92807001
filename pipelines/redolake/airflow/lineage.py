"""Lineage for OpenLineage, where its provider is installed: Oracle table, landing, Delta table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from redolake.config import Pipeline
from redolake.values.table import TableId
from redolake.values.terms import REPORTED

if TYPE_CHECKING:
    from redolake.steps.apply.batch import AppliedTable
    from redolake.steps.shown.column_lineage import ColumnOrigin, TableOrigin

Place = tuple[str, str]  # namespace and name of a dataset, as OpenLineage's naming has them


def is_installed() -> bool:
    return find_spec("airflow.providers.openlineage") is not None


def oracle_table(dsn: str, container: str | None, table: TableId) -> Place:
    """Return `oracle://host:port` and `service.OWNER.NAME`; of a multitenant database the PDB, which has the table. Of several
    addresses it is the first; of a DSN that cannot be read neither is said."""
    from redolake.source import parts_of  # oracledb is too heavy for the parsing of DAGs

    found = parts_of(dsn)
    address, service = ("unknown", "unknown") if found is None else (found.addresses[0], found.service)
    return f"oracle://{address}", ".".join([container or service, table.owner, table.name])


def files(location: str) -> Place:
    """Return `s3://bucket` and the path in it, or `file` and the path of this host."""
    parts = urlsplit(location)
    if parts.scheme in ("", "file"):
        return "file", parts.path
    return f"{parts.scheme}://{parts.netloc}", parts.path.strip("/")


def landing_folder(pipeline: Pipeline) -> Place:
    return files(pipeline.landing_folder)


def column_facet(table: Place, origin: TableOrigin) -> Any:
    """Return the facet of a Delta table that says which columns of the Oracle table its columns are made of."""
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    def inputs_of(one: ColumnOrigin) -> Any:
        subtype = "IDENTITY" if one.how is None else "TRANSFORMATION"
        how = facet.Transformation("DIRECT", subtype, one.how or "", one.masks)
        return facet.Fields([facet.InputField(*table, field=name, transformations=[how]) for name in one.columns])

    left_out = [facet.InputField(*table, field=name, transformations=[facet.Transformation("INDIRECT", "FILTER")])
                for name in origin.filter]  # fmt: skip
    return facet.ColumnLineageDatasetFacet(fields={one.name: inputs_of(one) for one in origin.columns}, dataset=left_out)


def change_facets(table: AppliedTable) -> dict[str, Any]:
    """Return the facets of a Delta table that count what a batch wrote there, and what the lake has not as Oracle does."""
    from openlineage.client.facet_v2 import output_statistics_output_dataset as facet
    from openlineage.client.generated.base import OutputDatasetFacet

    counts = {term.name: getattr(table, term.name) for term in REPORTED}
    return {
        "outputStatistics": facet.OutputStatisticsOutputDatasetFacet(rowCount=table.inserted + table.updated),
        "redolake_changes": OutputDatasetFacet().with_additional_properties(**counts),
    }


def report_lineage(
    context: Any,
    inputs: Iterable[Place],
    outputs: Iterable[Place],
    columns: Mapping[Place, Any] | None = None,
    changes: Mapping[Place, AppliedTable] | None = None,
) -> None:
    """Let the provider report these datasets when the task of this context is complete. `columns` are facets of the outputs,
    `changes` say what a batch did to them."""
    if not is_installed():
        return
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import Dataset, OutputDataset

    facets, applied = columns or {}, changes or {}
    found = OperatorLineage(
        inputs=[Dataset(namespace=namespace, name=name) for namespace, name in inputs],
        outputs=[
            OutputDataset(
                namespace=one[0],
                name=one[1],
                facets={"columnLineage": facets[one]} if one in facets else {},
                outputFacets=change_facets(applied[one]) if one in applied else {},
            )
            for one in outputs
        ],
    )
    # The provider asks the operator; those of decorated functions have no such method of their own.
    context["task"].get_openlineage_facets_on_complete = lambda _: found
