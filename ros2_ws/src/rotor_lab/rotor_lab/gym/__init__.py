"""Gymnasium environments; importing this registers them: ``gymnasium.make("rotor_lab.gym:rotor/Team-v0")``."""

import gymnasium

gymnasium.register(
    id="rotor/Team-v0",
    entry_point="rotor_lab.gym.environments:TeamEnv",
    vector_entry_point="rotor_lab.gym.environments:TeamVectorEnv",
)
