"""A hook on a winch picks a parcel up."""

import numpy as np
import pytest

from rotor_core.config.loader import scenario_from_text
from rotor_core.errors import ConfigError
from rotor_flight.fly import fly

TEXT = """
schema: 1
model:
  vehicles: [{{use: dragonfly}}]
  payloads:
    - {{name: hook, mass_kg: 0.06, shape: {{type: sphere, radius_m: 0.02}}}}
    - {{name: parcel, mass_kg: 0.01, inertia_kg_m2: [1.0e-5, 1.0e-5, 1.0e-5], shape: {{type: box, size_m: [0.08, 0.08, 0.04]}}}}
  attachments:
    - {{type: cable, a: quad1, b: hook, length_m: 0.8, winch: {{lengths_m: [0.3, 3.0], rate_m_s: 0.4, acceleration_m_s2: 0.5}}}}
initial:
  - {{entity: hook, position_m: [0.0, 0.0, 1.2]}}
  - {{entity: parcel, position_m: [0.0, 0.0, 0.02]}}
environment: {{contact: {{}}}}
controller: {{use: point_mass}}
mission:
  steps:
    - {{type: hover, duration_s: 0.5}}
    - {{type: wind, cable: 1, length_m: 1.93}}
    - {{type: hook, payload: parcel, to: {to}, within_m: {within}, timeout_s: 3.0}}
    - {{type: wind, cable: 1, length_m: 0.9}}
settle_s: 1.0
"""


def test_a_hook_is_let_down_takes_the_parcel_and_is_reeled_in():
    flight = fly(scenario_from_text(TEXT.format(to="hook", within=0.08)))
    assert flight.extra["mission"]["status"] == "succeeded", flight.extra["mission"]
    (attach,) = [e for e in flight.events if e.type == "attach"]
    assert attach.bodies == ("hook", "parcel")
    before = flight.time < attach.time
    assert flight["parcel"].position[before, 2].max() < 0.03
    assert (
        flight["parcel"].position[-1, 2] > 0.7
    )  # it hangs on the hook, 17 % heavier than the law knows
    apart = np.linalg.norm(flight["parcel"].position - flight["hook"].position, axis=1)
    after = flight.time > attach.time + 0.01
    assert np.ptp(apart[after]) < 1e-9
    assert not [
        e for e in flight.events if e.cause == "passes_through" and e.time > attach.time + 0.1
    ]


def test_a_hook_that_does_not_come_near_fails_the_mission():
    flight = fly(scenario_from_text(TEXT.format(to="hook", within=0.001)))
    assert flight.extra["mission"]["status"] == "failed"
    assert "hook did not come within 0.001 m of parcel" in flight.extra["mission"]["message"]


def test_a_hook_must_be_an_entity():
    with pytest.raises(
        ConfigError, match=r"steps\[2\] \(hook\)\.to: cannot be 'parcel'\. Possible: quad1, hook"
    ):
        scenario_from_text(TEXT.format(to="parcel", within=0.1))
