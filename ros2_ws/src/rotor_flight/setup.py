from setuptools import find_packages, setup

setup(
    name="rotor_flight",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_flight"]),
        ("share/rotor_flight", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Closed loop without ROS: flights, compiled flights, studies, environments for learning.",
    license="Apache-2.0",
)
