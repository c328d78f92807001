"""A workload: the tables of a small shop, changed over the real driver by several sessions."""

from standin.workload.run import Workload, WorkloadSummary, run_workload

__all__ = ["Workload", "WorkloadSummary", "run_workload"]
