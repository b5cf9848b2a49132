"""Simulated projects: dialogues with planted errors, people with known error rates. Pure: no Django here."""

from reviews.core.simulation.documents import TOOLS, Document, Original, Place, Wrong, put, value_at, write_original
from reviews.core.simulation.judging import Judgement, judge, settle
from reviews.core.simulation.world import Item, Person, Rates, World, make_world

__all__ = [
    "TOOLS",
    "Document",
    "Item",
    "Judgement",
    "Original",
    "Person",
    "Place",
    "Rates",
    "World",
    "Wrong",
    "judge",
    "make_world",
    "put",
    "settle",
    "value_at",
    "write_original",
]
