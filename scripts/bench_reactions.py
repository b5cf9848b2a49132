"""Measure how long a reviewer waits for the workspace: from a click or key to the painted answer, in a real browser.

``python scripts/bench_reactions.py`` starts a demo of its own; ``python scripts/bench_reactions.py URL`` uses one that
runs. An administrator imports more candidates. An annotator signs in, works on the item that she holds and submits
others. Needs Chromium.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, Error, Page, sync_playwright  # noqa: E402

from scripts.bench_report import loop_milliseconds, percentile, print_progress  # noqa: E402
from scripts.demo import SIGN_INS  # noqa: E402
from scripts.environment import Stop  # noqa: E402
from scripts.private_services import find_chromium, free_port  # noqa: E402

TIMES, SUBMISSIONS = 30, 40
#: Not counted: they compile templates and scripts.
_FIRST_ONES = 3
#: Milliseconds before each action. A person acts no sooner, and what the action before began has ended.
_REST = 250
ANNOTATOR, ADMINISTRATOR, PROJECT = "amina", "ingrid", "everyday-assistants"
#: The demo's own have items for about a dozen submissions.
CANDIDATES = ROOT / "benchmark" / "demo" / "data" / "dialogues.jsonl"
BUDGET, BUDGET_OF_NEXT = 100, 150
#: Runs in the page. Resolves to the milliseconds from the action until the frame that shows `done` is painted: what is
#: looked at before a frame is in it, and a task that is added then runs after it.
_MEASURE = """
async ([act, done]) => {
  const run = new Function(act);
  const ready = new Function(`return (${done})`);
  delete window.waits;
  if (ready()) throw new Error(`already true: ${done}`);
  const begin = performance.now();
  run();
  await new Promise((resolve, reject) => {
    const stop = setTimeout(() => reject(new Error(`never true: ${done}`)), 10000);
    const look = () => {
      if (!ready()) return requestAnimationFrame(look);
      clearTimeout(stop);
      setTimeout(resolve);
    };
    requestAnimationFrame(look);
  });
  return performance.now() - begin;
}
"""


@dataclass(frozen=True)
class Reaction:
    """One line of the table: milliseconds from the action to the painted answer. ``budget`` 0: none."""

    title: str
    median: float
    high: float
    budget: int


@dataclass(frozen=True)
class Action:
    """What is done in turn: JavaScript, and the condition that becomes true. ``prepare`` runs before, unmeasured."""

    title: str
    act: str
    done: str
    prepare: tuple[tuple[str, str], ...] = ()


def click(selector: str) -> str:
    return f"document.querySelector({selector!r}).click()"


def press(key: str) -> str:
    return (
        "(document.activeElement ?? document.body)"
        f".dispatchEvent(new KeyboardEvent('keydown', {{key: {key!r}, bubbles: true, cancelable: true}}))"
    )


_FIRST_CALL, _OTHER_CALL = "#chat .turn.call .open-link", "#chat .turn.call ~ .turn.call .open-link"
_ON_FIRST = "document.querySelector('#chat .turn.call').matches('[aria-current]')"
_ON_TASK = "document.querySelector('#chat .turn.user').matches('[aria-current]')"
_STEP = (click("#inspector .tabs a"), "document.querySelector('#inspector').dataset.panel === 'edit'")
_TASK = (click("#chat .turn.user .open-link"), f"{_ON_TASK} && document.querySelector('#user-message')")
_CALL = (click(_FIRST_CALL), f"{_ON_FIRST} && document.querySelector('#f-arguments')")


#: What the dialogue says about its first task is not what `window.waits` remembers.
_HEAD_CHANGED = "'waits' in window && document.querySelector('#chat .task-head').textContent !== window.waits"

#: The form of the review is gone, and no page was loaded.
_OTHER_ITEM = "!document.querySelector('#verdict') && document.querySelector('#chat .turn')"

_UNMARKED = ("document.activeElement.blur()", "!document.querySelector('#chat mark.source')")


def panel(name: str) -> str:
    return f"document.querySelector('#inspector').dataset.panel === {name!r}"


ACTIONS = (
    Action("select a call", *_CALL, prepare=(_TASK,)),
    Action("select a task", *_TASK, prepare=(_CALL,)),
    Action(
        "next place by key",
        "document.querySelector('#chat .turn.user').focus(); " + press("j"),
        f"document.activeElement.closest('.turn.call') && {_ON_FIRST}",
        (_TASK,),
    ),
    Action("open the graph", click("#inspector .tabs a[href*='panel=graph']"), panel("graph"), (_STEP,)),
    Action("open the discussion", click("#inspector .tabs a[href*='panel=comments']"), panel("comments"), (_STEP,)),
    Action("open the findings", click("#toolbar [data-findings]"), panel("findings"), (_STEP,)),
    Action("open the review", click("#inspector .tabs a[href*='panel=review']"), panel("review"), (_STEP,)),
    Action(
        "change a policy",
        "const all = [...document.querySelectorAll('#f-policy [type=radio]')];"
        " all[(all.findIndex((one) => one.checked) + 1) % all.length].click();"
        " window.waits = document.querySelector('#chat .task-head').textContent",
        _HEAD_CHANGED,
        (_TASK,),
    ),
    Action(
        "undo",
        "window.waits = document.querySelector('#chat .task-head').textContent; "
        + click("#toolbar button[data-held='z'], #toolbar [data-key='u']"),
        _HEAD_CHANGED,
    ),
    Action(
        "mark where a value comes from",
        "document.querySelector('#f-arguments [data-look] :is(input, select, textarea)').focus()",
        "document.querySelector('#chat mark.source')",
        (_CALL, _UNMARKED),
    ),
)


def measure_reactions(address: str) -> list[Reaction]:
    """Measure on a running demo. Raises Stop if there is no Chromium."""
    chromium = find_chromium()
    if chromium is None:
        raise Stop("Chromium is not installed (Debian: apt-get install chromium-headless-shell).")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        page = open_window(browser, address, ADMINISTRATOR)
        import_candidates(page, address)
        page.context.close()
        page = open_window(browser, address, ANNOTATOR)
        page.locator("form[action$='/next/'] button").first.click()
        page.wait_for_load_state("networkidle")
        loops: list[float] = []
        found = [measured(page, action, loops) for action in ACTIONS]
        times = submission_times(page, SUBMISSIONS + _FIRST_ONES, loops)[_FIRST_ONES:]
        browser.close()
    return [
        *found,
        reaction("submit → next item", times, BUDGET_OF_NEXT),
        reaction("400,000 steps of a Python loop", loops, 0),
    ]


def open_window(browser: Browser, address: str, person: str) -> Page:
    """Return a window in which the person is signed in."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"{address}/accounts/login/")
    page.fill("[name=login]", person)
    page.fill("[name=password]", "assay-demo")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}/")
    return page


