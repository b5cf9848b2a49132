"""The command ``assay``: data on standard output, words on standard error."""

import os
import sys
from collections.abc import Sequence

from assay.arguments import build
from assay.client import Client
from assay.commands import FAILED, NOTHING
from assay.errors import ApiError, AssayError, JobFailed, ReleaseError
from assay.output import say
from assay.verbs import COMMANDS, OFFLINE

_STOPPED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    options = build(COMMANDS, OFFLINE).parse_args(arguments)
    try:
        if options.offline:
            return int(options.run(options))
        url, token = os.environ.get("ASSAY_URL"), os.environ.get("ASSAY_TOKEN")
        if not url or not token:
            raise AssayError("Set ASSAY_URL to the address of the server and ASSAY_TOKEN to a token.")
        with Client(url, token, timeout=options.timeout, insecure=options.insecure) as client:
            if client.is_readable:
                say("Warning: over plain http, others in the network can read the token and all data.")
            return int(options.run(client, options))
    except (JobFailed, ReleaseError) as error:
        say(error)
        return FAILED
    except BrokenPipeError:
        # The reader of the output has enough. Python would complain when it closes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        say(f"{error.filename}: {error.strerror}." if error.filename else error)
        return NOTHING
    except (AssayError, ValueError) as error:
        say(error)
        for finding in error.findings if isinstance(error, ApiError) else ():
            say(f"{finding.get('severity')} at {finding.get('anchor')}: {finding.get('message')}")
        return NOTHING
    except KeyboardInterrupt:
        say("Stopped. What the server has begun goes on.")
        return _STOPPED


if __name__ == "__main__":
    sys.exit(main())
