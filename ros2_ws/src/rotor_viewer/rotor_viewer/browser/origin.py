"""Origin check of the viewer: its own page and programs are answered, foreign pages are refused.

A browser lets any page open a WebSocket to the loopback address, and a name that a stranger owns may
point there (DNS rebinding). So `Host` must be an address or a name of this server, and `Origin`,
where a browser sends one, must be that same server. Viser itself checks neither.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import viser
import websockets.asyncio.server
from websockets.datastructures import Headers

from rotor_core.errors import ContractError

_building = threading.Lock()


def is_loopback(host: str) -> bool:
    """True if only this machine reaches a server that listens on ``host``."""
    if not host:
        return False  # every address
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(f[4][0]).split("%")[0]).is_loopback for f in found)


def refusal(headers: Headers, listens: str) -> str | None:
    """Reason to refuse a request; None: it is accepted.

    Args:
        headers: of the request.
        listens: the address or name that the server listens on.
    """
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    host = _server("http://" + hosts[0]) if len(hosts) == 1 else None
    if host is None or not _is_ours(host[0], listens):
        return f"Host {', '.join(hosts)!r} is not this server"
    if not origins:
        return None  # no browser sends a WebSocket without one; programs may
    origin = _server(origins[0]) if len(origins) == 1 else None
    if origin is None or origin[1] != host[1] or not _is_same(origin[0], host[0]):
        return f"Origin {', '.join(origins)!r} is a foreign page"
    return None


def _server(address: str) -> tuple[str, int] | None:
    """Name and port of ``http://name:port``, and of nothing else."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme != "http" or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return (parts.hostname, 80 if port is None else port) if parts.hostname else None


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _is_here(name: str) -> bool:
    address = _address(name)
    return name == "localhost" if address is None else address.is_loopback


def _is_same(a: str, b: str) -> bool:
    return a == b or (_is_here(a) and _is_here(b))


def _is_ours(name: str, listens: str) -> bool:
    """Names of this server. An address cannot be pointed elsewhere as a name can."""
    if _is_here(name) or name == listens.lower():
        return True
    if is_loopback(listens):
        return False
    return _address(name) is not None or name == socket.gethostname().lower()


class GuardedServer(viser.ViserServer):
    """A server of Viser that refuses foreign pages and never opens a tunnel to the outside.

    Raises:
        ContractError: this Viser makes its server in another way, so that nothing would be checked.
    """

    def __init__(self, host: str, port: int, *, label: str) -> None:
        with _guarded_servers(host) as made:
            super().__init__(host=host, port=port, label=label, verbose=False)
        if not made:
            self.stop()
            raise ContractError(
                f"viser {viser.__version__}: makes its server in a way that rotor_viewer/browser/origin.py does not "
                "know, so foreign pages could steer it. Use the version of tools/requirements.in."
            )

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Nothing: any page could ask for a public address of the viewer."""
        return None


@contextlib.contextmanager
def _guarded_servers(host: str) -> Iterator[list[str]]:
    """Servers that are made meanwhile check every request; the list tells of them.

    Viser makes its own in a thread, without a hook; its constructor returns when the server listens.
    """
    serve = websockets.asyncio.server.serve
    made: list[str] = []

    def guarded(*arguments: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        def check(connection: Any, request: Any) -> Any:
            why = refusal(request.headers, host)
            if why is not None:
                return connection.respond(HTTPStatus.FORBIDDEN, f"rotor: {why}.\n")
            return process_request(connection, request)

        made.append(host)
        return serve(*arguments, process_request=check, **options)

    with _building:
        websockets.asyncio.server.serve = guarded  # type: ignore[assignment, misc]
        try:
            yield made
        finally:
            websockets.asyncio.server.serve = serve  # type: ignore[misc]
