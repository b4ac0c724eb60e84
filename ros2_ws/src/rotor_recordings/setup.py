from setuptools import find_packages, setup

setup(
    name="rotor_recordings",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_recordings"]),
        ("share/rotor_recordings", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Flights in and out of bags and logs; comparison, identification, prediction.",
    license="Apache-2.0",
)
