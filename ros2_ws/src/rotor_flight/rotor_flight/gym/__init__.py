"""Gymnasium environments; importing this registers them: ``gymnasium.make("rotor_flight.gym:rotor/Team-v0")``."""

import gymnasium

gymnasium.register(
    id="rotor/Team-v0",
    entry_point="rotor_flight.gym.environments:TeamEnv",
    vector_entry_point="rotor_flight.gym.environments:TeamVectorEnv",
)
