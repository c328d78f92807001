"""The gate reads the views of a running stand-in, under each reading of Oracle's behaviour that is not certain."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from redolake.errors import SourceBusy
from redolake.source.connection import ConnectParams
from redolake.source.facts import read_redo_facts
from redolake.source.oracle import open_source
from redolake.steps.capture.read_and_plan import read_and_plan
from redolake.values.redo import Position
from redolake.values.scn import Scn, ScnRange
from redolake.window import Lost, NothingNew, Sealed, incarnation_at, missing_logs, plan_window
from standin.serve import standin


@dataclass(frozen=True)
class Limits:
    max_bytes: int = 2**40
    slice_bytes: int = 2**40


def params(oracle, dsn=None):
    password = oracle.passwords[oracle.capture_user]
    return ConnectParams(user=oracle.capture_user, password=password, dsn=dsn or oracle.root_dsn)


def facts_of(oracle, dsn=None):
    with open_source(params(oracle, dsn)) as source:
        return read_redo_facts(source)


def run(oracle, *statements, user):
    with oracle.connect(user) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


def switch(oracle):
    run(oracle, "ALTER SYSTEM ARCHIVE LOG CURRENT", user="SYS")


def at(facts, scn):
    found = incarnation_at(Scn(scn), facts)
    assert found is not None
    return Position(facts.dbid, found.resetlogs_id, Scn(scn))


def scn_of(oracle):
    return facts_of(oracle).current_scn


def logs_of(answer):
    assert isinstance(answer, Sealed), answer
    return [(g.thread, g.sequence) for s in answer.window.slices for g in s.logs]


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("keeps", [False, True])
def test_windows_continue_over_a_resetlogs(above, keeps):
    with standin(resetlogs_above_end=above, keeps_enable_scn=keeps) as oracle:
        switch(oracle)
        start = at(facts_of(oracle), scn_of(oracle))
        born = oracle.faults.reset_logs()
        switch(oracle)
        facts = facts_of(oracle)

        first = plan_window(start, facts, Limits())
        assert logs_of(first) == [(1, 2)]
        assert first.window.slices[0].logs[0].next_scn == born.resetlogs_scn - above
        assert first.window.scns == ScnRange(start.scn, Scn(born.resetlogs_scn))
        assert logs_of(plan_window(at(facts, born.resetlogs_scn), facts, Limits())) == [(1, 1)]
        assert missing_logs(start, facts) == ()


@pytest.mark.parametrize("keeps", [False, True])
def test_an_old_incarnation_whose_rows_are_all_gone_is_lost(keeps):
    with standin(keeps_enable_scn=keeps) as oracle:
        start = at(facts_of(oracle), scn_of(oracle))
        switch(oracle)
        born = oracle.faults.reset_logs()
        oracle.faults.age_out_records(resetlogs_id=start.resetlogs_id)
        oracle.faults.forget_history(before_scn=born.resetlogs_scn)
        switch(oracle)

        answer = plan_window(start, facts_of(oracle), Limits())

        assert isinstance(answer, Lost), answer
        assert "no view shows a log of the thread" in str(answer.error)


@pytest.mark.parametrize("open_end", [2**48 - 1, 9_295_429_630_892_703_743, 2**64 - 1])
def test_an_open_log_is_not_taken_for_a_switched_one(open_end):
    with standin(open_end=open_end) as oracle:
        start = at(facts_of(oracle), scn_of(oracle))

        answer = plan_window(start, facts_of(oracle), Limits())

        assert isinstance(answer, NothingNew), answer
        assert answer.held_back_by == (1,)


def test_a_file_of_an_abandoned_future_is_not_mined_in_place_of_the_log():
    with standin() as oracle:
        start = at(facts_of(oracle), scn_of(oracle))
        switch(oracle)
        true_end = next(g.next_scn for g in facts_of(oracle).archived)
        oracle.faults.catalogue_file("/arch/abandoned", to_sequence=1, next_scn=true_end + 900)

        answer = plan_window(start, facts_of(oracle), Limits())

        assert isinstance(answer, Sealed), answer
        assert answer.window.scns.end == true_end
        assert all(c.name != "/arch/abandoned" for g in answer.window.slices[0].logs for c in g.claimed)
        oracle.faults.forget_history(before_scn=true_end)
        oracle.faults.catalogue_file("/arch/later", to_sequence=1, first_scn=int(start.scn), next_scn=true_end + 900)
        switch(oracle)
        switch(oracle)
        switch(oracle)  # V$LOG shows log 1 no more
        assert isinstance(plan_window(start, facts_of(oracle), Limits()), Lost)


@pytest.mark.parametrize("view", ["v$log_history", "v$database_incarnation", "v$archived_log", "v$thread"])
@pytest.mark.parametrize("switched", [True, False])
def test_a_file_of_an_abandoned_future_catalogued_between_two_reads_is_not_mined(view, switched):
    with standin() as oracle:
        switch(oracle)
        facts = facts_of(oracle)
        start, begins = at(facts, facts.current_scn), int(facts.archived[0].next_scn)

        def meanwhile():
            if switched:
                switch(oracle)
            oracle.faults.catalogue_file(
                "/arch/abandoned", to_sequence=1, first_scn=begins, next_scn=begins + 90_000, sequence=2
            )

        oracle.faults.act_before(view, meanwhile)
        answer = plan_window(start, facts_of(oracle), Limits())

        assert isinstance(answer, Sealed if switched else NothingNew), answer
        if switched:
            assert all(c.name != "/arch/abandoned" for g in answer.window.slices[0].logs for c in g.claimed)


def test_a_plan_reads_the_views_again_until_no_log_is_switched_meanwhile():
    with standin() as oracle:

        def again():
            switch(oracle)
            oracle.faults.act_before("v$archived_log", again)

        again()
        with pytest.raises(SourceBusy, match="switched during each"):
            facts_of(oracle)


def test_a_standby_waits_for_the_logs_of_each_thread():
    with standin(threads=2) as oracle:
        start = at(facts_of(oracle), scn_of(oracle))
        switch(oracle)
        oracle.faults.stop_transport(thread=2)
        switch(oracle)
        facts = facts_of(oracle, oracle.standby_root_dsn)
        assert {t.is_open for t in facts.threads} == {False}
        assert facts.online == ()

        answer = plan_window(start, facts, Limits())

        assert isinstance(answer, Sealed), answer
        assert answer.window.scns.end == max(g.next_scn for g in facts.archived if g.thread == 2)
        stands = plan_window(at(facts, answer.window.scns.end), facts, Limits())
        assert isinstance(stands, NothingNew), stands
        assert "redo thread 2: no view shows its next log yet" in stands.reason


def test_the_log_of_a_closed_thread_that_others_switched_is_mined_with_the_rest():
    with standin(threads=2) as oracle:
        start = at(facts_of(oracle), scn_of(oracle))
        oracle.faults.close_thread(2)
        switch(oracle)
        oracle.faults.switch_closed_thread(2)
        switch(oracle)
        facts = facts_of(oracle)
        closed = next(t for t in facts.threads if t.number == 2)
        assert [g.first_scn >= closed.checkpoint_scn for g in facts.archived if g.thread == 2] == [False, True]

        assert [n for n in logs_of(plan_window(start, facts, Limits())) if n[0] == 2] == [(2, 1), (2, 2)]


@pytest.mark.parametrize("clears", [False, True])
def test_a_thread_that_was_enabled_again_continues_its_sequences(clears):
    with standin(threads=2, clears_disable_scn=clears) as oracle:
        switch(oracle)
        switch(oracle)
        oracle.faults.close_thread(2)
        oracle.faults.disable_thread(2)
        gone = max(g.next_scn for g in facts_of(oracle).archived if g.thread == 2)
        switch(oracle)
        start = at(facts_of(oracle), scn_of(oracle))
        oracle.faults.forget_history(before_scn=gone)
        oracle.faults.age_out_records(thread=2)
        run(oracle, "ALTER DATABASE ENABLE PUBLIC THREAD 2", user="SYS")
        oracle.faults.open_thread(2)
        switch(oracle)

        answer = plan_window(start, facts_of(oracle), Limits())

        assert isinstance(answer, Sealed), answer
        assert {t for t, _ in logs_of(answer)} == {1, 2}


def test_a_log_whose_row_comes_late_is_not_lost():
    with standin() as oracle:
        start = at(facts_of(oracle), scn_of(oracle))
        oracle.faults.delay_records(reads=2)
        switch(oracle)
        facts = facts_of(oracle)
        at_once = plan_window(start, facts, Limits())
        assert isinstance(at_once, Lost)
        assert at_once.may_appear

        with open_source(params(oracle)) as source:
            _, answer = read_and_plan(source, start, Limits(), pause_seconds=0)

        assert logs_of(answer) == [(1, 1)]
