// The tool graph of the workspace. The server renders it (reviews/workspace/graph/panel.html): every change here sends
// one of the plain forms below the drawing through autosave.js, and the answer is the new drawing.
//
//   <section data-graph>                     the panel ("start": just opened, a step takes the focus). Inside it:
//     a.node[data-id][data-above]            a step; data-above: the steps it depends on, directly or not
//     a.edge[data-step][data-needs]          a dependency, added or suggested
//     #graph-draw                            the form that adds one
//     form[data-remove|data-turn|data-edge|data-refuse]  remove it, change its kind, accept or refuse a suggestion:
//                                            "step needs"
//     #graph-preview                         the content of the focused step
//     #graph-status[data-hint]               the status; the hint if there is none
//   #look                                    source of requests for previews: they don't block edits, the last one wins
//   <… data-look="ANCHOR">                   an argument: pointing at it or focusing it marks its value in the dialogue
//
// The panel's legend lists the keys, and the tests of the graph editor use them.

import {isOn, isTyping, namesOf, scriptedKey} from "./keys.js";
import {gettext, interpolate} from "./translation.js";

const LOOK_MILLISECONDS = 120;

const panel = () => document.querySelector("[data-graph]");
const svg = () => panel()?.querySelector("svg.graph[aria-label]");
const nodes = () => [...(svg()?.querySelectorAll(".node") ?? [])];
const nodeOf = (id) => nodes().find((node) => node.dataset.id === id);
const edges = () => [...(svg()?.querySelectorAll(".edge") ?? [])];
const lookUrl = (at) => `${document.querySelector("[data-look-url]").dataset.lookUrl}?at=${encodeURIComponent(at)}`;

/** Return the steps by column, then from top to bottom: the order of j and k. */
const order = () => nodes().sort((a, b) => a.dataset.column - b.dataset.column || top(a) - top(b));
const top = (node) => node.transform.baseVal[0].matrix.f;

let from = null; // id of the step where the line being drawn starts
let wants = ""; // "needs": `from` depends on the step chosen next; "waits": that step depends on `from`
let tapped = false; // the click that follows a tap on a port is none on the step
let focusNext = ""; // DOM id of the element to focus in the new drawing

function say(text) {
  const status = document.getElementById("graph-status");
  const words = text || status?.dataset.hint;
  if (status && status.textContent !== words) status.textContent = words;
}

// --- edits: the forms of the page ---------------------------------------------------------------------------------------

function send(form, next) {
  if (!form) return;
  stop();
  focusNext = next ?? "";
  const at = nodeOf(next?.replace(/^node-/, ""))?.dataset.anchor;
  if (at && form.elements.at) form.elements.at.value = at;
  form.requestSubmit();
}

function draw(step, needs) {
  const form = document.getElementById("graph-draw");
  const known = edges().find((edge) => edge.dataset.step === step && edge.dataset.needs === needs);
  if (known?.matches(".suggested")) return send(formOf("edge", known), `node-${step}`);
  form.elements.anchor.value = nodeOf(step).dataset.anchor;
  form.elements.id.value = needs;
  form.elements.kind.value = "parameter";
  if (!form.elements.id.value) return say(interpolate(gettext("No step can depend on %(step)s because it is the answer."), {step: needs}));
  send(form, `node-${step}`);
}

function formOf(kind, edge) {
  const name = `${edge.dataset.step} ${edge.dataset.needs}`;
  return [...panel().parentElement.querySelectorAll(`form[data-${kind}]`)].find((form) => form.dataset[kind] === name);
}

// --- drawing a line -------------------------------------------------------------------------------------------------------

function start(node, what) {
  from = node.dataset.id;
  wants = what;
  svg().classList.add("connecting");
  node.classList.add("from");
  for (const other of nodes()) other.classList.toggle("illegal", isIllegal(other));
  const text = what === "needs"
    ? gettext("%(step)s depends on …: go to the other step and press Enter, or Esc to cancel.")
    : gettext("Drop the line on the step that depends on %(step)s.");
  say(interpolate(text, {step: from}));
}

