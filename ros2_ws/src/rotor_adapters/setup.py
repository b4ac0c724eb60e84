from setuptools import find_packages, setup

setup(
    name="rotor_adapters",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={"rotor_adapters.library": ["*.h"]},
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
            "recorder = rotor_adapters.nodes:recorder",
            "player = rotor_adapters.nodes:player",
            "px4_adapter = rotor_adapters.nodes:px4_adapter",
            "crazyswarm_adapter = rotor_adapters.nodes:crazyswarm_adapter",
            "wrench_teleop = rotor_adapters.nodes:wrench_teleop",
        ],
    },
)
