from setuptools import find_packages, setup

setup(
    name="rotor_control",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_control"]),
        ("share/rotor_control", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Control laws for multirotors, arms, helicopters and teams that carry payloads.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "controller = rotor_control.nodes:controller",
        ],
    },
)