function isIllegal(other) {
  const {id} = other.dataset;
  if (id === from) return true;
  const [step, needs] = wants === "needs" ? [from, other] : [id, nodeOf(from)];
  return needs.dataset.type === "answer" || needs.dataset.above.split(" ").includes(step);
}

function stop() {
  const drawing = svg();
  from = null;
  wants = "";
  drawing?.classList.remove("connecting");
  drawing?.querySelector(".rubber")?.setAttribute("d", "");
  for (const node of nodes()) node.classList.remove("from", "illegal", "over");
}

function finish(other) {
  const first = from;
  const what = wants;
  if (!other || other.dataset.id === first) return stop();
  if (what === "needs") draw(first, other.dataset.id);
  else draw(other.dataset.id, first);
}

function pointIn(event) {
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg().getScreenCTM().inverse());
}

document.addEventListener("pointerdown", (event) => {
  const node = event.target.closest?.(".port")?.closest("[data-graph] .node");
  if (!node || event.button) return;
  event.preventDefault();
  node.focus();
  start(node, "waits");
  const port = node.querySelector(".port");
  const corner = node.transform.baseVal[0].matrix;
  const x = corner.e + Number(port.getAttribute("cx"));
  const y = corner.f + Number(port.getAttribute("cy"));
  const over = ({clientX, clientY}) => document.elementFromPoint(clientX, clientY)?.closest("[data-graph] .node");
  const move = (moved) => {
    const to = pointIn(moved);
    const bend = Math.max(20, Math.abs(to.x - x) / 2);
    svg().querySelector(".rubber").setAttribute("d", `M${x} ${y}C${x + bend} ${y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`);
    for (const one of nodes()) one.classList.toggle("over", one === over(moved));
  };
  const end = (last) => {
    for (const [type, act] of Object.entries(drawing)) removeEventListener(type, act);
    if (from === null) return;
    const target = last.type === "pointerup" ? over(last) : null;
    // A tap on the port, by finger or mouse: the next tap chooses the other step.
    tapped = target === node;
    if (tapped) return say(interpolate(gettext("Choose the step that depends on %(step)s, or press Esc to cancel."), {step: from}));
    say("");
    finish(target);
  };
  const drawing = {pointermove: move, pointerup: end, pointercancel: end};
  for (const [type, act] of Object.entries(drawing)) addEventListener(type, act);
});

// A click selects and Enter on a step opens it; the browser follows no link of the drawing.
document.addEventListener("click", (event) => {
  const part = event.target.closest?.("[data-graph] :is(.node, .edge)");
  if (!part || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (tapped) tapped = false;
  else if (wants && part.matches(".node")) finish(part);
  else part.focus();
});

document.addEventListener("dragstart", (event) => {
  if (event.target.closest?.("[data-graph] svg")) event.preventDefault();
});

document.addEventListener("dblclick", (event) => open(event.target.closest?.("[data-graph] .node")));

function open(node) {
  if (node) globalThis.htmx.ajax("GET", node.getAttribute("href"), {source: "#look", target: "#edit-note", swap: "innerHTML"});
}

// --- keys -------------------------------------------------------------------------------------------------------------------

// Runs before shortcuts.js, where these keys have other meanings.
document.addEventListener(
  "keydown",
  (event) => {
    const part = event.target.closest?.("[data-graph] :is(.node, .edge)");
    if (!part || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event)) return;
    const act = part.matches(".node") ? onNode(part, event) : onEdge(part, event);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  },
  true,
);

function onNode(node, event) {
  const {key} = event;
  const next = neighbour(node, event);
  if (next) return () => go(next);
  if (key === "Enter") return () => (from === null ? open(node) : finish(node));
  if (key === "Escape" && from !== null) {
    return () => {
      const back = nodeOf(from);
      stop();
      say(gettext("Cancelled. No dependency was added."));
      back?.focus();
    };
  }
  if (isKey(event, "drawing-add") && from === null) return () => start(node, "needs");
  if (isKey(event, "drawing-lines") && from === null) return () => nextEdge(node.dataset.id, null);
  return null;
}

