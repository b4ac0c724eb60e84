"""Definitions of message types for bags, and how topics are offered, without ROS."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import Writer
from rosbags.rosbag2.storage_mcap import McapWriter, zstd
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from rotor_core.share import message_folder
from rotor_recordings.formats.topics import Topic

STORAGE_VERSION = 9
"""Of rosbag2's metadata; Jazzy writes it too."""

FOREVER = QosTime(sec=2147483647, nsec=4294967295)


def message_store(types: Iterable[str]) -> Typestore:
    """Definitions of ROS 2 Jazzy, and those of the packages of ``types`` that it does not know."""
    store = get_typestore(Stores.ROS2_JAZZY)
    found = {}
    for package in {t.partition("/")[0] for t in types if t not in store.fielddefs}:
        for file in message_folder(package).glob("*.msg"):
            found.update(get_types_from_msg(file.read_text(), f"{package}/msg/{file.stem}"))
    store.register(found)
    return store


def add_checksums(writer: Writer) -> None:
    """Let the chunks of an open bag hold checksums: readers notice bytes that are not those that were written."""
    storage = writer.storage
    assert isinstance(storage, McapWriter)
    checked = {zstd.CompressionParameter.checksum_flag: 1}
    storage.compressor = partial(zstd.compress, options=checked)


def offered_qos(topic: Topic) -> Qos:
    """QoS profile that the publisher of a recorded topic offers."""
    return Qos(
        history=QosHistory.KEEP_LAST,
        depth=topic.depth if topic.latched else 10,
        reliability=QosReliability.BEST_EFFORT if topic.best_effort else QosReliability.RELIABLE,
        durability=QosDurability.TRANSIENT_LOCAL if topic.latched else QosDurability.VOLATILE,
        deadline=FOREVER,
        lifespan=FOREVER,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=FOREVER,
        avoid_ros_namespace_conventions=False,
    )
