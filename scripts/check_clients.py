"""Generate clients from the API's schema, in Python and TypeScript, and use them: ``make clients``.

The Python generator gets an environment of its own, in the cache folder of the user; Deno downloads the other one. A
server with workers runs on an empty database, in PostgreSQL if it is installed; each client imports, reviews, releases
and downloads a dialogue there. Exits with 1 if anything fails.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.check_loaders import Loader, install
from scripts.check_loaders import Stop as NotInstalled
from scripts.demo import HOST, NOT_INHERITED, start_workers, web_command
from scripts.environment import ROOT, Stop
from scripts.private_services import find_postgresql, private_postgresql
from scripts.supervisor import Supervisor, last_log_lines

GENERATOR = Loader("openapi-python-client", ("openapi-python-client==0.29.*",))
PACKAGE = "assay_client"
#: The generator knows one media type of bytes, and formats its code with a program that it does not bring.
CONFIG = """\
content_type_overrides:
  application/zip: application/octet-stream
  application/jsonl: application/octet-stream
post_hooks: []
"""
#: What the TypeScript client uses, as Deno names it.
TYPES = "npm:openapi-typescript@7"
IMPORTS = {"openapi-fetch": "npm:openapi-fetch@0.17", "schema": "./schema.ts"}
PARTS = ROOT / "tests" / "api_clients"
#: Seconds for one program.
PATIENCE = 180


def main() -> int:
    """Run the check and return the exit code."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="assay-clients-") as temporary, contextlib.ExitStack() as stack:
        try:
            programs = find_postgresql()
            database = stack.enter_context(private_postgresql(programs)) if programs else ""
            check(Path(temporary), database)
            print(f"on {'PostgreSQL' if database else 'SQLite'}")
        except (Stop, NotInstalled) as stop:
            print(stop, file=sys.stderr)
            return 1
    print(f"{time.monotonic() - begun:.0f} seconds", file=sys.stderr)
    return 0


def check(scratch: Path, database: str) -> None:
    """Serve, generate and use the client. ``database``: the URL of an empty one, blank for SQLite. Raises Stop."""
    generator = install(GENERATOR)
    python, logs = Path(sys.executable), scratch / "logs"
    with socket.create_server((HOST, 0)) as listener, Supervisor() as supervisor:
        url = f"http://{HOST}:{listener.getsockname()[1]}"
        variables = server_variables(scratch / "data", url, database)
        run([python, ROOT / "manage.py", "migrate", "--verbosity", "0"], variables)
        known = json.loads(run([python, PARTS / "prepare.py"], variables).splitlines()[-1])
        web = web_command(python, listener.fileno())
        supervisor.start("web server", web, env=variables, cwd=ROOT, log=logs / "web.log", pass_fds=[listener.fileno()])
        start_workers(supervisor, python, variables, logs)
        if not supervisor.wait_until_ready(f"{url}/healthz", seconds=PATIENCE):
            raise Stop("Stopped.")
        generate(generator, url, scratch)
        words = [url, known["slug"], known["administrator"], known["reviewer"]]
        try:
            used = run([generator, PARTS / "follow_the_work.py", *words], os.environ | {"PYTHONPATH": str(scratch)})
            used += use_types(url, words, scratch / "types")
        except Stop as stop:
            lines = [line for log in sorted(logs.glob("*.log")) for line in (str(log.name), *last_log_lines(log))]
            raise Stop("\n".join([str(stop), *lines])) from None
        print(used.strip())


def server_variables(data: Path, url: str, database: str = "") -> dict[str, str]:
    """Return the environment variables of the server: embedded mode, its own data."""
    data.mkdir()
    variables = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return variables | {
        "ASSAY_MODE": "embedded",
        "ASSAY_DATA": str(data),
        "ASSAY_PLAIN_STATIC": "1",
        "DJANGO_SETTINGS_MODULE": "annotator.config.settings",
        "SITE_URL": url,
        **({"DATABASE_URL": database} if database else {}),
    }


def generate(generator: Path, url: str, scratch: Path) -> None:
    """Write the client into a package in the folder. Raises Stop, also for a part that the generator leaves out."""
    config = scratch / "config.yml"
    config.write_text(CONFIG)
    program = generator.with_name("openapi-python-client")
    run(
        [
            program, "generate", "--url", f"{url}/api/schema/?format=json", "--output-path", scratch / PACKAGE,
            "--meta", "none", "--config", config, "--fail-on-warning",
        ],
        os.environ,
    )  # fmt: skip


def use_types(url: str, words: Sequence[str], scratch: Path) -> str:
    """Generate the types, check the program that uses them and run it; return what it prints. Raises Stop."""
    scratch.mkdir()
    (scratch / "deno.json").write_text(json.dumps({"imports": IMPORTS, "lock": False}))
    program = scratch / "follow_the_work.ts"
    program.write_text((PARTS / program.name).read_text())
    deno = [sys.executable, "-m", "deno", "run", "--quiet"]
    variables = os.environ | {"DENO_NO_UPDATE_CHECK": "1"}
    schema = f"{url}/api/schema/?format=json"
    # A field with a default may be left out of a request.
    options = ["--default-non-nullable=false", "--output", str(scratch / "schema.ts")]
    run([*deno, "--allow-all", TYPES, schema, *options], variables)
    return run([*deno, "--check", "--allow-net", "--config", scratch / "deno.json", program, *words], variables)


def run(command: Sequence[str | Path], variables: Mapping[str, str]) -> str:
    """Run a program and return what it prints. Raises Stop."""
    title = Path(command[1]).name if Path(command[0]).name.startswith("python") else Path(command[0]).name
    try:
        ended = subprocess.run(
            list(map(str, command)), env=dict(variables), cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Stop(f"{title} took more than {PATIENCE} seconds.") from None
    if ended.returncode:
        raise Stop(f"{title} failed:\n{ended.stdout.strip()}\n{ended.stderr.strip()}")
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
