// <assay-heartbeat data-url="…" data-every="60"> keeps a claim alive: it posts to data-url every data-every seconds
// while the page is open, and at once when the machine wakes up or the connection returns. It sends `active_seconds`:
// for how long, since the last beat, somebody has used keyboard, pointer or wheel (in steps of five seconds).
//
// The server answers 204 while the claim lives. Any other answer with a body is a fragment that says what has happened
// (claim expired, taken by somebody else, slot gone); it is shown inside the element, which is a live region, and the
// heart stops when the status is 403, 404, 409 or 410. A fragment with status 200 is shown and the heart goes on; so it
// does when the answer is a redirect: somebody is signed out, and may sign in again in another window.

const STOPS = new Set([403, 404, 409, 410]);
const STEP_SECONDS = 5;
const SIGNS_OF_LIFE = ["keydown", "pointerdown", "pointermove", "wheel"];

class Heartbeat extends HTMLElement {
  #timer;
  #last = Date.now();
  #alive = false;
  #activeSeconds = 0;
  #stopped = false;
  #sending = false;
  #signedOut = false;

  connectedCallback() {
    this.setAttribute("role", "alert");
    this.#timer = setInterval(() => this.#due(), STEP_SECONDS * 1000);
    for (const type of SIGNS_OF_LIFE) addEventListener(type, this.#noteLife, {passive: true});
    for (const type of ["online", "focus", "pageshow"]) addEventListener(type, this.#wake);
    document.addEventListener("visibilitychange", this.#wake);
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
    for (const type of SIGNS_OF_LIFE) removeEventListener(type, this.#noteLife);
    for (const type of ["online", "focus", "pageshow"]) removeEventListener(type, this.#wake);
    document.removeEventListener("visibilitychange", this.#wake);
  }

  get #every() {
    return Math.max(5, Number(this.dataset.every) || 60) * 1000;
  }

  #noteLife = () => {
    this.#alive = true;
  };

  // A short interval that looks at the clock survives sleep; a long timer would not.
  #due() {
    if (this.#alive) this.#activeSeconds += STEP_SECONDS;
    this.#alive = false;
    if (Date.now() - this.#last >= this.#every) this.#beat();
  }

  #wake = () => {
    if (!document.hidden && (this.#signedOut || Date.now() - this.#last >= this.#every / 2)) this.#beat();
  };

  async #beat() {
    if (this.#stopped || this.#sending) return;
    this.#sending = true;
    const seconds = this.#activeSeconds;
    // Signing in again in another window changes it.
    const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";
    try {
      const response = await fetch(this.dataset.url, {
        method: "POST",
        body: new URLSearchParams({active_seconds: String(seconds)}),
        headers: {"X-CSRFToken": token, "HX-Request": "true"},
      });
      this.#last = Date.now();
      this.#activeSeconds -= seconds;
      if (this.#signedOut) this.textContent = "";
      this.#signedOut = response.redirected;
      if (response.redirected) {
        this.textContent = "You have been signed out. What you typed is kept in this browser; sign in again in another tab.";
      } else if (response.status !== 204 && response.status < 500) {
        this.#stopped = STOPS.has(response.status);
        this.innerHTML = await response.text();
        globalThis.htmx?.process(this);
      }
      if (this.#stopped) this.dispatchEvent(new CustomEvent("assay:claim-lost", {bubbles: true}));
    } catch {
      // No connection: the clock is not put forward, so the next look tries again.
    } finally {
      this.#sending = false;
    }
  }
}

customElements.define("assay-heartbeat", Heartbeat);
