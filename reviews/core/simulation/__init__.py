"""Simulated projects: dialogues with planted errors and people with known error rates."""

from reviews.core.simulation.documents import (
    TOOLS,
    Document,
    InjectionPoint,
    Original,
    WrongValue,
    put,
    value_at,
    write_original,
)
from reviews.core.simulation.judging import Judgement, judge, settle
from reviews.core.simulation.model import Item, Person, Rates, SimulationModel, build_model
