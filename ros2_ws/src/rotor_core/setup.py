from setuptools import find_packages, setup

setup(
    name="rotor_core",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_core"]),
        ("share/rotor_core", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Mathematics and vocabulary that simulator, controllers and planners share.",
    license="Apache-2.0",
)
