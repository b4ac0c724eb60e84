from setuptools import find_packages, setup

setup(
    name="rotor_viewer",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/rotor_viewer"]),
        ("share/rotor_viewer", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="rotor maintainers",
    maintainer_email="maintainers@rotor.invalid",
    description="Viewer in the browser, pictures, films and plots of flights.",
    license="Apache-2.0",
)