def import_candidates(page: Page, address: str) -> None:
    """Import the demo's candidates once more, with other ids."""
    run = f"again-{time.time_ns()}"
    records = [json.loads(line) for line in CANDIDATES.read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps({**record, "id": f"{run}-{record['id']}"}, ensure_ascii=False) for record in records]
    page.goto(f"{address}/p/{PROJECT}/imports/")
    page.get_by_label("Candidate file").set_input_files(
        {"name": f"{run}.jsonl", "mimeType": "application/jsonl", "buffer": "\n".join(lines).encode()}
    )
    page.get_by_label("Format").select_option("wild")
    page.get_by_role("button", name="Import", exact=True).click()
    page.locator("#import-state").get_by_text("Done").wait_for(timeout=120_000)


def measured(page: Page, action: Action, loops: list[float]) -> Reaction:
    """Do one action many times. Add to `loops` how fast the machine was meanwhile: its own spread is in all figures."""
    times = []
    for number in range(TIMES + _FIRST_ONES):
        for act, done in action.prepare:
            if not page.evaluate(f"Boolean({done})"):
                page.evaluate(_MEASURE, [act, done])
        page.wait_for_timeout(_REST)
        took = page.evaluate(_MEASURE, [action.act, action.done])
        loops.append(loop_milliseconds())
        if number >= _FIRST_ONES:
            times.append(took)
        page.wait_for_timeout(_REST)
    return reaction(action.title, times, BUDGET)


def submission_times(page: Page, most: int, loops: list[float]) -> list[float]:
    """Submit `most` items. Return the milliseconds from each click on Submit until the next item is painted."""
    times: list[float] = []
    while len(times) < most:
        slot = page.url.partition("?")[0].partition("submit/")[0]
        page.goto(f"{slot}submit/?verdict=reject")
        page.wait_for_load_state("networkidle")
        page.locator("#reason").fill("Not needed.")
        loops.append(loop_milliseconds())
        page.wait_for_timeout(1200)
        try:
            times.append(page.evaluate(_MEASURE, [click("#verdict [data-primary]"), _OTHER_ITEM]))
        except Error as error:
            raise Stop(f"No next item came after {len(times)} submissions.") from error
    return times


def reaction(title: str, times: Sequence[float], budget: int) -> Reaction:
    return Reaction(title, percentile(times, 0.5), percentile(times, 0.95), budget)


def reactions_table(found: Sequence[Reaction]) -> list[str]:
    """Return the lines of the table."""
    lines = ["Workspace: from click to paint", f"{'':32}{'median':>10}{'p95':>10}   budget"]
    for one in found:
        budget = f"   ≤ {one.budget} ms" if one.budget else ""
        late = "  missed" if one.budget and one.high > one.budget else ""
        lines.append(f"{one.title:32}{one.median:>7.0f} ms{one.high:>7.0f} ms{budget}{late}")
    return lines


def as_json(found: Sequence[Reaction]) -> list[dict[str, Any]]:
    return [asdict(one) for one in found]


@contextlib.contextmanager
def running_demo() -> Iterator[str]:
    """Start a demo with data of its own. Return its address."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        port = free_port()
        command = [sys.executable, str(ROOT / "scripts" / "start.py"), "demo", "--port", str(port), "--data", folder]
        demo = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: (Path(folder) / SIGN_INS).exists() or demo.poll() is not None, seconds=240)
            if demo.poll() is not None:
                raise Stop("The demo did not start. Try: make demo")
            # Its workers start after the pages answer, and take both cores for some seconds.
            wait_until(is_idle, seconds=60)
            yield f"http://127.0.0.1:{port}"
        finally:
            demo.terminate()
            demo.wait(60)


def is_idle(watched: float = 2) -> bool:
    """Return whether the machine's processors did next to nothing for some seconds; True if Linux does not say."""
    counters = Path("/proc/stat")
    if not counters.exists():
        return True

    def read() -> tuple[int, int]:
        numbers = [int(number) for number in counters.read_text().splitlines()[0].split()[1:]]
        return numbers[3] + numbers[4], sum(numbers)

    idle, total = read()
    time.sleep(watched)
    idle_now, total_now = read()
    return idle_now - idle > 0.9 * (total_now - total)


def wait_until(done: Callable[[], bool], *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            raise Stop("The demo took too long to start.")
        time.sleep(0.5)


def main(arguments: Sequence[str]) -> int:
    """Print only this table."""
    if arguments:
        found = measure_reactions(arguments[0].rstrip("/"))
    else:
        print_progress("Starting a demo …")
        with running_demo() as address:
            found = measure_reactions(address)
    print("\n".join(reactions_table(found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
