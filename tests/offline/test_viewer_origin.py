"""Whom the viewer answers: its own page and programs of this machine, but no foreign page."""

import base64
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from sockets import sockets_of
from websockets.datastructures import Headers

from rotor_viewer.browser.origin import GuardedServer, is_loopback, refusal

EVIL = "http://evil.example"


# --- the rule -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listens", "host", "origin"),
    [
        ("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("127.0.0.1", "localhost:8080", "http://localhost:8080"),
        ("127.0.0.1", "127.0.0.1:8080", "http://localhost:8080"),
        ("127.0.0.1", "localhost:9000", "http://localhost:9000"),  # through a tunnel of ssh
        ("127.0.0.1", "LOCALHOST:8080", "http://localhost:8080"),
        ("127.0.0.1", "127.0.0.1:8080", None),  # a program
        ("::1", "[::1]:8080", "http://[::1]:8080"),
        ("localhost", "localhost", "http://localhost"),
        ("0.0.0.0", "192.0.2.2:8080", "http://192.0.2.2:8080"),
        ("0.0.0.0", "localhost:8080", "http://localhost:8080"),
        ("0.0.0.0", f"{socket.gethostname()}:8080", f"http://{socket.gethostname()}:8080"),
        ("Hall.Example", "hall.example:8080", "http://hall.example:8080"),
    ],
)
def test_who_is_answered(listens, host, origin):
    assert refusal(Headers(Host=host, **({"Origin": origin} if origin else {})), listens) is None


@pytest.mark.parametrize(
    ("listens", "host", "origin", "words"),
    [
        ("127.0.0.1", "127.0.0.1:8080", EVIL, "foreign page"),
        ("127.0.0.1", "127.0.0.1:8080", EVIL + ":8080", "foreign page"),
        ("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:3000", "foreign page"),  # another server
        ("127.0.0.1", "127.0.0.1:8080", "https://127.0.0.1:8080", "foreign page"),
        ("127.0.0.1", "127.0.0.1:8080", "null", "foreign page"),
        ("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:8080.evil.example", "foreign page"),
        ("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:8080@evil.example", "foreign page"),
        ("127.0.0.1", "127.0.0.1:8080", "http://[", "foreign page"),
        ("127.0.0.1", "evil.example:8080", EVIL + ":8080", "not this server"),  # a name that moved
        ("127.0.0.1", "evil.example", None, "not this server"),
        ("127.0.0.1", "localhost.evil.example:8080", None, "not this server"),
        ("127.0.0.1", "evil@127.0.0.1:8080", None, "not this server"),
        ("127.0.0.1", "192.0.2.2:8080", None, "not this server"),
        ("127.0.0.1", "127.0.0.1:port", None, "not this server"),
        ("127.0.0.1", "", None, "not this server"),
        ("0.0.0.0", "evil.example:8080", EVIL + ":8080", "not this server"),
        ("0.0.0.0", "192.0.2.2:8080", "http://192.0.2.3:8080", "foreign page"),
        ("0.0.0.0", "192.0.2.2:8080", "http://localhost:8080", "foreign page"),
    ],
)
def test_who_is_refused(listens, host, origin, words):
    headers = Headers(Host=host, **({"Origin": origin} if origin else {}))
    assert words in refusal(headers, listens)


def test_headers_that_contradict_themselves_are_refused():
    twice = Headers([("Host", "127.0.0.1:8080"), ("Host", "evil.example")])
    assert "not this server" in refusal(twice, "127.0.0.1")
    assert "not this server" in refusal(Headers(), "127.0.0.1")
    here = ("Host", "127.0.0.1:8080")
    origins = Headers([here, ("Origin", "http://127.0.0.1:8080"), ("Origin", EVIL)])
    assert "foreign page" in refusal(origins, "127.0.0.1")


@pytest.mark.parametrize(
    ("host", "only_here"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)]
    + [("", False), ("192.0.2.2", False), ("no such name", False)],
)
def test_which_addresses_only_this_machine_reaches(host, only_here):
    assert is_loopback(host) is only_here


# --- the server -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server():
    running = GuardedServer("127.0.0.1", 8160, label="test")
    yield running
    running.stop()


def status(port: int, host: str, origin: str | None, *, upgrade: bool, path: str = "/") -> int:
    """Status code that a request gets: 101 is a WebSocket that opened."""
    import viser

    headers = {"Host": host} | ({"Origin": origin} if origin else {})
    if upgrade:
        headers |= {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            "Sec-WebSocket-Protocol": f"viser-v{viser.__version__}",
        }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10.0)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("upgrade", [True, False])
def test_a_real_server_refuses_foreign_pages_and_names(server, upgrade):
    """WebSockets and files alike; names of this machine at this port work."""
    port = server.get_port()
    opened = 101 if upgrade else 200
    for name in ("127.0.0.1", "localhost"):
        here = f"{name}:{port}"
        assert status(port, here, f"http://{here}", upgrade=upgrade) == opened
        assert status(port, here, None, upgrade=upgrade) == opened
        assert status(port, here, EVIL, upgrade=upgrade) == 403
        assert status(port, here, "null", upgrade=upgrade) == 403
    rebound = f"evil.example:{port}"
    assert status(port, rebound, f"http://{rebound}", upgrade=upgrade) == 403
    assert status(port, rebound, None, upgrade=upgrade) == 403


