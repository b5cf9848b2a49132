"""Provenance: where each argument value of a call is visible before the call. Pure: no Django here."""

from annotator.provenance.bodies import Quality
from annotator.provenance.edges import Suggestion
from annotator.provenance.finding import Standing
from annotator.provenance.information import InformationEvidence
from annotator.provenance.places import SourceKind
from annotator.provenance.tracing import (
    ArgumentTrace,
    CallTrace,
    Provenance,
    Source,
    TaskTrace,
    evidence_for_information,
    suggest_edges,
    trace,
)

__all__ = [
    "ArgumentTrace",
    "CallTrace",
    "InformationEvidence",
    "Provenance",
    "Quality",
    "Source",
    "SourceKind",
    "Standing",
    "Suggestion",
    "TaskTrace",
    "evidence_for_information",
    "suggest_edges",
    "trace",
]
