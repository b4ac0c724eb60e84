"""Many worlds through many periods: one after the other, or side by side where they are alike."""

from __future__ import annotations

from math import exp, inf

from rotor_core.kernels.jit import inlined, kernel_without_gil
from rotor_core.numbers.lanes import WIDTH, choose
from rotor_dynamics import memory
from rotor_dynamics.hybrid.impact import INPUT_CHANGED, NOTHING
from rotor_dynamics.hybrid.stepper import OK, run
from rotor_dynamics.kinematics.members import member_motion
from rotor_dynamics.side_by_side.steps import step_lanes, take_up_inputs


@inlined
def command_rotors(world, speeds):
    """New commands for all rotors, which follow with their lag (R.5)."""
    t = world.scalars[memory.TIME]
    for k in range(world.head[memory.N_ROTORS]):
        rotor = world.rotors[k]
        rate = rotor[memory.LAG_RATE]
        wanted = speeds[world.rotor_int[k, memory.ROTOR_NUMBER]]
        now = rotor[memory.SPEED_BIAS] + rotor[memory.SPEED_OFFSET] * exp(
            -rate * (t - rotor[memory.SINCE])
        )
        rotor[memory.SPEED_OFFSET] = choose(rate > 0.0, now - wanted, 0.0)
        rotor[memory.SPEED_BIAS] = wanted
        rotor[memory.SINCE] = t


@inlined
def apply_inputs(world, wrenches, speeds, wind):
    """Write the inputs of one period into a world."""
    for k in range(wrenches.shape[0]):
        for channel in range(4):
            world.inputs[k, memory.BIAS + channel] = wrenches[k, channel]
    if speeds.shape[0] > 0:
        command_rotors(world, speeds)
    n_rows = world.head[memory.N_BODIES] + world.head[memory.N_JOINTS]
    for b in range(n_rows if wind.shape[0] > 0 else 0):
        for i in range(3):
            world.bodies[b, memory.WIND + i] = wind[i]
    world.head[memory.WHAT] = INPUT_CHANGED


@inlined
def count_events(world, counts):
    """Add the events since the last call to their counts by type."""
    for i in range(counts.shape[0]):
        counts[i] += world.head[memory.EVENT_COUNTS + i]
        world.head[memory.EVENT_COUNTS + i] = 0


@inlined
def record(ints, floats, period, every, member_body, member_pose, motions, tensions):
    """After every ``every``-th period write down state and tensions of a world, in the next row."""
    if (period + 1) % every != 0:
        return
    row = (period + 1) // every - 1
    world = memory.views(ints, floats)
    member_motion(ints, floats, member_body, member_pose, motions[row])
    for k in range(tensions.shape[1]):
        tensions[row, k] = world.constraints[k, memory.TENSION_0]


@kernel_without_gil
def run_worlds(
    ints, floats, first, last, wrenches, speeds, wind, steps, every,
    member_body, member_poses, motions, tensions, counts, statuses,
):  # fmt: skip
    """Run worlds ``first`` to ``last`` through all periods; see :meth:`Batch.rollout`."""
    n_periods = wrenches.shape[1]
    for w in range(first, last):
        world = memory.views(ints[w], floats[w])
        status = OK
        for p in range(n_periods):
            if status == OK:
                apply_inputs(world, wrenches[w, p], speeds[w, p], wind[w, p])
                status = run(ints[w], floats[w], 0)
                if status == OK:
                    status = run(ints[w], floats[w], steps)
                count_events(world, counts[w])
            record(
                ints[w], floats[w], p, every, member_body, member_poses[w], motions[w], tensions[w]
            )
        statuses[w] = status


@inlined
def enter(source, pack, lane, parts):
    """Parts of the numbers of a world, rows (first, end), into its lane of a pack."""
    for p in range(parts.shape[0]):
        for i in range(parts[p, 0], parts[p, 1]):
            pack[i, lane] = source[i]


@inlined
def settle(pack, target, lane, parts):
    """Parts of the numbers in a lane of a pack, rows (first, end), into its world."""
    for p in range(parts.shape[0]):
        for i in range(parts[p, 0], parts[p, 1]):
            target[i] = pack[i, lane]


@inlined
def join(ints, floats, pack, lane, everything):
    """A whole world, with the number of its step, into its lane of a pack."""
    enter(floats, pack, lane, everything)
    pack[memory.STEP_NUMBER, lane] = 1.0 * ints[memory.STEP]


@inlined
def takes_part(ints, floats, lead):
    """True if a world can take smooth steps with those whose integers are ``lead``: the same cables are taut."""
    world, other = memory.views(ints, floats), memory.views(lead, floats)
    for k in range(world.head[memory.N_CONSTRAINTS]):
        for column in (memory.TAUT, memory.ALIVE, memory.IGNORED):
            if world.constraint_int[k, column] != other.constraint_int[k, column]:
                return False
    return world.scalars[memory.NEXT_STEP] == inf


