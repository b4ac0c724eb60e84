"""Robot descriptions with anything in them: a vehicle that can be simulated, or one line with its place."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from fuzz import budget, damage, nasty
from fuzz.verdicts import ACCEPTED, UnclearError, judge
from fuzz.xml_changes import ATTACKS, changed

from rotor_core.config.catalog import config_directory
from rotor_core.config.loader import load_scenario, load_vehicle
from rotor_core.config.vehicles.urdf_export import scenario_urdf
from rotor_core.errors import ConfigError
from rotor_flight.loop import ClosedLoop

SCENARIO = """\
schema: 1
model:
  vehicles: [{use: ./vehicle.yaml, name: quad1}]
controller: {use: manipulator}
"""
FLOWN = 5
"""One in so many vehicles flies too."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Vehicles whose description stands beside them."""
    made = tmp_path_factory.mktemp("urdf")
    text = (config_directory() / "vehicles" / "kremer_v1.yaml").read_text()
    text = re.sub(r"urdf: \S+", "urdf: fuzz.urdf", text)
    assert "fuzz.urdf" in text
    (made / "vehicle.yaml").write_text(text)
    (made / "scenario.yaml").write_text(SCENARIO)
    return made


def fly(path):
    scenario = load_scenario(path)
    with np.errstate(all="ignore"):
        loop = ClosedLoop(scenario)
        for _ in range(2):
            loop.period()
    assert np.isfinite(loop.simulation.motion).all(), "a state is not finite"
    assert np.isfinite(loop.simulation.joint_states).all(), "a joint is not finite"
    ET.fromstring(scenario_urdf(scenario, bodies=True))


@pytest.mark.timeout(budget.TIME_LIMIT)
def test_whatever_a_robot_description_holds_it_is_a_vehicle_or_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    paths = sorted((config_directory() / "urdf").glob("*.urdf"))
    originals = [p.read_bytes() for p in paths]
    robots = [ET.fromstring(data) for data in originals]
    file = folder / "fuzz.urdf"
    file.write_bytes(originals[0])
    fly(folder / "scenario.yaml")  # compiled before anything is timed

    def attempt(rng, number):
        if number < len(ATTACKS):
            file.write_bytes(ATTACKS[number].encode("utf-8", "surrogatepass"))
        elif rng.random() < 0.25:
            file.write_bytes(damage.damaged(rng, nasty.pick(rng, originals)))
        else:
            file.write_bytes(changed(rng, nasty.pick(rng, robots)))
        try:
            load_vehicle(str(folder / "vehicle.yaml"))
        except ConfigError as error:
            if not re.search(r"(fuzz\.urdf|vehicle\.yaml):\d+: ", str(error)):
                raise UnclearError(f"names no place: {error}") from error
            raise
        if number % FLOWN == 0:
            fly(folder / "scenario.yaml")
        return ACCEPTED

    judge("urdf", attempt)
