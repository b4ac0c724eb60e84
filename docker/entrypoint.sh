#!/usr/bin/env bash
# Source the distribution and the workspace, then become the command.
set -eo pipefail # not -u: setup files read unset variables
source "/opt/ros/${ROS_DISTRO}/setup.bash"
source /rotor/ros2_ws/install/local_setup.bash
exec "$@"
