"""Kinds of units: one table for each rule set.

`LIBERTY` are the numbers of StarCraft II: Wings of Liberty, which the original's maps fight with,
at the game's own clock of 16 loops a second. `SMACLITE` are SMAClite's: later weapons, and speeds
and cooldowns of a clock that runs 1.4 times as fast. Hydralisks, which SMAClite has not, have the
numbers of its source of all others, the ladder game.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

LOOPS_PER_SECOND = 16
SHIELD_WAIT = 160.0
"""Loops without damage after which shields grow back."""
SHIELD_PER_LOOP = 2.0 / LOOPS_PER_SECOND

Attack = Literal["hit", "beam", "blast", "heal"]


@dataclass(frozen=True)
class Kind:
    """A kind of unit. Lengths are cells of the map, times seconds of 16 loops."""

    health: float
    shield: float = 0.0
    armour: float = 0.0
    """Taken off each hit on health; shields have none."""
    traits: tuple[str, ...] = ()
    """What attacks may have a bonus against."""
    attack: Attack = "hit"
    """One target; all in a line across the aim; all around, dying of it; or healing a friend."""
    damage: float = 0.0
    """Of one hit."""
    bonus: Mapping[str, float] | None = None
    """Further damage of one hit, by a trait of the target."""
    hits: int = 1
    """Hits of one attack."""
    range: float = 0.0
    """From edge to edge."""
    period: float = 0.0
    """Seconds from one attack to the next."""
    speed: float = 0.0
    radius: float = 0.5
    """Of ranges."""
    body: float | None = None
    """Radius of collisions. None: that of ranges."""
    scan: float = 5.0
    """How far enemies look for targets."""
    regeneration: float = 0.0
    """Health per second."""
    damage_point: float = 0.0
    """Seconds from the start of an attack to its effect; moving in between calls it off."""
    second_hit: float = 0.0
    """Seconds from the first to the second hit of one attack."""
    missile: float = 0.0
    """Speed of what is shot. 0: the hit is at once."""
    slop: float = 1.0
    """How far a target may leave the range during the damage point."""
    air: bool = False
    """Flies: above walls and ground units."""
    hits_air: bool = False
    climbs: bool = False
    """Walks over walls inside the map."""
    energy: tuple[float, float] = (0.0, 0.0)
    """At the start, and at most."""
    cooldown_scale: float = 15.0
    """What the state divides the cooldown by, in loops."""
    letter: str = "?"
    """In pictures."""


ENERGY_PER_SECOND = 0.5625
HEAL_PER_SECOND = 9.0

LIBERTY: dict[str, Kind] = {
    "stalker": Kind(
        health=80,
        shield=80,
        armour=1,
        traits=("armored", "mechanical"),
        damage=10,
        bonus={"armored": 4},
        range=6,
        period=1.44,
        speed=2.9531,
        radius=0.625,
        damage_point=0.167,
        missile=18.75,
        hits_air=True,
        cooldown_scale=35,
        letter="S",
    ),
    "zealot": Kind(
        health=100,
        shield=50,
        armour=1,
        traits=("light", "biological"),
        damage=8,
        hits=2,
        second_hit=0.28,
        range=0.1,
        period=1.2,
        speed=2.25,
        radius=0.5,
        body=0.375,
        cooldown_scale=22,
        letter="Z",
    ),
    "spine_crawler": Kind(
        health=300,
        armour=2,
        traits=("armored", "biological", "structure"),
        damage=25,
        bonus={"armored": 5},
        range=7,
        period=1.6,
        radius=0.875,
        scan=7,
        regeneration=0.2734,
        damage_point=0.333,
        slop=0,
        letter="C",
    ),
    "marine": Kind(
        health=45,
        traits=("light", "biological"),
        damage=6,
        range=5,
        period=0.8608,
        speed=2.25,
        radius=0.375,
        damage_point=0.05,
        hits_air=True,
        cooldown_scale=15,
        letter="M",
    ),
    "marauder": Kind(
        health=125,
        armour=1,
        traits=("armored", "biological"),
        damage=10,
        bonus={"armored": 10},
        range=6,
        period=1.5,
        speed=2.25,
        radius=0.5625,
        body=0.5,
        scan=6,
        missile=20,
        cooldown_scale=25,
        letter="R",
    ),
    "medivac": Kind(
        health=150,
        armour=1,
        traits=("armored", "mechanical"),
        attack="heal",
        range=4,
        speed=2.75,
        radius=0.75,
        air=True,
        energy=(50, 200),
        cooldown_scale=200,
        letter="+",
    ),
    "zergling": Kind(
        health=35,
        traits=("light", "biological"),
        damage=5,
        range=0.1,
        period=0.696,
        speed=2.9531,
        radius=0.375,
        regeneration=0.2734,
        damage_point=0.167,
        cooldown_scale=11,
        letter="L",
    ),
    "colossus": Kind(
        health=200,
        shield=150,
        armour=1,
        traits=("armored", "mechanical", "massive"),
        attack="beam",
        damage=20,
        hits=2,
        range=6,
        period=2.2,
        speed=2.25,
        radius=1.0,
        body=0.75,
        scan=6,
        damage_point=0.083,
        slop=0,
        climbs=True,
        cooldown_scale=24,
        letter="K",
    ),
    "baneling": Kind(
        health=30,
        traits=("biological",),
        attack="blast",
        damage=20,
        bonus={"light": 15, "structure": 60},
        range=0.25,
        speed=2.5,
        radius=0.375,
        regeneration=0.2734,
        cooldown_scale=1,
        letter="B",
    ),
    "hydralisk": Kind(
        health=80,
        traits=("light", "biological"),
        damage=12,
        range=5,
        period=0.83,
        speed=2.25,
        radius=0.625,
        regeneration=0.2734,
        damage_point=0.208,
        hits_air=True,
        cooldown_scale=10,
        letter="H",
    ),
}

SMACLITE: dict[str, Kind] = {
    "stalker": Kind(
        health=80,
        shield=80,
        armour=1,
        traits=("armored",),
        damage=13,
        bonus={"armored": 5},
        range=6,
        period=1.34,
        speed=4.13,
        radius=0.625,
        hits_air=True,
        cooldown_scale=1.34 * 16,
        letter="S",
    ),
    "zealot": Kind(
        health=100,
        shield=50,
        armour=1,
        traits=("light",),
        damage=8,
        hits=2,
        range=0.1,
        period=0.86,
        speed=3.15,
        radius=0.5,
        cooldown_scale=0.86 * 16,
        letter="Z",
    ),
    "spine_crawler": Kind(
        health=300,
        armour=2,
        traits=("armored",),
        damage=25,
        bonus={"armored": 5},
        range=7,
        period=1.32,
        radius=0.5,
        scan=10,
        regeneration=0.38,
        cooldown_scale=1.32 * 16,
        letter="C",
    ),
    "marine": Kind(
        health=45,
        traits=("light",),
        damage=6,
        range=5,
        period=0.61,
        speed=3.15,
        radius=0.375,
        hits_air=True,
        cooldown_scale=0.61 * 16,
        letter="M",
    ),
    "marauder": Kind(
        health=125,
        armour=1,
        traits=("armored",),
        damage=10,
        bonus={"armored": 10},
        range=6,
        period=1.07,
        speed=3.15,
        radius=0.5625,
        cooldown_scale=1.07 * 16,
        letter="R",
    ),
    "medivac": Kind(
        health=150,
        armour=1,
        traits=("armored",),
        attack="heal",
        range=4,
        speed=3.5,
        radius=0.75,
        air=True,
        energy=(50, 200),
        cooldown_scale=200,
        letter="+",
    ),
    "zergling": Kind(
        health=35,
        traits=("light",),
        damage=5,
        range=0.1,
        period=0.497,
        speed=4.13,
        radius=0.375,
        regeneration=0.38,
        cooldown_scale=0.497 * 16,
        letter="L",
    ),
    "colossus": Kind(
        health=200,
        shield=150,
        armour=1,
        traits=("armored",),
        attack="beam",
        damage=10,
        bonus={"light": 5},
        hits=2,
        range=7,
        period=1.07,
        speed=3.15,
        radius=1.0,
        cooldown_scale=1.07 * 16,
        letter="K",
    ),
    "baneling": Kind(
        health=30,
        attack="blast",
        damage=80,
        range=0.25,
        speed=3.15,
        radius=0.375,
        regeneration=0.38,
        letter="B",
    ),
    "hydralisk": Kind(
        health=80,
        traits=("light",),
        damage=12,
        range=5,
        period=0.59,
        speed=3.15,
        radius=0.625,
        regeneration=0.38,
        hits_air=True,
        cooldown_scale=0.59 * 16,
        letter="H",
    ),
}

KINDS: dict[str, dict[str, Kind]] = {"liberty": LIBERTY, "smaclite": SMACLITE}

BLAST_RADIUS = 2.2
BEAM_HALF = (1.4, 0.15)
"""Half the length of a colossus's line, across the aim, and half its width."""
