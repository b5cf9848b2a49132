"""One run of the benchmark with one database and size, from an empty database to a release."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from scripts.bench_data import make_record
from scripts.bench_report import Measurements, print_progress
from scripts.bench_site import SLUG
from scripts.demo import demo_variables, start_workers, web_command
from scripts.environment import ROOT, Stop
from scripts.supervisor import Supervisor, last_log_lines

PEOPLE = 8
READY_SECONDS = 60.0


@dataclass(frozen=True)
class Amounts:
    """Numbers of requests: to warm up, by one person alone, by each of eight people (API, pages), and per page."""

    warm_up: int
    alone: int
    cycles: int
    pages: int
    gets: int
    #: Time limit of each client.
    seconds: int


def measure(database: str, size: int, records: Path, data: Path, url: str, amounts: Amounts) -> Measurements:
    """Run the benchmark with one database and size."""
    measured = Measurements(database, size)
    site = Site(data, url)
    site.manage("migrate", "--verbosity", "0")
    people = site.ask("prepare")["people"]
    print_progress("  import …")
    peak = site.manage("import_dialogues", str(records), "--project", SLUG, "--format", "wild")
    measured.values |= {"import_rss": peak} | job_rates(site.ask("jobs")["jobs"], {"import": "import"})
    measured.values |= job_rates(site.ask("jobs")["jobs"], {"near_duplicates": "near_duplicates"})
    measured.notes["version"] = site.ask("analyze")["version"]
    measured.times["coverage"] = site.ask("coverage")["seconds"]
    with site.serving() as port:
        load = Load(port, people, amounts)
        print_progress("  one person …")
        load.one_person(measured)
        print_progress("  lists, searches, pages …")
        measured.times |= load.gets("session", page_urls(load, size, site.ask("middle-cursors")["cursors"]))
        measured.times |= load.gets("token", api_urls())
        print_progress(f"  {PEOPLE} people …")
        submitted = load.everybody(measured)
    measured.notes["duplicate_claims"] = duplicate_claims(site.ask("find-duplicate-claims"), submitted)
    print_progress("  release …")
    site.ask("verify-all")
    site.ask("analyze")
    peak = site.manage(
        "freeze_release", "--project", SLUG, "--format", "wild", "--release-version", "1", "--out", str(data / "out")
    )
    measured.values |= {"export_rss": peak} | job_rates(site.ask("jobs")["jobs"], {"release": "export"})
    measured.notes["remarks"] = [
        *(f"CLAIMED TWICE: {line}" for line in measured.notes["duplicate_claims"]),
        f"no item was claimed twice; {PEOPLE} people reviewed {len(submitted):,} items"
        if not measured.notes["duplicate_claims"]
        else "see above",
    ]
    return measured


def job_rates(jobs: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, float]:
    """Return figure → items per second of the last job of each kind (``names``: kind → figure).

    Raises `Stop` if a job failed.
    """
    out = {}
    for job in jobs:
        if job["state"] in ("failed", "cancelled"):
            raise Stop(f"The job {job['kind']} failed: {job['error']}")
        if job["kind"] in names and job["seconds"]:
            out[names[job["kind"]]] = job["done"] / job["seconds"]
    return out


def duplicate_claims(found: Mapping[str, int], submitted: Sequence[str]) -> list[str]:
    """Return a line for each kind of duplicate work, according to the database and to the clients."""
    out = [
        f"{words}: {found[key]}"
        for key, words in (
            ("overlapping", "overlapping claims of one slot"),
            ("twice_by_one_person", "items reviewed twice by one person in one round"),
            ("unclaimed_reviews", "reviews by people who had not claimed the slot"),
            ("own_work_cross_checked", "people who reviewed their own work"),
        )
        if found[key]
    ]
    twice = [slot for slot, count in Counter(submitted).items() if count > 1]
    return [*out, *(f"two clients submitted slot {slot}" for slot in twice)]


# --- the application --------------------------------------------------------------------------------------------------


class Site:
    """An installation with its own database and folder."""

    def __init__(self, data: Path, url: str) -> None:
        self.data = data
        variables = demo_variables(data, "http://127.0.0.1")
        variables |= {"DATABASE_URL": url, "ASSAY_PLAIN_STATIC": "1", "LOG_LEVEL": "ERROR"}
        variables.pop("ASSAY_DEMO", None)
        self.variables = variables
        (data / "static").mkdir(exist_ok=True)

    def manage(self, *arguments: str) -> float:
        """Run a management command. Return the maximum memory of one of its processes, in MB."""
        return self._run([sys.executable, "manage.py", *arguments])[1]

    def ask(self, action: str) -> dict[str, Any]:
        """Run an action of ``scripts.bench_site``."""
        answer: dict[str, Any] = json.loads(self._run([sys.executable, "-m", "scripts.bench_site", action])[0])
        return answer

    def _run(self, command: Sequence[str]) -> tuple[str, float]:
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(command, cwd=ROOT, env=self.variables, stdout=out, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            if process.returncode != 0:
                errors.seek(0)
                tail = "\n".join(f"    {line}" for line in (out.read() + errors.read()).strip().splitlines()[-12:])
                raise Stop(f"{tail}\n{' '.join(command[1:])} failed (see above).")
            # Kilobytes on Linux, bytes on macOS.
            return out.read(), usage.ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)

    @contextlib.contextmanager
    def serving(self) -> Iterator[int]:
        """Run the web server and the workers as the demo does. Return the port."""
        logs = self.data / "logs"
        logs.mkdir()
        with socket.socket() as listener, Supervisor() as supervisor:
            listener.bind(("127.0.0.1", 0))
            listener.listen(128)
            port = int(listener.getsockname()[1])
            web = supervisor.start(
                "web server",
                web_command(Path(sys.executable), listener.fileno()),
                env=self.variables,
                cwd=ROOT,
                log=logs / "web.log",
                pass_fds=[listener.fileno()],
            )
            start_workers(supervisor, Path(sys.executable), self.variables, logs)
            # /readyz, not /healthz: workers that are still starting occupy a core.
            if not supervisor.wait_until_ready(f"http://127.0.0.1:{port}/readyz", seconds=READY_SECONDS):
                tail = "\n".join(f"    {line}" for line in last_log_lines(web.log))
                raise Stop(f"{tail}\nThe site did not start.")
            yield port


# --- the people -------------------------------------------------------------------------------------------------------


class Load:
    """Clients that send requests to a running site."""

    def __init__(self, port: int, people: Sequence[Mapping[str, str]], amounts: Amounts) -> None:
        self.port, self.people, self.amounts = port, people, amounts
        self.submitted: list[str] = []

    def one_person(self, measured: Measurements) -> None:
        """Claim and submit as the only user, through the API and the pages, after a warm-up."""
        warm_up = self.run([self.order("cycles", n, "token", count=self.amounts.warm_up) for n in range(PEOPLE)])
        self.submitted += [slot for answer in warm_up for slot in answer["seen"]["submitted"]]
        seen = self.run([self.order("cycles", 0, "token", count=self.amounts.alone)])[0]["seen"]
        measured.times |= {"claim_alone": seen["claim"], "submit_alone": seen["submit"]}
        self.submitted += seen["submitted"]
        seen = self.run([self.order("pages", 1, "session", count=max(1, self.amounts.alone // 2))])[0]["seen"]
        measured.times["page_alone"] = seen["page"]
        self.submitted += seen["submitted"]

    def everybody(self, measured: Measurements) -> list[str]:
        """Let eight people work at the same time, through the API, then the pages. Return all submitted slots."""
        answers = self.run([self.order("cycles", n, "token", count=self.amounts.cycles) for n in range(PEOPLE)])
        measured.times |= {"claim": merged(answers, "claim"), "submit": merged(answers, "submit")}
        measured.values["cycles"] = rate(answers)
        answers += self.run([self.order("pages", n, "session", count=self.amounts.pages) for n in range(PEOPLE)])
        pages = answers[PEOPLE:]
        measured.times |= {"page": merged(pages, "page"), "page_submit": merged(pages, "submit")}
        measured.values["page_cycles"] = rate(pages)
        return self.submitted + [slot for answer in answers for slot in answer["seen"]["submitted"]]

    def gets(self, key: str, urls: Mapping[str, Sequence[str]]) -> dict[str, list[float]]:
        """Open pages as the administrator and return their times."""
        order = self.order("get", -1, key, count=self.amounts.gets) | {"urls": urls}
        seen: dict[str, list[float]] = self.run([order])[0]["seen"]
        return seen

    def order(self, workload: str, person: int, key: str, *, count: int) -> dict[str, Any]:
        """Return the order for one client."""
        return {
            "do": workload, "host": "127.0.0.1", "port": self.port, "slug": SLUG, "count": count,
            "seconds": self.amounts.seconds, key: self.people[person][key],
        }  # fmt: skip

    def run(self, orders: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Start a client for each order, let them begin at the same time, and return their results."""
        clients = [
            subprocess.Popen(
                [sys.executable, "-S", "-E", str(Path(__file__).with_name("bench_client.py"))],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for _ in orders
        ]  # fmt: skip
        answers: list[dict[str, Any]] = []
        try:
            for client, order in zip(clients, orders, strict=True):
                send_line(client, json.dumps(order))
            for client in clients:
                read_line(client)
            for client in clients:
                send_line(client, "go")
            answers = [json.loads(read_line(client)) for client in clients]
        finally:
            for client in clients:
                client.kill()
                client.communicate()
        for answer in answers:
            if "error" in answer:
                raise Stop(f"A client of the benchmark failed: {answer['error']}")
        return answers


def send_line(client: subprocess.Popen[str], line: str) -> None:
    assert client.stdin is not None  # noqa: S101 - opened as a pipe
    client.stdin.write(line + "\n")
    client.stdin.flush()


def read_line(client: subprocess.Popen[str]) -> str:
    assert client.stdout is not None  # noqa: S101 - opened as a pipe
    line = client.stdout.readline()
    if not line:
        raise Stop("A client of the benchmark exited without output.")
    return line


def merged(answers: Sequence[Mapping[str, Any]], key: str) -> list[float]:
    """Return the times of all clients."""
    return [seconds for answer in answers for seconds in answer["seen"][key]]


def rate(answers: Sequence[Mapping[str, Any]]) -> float:
    """Return submitted items per second, from the start to the end of the last client."""
    longest: float = max(answer["seconds"] for answer in answers)
    return sum(len(answer["seen"]["submitted"]) for answer in answers) / longest


def page_urls(load: Load, size: int, cursors: Sequence[str]) -> dict[str, list[str]]:
    """Return the pages to open: lists, searches and dashboards. ``cursors``: places in the middle of the list."""
    base = f"/p/{SLUG}/dialogues/"
    english, chinese = make_record(size // 6 * 3), make_record(size // 6 * 3 + 2)

    def listing(*queries: Mapping[str, Any]) -> list[str]:
        return [f"{base}?{urlencode(query)}" for query in queries]

    return {
        "list": [base],
        "list_deep": listing(*({"after": cursor} for cursor in cursors)),
        "list_status": listing({"status": "in_review"}, {"stage": "self_check_multi"}),
        "list_policy": listing({"policy": "chat", "topology": "parallel"}),
        "list_none": listing({"status": "rejected", "language": "zh"}, {"topology": "mixed", "status": "verified"}),
        "list_owner": listing({"owner": load.people[0]["id"]}),
        "list_findings": listing({"problems": "errors"}, {"problems": "clean"}),
        "search_common": listing({"q": "people"}, {"q": "reservation"}),
        "search_rare": listing({"q": rare_word(english)}),
        "search_missing": listing({"q": "zyzzyva"}),
        "search_two": listing({"q": f"people {rare_word(english)}"}),
        "search_zh_1": listing({"q": "城"}, {"q": "厦"}),
        "search_zh_2": listing({"q": "预订"}, {"q": "厦门"}),
        "search_zh_rare": listing({"q": chinese["tasks"][0].partition("我们喜欢")[2].partition("，")[0]}),
        "search_filter": listing({"q": "garden", "policy": "clarify", "language": "en", "status": "in_review"}),
        "dashboard": [f"/p/{SLUG}/"],
        "home": ["/"],
    }


def api_urls() -> dict[str, list[str]]:
    """Return the addresses of the API to request."""
    base = f"/api/projects/{SLUG}/"
    return {"api_list": [f"{base}dialogues/"], "api_status": [f"{base}status/"]}


def rare_word(record: Mapping[str, Any]) -> str:
    """Return a rare word from a record: an id in an observation."""
    answers = record.get("english_answer_list") or record["answer_list"]
    found = answers[0][0]["observation"]["found"][0]
    return str(next(value for key, value in found.items() if key.endswith("_id"))).rpartition("-")[2]
