"""Put an autopilot in the loop in the place of a scenario's controller."""

from __future__ import annotations

import math
from dataclasses import replace

from rotor_core.config.controllers import CONTROL_LAWS
from rotor_core.config.counterparts.autopilots import Autopilot
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.structure import suggestion
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.errors import ConfigError


def with_autopilot(scenario: Scenario, name: str) -> Scenario:
    """A scenario under an autopilot with its usual settings; one that has this autopilot stays as it is.

    The control period becomes as short as the autopilot needs.

    Raises:
        ConfigError: there is no such autopilot.
    """
    configs = {key: CONTROL_LAWS[key].config for key in CONTROL_LAWS}
    known = {key: config for key, config in configs.items() if issubclass(config, Autopilot)}
    if name not in known:
        raise ConfigError(
            f"autopilot: there is no autopilot {name!r}{suggestion(name, sorted(known))}"
        )
    if scenario.controller.type == name:
        return scenario
    control, time = known[name](), scenario.time
    if time.control_s > control.SLOWEST + SAME_TIME:
        steps = max(1, math.floor(control.SLOWEST / time.step_s + SAME_TIME))
        time = replace(time, control_s=steps * time.step_s)
    return replace(scenario, controller=control, time=time)
