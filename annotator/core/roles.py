"""The roles of people in a project."""

from enum import StrEnum


class Role(StrEnum):
    ANNOTATOR = "annotator"
    SENIOR_REVIEWER = "senior_reviewer"
    ADMINISTRATOR = "administrator"
