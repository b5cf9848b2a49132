"""What the headers of every response must say; the access matrix checks it at each address."""

from typing import Any

#: The whole policy: scripts, styles and pictures from this site alone, and none inline.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "manifest-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
FIXED = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
#: Pictures of a public leaderboard, which other sites may show and browsers may keep.
PICTURES = {"shared-table", "shared-badge"}
#: Texts of scripts in a language, the same for everybody.
SCRIPT = "javascript-catalog"
#: Public pages and the texts of scripts, which browsers may keep.
KEPT = {*PICTURES, SCRIPT, "shared-scores"}
#: Types that no browser runs, so that they may be shown.
SHOWN = {"application/json", "application/jsonl", "application/vnd.oai.openapi", "text/csv", "text/plain"}


def header_problems(name: str, response: Any) -> list[str]:
    """Return a sentence for each header of the response at the address ``name`` that is wrong or missing."""
    headers = response.headers
    directives = (one.strip().partition(" ") for one in headers.get("Content-Security-Policy", "").split(";"))
    policy = {directive: sources for directive, _, sources in directives if directive}
    problems = [] if policy == POLICY else [f"Content-Security-Policy is {policy}"]
    other = name in PICTURES and response.status_code == 200
    wanted = {**FIXED, "Cross-Origin-Resource-Policy": "cross-origin" if other else "same-origin"}
    problems += [
        f"{key}: {headers.get(key)}, not {value}" for key, value in wanted.items() if headers.get(key) != value
    ]
    if "camera=()" not in headers.get("Permissions-Policy", ""):
        problems.append("Permissions-Policy is missing")
    kept = name in KEPT and response.status_code == 200
    if response.text_seen and "no-store" not in headers.get("Cache-Control", "") and not kept:
        problems.append(f"Cache-Control: {headers.get('Cache-Control')}")
    problems += [f"{key} tells what runs here" for key in ("Server", "X-Powered-By") if key in headers]
    problems += [f"{key} opens this to other sites" for key in headers if key.startswith("Access-Control-")]
    return problems + _content_problems(name, response)


def _content_problems(name: str, response: Any) -> list[str]:
    """HTML comes from pages alone; what a browser could run or render otherwise is a download."""
    kind, _, rest = response.headers.get("Content-Type", "").partition(";")
    if not response.text_seen:
        return []
    if not kind:
        return ["Content-Type is missing"]
    problems = []
    if kind.startswith("text/") and "charset=utf-8" not in rest.lower():
        problems.append(f"no charset in {kind}")
    if response.headers.get("Content-Disposition", "").startswith("attachment"):
        return problems
    if kind == "text/html":
        return [*problems, "HTML from the API"] if name.startswith("api-") and name != "api-docs" else problems
    if kind == "image/svg+xml":
        return problems if name in PICTURES | {"account-app-code"} else [*problems, "a picture"]
    return problems if kind in SHOWN or name == SCRIPT else [*problems, f"{kind} is not a download"]
