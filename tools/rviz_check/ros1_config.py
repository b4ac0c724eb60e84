"""An RViz configuration of ROS 2 as one of ROS 1: other class names, flat topics."""

from __future__ import annotations

from typing import Any

TOPIC_KEYS = {"rviz/MarkerArray": "Marker Topic"}
"""Display classes whose topic has another key in ROS 1."""


RENAMED = {"rviz/Wrench": "rviz/WrenchStamped"}
"""Display classes with another name in ROS 1."""


def _class(name: str) -> str:
    name = name.replace("rviz_common/", "rviz/").replace("rviz_default_plugins/", "rviz/")
    return RENAMED.get(name, name)


def ros1_config(node: Any) -> Any:
    """Convert a parsed configuration, recursively; QoS is left out."""
    if isinstance(node, list):
        return [ros1_config(item) for item in node]
    if not isinstance(node, dict):
        return node
    kind = _class(str(node.get("Class", "")))
    out = {}
    for key, value in node.items():
        if key == "Class":
            out[key] = kind
        elif key == "Transformation":
            continue
        elif key == "Description Topic":
            out["Robot Description"] = str(value["Value"]).strip("/")  # a parameter there
        elif key == "Topic" and isinstance(value, dict):
            out[TOPIC_KEYS.get(kind, "Topic")] = value["Value"]
        elif key == "Interactive Markers Namespace":
            out["Update Topic"] = f"{value}/update"
        else:
            out[key] = ros1_config(value)
    return out
