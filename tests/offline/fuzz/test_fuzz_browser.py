"""Pages and programs that send the viewer anything: it lives on, answers others, and stays on this machine."""

import base64
import socket

import msgspec
import pytest
import viser
from fuzz import budget, damage, nasty
from fuzz.verdicts import ACCEPTED, REFUSED, judge
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from rotor_viewer.browser.app import Viewer
from rotor_viewer.browser.serve import open_source, serve

PATIENCE = 5.0
CHECKED = 25
KIND = f"viser-v{viser.__version__}"
PATHS = ["/", "/index.html", "/../x", "/%2e%2e/%00", "//", "*", "http://evil.example/", "/" + "a" * 9000, "/?" + "b" * 70000, "\\", "/\u00e9"]  # fmt: skip
HEADERS = [
    "Host: 127.0.0.1:{port}", "Host: evil.example", "Host:", "Origin: http://127.0.0.1:{port}", "Origin: null", "Upgrade: websocket",
    "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 99", "Sec-WebSocket-Key: {key}", "Sec-WebSocket-Key: x",
    f"Sec-WebSocket-Protocol: {KIND}", "Sec-WebSocket-Protocol: ", "Content-Length: -1", "Content-Length: 99999999999", "Transfer-Encoding: chunked",
    "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99", "X: " + "y" * 70000, "no colon", ": empty", "A: \x00", "Expect: 100-continue",
]  # fmt: skip


def request(rng, port: int) -> bytes:
    """A request of a browser, or of nobody."""
    key = base64.b64encode(rng.bytes(16)).decode()
    chosen = [h for h in HEADERS if rng.random() < 0.4]
    rng.shuffle(chosen)
    method = nasty.pick(rng, ["GET", "GET", "POST", "OPTIONS", "CONNECT", "", "G\x00T", "get"])
    version = nasty.pick(rng, ["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "", "HTTP/1.1\x00"])
    lines = [f"{method} {nasty.pick(rng, PATHS)} {version}", *chosen]
    text = "\r\n".join(lines).replace("{port}", str(port)).replace("{key}", key)
    data = text.encode() + b"\r\n\r\n"
    return damage.damaged(rng, data) if rng.random() < 0.3 else data


def throw_request(rng, port: int) -> str:
    """What a raw connection is answered: anything, or its end."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as raw:
        raw.sendall(request(rng, port))
        raw.shutdown(socket.SHUT_WR)
        answer = raw.recv(4096)
    return ACCEPTED if answer.startswith((b"HTTP/1.1 101", b"HTTP/1.1 200")) else REFUSED


TYPES = [
    "GuiUpdateMessage", "ViewerCameraMessage", "ScenePointerMessage", "SceneNodeClickMessage", "TransformControlsUpdateMessage",
    "TransformControlsDragStartMessage", "ShareUrlRequest", "ShareUrlDisconnect", "GetRenderResponseMessage", "FileTransferStartUpload",
    "FileTransferPart", "GuiModalMessage", "GuiCloseModalMessage", "RunJavascriptMessage", "NotificationMessage", "", "nosuch",
]  # fmt: skip
KEYS = [
    "uuid", "updates", "value", "wxyz", "position", "look_at", "up_direction", "fov", "near", "far", "name", "event_type", "ray_origin",
    "ray_direction", "screen_pos", "instance_index", "payload", "transfer_uuid", "part", "total_parts", "content", "filename", "mime_type",
    "size_bytes", "part_index", "source_component_uuid", "image_height", "image_width", "camera_position", "button",
]  # fmt: skip


CAMERA = {
    "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [1.0, 1.0, 1.0], "fov": 1.0, "near": 0.1, "far": 100.0, "image_height": 480,
    "image_width": 640, "look_at": [0.0, 0.0, 0.0], "up_direction": [0.0, 0.0, 1.0], "type": "ViewerCameraMessage",
}  # fmt: skip


def plain_value(rng):
    """What MessagePack can hold."""
    value = nasty.value(rng)
    try:
        msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeEncodeError, TypeError):
        return None
    return value


def throw_message(rng, port: int, uuids: list[str]) -> str:
    """Messages of a page that opened as it should: right types with wrong fields, wrong types, no messages."""
    with connect(f"ws://127.0.0.1:{port}", subprotocols=[KIND], max_size=None) as page:
        try:
            page.recv(timeout=PATIENCE)
            page.send(msgspec.msgpack.encode(CAMERA))  # now it counts as a page
            for _ in range(int(rng.integers(1, 4))):
                kind = rng.random()
                message = {"type": nasty.pick(rng, TYPES)} | {
                    k: plain_value(rng) for k in KEYS if rng.random() < 0.5
                }
                what = rng.random()
                if what < 0.5:
                    updates = {"value": plain_value(rng)}
                    message = {"type": "GuiUpdateMessage", "uuid": nasty.pick(rng, uuids), "updates": updates}  # fmt: skip
                elif what < 0.6:
                    message = CAMERA | {nasty.pick(rng, sorted(CAMERA)[:-1]): plain_value(rng)}
                elif what < 0.8:
                    place = [plain_value(rng) for _ in range(3)]
                    message = {"type": "TransformControlsUpdateMessage", "name": "/goal_quad1", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": place}  # fmt: skip
                    page.send(msgspec.msgpack.encode({"type": "TransformControlsDragStartMessage", "name": "/goal_quad1"}))  # fmt: skip
                    page.send(msgspec.msgpack.encode(message))
                    message = {"type": "TransformControlsDragEndMessage", "name": "/goal_quad1"}
                data = msgspec.msgpack.encode(message)
                if kind < 0.2:
                    data = damage.damaged(rng, data)
                elif kind < 0.3:
                    data = msgspec.msgpack.encode(plain_value(rng))
                page.send("text" if kind > 0.97 else data)
            page.ping().wait(0.05)
        except (ConnectionClosed, TimeoutError):
            return REFUSED
    return ACCEPTED


@pytest.mark.timeout(budget.TIME_LIMIT)
@pytest.mark.filterwarnings("ignore")
def test_whatever_comes_the_viewer_lives_on(capfd):
    source = open_source("hover")
    server = serve(source, "127.0.0.1", 8240)
    viewer = Viewer(server, source, open_source)
    port = server.get_port()
    known = server.gui._gui_input_handle_from_uuid  # lists of whom come and go

    def lives():
        with connect(f"ws://127.0.0.1:{port}", subprotocols=[KIND], max_size=None) as page:
            assert page.recv(timeout=PATIENCE), "a page is not answered any more"

    def attempt(rng, number):
        verdict = throw_request(rng, port) if rng.random() < 0.5 else throw_message(rng, port, sorted(known))  # fmt: skip
        viewer.tick(0.02)  # in its own loop what a page set would come to light a picture later
        if viewer._wanted is not None:
            viewer._switch()
        if number % CHECKED == CHECKED - 1:
            lives()
        return verdict

    try:
        judge("browser", attempt)
        lives()
    finally:
        server.stop()
        told = capfd.readouterr().err
    assert "Traceback" not in told, told[-3000:]
