"""Serves one client connection: logon, then requests until it ends."""

from __future__ import annotations

import logging
import socket
from dataclasses import dataclass

from standin.interface import ROUND_TRIPS, Instance, OraError, Session
from standin.wire import handshake, messages, requests
from standin.wire.auth import AuthRequest, Handshake, read_auth_request, sent_password, user_name
from standin.wire.errors import CANCELLED, as_ora_error, cancelled
from standin.wire.lobs import LobStore
from standin.wire.network_faults import NetworkFaults, oracle_error
from standin.wire.packets import Disconnected, Marker, PacketStream
from standin.wire.reader import Reader, RequestNotUnderstood
from standin.wire.requests import ONE_WAY, PIGGYBACK, REQUEST, Dialect, Function
from standin.wire.statements import Reply, Statements
from standin.wire.watch import CallWatch

log = logging.getLogger(__name__)

WRONG_PASSWORD = OraError(1017, "invalid username/password; logon denied")


@dataclass(frozen=True, slots=True)
class _LoggedOn:
    """The parts of a session that exist after its logon."""

    session: Session
    statements: Statements
    lobs: LobStore
    dialect: Dialect


class ClientSession:
    def __init__(
        self, instance: Instance, connection: socket.socket, watch: CallWatch, network_faults: NetworkFaults, rounds: int
    ) -> None:
        self._instance, self._watch, self._network_faults = instance, watch, network_faults
        self._stream = PacketStream(connection)
        self._session: Session | None = None
        self._rounds = rounds
        self._sequence = 0
        self._key = b""  # of the logon; a new password is encrypted with it

    def run(self) -> None:
        """Serve the client until it disconnects, then close its session."""
        try:
            logged_on = self._log_on()
            if logged_on is not None:
                self._serve(logged_on)
        except (Disconnected, RequestNotUnderstood) as reason:
            log.debug("session ends: %s", reason)
        finally:
            self._log_off()
            self._stream.socket.close()

    def kill(self) -> None:
        """Cancel the running call and disconnect. Called from another thread."""
        session = self._session
        if session is not None:
            session.cancel()
        try:
            self._stream.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            log.debug("the client had disconnected already")

    # -- logon

    def _log_on(self) -> _LoggedOn | None:
        stream = self._stream
        connect = handshake.receive_connect(stream)
        code = self._network_faults.refuse
        if code is None and not self._instance.knows_service(connect.service):
            code = 12514
        if code is not None:
            handshake.refuse(stream, code)
            return None
        handshake.accept(stream, connect.sdu)
        dialect = handshake.negotiate(stream)
        try:
            session = self._authenticated(connect, dialect)
        except OraError as error:
            stream.send_data(messages.end_of_call(self._context(), error=error))
            return None
        lobs = LobStore(dialect)
        return _LoggedOn(session, Statements(session, lobs, dialect, self._network_faults.before_statement), lobs, dialect)

    def _authenticated(self, connect: handshake.ConnectData, dialect: Dialect) -> Session:
        first = read_auth_request(self._logon_request(Function.AUTH_PHASE_ONE), dialect)
        typed, user = first.user, user_name(first.user)
        logon = Handshake(self._instance.password_of(user, connect.service), self._rounds)
        self._stream.send_data(messages.return_parameters(*logon.challenge()) + messages.status(self._context()))
        answer = read_auth_request(self._logon_request(Function.AUTH_PHASE_TWO), dialect)
        accepted = logon.accepts(answer.pairs)
        if accepted is None:
            raise WRONG_PASSWORD
        self._key = accepted.key
        refusal = self._network_faults.refuse_logon
        if refusal is not None and user != "SYS":
            raise oracle_error(refusal)
        instance = self._instance
        session = self._session = instance.logon(
            user,
            connect.service,
            program=connect.program,
            machine=connect.machine,
            instance=connect.instance,
            typed=typed,
            client=user_name(answer.pairs["PROXY_CLIENT_NAME"]) if "PROXY_CLIENT_NAME" in answer.pairs else None,
        )
        facts = {
            "AUTH_VERSION_STRING": "- Production",
            "AUTH_VERSION_SQL": "26",
            "AUTH_VERSION_NO": str(_version_number(instance.version)),
            "AUTH_SESSION_ID": str(session.number),
            "AUTH_SERIAL_NUM": str(session.serial),
            "AUTH_MAX_OPEN_CURSORS": "300",  # without it the driver has no statement cache
            "AUTH_MAX_IDEN_LENGTH": "128",
            "AUTH_SC_SERVICE_NAME": connect.service.lower(),
            "AUTH_SC_DBUNIQUE_NAME": instance.name,
            "AUTH_SC_REAL_DBUNIQUE_NAME": instance.name,
            "AUTH_INSTANCENAME": connect.instance or instance.name,
            "AUTH_SC_DB_DOMAIN": "",
            "AUTH_SVR_RESPONSE": accepted.proof.hex().upper(),
        }
        session.set_client(
            terminal=first.pairs.get("AUTH_TERMINAL", ""),
            os_user=first.pairs.get("AUTH_SID", ""),
            driver=answer.pairs.get("SESSION_CLIENT_DRIVER_NAME", ""),
        )
        for namespace, name, value in answer.contexts:
            session.set_context(namespace, {name: value})
        if "AUTH_NEWPASSWORD" in answer.pairs:
            self._change_password(session, answer)
        self._stream.send_data(messages.return_parameters(facts) + messages.status(self._context()))
        return session

    def _change_password(self, session: Session, answer: AuthRequest) -> None:
        new = sent_password(self._key, answer.pairs, "AUTH_NEWPASSWORD").decode()
        session.execute(f'ALTER USER "{session.user}" IDENTIFIED BY "{new}"', [])

    def _changed_password(self, session: Session, answer: AuthRequest) -> Reply:
        """Change the password of a session that exists, if the client knows the old one."""
        if sent_password(self._key, answer.pairs, "AUTH_PASSWORD").decode() != session.password:
            raise WRONG_PASSWORD
        self._change_password(session, answer)
        return Reply([messages.return_parameters({})], is_status=True)

    def _logon_request(self, function: Function) -> Reader:
        reader = self._stream.request()
        if not isinstance(reader, Reader) or reader.u8() != REQUEST or reader.u8() != function:
            raise Disconnected("the client stopped during its logon")
        self._sequence = reader.u8()
        return reader

    def _log_off(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    # -- requests

    def _serve(self, client: _LoggedOn) -> None:
        while (request := self._stream.request()) is not None:
            if isinstance(request, Reader):
                self._answer(client, request)
            elif request == Marker.RESET:
                # Neither BREAK nor INTERRUPT is answered. A RESET always follows a BREAK. An INTERRUPT between calls
                # arrived after its response was sent, and the client accepts that response.
                self._stream.send_marker(Marker.RESET)
                self._stream.send_data(messages.end_of_call(self._context(), error=cancelled()))

    def _answer(self, client: _LoggedOn, reader: Reader) -> None:
        with self._watch.running(self._stream, client.session) as call:
            if self._network_faults.wait_while_stalled(call):
                reply: Reply | None = Reply(error=cancelled())
            else:
                reply = self._reply(client, reader)
        if reply is None:
            return
        if reply.error is not None and reply.error.code == CANCELLED and call.interrupted:
            self._stream.send_marker(Marker.BREAK)  # the client answers with RESET
            return
        failure = self._network_faults.failure(reply.count) if reply.is_fetch else None
        if failure is not None:
            reply = Reply(cursor=reply.cursor, error=failure)
        response = b"".join((*reply.parts, self._ending(reply)))
        if reply.is_fetch and self._network_faults.cuts(reply.count):
            self._stream.send_half(response)
            raise Disconnected(f"a fault cuts the connection after {reply.count} rows")
        self._stream.send_data(response)
        if reply.ahead is not None:
            reply.ahead.read_ahead(reply.rows_ahead)

    def _reply(self, client: _LoggedOn, reader: Reader) -> Reply | None:
        """Return the reply; None for a message without an answer."""
        try:
            while (kind := reader.u8()) == PIGGYBACK:
                self._piggyback(client, reader)
            if kind == ONE_WAY:
                return None
            if kind != REQUEST:
                raise RequestNotUnderstood(f"message {kind} instead of a function")
            function, self._sequence = reader.u8(), reader.u8()
            client.session.statistics[ROUND_TRIPS] += 1
            if client.session.killed and function != Function.LOGOFF:
                raise OraError(28, "your session has been killed")
            return self._perform(client, function, reader)
        except Disconnected:
            raise
        except Exception as error:
            return Reply(error=as_ora_error(error))

    def _perform(self, client: _LoggedOn, function: int, reader: Reader) -> Reply:
        match function:
            case Function.EXECUTE:
                return client.statements.execute(reader)
            case Function.REEXECUTE | Function.REEXECUTE_AND_FETCH:
                return client.statements.reexecute(reader, fetch=function == Function.REEXECUTE_AND_FETCH)
            case Function.FETCH:
                return client.statements.fetch(reader)
            case Function.LOB:
                request = requests.read_lob_request(reader)
                reader.finish()
                return Reply([client.lobs.perform(request)])
            case Function.COMMIT:
                client.session.commit()
            case Function.ROLLBACK:
                client.session.rollback()
            case Function.BRANCH_SWITCH | Function.BRANCH_STATE:
                return _BRANCH[Function(function)](client.session, reader)
            case Function.LOGOFF:
                self._log_off()
            case Function.VERSION:
                return Reply([messages.version(*self._version())], is_status=True)
            case Function.PING:
                pass
            case Function.AUTH_PHASE_TWO:  # of a session that exists: a new password
                return self._changed_password(client.session, read_auth_request(reader, client.dialect))
            case _:
                raise OraError(3001, f"unimplemented feature: function {function} of the call interface")
        reader.finish()
        return Reply(is_status=True)

    def _piggyback(self, client: _LoggedOn, reader: Reader) -> None:
        """Process a message that precedes a function. After an unknown one nothing can be read: its length is unknown."""
        function, self._sequence = reader.u8(), reader.u8()
        match function:
            case Function.CLOSE_CURSORS:
                for number in requests.read_cursor_ids(reader):
                    client.statements.cursors.close(number)
            case Function.CANCEL_CURSORS:
                for number in requests.read_cursor_ids(reader):
                    client.statements.cursors.get(number).finish()
            case Function.CURRENT_SCHEMA:
                client.session.set_current_schema(requests.read_current_schema(reader))
            case Function.END_TO_END:
                info = requests.read_end_to_end(reader, client.dialect)
                client.session.set_info(**info)
            case Function.APPLICATION_CONTEXT:
                client.session.set_context(*requests.read_application_context(reader))
            case Function.LOB:
                client.lobs.free(requests.read_free_temporaries(reader))
            case _:
                raise Disconnected(f"unknown piggyback {function}")

    def _ending(self, reply: Reply) -> bytes:
        context = self._context()
        if reply.is_status and reply.error is None:
            return messages.status(context)
        return messages.end_of_call(
            context,
            error=reply.error,
            cursor=reply.cursor,
            count=reply.count,
            failures=reply.failures,
            rowid=reply.rowid,
            has_warning=reply.has_warning,
        )

    def _context(self) -> messages.CallContext:
        session = self._session
        return messages.CallContext(session is not None and session.in_transaction, self._sequence)

    def _version(self) -> tuple[str, int]:
        version = self._instance.version
        dotted = ".".join(map(str, version))
        banner = f"Oracle Database {version[0]}c Enterprise Edition Release {dotted} - Production\nVersion {dotted}"
        return banner, _version_number(version)


def _version_number(version: tuple[int, int, int, int, int]) -> int:
    """Pack the version as servers since 18c do."""
    release, update, revision, increment, extension = version
    return release << 24 | update << 16 | revision << 12 | increment << 4 | extension


def _switched(session: Session, reader: Reader) -> Reply:
    """Begin or leave a branch of a distributed transaction."""
    request = requests.read_branch_switch(reader)
    reader.finish()
    if request.operation == requests.BRANCH_BEGIN and request.branch is not None:
        session.begin_branch(request.branch, request.flags)
        return Reply([messages.branch_switched(requests.branch_context(request.branch))], is_status=True)
    session.end_branch(request.branch)
    return Reply([messages.branch_switched(b"")], is_status=True)


def _changed(session: Session, reader: Reader) -> Reply:
    """Prepare or end a branch of a distributed transaction."""
    request = requests.read_branch_state(reader)
    reader.finish()
    state = session.change_branch(request.operation, request.branch, one_phase=request.one_phase)
    return Reply([messages.branch_state(state)], is_status=True)


_BRANCH = {Function.BRANCH_SWITCH: _switched, Function.BRANCH_STATE: _changed}
