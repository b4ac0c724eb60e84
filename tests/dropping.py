"""A flight whose mission lets something go, for tests of what recordings hold of it."""

DROPPED = """
schema: 1
description: a drone lets its parcel go in the air, as its mission says
model:
  vehicles: [{use: delivery_drone, name: drone}]
  payloads: [{use: six_pack, name: parcel}]
  attachments: [{type: rigid_link, parent: drone, child: parcel, position_m: [0, 0, 0]}]
initial: [{entity: drone, position_m: [0, 0, 3]}]
controller: {use: quadrotor}
mission: {steps: [{type: hover, duration_s: 0.6}, {type: release, payload: parcel}, {type: hover, duration_s: 1}]}
settle_s: 0
"""
