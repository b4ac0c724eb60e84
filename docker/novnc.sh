#!/usr/bin/env bash
# RViz on a screen in memory, shown in the browser on port 6080 of the loopback interface.
set -euo pipefail
export DISPLAY=:93
config="$(ros2 pkg prefix --share rotor_bringup)/rviz/${RVIZ_CONFIG:-overview}.rviz"
Xvfb "$DISPLAY" -screen 0 1400x880x24 +extension GLX &
until [ -S "/tmp/.X11-unix/X${DISPLAY#:}" ]; do sleep 0.1; done
openbox &
x11vnc -display "$DISPLAY" -localhost -nopw -forever -shared -quiet -rfbport 5995 &
websockify --web /usr/share/novnc 127.0.0.1:6080 127.0.0.1:5995 &
exec rviz2 -d "$config" --ros-args -p use_sim_time:=true
