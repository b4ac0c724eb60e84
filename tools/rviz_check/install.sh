#!/usr/bin/env bash
# Debian's RViz (ROS 1) and a screen in memory, to look at what our RViz configurations draw without ROS 2's RViz.
set -euo pipefail
exec apt-get install -y --no-install-recommends rviz python3-rosmaster python3-rospy python3-rosbag python3-numpy \
  python3-visualization-msgs python3-interactive-markers python3-nav-msgs python3-tf2-msgs xvfb openbox scrot xdotool
