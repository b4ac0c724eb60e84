from setuptools import find_packages, setup

setup(
    name="rotor_sim",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_sim"]),
        ("share/rotor_sim", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Scenarios made to fly: simulator and its ROS 2 node.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "simulator = rotor_sim.nodes:simulator",
            "visualizer = rotor_sim.nodes:visualizer",
        ],
    },
)
