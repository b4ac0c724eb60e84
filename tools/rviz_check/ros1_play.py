"""Play a ROS 1 bag in a loop with fresh stamps. Runs in Debian's own Python, with rospy.

ros1_play.py BAG [FROM TO] [GOALS.json]: seconds of the bag; goals are interactive markers to show.
"""

import json
import sys

import genpy
import rosbag
import rospy
from visualization_msgs.msg import InteractiveMarker, InteractiveMarkerInit, InteractiveMarkerUpdate

LATCHED = (
    "/tf_static",
    "/rotor/markers_static",
    "/rotor/markers_plan",
    "/payload/path",
    "/payload/path_reference",
)


def stamps(message):
    """Headers inside a message."""
    if hasattr(message, "transforms"):
        return [t.header for t in message.transforms]
    if hasattr(message, "markers"):
        return [m.header for m in message.markers]
    return [message.header] if hasattr(message, "header") else []


def main():
    """Play until stopped."""
    path, begin, end = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    rospy.init_node("player")
    bag = rosbag.Bag(path)
    publishers, messages, latched = {}, [], {}
    # messages without a stamp lie at zero: the flight begins with the first transform
    first = next(t.to_sec() for _, _, t in bag.read_messages(topics=["/tf"]))
    for topic, message, t in bag.read_messages():
        if topic == "/robot_description":
            rospy.set_param("robot_description", message.data)
            continue
        if topic not in publishers:
            publishers[topic] = rospy.Publisher(
                topic, type(message), queue_size=100, latch=topic in LATCHED
            )
        at = t.to_sec() - first
        if topic in LATCHED and at <= end:
            latched[topic] = message
        elif begin <= at <= end:
            messages.append((at - begin, topic, message))
    if len(sys.argv) > 4:
        goals = rospy.Publisher(
            "/rotor/goal/update_full", InteractiveMarkerInit, queue_size=1, latch=True
        )
        init = InteractiveMarkerInit(server_id="/planner", seq_num=1)
        for values in json.load(open(sys.argv[4])):
            marker = InteractiveMarker()
            genpy.message.fill_message_args(marker, values)
            init.markers.append(marker)
        goals.publish(init)
        alive = rospy.Publisher("/rotor/goal/update", InteractiveMarkerUpdate, queue_size=1)
        beat = InteractiveMarkerUpdate(
            server_id="/planner", seq_num=1, type=InteractiveMarkerUpdate.KEEP_ALIVE
        )
        rospy.Timer(rospy.Duration(0.5), lambda _: alive.publish(beat))
    while not rospy.is_shutdown():
        began = rospy.get_time()
        for topic, message in latched.items():
            for header in stamps(message):
                header.stamp = (
                    rospy.Time(0) if "static" in topic and "tf" not in topic else rospy.Time.now()
                )
            publishers[topic].publish(message)
        for at, topic, message in messages:
            left = began + at - rospy.get_time()
            if left > 0.0:
                rospy.sleep(left)
            if rospy.is_shutdown():
                return
            for header in stamps(message):
                header.stamp = rospy.Time.now()
            publishers[topic].publish(message)


if __name__ == "__main__":
    main()
