"""Where the lake is, and the file by which each job knows it again (job/lake.py)."""

from __future__ import annotations

from redolake.context import Run
from redolake.errors import LandingMissing
from redolake.land import layout
from redolake.land.cures import begin_again
from redolake.land.files import Files
from redolake.records.lakes import LakeMark, LakePlace


def lake_place(context: Run) -> LakePlace:
    """Return the lake for a job's spec, with the folders of the tables that have contents there."""
    pipeline, entries = context.pipeline, context.ledger.tables()
    holds = [e.table for e in entries if e.complete_to_scn is not None and e.table in pipeline.by_id]
    return LakePlace(
        pipeline=context.name,
        lake=pipeline.lake.rstrip("/"),
        mark=layout.lake_mark(context.name),
        landing=context.landing.files.url,
        record=layout.lake_record(pipeline.lake.rstrip("/")),
        holds=tuple(pipeline.target(table) for table in holds),
    )


def check_landing(context: Run) -> None:
    """Raise LandingMissing if the lake was written from this landing, which is empty: begin no second pipeline below a mount
    point."""
    place = lake_place(context)
    found = Files(place.lake).read_record(LakeMark, place.mark)
    if found is not None and found.landing == place.landing:
        raise LandingMissing(
            "the landing is empty, and the lake was written from it: it is not mounted, or another folder is there",
            cure="mount it, or correct `landing` in pipelines.yml, and run again. If it is lost for good: remove the file "
            f"{place.lake}/{place.mark} and the folders of its tables there, and run `redolake snapshot`, which reads all "
            "tables again",
            path=place.landing,
        )


def missing_landing(context: Run) -> LandingMissing:
    """Return the error of a landing that has no file of a pipeline that the ledger knows."""
    url = context.landing.files.url
    return LandingMissing(
        f"the ledger knows this pipeline, and the landing has no {layout.HANDOVER}: it is not mounted, or another folder is "
        "there",
        cure="mount it, or correct `landing` in pipelines.yml, and run again: no table is held. If it is lost for good: "
        f"{begin_again(layout.lake_mark(context.name))}",
        path=url,
    )