def test_files_outside_of_the_page_are_not_served(server):
    port = server.get_port()
    here = f"127.0.0.1:{port}"
    for path in ("/../_viser.py", "/%2e%2e/%2e%2e/_viser.py", "/..%5c_viser.py", "//etc/passwd"):
        assert status(port, here, None, upgrade=False, path=path) == 404


def test_a_viewer_that_cannot_be_guarded_does_not_start(monkeypatch):
    """A later Viser may make its server otherwise; then nobody would check."""
    import viser

    from rotor_core.errors import ContractError

    class Stopped(Exception):
        pass

    def plain(self: object, **_: object) -> None: ...

    def stop(self: object) -> None:
        raise Stopped

    monkeypatch.setattr(viser.ViserServer, "__init__", plain)
    monkeypatch.setattr(viser.ViserServer, "stop", stop)
    with pytest.raises(Stopped):
        GuardedServer("127.0.0.1", 8160, label="test")
    monkeypatch.setattr(viser.ViserServer, "stop", plain)
    with pytest.raises(ContractError, match="does not know"):
        GuardedServer("127.0.0.1", 8160, label="test")


@pytest.mark.parametrize("guarded", [True, False])
def test_no_page_opens_a_tunnel(guarded, monkeypatch):
    """Viser's client may ask for a public address of the server; ours opens none, a plain one would."""
    import msgspec
    import viser
    from websockets.sync.client import connect

    asked = threading.Event()

    class Tunnel:
        def __init__(self, *_: object) -> None:
            asked.set()

        def on_connect(self, then: object) -> None: ...

        on_disconnect = on_connect

        def get_status(self) -> str:
            return "failed"

        def close(self) -> None: ...

    monkeypatch.setattr("viser._viser.ViserTunnel", Tunnel)
    if guarded:
        server = GuardedServer("127.0.0.1", 8180, label="test")
    else:
        server = viser.ViserServer(host="127.0.0.1", port=8190, verbose=False)
    try:
        kind = f"viser-v{viser.__version__}"
        address = f"ws://127.0.0.1:{server.get_port()}"
        with connect(address, subprotocols=[kind], max_size=None) as page:
            page.recv(timeout=10.0)
            page.send(msgspec.msgpack.encode({"type": "ShareUrlRequest"}))
            if guarded:  # what the page says next has been heard: so has the request before it
                heard = threading.Event()
                monkeypatch.setattr(server, "disconnect_share_url", heard.set)
                page.send(msgspec.msgpack.encode({"type": "ShareUrlDisconnect"}))
                assert heard.wait(10.0)
            else:
                assert asked.wait(10.0)
    finally:
        server.stop()
    assert asked.is_set() is not guarded


# --- the command ----------------------------------------------------------------------------------


def test_the_command_listens_on_the_loopback_address_only(tmp_path):
    """`./rotor view` as a process: one listener, on 127.0.0.1, and no other socket that waits."""
    from rotor_viewer.browser.serve import free_port

    port = free_port("127.0.0.1", 8200)
    log = tmp_path / "log"
    with log.open("w") as file:
        command = [sys.executable, "-m", "rotor.cli", "view", "hover", "--port", str(port)]
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + 120.0  # it may compile kernels
        while f"http://127.0.0.1:{port}" not in log.read_text():
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        found = sockets_of(process.pid)
        assert "everybody" not in log.read_text()
        listening = [s for s in found if s.takes_connections]
        assert [(s.kind, s.port) for s in listening] == [("tcp", port)]
        assert all(s.is_on_loopback for s in found), found
        assert not any(s.kind.startswith("udp") for s in found)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20.0)


def test_who_listens_to_everybody_is_told(monkeypatch, capsys):
    from rotor.cli import main
    from rotor_viewer.browser.app import Viewer

    monkeypatch.setattr(Viewer, "run", lambda self, until: None)
    assert main(["view", "hover", "--host", "0.0.0.0", "--port", "8220"]) == 0
    said = capsys.readouterr().err
    assert "--host 0.0.0.0: everybody who reaches this machine" in said and said.count("\n") == 1
    assert main(["view", "hover", "--port", "8220"]) == 0
    assert capsys.readouterr().err == ""


def test_an_interrupt_that_a_library_swallows_ends_the_page_all_the_same(monkeypatch, capsys):
    """One Ctrl-C in the first picture was lost, and `rotor view` served on."""
    from rotor.cli import main
    from rotor_viewer.browser.app import Viewer

    turns = []

    def swallows(self, elapsed):
        assert len(turns) < 3, "it goes on"
        turns.append(elapsed)
        if len(turns) == 1:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5.0)
            except KeyboardInterrupt:
                pass

    monkeypatch.setattr(Viewer, "tick", swallows)
    before = signal.getsignal(signal.SIGINT)
    try:
        assert main(["view", "hover", "--port", "8220"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert len(turns) == 1
    assert "interrupted" in capsys.readouterr().err
