from setuptools import find_packages, setup

setup(
    name="rotor_planning",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_planning"]),
        ("share/rotor_planning", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Trajectories, missions and moves of arms.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "planner = rotor_planning.nodes:planner",
        ],
    },
)
