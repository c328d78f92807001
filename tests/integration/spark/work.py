"""Count the work that Spark has done."""

from __future__ import annotations

from typing import Any, NamedTuple


class Work(NamedTuple):
    jobs: int
    stages: int
    shuffled: int  # bytes

    def since(self, before: Work) -> Work:
        return Work(self.jobs - before.jobs, self.stages - before.stages, self.shuffled - before.shuffled)


def work_done(spark: Any) -> Work:
    """Return what Spark has done since it was started. Stages are counted whether they ran or were found done."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    jobs, seen = int(context.dagScheduler().numTotalJobs()), context.statusStore()
    last = [stage for number in range(max(jobs - 10, 0), jobs) for stage in seen.job(number).stageIds().mkString(" ").split()]
    executor = seen.executorList(True).apply(0)
    return Work(jobs, max(map(int, last), default=0), int(executor.totalShuffleWrite()))


def tasks_of(spark: Any, described: str) -> dict[int, int]:
    """Return how many tasks had each stage after a shuffle whose description begins so, by its number. Spark knows the newest
    stages alone."""
    context, no_quantiles = spark.sparkContext._jsc.sc(), spark.sparkContext._gateway.new_array(spark._jvm.double, 0)
    context.listenerBus().waitUntilEmpty()
    seen = context.statusStore().stageList(None, False, False, no_quantiles, None)
    stages = [seen.apply(number) for number in range(seen.size())]
    mine = [stage for stage in stages if str(stage.description()).startswith(f"Some({described}")]
    return {int(stage.stageId()): int(stage.numCompleteTasks()) for stage in mine if stage.shuffleReadRecords()}
