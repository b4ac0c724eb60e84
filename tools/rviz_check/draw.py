"""Draw a bag with Debian's RViz (ROS 1) on a screen in memory.

    ./rotor python tools/rviz_check/draw.py BAG CONFIG.rviz PICTURE.png [--at SECONDS] [--goal ENTITY X Y Z]

Needs what install.sh installs. The bag is converted to ROS 1, the configuration too, and played in a
loop around the wanted instant.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ruamel.yaml import YAML

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from ros1_config import ros1_config  # noqa: E402

NEEDED = ("rviz", "Xvfb", "scrot", "xdotool", "openbox")
TOPICS = (
    "/tf",
    "/tf_static",
    "/rotor/markers",
    "/rotor/markers_static",
    "/rotor/markers_plan",
    "/robot_description",
)
DRAWABLE = (
    "nav_msgs/msg/Path", "nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/WrenchStamped",
)  # fmt: skip
PORT = 11411
WIDTH, HEIGHT = 1400, 880
SETTLE = 12.0
"""Software rendering needs this long until everything stands, s."""

LOOP = 0.05
"""Seconds of the bag that are played before the wanted instant: one frame of markers, some of TF."""


def is_available() -> bool:
    """True if everything is installed."""
    return all(shutil.which(program) for program in NEEDED) and debian_python() is not None


def debian_python() -> str | None:
    """Debian's own interpreter, which has rospy (not that of an environment)."""
    for path in ("/usr/bin/python3", "/bin/python3"):
        if (
            Path(path).exists()
            and not subprocess.run(
                [path, "-c", "import rospy, rosbag"],
                capture_output=True,
                env={"PATH": "/usr/bin:/bin"},
            ).returncode
        ):
            return path
    return None


def convert_bag(source: Path, target: Path) -> None:
    """MCAP to a ROS 1 bag: the topics that RViz draws."""
    from rosbags.rosbag2 import Reader

    with Reader(source) as reader:
        names = [c.topic for c in reader.connections if c.topic in TOPICS or c.msgtype in DRAWABLE]
    command = [
        "rosbags-convert",
        "--src",
        source,
        "--dst",
        target,
        "--dst-typestore",
        "ros1_noetic",
    ]
    subprocess.run(
        [*map(str, command), "--include-topic", *names], check=True, capture_output=True, text=True
    )


def convert_config(source: Path, target: Path) -> None:
    """Configuration of ROS 2 to ROS 1."""
    yaml = YAML(typ="safe")
    config = ros1_config(yaml.load(source.read_text()))
    with target.open("w") as stream:
        YAML().dump(config, stream)


def as_dict(message: object) -> object:
    """A message as plain values (for the other side, which has other classes)."""
    if hasattr(message, "get_fields_and_field_types"):
        return {k: as_dict(getattr(message, k)) for k in message.get_fields_and_field_types()}
    if isinstance(message, (list, tuple)):
        return [as_dict(m) for m in message]
    return message


def goal_file(entity: str, position: list[float], target: Path) -> None:
    """The interactive marker of an entity, as ROS 1 knows it."""
    from rotor_planning.ros.goal_marker import goal_marker

    marker = goal_marker(entity)
    marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = position
    values = as_dict(marker)
    for control in values["controls"]:  # fields that ROS 1 lacks
        for shown in control["markers"]:
            for key in ("texture_resource", "texture", "uv_coordinates", "mesh_file"):
                shown.pop(key, None)
    for stamped in [values, *(m for c in values["controls"] for m in c["markers"])]:
        stamp = stamped["header"]["stamp"]
        stamped["header"]["stamp"] = {"secs": stamp["sec"], "nsecs": stamp["nanosec"]}
        if "lifetime" in stamped:
            stamped["lifetime"] = {"secs": 0, "nsecs": 0}
    target.write_text(json.dumps([values]))


def draw(
    bag: Path, config: Path, picture: Path, *, at: float, goal: tuple[str, list[float]] | None = None,
    patience: float = 25.0, display: int = 93,
) -> str:  # fmt: skip
    """Write the picture; returns what RViz logged."""
    python = debian_python()
    assert python is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        convert_bag(bag, folder / "flight.bag")
        convert_config(config, folder / "config.rviz")
        goals = []
        if goal is not None:
            goal_file(goal[0], goal[1], folder / "goals.json")
            goals = [str(folder / "goals.json")]
        env = {
            "PATH": "/usr/bin:/bin", "HOME": name, "DISPLAY": f":{display}", "LIBGL_ALWAYS_SOFTWARE": "1",
            "ROS_MASTER_URI": f"http://127.0.0.1:{PORT}", "ROS_IP": "127.0.0.1", "QT_X11_NO_MITSHM": "1",
            "ROS_LOG_DIR": name, "LANG": "C.UTF-8",
        }  # fmt: skip
        children = []

        def start(*command: object, log: str) -> None:
            with (folder / log).open("w") as file:
                children.append(
                    subprocess.Popen(
                        [str(c) for c in command], env=env, stdout=file, stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )  # fmt: skip

        def run(*command: str) -> str:
            return subprocess.run(command, env=env, capture_output=True, text=True).stdout

        try:
            start(
                "Xvfb",
                f":{display}",
                "-screen",
                "0",
                f"{WIDTH}x{HEIGHT}x24",
                "+extension",
                "GLX",
                log="xvfb.log",
            )
            start("rosmaster", "--core", "-p", PORT, log="master.log")
            time.sleep(3.0)
            start("openbox", log="openbox.log")
            begin = max(0.0, at - LOOP)
            start(
                python,
                HERE / "ros1_play.py",
                folder / "flight.bag",
                begin,
                at,
                *goals,
                log="play.log",
            )
            time.sleep(2.0)
            start("rviz", "-d", folder / "config.rviz", log="rviz.log")
            end = time.monotonic() + patience
            while "RViz" not in run("xdotool", "search", "--name", "RViz", "getwindowname", "%@"):
                if time.monotonic() > end:
                    raise RuntimeError(f"RViz did not come up: {(folder / 'rviz.log').read_text()}")
                time.sleep(0.5)
            window = run("xdotool", "search", "--name", "RViz").split()[0]
            run("xdotool", "windowmove", window, "0", "0")
            run("xdotool", "windowsize", window, str(WIDTH), str(HEIGHT))
            time.sleep(SETTLE)
            run("scrot", "-o", str(folder / "picture.png"))
            picture.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / "picture.png", picture)
            return "\n".join((folder / f).read_text() for f in ("rviz.log", "play.log"))
        finally:
            for child in reversed(children):
                os.killpg(child.pid, signal.SIGTERM)
            for child in children:
                try:
                    child.wait(5.0)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("bag", type=Path)
    parser.add_argument("config", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--at", type=float, default=5.0, help="seconds after the start of the bag")
    parser.add_argument(
        "--goal", nargs=4, metavar=("ENTITY", "X", "Y", "Z"), help="show its goal marker"
    )
    options = parser.parse_args()
    if not is_available():
        sys.exit(f"needs {', '.join(NEEDED)} and rospy: run {HERE / 'install.sh'} (Debian 12)")
    goal = (options.goal[0], [float(v) for v in options.goal[1:]]) if options.goal else None
    print(draw(options.bag, options.config, options.picture, at=options.at, goal=goal))


if __name__ == "__main__":
    main()
