from setuptools import find_packages, setup

setup(
    name="rotor_lab",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_lab"]),
        ("share/rotor_lab", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"], "peers": ["mujoco", "pin"], "laboratory": ["mujoco"]},
    package_data={"rotor_lab.bench": ["kernel.cpp"], "rotor_lab.real_flights": ["laws.yaml"]},
    zip_safe=False,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Closed loop without ROS, the demo, recording, plots and the command line.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "recorder = rotor_lab.ros.recorder_node:main",
            "px4_adapter = rotor_lab.ros.px4_node:main",
            "crazyswarm_adapter = rotor_lab.ros.crazyswarm_node:main",
            "laboratory = rotor_lab.ros.laboratory_node:main",
            "player = rotor_lab.ros.player_node:main",
            "wrench_teleop = rotor_lab.ros.wrench_teleop_node:main",
        ],
    },
)
