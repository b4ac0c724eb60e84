from setuptools import find_packages, setup

setup(
    name="rotor_dynamics",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_dynamics"]),
        ("share/rotor_dynamics", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Compiled hybrid multibody engine: bodies, joints, rotors, contacts, cables that are slack or taut.",
    license="Apache-2.0",
)
