"""Pictures of the delivery drone: its flight, unloading, steps and poles."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.pyplot import subplots

from rotor_core.config.controllers import CascadedPidControl
from rotor_core.state import State
from rotor_core.vehicles.rotors import rotor_set
from validation.papers.pappalardo import gain_study as study
from validation.papers.pappalardo.flights import (
    altitude_step,
    cardan,
    dd1,
    delivery,
    release,
    rotor_rpm,
)
from validation.papers.pappalardo.unloading import unload


def flown() -> Figure:
    """DD-1: path, tilts, rotor speeds, voltages and powers, as Figs 22 to 26; Fig 28; steps and poles."""
    figure, axes = subplots(3, 3, figsize=(15, 11), layout="constrained")
    flight = dd1()
    t = (flight.time - flight.time[0])[::20]
    for i, name in enumerate("xyz"):
        (line,) = axes[0, 0].plot(t, flight.states[::20, 0, i], label=name)
        axes[0, 0].plot(t, flight.references[::20, 0, i], "--", color=line.get_color(), lw=0.8)
    axes[0, 0].set(title="DD-1: position (Fig 22)", xlabel="t, s", ylabel="m")
    angles = np.degrees(cardan(State(flight.states).attitude[::20, 0]))
    for i, name in enumerate(("roll", "pitch", "yaw")):
        axes[0, 1].plot(t, angles[:, i], label=name)
    axes[0, 1].set(title="angles (Fig 23)", xlabel="t, s", ylabel="deg")
    rpm = rotor_rpm(flight)[::20]
    vehicle = flight.scenario.model.vehicles[0]
    motor, rotors = vehicle.rotors.motor, rotor_set(vehicle.rotors)
    assert motor is not None
    omega = rpm * 2.0 * np.pi / 60.0
    torque = rotors.thrust_per_speed2 * vehicle.rotors.torque_per_thrust_m * omega**2
    for k in range(4):
        axes[0, 2].plot(t, rpm[:, k], label=f"{k + 1}")
        axes[1, 0].plot(t, omega[:, k] / motor.speed_per_volt, label=f"{k + 1}")
        axes[1, 1].plot(t, torque[:, k] * omega[:, k], label=f"{k + 1}")
    axes[0, 2].set(title="rotor speeds (Fig 24)", xlabel="t, s", ylabel="rpm", ylim=(2900, 3400))
    axes[1, 0].set(
        title="voltage without load, K_V (Fig 25)", xlabel="t, s", ylabel="V", ylim=(19, 23)
    )
    axes[1, 1].set(title="power at the rotors (Fig 26)", xlabel="t, s", ylabel="W", ylim=(230, 400))
    found = unload()
    axes[1, 2].plot(found.time, 100.0 * found.x, label="pack x, cm")
    axes[1, 2].plot(found.time, 100.0 * found.z, label="pack z, cm")
    axes[1, 2].plot(found.time, np.degrees(found.angle), label="pack angle, deg")
    axes[1, 2].plot(found.time, 0.1 * np.degrees(found.door), label="door angle, 10 deg")
    axes[1, 2].set(title="unloading (Fig 28)", xlabel="t, s")
    for name, per_rotor in (("A: N per rotor", True), ("B: N in all", False)):
        for what, made in (("step", altitude_step), ("release", release)):
            response = made(per_rotor=per_rotor)
            style = "-" if what == "step" else "--"
            axes[2, 0].plot(response.time, response.height, style, label=f"{what}, {name}")
    axes[2, 0].set(title="1 m up; parcel released", xlabel="t, s", ylabel="m", xlim=(0, 10))
    control = delivery().controller
    assert isinstance(control, CascadedPidControl)
    lags = np.linspace(0.0, 0.06, 40)
    for heading in (0, 20, 40, 50):
        worst = [
            np.real(
                study.cascade_poles(
                    control, 0.2745, 1.40686, 100.0, delay=d, heading=np.radians(heading)
                )
            ).max()
            for d in lags
        ]
        axes[2, 1].plot(1e3 * lags, worst, label=f"{heading} deg")
    axes[2, 1].axhline(0.0, color="k", lw=0.8)
    axes[2, 1].set(
        title="stability: heading not turned by, lag of rotors",
        xlabel="lag, ms",
        ylabel="largest real part, 1/s",
        ylim=(-0.5, 12),
    )
    poles = study.cascade_poles(control, 0.2745, 1.40686, 100.0)
    as_flown = study.flown_poles(delivery())
    as_flown = as_flown[np.real(as_flown) > -150.0]
    axes[2, 2].plot(
        np.real(as_flown), np.imag(as_flown), "o", mfc="none", label="as flown, all loops"
    )
    axes[2, 2].plot(np.real(poles), np.imag(poles), "x", label="polynomial, x")
    axes[2, 2].set(title="poles", xlabel="1/s", ylabel="1/s", xscale="symlog", yscale="symlog")
    for ax in axes.flat:
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
    return figure
