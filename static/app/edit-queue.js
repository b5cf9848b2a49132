// Sends the edits of a draft to the server: one at a time, again after a failure, and kept in the browser until they
// are accepted. This module works without a page; autosave.js connects it to one.

const RETRY_SECONDS = [2, 5, 15, 30, 60];
const PREFIX = "assay.draft.";
export const ENDED = ["signed-out", "lost"]; // sending stops until the user acts
export const LATER = ["offline", "maintenance"]; // sent again by itself

const random = (parts) => crypto.getRandomValues(new Uint32Array(parts)).reduce((text, part) => text + part.toString(36), "");
const isRefused = ({state}) => state === "refused";
const isInConflict = ({state}) => state === "conflict";
const isSamePlace = (one, other) => one.url === other.url && one.anchor === other.anchor && one.op === other.op;
/** Whether an edit waits to be sent or for its answer. */
export const isUnanswered = (edit) => edit.state === "unsent" && !edit.outcome;

/** Whether two forms or edits are of one place or of a part of it: each shows the other's changes only later. */
export function crosses(one, other) {
  const places = [one?.anchor ?? null, other.anchor ?? null];
  if (places.includes(null) || (one.anchor === other.anchor && one.op === other.op)) return false;
  return `${one.anchor}/`.startsWith(`${other.anchor}/`) || `${other.anchor}/`.startsWith(`${one.anchor}/`);
}

/**
 * What the queue needs from the page.
 * @typedef {object} Host
 * @property {() => string | undefined} draft   the open draft's public id
 * @property {() => Storage} storage            throws if the browser denies access
 * @property {() => boolean} isOnline
 * @property {(edit: any) => Promise<unknown>} post   sends an edit and sets its `outcome`: saved, refused, conflict,
 *   one of LATER or one of ENDED
 * @property {(state: string) => void} show   shows the state of the queue
 * @property {() => void} forgetRefusals        removes the reasons of refusals, when no edit is refused any more
 * @property {() => boolean} isUnfinished       whether there is input that cannot be sent yet
 * @property {(act: () => void, seconds: number) => () => void} later   returns a function that cancels it
 */

/** Edits that the server has not accepted yet. They are sent in order, one at a time, and kept in the browser. */
export class EditQueue {
  /** @type {any[]} */
  edits = [];
  /** The edit that is being sent. */
  current = null;
  /** saved, saving, conflict, refused, unfinished, one of LATER or one of ENDED */
  state = "saved";
  /** When this page last saved something. @type {Date | undefined} */
  savedAt = undefined;
  page = random(2);
  #host;
  #failures = 0;
  #made = 0;
  #cancelRetry = () => {};
  /** The outcome after which it waits. */
  #waits = "offline";
  /** Seconds that the server asked to wait, and until when (in milliseconds since 1970). */
  #longer = 0;
  #notBefore = 0;

  /** @param {Host} host */
  constructor(host) {
    this.#host = host;
  }

  get unsent() {
    return this.edits.filter((edit) => !isRefused(edit));
  }

  /** Whether a later edit of the same place waits: it includes this one. */
  isOutdated(edit) {
    const later = this.edits.slice(this.edits.indexOf(edit) + 1);
    return later.some((other) => other.state === "unsent" && isSamePlace(other, edit));
  }

  /** Go on with another draft. What is left of the last one stays in the browser. */
  begin() {
    this.#cancelRetry();
    this.#failures = 0;
    this.#notBefore = 0;
    this.edits = [];
    this.savedAt = undefined;
    this.state = "saved";
    this.adopt();
  }

  /** Load the edits that an earlier page left in the browser. */
  adopt() {
    const draft = this.#host.draft();
    if (!draft) return;
    let left = [];
    try {
      const storage = this.#host.storage();
      const keys = Object.keys(storage).filter((key) => key.startsWith(`${PREFIX}${draft}.`));
      left = keys.sort().map((key) => JSON.parse(storage.getItem(key)));
    } catch {
      return;
    }
    for (const edit of left) this.edits.push({...edit, page: this.page, chosen: -1, adopted: true, state: "unsent", tries: edit.tries + 1});
  }

  /** Return an edit with what the queue needs: its id, its position, its state. */
  edit(content) {
    const now = Date.now().toString(36).padStart(9, "0");
    const key = `${now}.${String(this.#made++).padStart(6, "0")}.${this.page}`;
    return {id: random(4), key, draft: this.#host.draft(), page: this.page, tries: 0, state: "unsent", ...content};
  }

  /** Add an edit, which is sent in its turn. If it is not `ready`, only forget what was refused at its place. */
  add(edit, {ready = true} = {}) {
    if (edit.anchor !== null) this.#replaceBy(edit, ready);
    if (ready) {
      this.edits.push(edit);
      this.#keep(edit);
    } else this.#afterRefusals();
    return this.run();
  }

  /** Forget unsent input at the same place, unless a button was pressed in between. */
  #replaceBy(edit, ready) {
    for (let at = this.edits.length - 1; at >= 0 && this.edits[at].anchor !== null; at -= 1) {
      const older = this.edits[at];
      const isUntried = older.tries === 0 && older !== this.current && older.state === "unsent";
      if (isSamePlace(older, edit) && ((ready && isUntried) || isRefused(older))) this.#forget(older);
    }
  }

