"""The Python client of Assay: ``Client`` for a server, ``load_release`` for the archive of a release."""

from assay.client import Client
from assay.errors import (
    ApiError,
    AssayError,
    Busy,
    Conflict,
    Forbidden,
    Invalid,
    JobFailed,
    NoAnswer,
    NotFound,
    ReleaseError,
    Unauthorized,
    WaitTimeout,
)
from assay.generation import Generation
from assay.inference import Inference
from assay.jobs import Import, Job
from assay.project import Project
from assay.release import Release, load_release
from assay.remote_release import RemoteRelease
from assay.scores import Run
from assay.work import Work

__all__ = [
    "ApiError", "AssayError", "Busy", "Client", "Conflict", "Forbidden", "Generation", "Import", "Inference", "Invalid",
    "Job", "JobFailed", "NoAnswer", "NotFound", "Project", "Release", "ReleaseError", "RemoteRelease", "Run",
    "Unauthorized", "WaitTimeout", "Work", "load_release",
]  # fmt: skip
