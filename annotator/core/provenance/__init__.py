"""Provenance: where each argument value of a call was visible before the call. Pure: no Django here."""

from annotator.core.provenance.edges import Suggestion
from annotator.core.provenance.information import InformationEvidence
from annotator.core.provenance.scope import SourceKind
from annotator.core.provenance.search_targets import Quality
from annotator.core.provenance.tracing import (
    ArgumentTrace,
    CallTrace,
    Provenance,
    Source,
    TaskTrace,
    evidence_for_information,
    suggest_edges,
    trace,
)
from annotator.core.provenance.value_search import Origin