  /** Send the unsent edits until all are sent or one fails. */
  async run() {
    while (!this.current && !["conflict", ...ENDED].includes(this.state)) {
      const [edit] = this.unsent;
      if (!edit) return this.settle();
      if (!this.#host.isOnline()) return this.#fail("offline");
      if (Date.now() < this.#notBefore) return this.#show(this.#waits);
      const outcome = await this.#send(edit);
      if (outcome === "conflict") return this.#show("conflict");
      if (!["saved", "refused"].includes(outcome)) return this.#fail(outcome);
    }
  }

  async #send(edit) {
    this.#cancelRetry();
    this.current = edit;
    edit.tries += 1;
    edit.outcome = null;
    this.#keep(edit);
    this.#show("saving");
    try {
      await this.#host.post(edit);
    } catch {
      edit.outcome ??= "offline";
    }
    this.current = null;
    const outcome = edit.outcome ?? "offline";
    this.#longer = edit.retryAfter ?? 0;
    delete edit.outcome;
    delete edit.retryAfter;
    if (edit.draft !== this.#host.draft()) {
      if (outcome === "saved") this.#forget(edit);
      return "saved";
    }
    if (outcome === "saved") {
      this.#failures = 0;
      this.savedAt = new Date();
      this.#forget(edit);
      this.#afterRefusals();
    } else if (outcome === "refused") {
      this.#failures = 0;
      edit.state = "refused";
      // Text is kept until the next edit at this place; a refused button has nothing to keep.
      if (edit.anchor === null || this.isOutdated(edit)) this.#forget(edit);
      else this.#keep(edit);
    } else if (outcome === "conflict") {
      edit.state = "conflict";
      this.#keep(edit);
    }
    return outcome;
  }

  /** Show that an edit will be sent in a moment: the user is typing. */
  expect() {
    if (this.state === "saved") this.#show("saving");
  }

  settle() {
    this.#show(this.edits.length ? "refused" : this.#host.isUnfinished() ? "unfinished" : "saved");
  }

  #fail(outcome) {
    this.#waits = outcome;
    this.#show(outcome);
    if (ENDED.includes(outcome)) return;
    this.#notBefore = this.#longer && Date.now() + this.#longer * 1000;
    const seconds = Math.max(this.#longer, RETRY_SECONDS[Math.min(this.#failures, RETRY_SECONDS.length - 1)]);
    this.#longer = 0;
    this.#failures += 1;
    this.#cancelRetry();
    this.#cancelRetry = this.#host.later(() => this.retry(), seconds);
  }

  /** Try again at once. With `reset`, after the connection has returned, the pauses start with the shortest again. */
  retry({reset = false} = {}) {
    if (reset) this.#failures = 0;
    this.#notBefore = 0;
    if (this.current || this.state === "conflict" || !this.unsent.length) return undefined;
    this.state = "saving";
    return this.run();
  }

  /**
   * Base the edits of this page on `version`, which `made`, an edit of this page, created from the version before.
   * Edits based on an earlier version keep it, because another window may have changed the same place in between. So do
   * edits from another form of the same place, which does not show the change.
   */
  advance(version, made) {
    for (const edit of this.edits) {
      if (edit.page !== this.page || edit.seen !== version - 1 || crosses(made, edit)) continue;
      edit.seen = version;
      if (edit !== this.current) this.#keep(edit);
    }
  }

  get inConflict() {
    return this.edits.filter(isInConflict);
  }

  /** Settle the edits in conflict after the prompt was answered, and base later edits of the place on `version`. */
  decide(version) {
    for (const edit of this.dropConflict()) {
      for (const later of this.edits.filter((other) => isSamePlace(other, edit))) later.seen = version ?? later.seen;
    }
    this.savedAt = new Date();
    this.state = "saving";
    return this.run();
  }

  /** Forget the edits that are in conflict, and return them. */
  dropConflict() {
    const dropped = this.inConflict;
    dropped.forEach((edit) => this.#forget(edit));
    return dropped;
  }

  /** Forget the refused edits whose input (see words.js) was discarded. */
  dropRefused(keys) {
    for (const edit of this.edits.filter((one) => isRefused(one) && keys.includes(one.words))) this.#forget(edit);
    this.#afterRefusals();
    return this.run();
  }

  #afterRefusals() {
    if (!this.edits.some(isRefused)) this.#host.forgetRefusals();
  }

  #show(state) {
    this.state = state;
    this.#host.show(state);
  }

  #keep(edit) {
    try {
      this.#host.storage().setItem(PREFIX + edit.draft + "." + edit.key, JSON.stringify(edit));
    } catch {
      // Storage is full or not available: the edit exists only in this page, which warns when the user leaves it.
    }
  }

  #forget(edit) {
    const at = this.edits.indexOf(edit);
    if (at >= 0) this.edits.splice(at, 1);
    try {
      this.#host.storage().removeItem(PREFIX + edit.draft + "." + edit.key);
    } catch {
      // See #keep().
    }
  }
}