@inlined
def fill(ints, floats, members, lead, pack, statuses, everything):
    """Choose who leads (the one with most companions) and let all that can take part enter; their bits."""
    best, leader = 1, -1
    for a in range(WIDTH):
        if members[a] < 0 or statuses[members[a]] != OK:
            continue
        found = 0
        for b in range(WIDTH):
            if members[b] >= 0 and statuses[members[b]] == OK:
                found += takes_part(ints[members[b]], floats[members[b]], ints[members[a]])
        if found > best:
            best, leader = found, a
    if leader < 0:
        return 0
    for i in range(lead.shape[0]):
        lead[i] = ints[members[leader], i]
    inside = 0
    for lane in range(WIDTH):
        w = members[lane]
        fits = w >= 0 and statuses[w] == OK and takes_part(ints[w], floats[w], lead)
        if not fits:
            w = members[leader]  # some numbers must be there
        join(ints[w], floats[w], pack, lane, everything)
        inside |= int(fits) << lane
    return inside


@inlined
def step_together(ints, floats, members, lead, pack, inside, steps, statuses, everything, shared):
    """A period of the worlds inside a pack: together, or a step alone for those that must; who is still inside.

    ``shared`` counts the steps of every world that were taken with others.
    """
    left = steps
    while left > 0 and inside != 0:
        leaving = step_lanes(lead, pack, left, inside)
        left -= lead[memory.STEPS_DONE]
        for lane in range(WIDTH):
            if inside >> lane & 1:
                ints[members[lane], memory.STEP] += lead[memory.STEPS_DONE]
                ints[members[lane], memory.TRIALS] += lead[memory.STEPS_DONE]
                shared[members[lane]] += lead[memory.STEPS_DONE]
        if leaving == 0:
            break
        others = inside & ~leaving
        for lane in range(WIDTH):
            if leaving >> lane & 1:
                w = members[lane]
                settle(pack, floats[w], lane, everything)
                statuses[w] = run(ints[w], floats[w], 1)
        if others != 0:  # they take the same step; what the pack holds of the rest is overwritten
            step_lanes(lead, pack, 1, others)
        left -= 1
        inside = others
        for lane in range(WIDTH):
            w = members[lane]
            if others >> lane & 1:
                ints[w, memory.STEP] += 1
                ints[w, memory.TRIALS] += 1
                shared[w] += 1
            elif leaving >> lane & 1 and statuses[w] == OK:
                if takes_part(ints[w], floats[w], lead):
                    join(ints[w], floats[w], pack, lane, everything)
                    inside |= 1 << lane
                elif left > 0:
                    statuses[w] = run(ints[w], floats[w], left)
    return inside


@kernel_without_gil
def run_packs(
    ints, floats, first, last, packs, lead, pack, brought, settled, everything, wrenches, speeds, wind,
    steps, every, member_body, member_poses, motions, tensions, counts, statuses, shared,
):  # fmt: skip
    """Run the worlds of packs ``first`` to ``last`` through all periods, side by side where they are alike.

    As :func:`run_worlds`, with

    Args:
        packs: worlds in the lanes of each pack, (n, WIDTH), -1 where there is none.
        lead, pack: room for the integers of a world, and for the numbers of WIDTH of them.
        brought, settled, everything: parts of the numbers of a world, rows (first, end): its inputs; what a step
            changes for good; all.
        shared: steps of every world that were taken with others, (n_worlds,), written.
    """
    for number in range(first, last):
        members = packs[number]
        inside = 0
        for p in range(wrenches.shape[1]):
            for lane in range(WIDTH):
                w = members[lane]
                if w >= 0 and statuses[w] == OK:
                    world = memory.views(ints[w], floats[w])
                    apply_inputs(world, wrenches[w, p], speeds[w, p], wind[w, p])
                    if inside >> lane & 1:
                        enter(floats[w], pack, lane, brought)
            if inside == 0:
                inside = fill(ints, floats, members, lead, pack, statuses, everything)
            if inside != 0:
                inside &= ~take_up_inputs(lead, pack, inside)
            for lane in range(WIDTH):
                w = members[lane]
                if w < 0 or statuses[w] != OK:
                    continue
                if inside >> lane & 1:
                    ints[w, memory.WHAT] = NOTHING
                    ints[w, memory.STEPS_DONE] = 0
                else:
                    statuses[w] = run(ints[w], floats[w], 0)
                    if statuses[w] == OK:
                        statuses[w] = run(ints[w], floats[w], steps)
            inside = step_together(
                ints, floats, members, lead, pack, inside, steps, statuses, everything, shared
            )
            together = 0
            for lane in range(WIDTH):
                w = members[lane]
                if w < 0:
                    continue
                if inside >> lane & 1:
                    settle(pack, floats[w], lane, settled)
                    together += 1
                elif inside != 0 and statuses[w] == OK and takes_part(ints[w], floats[w], lead):
                    join(ints[w], floats[w], pack, lane, everything)
                    inside |= 1 << lane
                    together += 1
                count_events(memory.views(ints[w], floats[w]), counts[w])
                record(
                    ints[w], floats[w], p, every, member_body, member_poses[w], motions[w],
                    tensions[w],
                )  # fmt: skip
            if together < 2:
                inside = 0  # who takes part with whom is decided anew
