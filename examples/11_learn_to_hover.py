"""Learn to hover from nothing: augmented random search finds a linear feedback of the states.

A Dragonfly starts up to half a metre from its goal, moving and leaning; thrust and three moments are the
actions. The search (Mania, Guy, Recht 2018) asks for no gradient: it tries perturbations of the feedback,
all worlds of a round at once in the batch engine. What is learned is then tried on starts it has not seen.

./rotor python examples/11_learn_to_hover.py [ROUNDS]
"""

import sys
import time

import gymnasium
import numpy as np

import rotor_flight.gym  # noqa: F401  (registers the environments)

DIRECTIONS, BEST = 48, 16
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 120
STEP, NOISE = 0.04, 0.05
TRIALS = 200


def episodes(env, feedback, scale, seed):
    """Fly one episode with every feedback (n, actions, states); returns (return, distance at the end), (n,)."""
    seen, _ = env.reset(seed=seed)
    n = len(feedback)
    total, alive, distance = np.zeros(n), np.ones(n, bool), np.full(n, np.inf)
    while alive.any():
        actions = np.clip(np.einsum("nij,nj->ni", feedback, seen / scale), -1.0, 1.0)
        seen, reward, failed, over, info = env.step(actions)
        total += np.where(alive, reward, 0.0)
        ended = over & alive
        distance[ended] = info["distance_m"][ended]
        alive &= ~(failed | over)
    return total, distance


began = time.perf_counter()
env = gymnasium.make_vec("rotor/Team-v0", num_envs=2 * DIRECTIONS, scenario="hover")
n_states, n_actions = env.single_observation_space.shape[0], env.single_action_space.shape[0]
random = np.random.default_rng(0)
scale = np.concatenate([np.full(3, 0.5), np.full(3, 0.5), np.full(9, 0.3), np.full(3, 1.0)])
best = np.zeros((n_actions, n_states))
for round_number in range(ROUNDS):
    tried = random.standard_normal((DIRECTIONS, n_actions, n_states))
    both = np.concatenate([best + NOISE * tried, best - NOISE * tried])
    returns, _ = episodes(env, both, scale, seed=1000 * round_number)
    plus, minus = returns[:DIRECTIONS], returns[DIRECTIONS:]
    chosen = np.argsort(-np.maximum(plus, minus))[:BEST]
    spread = np.concatenate([plus[chosen], minus[chosen]]).std() + 1e-9
    step = np.einsum("k,kij->ij", plus[chosen] - minus[chosen], tried[chosen])
    best += STEP / (BEST * spread) * step
    if round_number % 20 == 19:
        print(f"round {round_number + 1:3d}: mean return {returns.mean():.1f} of 250", flush=True)

trial = gymnasium.make_vec("rotor/Team-v0", num_envs=TRIALS, scenario="hover")
returns, distance = episodes(trial, np.tile(best, (TRIALS, 1, 1)), scale, seed=10**6)
kept = np.isfinite(distance)
print(
    f"{TRIALS} new starts: {kept.sum()} flown to the end, mean return {returns.mean():.1f}", end=""
)
if kept.any():
    median, largest = 100.0 * np.median(distance[kept]), 100.0 * distance[kept].max()
    print(f"; median distance from the goal {median:.1f} cm, largest {largest:.1f} cm", end="")
print(f"; learned in {time.perf_counter() - began:.0f} s")
