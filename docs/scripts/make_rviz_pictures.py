"""The pictures of docs/rviz.md: flights as node graphs, drawn by Debian's RViz (tools/rviz_check/install.sh).

./rotor python docs/scripts/make_rviz_pictures.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rotor.graph.plan import GraphOptions, graph_plan
from rotor.graph.run import run_graph
from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Scenario
from rotor_core.reference import POSITION
from rotor_flight.warm import warm
from rotor_planning.trajectories.from_config import make_plans

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "rviz_check"))

import draw  # noqa: E402

PICTURES = (
    ("overview", "slalom", 8.5),
    ("overview_slack", "collision_triangular", 0.09),
    ("overview_arm", "pick_and_place", 11.0),
    ("overview_ground", "lift_and_set_down", 15.6),
    ("wide_helicopter", "helicopter_slung_load", 1.5),
    ("tuning", "three_dragonflies_triangular_1m", 7.0),
)
"""Name, scenario, instant s. The configuration is the first word of the name."""


def goal_of(scenario: Scenario) -> tuple[str, list[float]]:
    """Place of the planner's goal marker: the end of the plan."""
    entity, plan = next(iter(make_plans(scenario).items()))  # of a mission: where it begins
    return entity, plan.sample(plan.duration)[POSITION : POSITION + 3].tolist()


def main() -> None:
    """Fly and draw."""
    if not draw.is_available():
        sys.exit("needs Debian's RViz: run tools/rviz_check/install.sh")
    warm()
    for name, scenario_name, at in PICTURES:
        scenario = load_scenario(scenario_name)
        with tempfile.TemporaryDirectory() as folder:
            bag = Path(folder) / "bag"
            options = GraphOptions(scenario_name, bag=bag, duration=at + 0.5, linger=True)
            plans = graph_plan(options, scenario)
            run_graph(plans, Path(folder), on_progress=lambda *_: None)
            config = ROOT / "rviz" / f"{name.split('_')[0]}.rviz"
            picture = ROOT / "docs" / "images" / f"rviz_{name}.png"
            draw.draw(bag, config, picture, at=at, goal=goal_of(scenario))
            print(picture.relative_to(ROOT))


if __name__ == "__main__":
    main()
