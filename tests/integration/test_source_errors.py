"""ORA- errors as the driver reports them: transient ones are retried, wrappers are unwrapped, and each has its cure."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from redolake.config.limits import Retry
from redolake.errors import LogMinerFailed, SourceBusy, SourceUnavailable, Terminal, Transient
from redolake.source.connection import ConnectParams
from redolake.source.oracle import open_source
from standin.serve import standin

PDB = "FREEPDB1"
ONCE = Retry(initial_seconds=0.01, max_seconds=0.01, attempts=1)
RETRIED = {
    SourceUnavailable: (2392, 2394, 2399, 12569, 12606, 12609, 12637, 12805, 15055, 15064, 15077, 16331, 25408),
    SourceBusy: (40, 4061, 4065, 8103, 12850, 44203),
    LogMinerFailed: (1333,),
}


@pytest.fixture(scope="module")
def oracle():
    with standin() as running:
        yield running


def params(oracle):
    return ConnectParams(oracle.capture_user, oracle.passwords[oracle.capture_user], oracle.root_dsn)


@pytest.fixture
def source(oracle):
    with open_source(params(oracle), retry=ONCE) as opened:
        yield opened
    oracle.faults.mend_statements()


@pytest.mark.parametrize(("kind", "code"), [(kind, code) for kind, codes in RETRIED.items() for code in codes])
def test_an_error_that_passes_is_transient_and_the_statement_succeeds_later(oracle, source, kind, code):
    oracle.faults.fail_statements(code, containing="v$database")

    with pytest.raises(kind) as caught:
        source.query("current_scn")

    assert caught.value.ora_code == code
    assert "retried" in caught.value.cure
    assert source.query("current_scn")


@pytest.mark.parametrize("code", [12505, 12514, 12516, 12526, 12527, 12528, 12599])
def test_a_client_that_the_listener_refuses_for_a_while_is_retried(oracle, code):
    oracle.faults.refuse_clients(code)
    try:
        with pytest.raises(SourceUnavailable) as caught:
            open_source(params(oracle), retry=ONCE)
    finally:
        oracle.faults.admit_clients()

    assert caught.value.ora_code == code
    open_source(params(oracle), retry=ONCE).close()


@pytest.mark.parametrize("code", [18, 20, 1035, 3136])
def test_a_login_that_is_refused_for_a_while_is_retried(oracle, code):
    oracle.faults.refuse_logons(code)
    try:
        with pytest.raises(SourceUnavailable) as caught:
            open_source(params(oracle), retry=ONCE)
    finally:
        oracle.faults.admit_logons()

    assert caught.value.ora_code == code
    open_source(params(oracle), retry=ONCE).close()


@pytest.mark.parametrize("wrapper", [604, 6512, 12801])
@pytest.mark.parametrize(("code", "kind"), [(4036, SourceBusy), (1555, Terminal), (12850, SourceBusy), (1284, Terminal)])
def test_the_cause_below_a_wrapper_decides(oracle, source, wrapper, code, kind):
    oracle.faults.fail_statements(code, containing="v$database", wrapped_in=wrapper)

    with pytest.raises(kind) as caught:
        source.query("current_scn")

    assert caught.value.ora_code == code
    assert isinstance(caught.value, Transient) == (kind is SourceBusy)
    assert f"ORA-{wrapper:05d}" in caught.value.what


@contextmanager
def closed_pdb(oracle):
    oracle.faults.close_pdb()
    try:
        yield
    finally:
        oracle.faults.open_pdb()


@pytest.mark.parametrize("by_service", [False, True], ids=["one switch", "its own service"])
def test_a_closed_pdb_is_unavailable_until_it_opens(oracle, by_service):
    user = oracle.capture_user
    to_pdb = ConnectParams(user, oracle.passwords[user], oracle.root_dsn, pdb_dsn=oracle.pdb_dsn if by_service else None)
    with open_source(to_pdb, retry=ONCE) as source:
        with closed_pdb(oracle), pytest.raises(SourceUnavailable):
            source.use_container(PDB)
        source.use_container(PDB)
        assert source.query("current_container")[0].container == PDB