function onEdge(edge, event) {
  const {key} = event;
  const {step} = edge.dataset;
  const suggested = edge.matches(".suggested");
  const refuse = suggested && formOf("refuse", edge);
  if (key === "Enter" && suggested) return () => send(formOf("edge", edge), `node-${step}`);
  if (key === "Delete" || key === "Backspace") {
    if (refuse) return () => send(refuse, `node-${step}`);
    return () => (suggested ? say(gettext("This is only a suggestion. Press Enter to accept it.")) : send(formOf("remove", edge), `node-${step}`));
  }
  if (key === "Escape") return () => go(nodeOf(step));
  if (refuse && isBound(event, "accept", refuse)) return () => send(formOf("edge", edge), `node-${step}`);
  if (refuse && isBound(event, "refuse", refuse)) return () => send(refuse, `node-${step}`);
  if (isKey(event, "drawing-kind") && !suggested) return () => send(formOf("turn", edge), edge.id);
  if (isKey(event, "drawing-lines")) return () => nextEdge(step, edge);
  const next = neighbour(nodeOf(step), event);
  return next ? () => go(next) : null;
}

const isKey = (event, name) => isOn() && namesOf(event).includes(scriptedKey(name));

/** Whether a key is that of an action of the list of suggestions around a form. */
function isBound(event, name, form) {
  const key = form.closest("[data-key-scope]")?.querySelector(`[data-action="${name}"]`)?.dataset.key;
  return isOn() && Boolean(key) && namesOf(event).includes(key);
}

/** Return the step that a key moves to: the next in order, or the nearest in that direction. */
function neighbour(node, event) {
  const all = order();
  const step = isKey(event, "next-place") ? 1 : isKey(event, "previous-place") ? -1 : 0;
  if (step) return all[Math.max(0, Math.min(all.length - 1, all.indexOf(node) + step))];
  const column = Number(node.dataset.column);
  const nearest = (step) => {
    const beyond = all.filter((one) => (Number(one.dataset.column) - column) * step > 0);
    const far = (one) => [Math.abs(Number(one.dataset.column) - column), Math.abs(top(one) - top(node))];
    return beyond.sort((a, b) => far(a)[0] - far(b)[0] || far(a)[1] - far(b)[1])[0] ?? node;
  };
  const same = all.filter((one) => Number(one.dataset.column) === column);
  const beside = (step) => same[Math.max(0, Math.min(same.length - 1, same.indexOf(node) + step))];
  const ways = {ArrowLeft: () => nearest(-1), ArrowRight: () => nearest(1), ArrowUp: () => beside(-1), ArrowDown: () => beside(1)};
  return ways[event.key]?.() ?? null;
}

function nextEdge(id, edge) {
  const own = edges().filter((one) => one.dataset.step === id);
  own.sort((a, b) => a.matches(".suggested") - b.matches(".suggested"));
  if (!own.length) return say(interpolate(gettext("%(step)s has no dependencies."), {step: id}));
  go(own[(own.indexOf(edge) + 1) % own.length]);
}

function go(part) {
  part.focus({preventScroll: true});
  part.scrollIntoView({block: "nearest", inline: "nearest"});
}

// The key that goes to the current step is bound to the drawing, which has no action of its own.
document.addEventListener("click", ({target}) => {
  if (!target.matches?.("#graph-canvas[data-action]")) return;
  const current = nodes().find((node) => node.getAttribute("tabindex") === "0");
  if (document.activeElement === target && current) go(current);
});

// --- one tab stop, with status and preview ------------------------------------------------------------------------------------

function oneStop(chosen) {
  const all = nodes();
  const stays = chosen ?? all.find((node) => node.matches("[aria-current]")) ?? all[0];
  for (const node of all) node.setAttribute("tabindex", node === stays ? "0" : "-1");
  for (const edge of edges()) edge.setAttribute("tabindex", "-1");
}

