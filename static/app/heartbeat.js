// <assay-heartbeat data-url="…" data-every="60"> keeps a claim alive: it posts to data-url every data-every seconds
// while the page is open, and at once when the machine wakes up or the connection returns. It sends `active_seconds`:
// how long keyboard, pointer or wheel were used since the last beat (sampled every five seconds).
//
// When the user leaves or hides the page, the rest is sent with `leaving`; the server answers that with 204, whatever
// happened to the claim. A form that ends the claim has a field `active_seconds`, filled in on submit, because a
// separate beat could arrive too late. Sending a second twice counts it once: the server accepts no more than the time
// since the previous beat.
//
// The server answers 204 while the claim is valid. Any other answer with a body is a fragment that says what happened
// (claim expired, taken by somebody else, slot gone). It is shown inside the element, which is a live region. The
// heartbeat stops if the status is 403, 404, 409 or 410. It continues after a fragment with status 200, and after a
// redirect: the user is signed out and may sign in again in another window.

import {gettext} from "./translation.js";

const STOPS = new Set([403, 404, 409, 410]);
const STEP_SECONDS = 5;
const ACTIVITY = ["keydown", "pointerdown", "pointermove", "wheel"];

class Heartbeat extends HTMLElement {
  #timer;
  #last = Date.now();
  #alive = false;
  #looked = Date.now();
  #active = 0; // milliseconds
  #stopped = false;
  #sending = false;
  #signedOut = false;

  connectedCallback() {
    this.setAttribute("role", "alert");
    this.#timer = setInterval(() => this.#due(), STEP_SECONDS * 1000);
    for (const type of ACTIVITY) addEventListener(type, this.#noteActivity, {passive: true});
    for (const type of ["online", "focus", "pageshow"]) addEventListener(type, this.#wake);
    addEventListener("pagehide", this.#leave);
    document.addEventListener("visibilitychange", this.#turn);
    document.addEventListener("submit", this.#fillIn);
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
    for (const type of ACTIVITY) removeEventListener(type, this.#noteActivity);
    for (const type of ["online", "focus", "pageshow"]) removeEventListener(type, this.#wake);
    removeEventListener("pagehide", this.#leave);
    document.removeEventListener("visibilitychange", this.#turn);
    document.removeEventListener("submit", this.#fillIn);
  }

  get #every() {
    return Math.max(5, Number(this.dataset.every) || 60) * 1000;
  }

  #noteActivity = () => {
    this.#alive = true;
  };

  /** Return the whole seconds of work that were not sent yet. */
  #worked() {
    const now = Date.now();
    if (this.#alive) this.#active += Math.max(0, Math.min(now - this.#looked, STEP_SECONDS * 1000));
    this.#alive = false;
    this.#looked = now;
    return Math.floor(this.#active / 1000);
  }

  // A short interval that compares clock times survives sleep; a long timer would not.
  #due() {
    this.#worked();
    if (Date.now() - this.#last >= this.#every) this.#beat();
  }

  #wake = () => {
    if (!document.hidden && (this.#signedOut || Date.now() - this.#last >= this.#every / 2)) this.#beat();
  };

  #turn = () => (document.hidden ? this.#leave() : this.#wake());

  #leave = () => {
    if (this.#worked()) this.#beat({leaving: "1"});
  };

  #fillIn = ({target, defaultPrevented}) => {
    const field = target.elements.namedItem("active_seconds");
    if (field && !defaultPrevented) field.value = this.#worked();
  };

  async #beat(more) {
    if (this.#stopped || this.#sending) return;
    this.#sending = true;
    const seconds = this.#worked();
    // Read each time: signing in again in another window changes it.
    const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";
    try {
      const response = await fetch(this.dataset.url, {
        method: "POST",
        body: new URLSearchParams({active_seconds: String(seconds), ...more}),
        headers: {"X-CSRFToken": token, "HX-Request": "true"},
        keepalive: true, // arrives even if the page is left
      });
      // The server is busy or down, or there were too many requests: same as no connection.
      if (response.status === 429 || response.status >= 500) return;
      document.dispatchEvent(new CustomEvent("assay:over", {detail: {until: "connected"}}));
      this.#last = Date.now();
      this.#active -= seconds * 1000;
      if (this.#signedOut) this.textContent = "";
      this.#signedOut = response.redirected;
      if (response.redirected) {
        this.textContent = gettext("You are signed out. Your text is kept in this browser. Sign in again in another window.");
      } else if (response.status !== 204) {
        this.#stopped = STOPS.has(response.status);
        this.innerHTML = await response.text();
        globalThis.htmx?.process(this);
      }
      if (this.#stopped) this.dispatchEvent(new CustomEvent("assay:claim-lost", {bubbles: true}));
    } catch {
      // No connection: #last stays, so the next interval tries again.
    } finally {
      this.#sending = false;
    }
  }
}

customElements.define("assay-heartbeat", Heartbeat);
