"""The group `spark`: what a host needs before Spark runs there. It reads no pipelines file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redolake.cli.options import OutputOption, report_errors
from redolake.cli.output import Output, progress, show

app = typer.Typer(no_args_is_help=True)


@app.command(name="setup")
def set_up(output: OutputOption = Output.table) -> None:
    """Provide Java and Delta's jars for Spark on this host; with the extra `s3` also Hadoop's S3 file system.

    Missing files are downloaded from Maven once, into the environment's share/redolake.
    """
    from redolake.host.runtime import provide

    with report_errors(output):
        with progress() as report:
            found = provide(report)
        names = ", ".join(Path(jar).name for jar in found.delta_jars)
        lines = [f"Java for Spark: {found.java_home}", f"Delta for Spark: {names}"]
        lines += [f"S3 for Spark: {len(found.s3_jars)} jars"] if found.s3_jars else []
        show(output, found, lambda: "\n".join(lines))


@app.command(name="compile")
def compile_ahead(output: OutputOption = Output.table) -> None:
    """Compile the loops that decode redo, and keep them: else the first batch of a worker's user does.

    Run it as the user of Spark's Python workers, in an image or after an installation.
    """
    from redolake.decode.compile_ahead import compile_ahead

    with report_errors(output):
        with progress() as report:
            report("compiling")
            folder = compile_ahead()
        show(output, {"folder": folder}, lambda: f"Compiled, and kept in {folder}")


@app.command()
def pack(
    archive: Annotated[Path, typer.Argument(help="The archive to write.")] = Path("redolake-spark.tar.gz"),
    python: Annotated[
        Path | None, typer.Option(help="Path of Python on the cluster's hosts, of this one's minor version.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    output: OutputOption = Output.table,
) -> None:
    """Write an archive of what Spark's Python workers need, for a cluster whose hosts have no Redolake.

    It holds the packages that are installed here, with the loops that `redolake spark compile` has kept. The hosts need Spark,
    and Python at the path that the archive names.
    """
    from redolake.host.worker_archive import pack

    with report_errors(output):
        with progress() as report:
            report("packing, and trying what was packed")
            found = pack(archive, python, force=force)
        lines = [f"Packed {len(found.packages)} packages, {found.bytes / 1e6:,.0f} MB: {found.archive}"]
        lines += [f"The hosts need Python {found.python_version.rpartition('.')[0]} at {found.python}.", "In pipelines.yml:"]
        lines += ["  spark:", "    conf:", *(f"      {name}: {value}" for name, value in found.settings.items())]
        lines += ["For a Connect server:"]
        lines += ["  redolake spark serve " + " ".join(f"--conf {name}={value}" for name, value in found.settings.items())]
        show(output, found, lambda: "\n".join(lines))


@app.command()
def serve(
    master: Annotated[str, typer.Option(help="Spark's master: local[2], spark://host:7077, yarn, ...")] = "local[2]",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 15002,
    memory: Annotated[str, typer.Option(help="Memory of the driver, where batches are planned.")] = "2g",
    s3: Annotated[bool, typer.Option("--s3", help="With Hadoop's S3 file system, for a landing or lake on S3.")] = False,
    conf: Annotated[list[str] | None, typer.Option(help="KEY=VALUE: another setting of Spark; may be repeated.")] = None,
) -> None:
    """Start a Spark Connect server with the jars and settings that Delta and Redolake need, in place of this process."""
    from redolake.job.connect_server import serve

    if wrong := [one for one in conf or () if "=" not in one]:
        raise typer.BadParameter(f"write KEY=VALUE, not {wrong[0]}")
    with report_errors(Output.table):
        serve(master, host, port, memory, s3, conf or [])