let looking;

document.addEventListener("focusin", ({target}) => {
  const part = target.closest?.("[data-graph] :is(.node, .edge)");
  if (!part) return;
  if (part.matches(".edge")) {
    const refusable = part.matches(".suggested") && formOf("refuse", part);
    const accepting = refusable ? gettext("Press Enter to accept it, or Delete to refuse it.") : gettext("Press Enter to accept it.");
    const hint = part.matches(".suggested") ? accepting : gettext("Press Delete to remove it, or l to change its kind.");
    return say(`${part.getAttribute("aria-label")}. ${hint}`);
  }
  oneStop(part);
  if (from !== null) {
    const {id} = part.dataset;
    const text = isIllegal(part)
      ? gettext("%(step)s depends on %(needs)s? That would create a cycle.")
      : gettext("%(step)s depends on %(needs)s? Press Enter to add the dependency.");
    if (wants === "needs" && id !== from) say(interpolate(text, {step: from, needs: id}));
    return;
  }
  say("");
  for (const node of nodes()) node.toggleAttribute("aria-current", false);
  part.setAttribute("aria-current", "true");
  for (const field of panel().parentElement.querySelectorAll("input[name=at]")) field.value = part.dataset.anchor;
  clearTimeout(looking);
  looking = setTimeout(() => {
    if (!document.getElementById("graph-preview")) return;
    globalThis.htmx.ajax("GET", lookUrl(part.dataset.anchor), {source: "#graph-preview", target: "#graph-preview", swap: "innerHTML"});
  }, LOOK_MILLISECONDS);
});

document.addEventListener("htmx:after:swap", () => {
  if (!panel()) return;
  if (from === null) stop();
  oneStop(nodes().find((node) => node === document.activeElement));
  const start = panel().dataset.graph === "start";
  panel().dataset.graph = "";
  const wanted = start ? nodes().find((node) => node.getAttribute("tabindex") === "0") : focusNext && document.getElementById(focusNext);
  if (focusNext) focusNext = "";
  if (wanted) go(wanted);
});

if (panel()) oneStop();

document.addEventListener("assay:item-comes", () => {
  stop();
  focusNext = "";
  marking = "";
  clearTimeout(pointing);
});

// --- mark values in the dialogue ----------------------------------------------------------------------------------------------------

let marking = ""; // anchor of the value to mark in the dialogue
let pointing;

function show(anchor, wait) {
  if (anchor === marking) return;
  marking = anchor;
  clearTimeout(pointing);
  if (!anchor) return unmark();
  pointing = setTimeout(async () => {
    unmark();
    await globalThis.htmx.ajax("GET", lookUrl(anchor), {source: "#look", target: "#look", swap: "none"});
    if (marking !== anchor) unmark();
    else if (document.activeElement?.closest("[data-look]")?.dataset.look === anchor) {
      document.querySelector("#chat mark.source")?.scrollIntoView({block: "nearest"});
    }
  }, wait);
}

function unmark() {
  for (const mark of document.querySelectorAll("#chat mark.source")) {
    const around = mark.parentNode;
    mark.replaceWith(...mark.childNodes);
    around.normalize();
  }
}

const lookOf = (element) => element?.closest?.("[data-look]")?.dataset.look ?? "";

document.addEventListener("pointerover", ({target}) => {
  if (document.querySelector("[data-look-url]")) show(lookOf(target) || lookOf(document.activeElement), LOOK_MILLISECONDS);
});
document.addEventListener("focusin", ({target}) => {
  if (document.querySelector("[data-look-url]") && lookOf(target)) show(lookOf(target), 0);
});
// What was looked at may be gone without losing the focus or the pointer.
document.addEventListener("htmx:after:swap", () => {
  if (marking && ![...document.querySelectorAll("[data-look]")].some((one) => lookOf(one) === marking)) show("", 0);
});
document.addEventListener("focusout", ({relatedTarget}) => {
  if (marking && !lookOf(relatedTarget)) show("", 0);
});
