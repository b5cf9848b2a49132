"""Run untrusted code: validators ``validate(response) -> (bool, message)`` and tools.

    with Sandbox() as sandbox:
        results = sandbox.run(source, "validate", [Call(args=("some response",))])

A prepared interpreter (``inside.zygote``) forks one child for each batch of calls of one source. The child can only
compute and answer: a system call filter refuses files, sockets and processes, and limits stop code that runs too long
or uses too much memory. If the filter cannot be loaded, nothing runs (``SandboxUnavailable``). The host trusts a child
only about its own batch, and observes timeouts and crashes itself.

A trajectory of a stateful tool (``Sandbox.run_trajectory``) has a child of its own, which reports the tool's state
after each call. It runs twice, and what differs is reported.
"""

from annotator.core.sandbox.host import Sandbox
from annotator.core.sandbox.results import Call, CallResult, Expected, Limits, SandboxUnavailable, Status
from annotator.core.sandbox.sharing import shared_sandbox, walls_in_force
from annotator.core.sandbox.trajectories import (
    Implementation,
    State,
    Step,
    ToolCall,
    Trajectory,
    TrajectoryRun,
)
