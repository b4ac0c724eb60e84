from setuptools import find_packages, setup

setup(
    name="rotor_testbed",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_testbed"]),
        ("share/rotor_testbed", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Stand-in for a flight hall in MuJoCo, with motion capture and on-board estimators.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "laboratory = rotor_testbed.nodes:laboratory",
        ],
    },
)
