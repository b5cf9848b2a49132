"""Running code that nobody vouches for: validators ``validate(response) -> (bool, message)`` and tools. Pure.

    with Sandbox() as sandbox:
        results = sandbox.run(source, "validate", [Call(args=("some response",))])

A prepared interpreter (``inside.zygote``) forks one child for each batch of calls of one source. The child can compute
and answer, nothing else: a system call filter refuses files, sockets and processes, limits end what runs too long or
grows too large. Where the filter cannot be loaded nothing runs (``SandboxUnavailable``); there is no other way in.
What a child reports is believed of its own batch alone; that it was late, crashed or was stopped is seen from outside.
"""

from annotator.core.sandbox.host import Sandbox
from annotator.core.sandbox.results import Call, CallResult, Expected, Limits, SandboxUnavailable, Status
from annotator.core.sandbox.sharing import shared_sandbox

__all__ = [
    "Call",
    "CallResult",
    "Expected",
    "Limits",
    "Sandbox",
    "SandboxUnavailable",
    "Status",
    "shared_sandbox",
]
