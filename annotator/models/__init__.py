"""Tables of what is worked on. Where two pages of the design differ, DATA-MODEL stands."""

from annotator.models.content import (
    Dialogue,
    Draft,
    DraftStep,
    Finding,
    Revision,
    StepState,
    Toolset,
    ToolsetRevision,
    Waiver,
)
from annotator.models.people import ApiToken, Guideline, Invitation, Membership, Project, Role, User
from annotator.models.work import Event, Job, JobState

__all__ = [
    "ApiToken",
    "Dialogue",
    "Draft",
    "DraftStep",
    "Event",
    "Finding",
    "Guideline",
    "Invitation",
    "Job",
    "JobState",
    "Membership",
    "Project",
    "Revision",
    "Role",
    "StepState",
    "Toolset",
    "ToolsetRevision",
    "User",
    "Waiver",
]
