"""The child's main function: read the request and do its work."""

import json
import os

from . import channel, guest, tool  # noqa: TID252 - nothing above this package can be imported here


def serve() -> None:
    """Do the work from the channel, with one frame for each answer. Never returns."""
    code = 0
    try:
        request = json.loads(channel.read_frame())
        if request["kind"] == "trajectory":
            tool.work(request)
        else:
            guest.work(request)
    except MemoryError:
        code = channel.OUT_OF_MEMORY
    finally:
        os._exit(code)
