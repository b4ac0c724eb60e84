from setuptools import find_packages, setup

setup(
    name="rotor_adapters",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_adapters"]),
        ("share/rotor_adapters", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Nodes that connect other programs: autopilots, teleoperation, recorder, player.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "recorder = rotor_adapters.recorder.node:main",
            "player = rotor_adapters.player.node:main",
            "px4_adapter = rotor_adapters.px4.node:main",
            "crazyswarm_adapter = rotor_adapters.crazyswarm.node:main",
            "wrench_teleop = rotor_adapters.teleop.node:main",
        ],
    },
)
