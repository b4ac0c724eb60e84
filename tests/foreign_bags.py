"""Bags as others record them, written with rosbags: no code of ours."""

from __future__ import annotations

import numpy as np
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

DEFINITIONS = {
    "motion_capture_tracking_interfaces/msg/NamedPose": "string name\ngeometry_msgs/Pose pose\n",
    "motion_capture_tracking_interfaces/msg/NamedPoseArray": "std_msgs/Header header\nNamedPose[] poses\n",
    "mocap4r2_msgs/msg/Marker": "int64 index\ngeometry_msgs/Point translation\n",
    "mocap4r2_msgs/msg/RigidBody": (
        "std_msgs/Header header\nuint32 frame_number\nstring rigid_body_name\nMarker[] markers\ngeometry_msgs/Pose pose\n"
    ),
    "mocap4r2_msgs/msg/RigidBodies": (
        "std_msgs/Header header\nuint32 frame_number\nmocap4r2_msgs/RigidBody[] rigidbodies\n"
    ),
}


def store(kind=Stores.ROS2_JAZZY):
    types = get_typestore(kind)
    if kind is Stores.ROS2_JAZZY:
        found = {}
        for name, text in DEFINITIONS.items():
            found.update(get_types_from_msg(text, name))
        types.register(found)
    return types


class Make:
    """Messages of a type store."""

    def __init__(self, types):
        self.types = types
        self.one = "seq" in types.types["std_msgs/msg/Header"].__dataclass_fields__

    def __call__(self, kind, *values):
        return self.types.types[kind](*values)

    def header(self, stamp, frame="world"):
        time = self("builtin_interfaces/msg/Time", *divmod(stamp, 10**9))
        return self("std_msgs/msg/Header", *((0,) if self.one else ()), time, frame)

    def point(self, p, kind="Point"):
        return self(f"geometry_msgs/msg/{kind}", *map(float, p))

    def quaternion(self, q):
        w, x, y, z = map(float, q)
        return self("geometry_msgs/msg/Quaternion", x, y, z, w)

    def pose(self, p, q):
        return self("geometry_msgs/msg/Pose", self.point(p), self.quaternion(q))

    def pose_stamped(self, stamp, p, q=(1, 0, 0, 0), frame="world"):
        return self("geometry_msgs/msg/PoseStamped", self.header(stamp, frame), self.pose(p, q))

    def transform(self, stamp, parent, child, p, q=(1, 0, 0, 0)):
        t = self("geometry_msgs/msg/Transform", self.point(p, "Vector3"), self.quaternion(q))
        return self("geometry_msgs/msg/TransformStamped", self.header(stamp, parent), child, t)

    def odometry(self, stamp, child, p, q, v, w):
        twist = self("geometry_msgs/msg/Twist", self.point(v, "Vector3"), self.point(w, "Vector3"))
        return self(
            "nav_msgs/msg/Odometry", self.header(stamp), child,
            self("geometry_msgs/msg/PoseWithCovariance", self.pose(p, q), np.zeros(36)),
            self("geometry_msgs/msg/TwistWithCovariance", twist, np.zeros(36)),
        )  # fmt: skip


def write2(path, entries, plugin=StoragePlugin.MCAP, compress=False):
    """Entries: (topic, type, received ns, message)."""
    types = store()
    writer = Writer2(path, version=9, storage_plugin=plugin)
    if compress:
        mode = CompressionMode.STORAGE if plugin is StoragePlugin.MCAP else CompressionMode.FILE
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connections = {}
        for topic, kind, received, message in entries:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=types)
            writer.write(connections[topic], received, types.serialize_cdr(message, kind))
    return path


def write1(path, entries):
    types = store(Stores.ROS1_NOETIC)
    with Writer1(path) as writer:
        connections = {}
        for topic, kind, received, message in entries:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=types)
            writer.write(connections[topic], received, types.serialize_ros1(message, kind))
    return path


MAKE = Make(store())
POSE = "geometry_msgs/msg/PoseStamped"
