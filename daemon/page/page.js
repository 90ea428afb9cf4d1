"use strict";
// Shows a session's nodes, which of them go and which stay, and updates itself.  Texts from the
// cluster are only ever set as text, never as HTML.

const $ = (id) => document.getElementById(id);

function make(tag, text, classes) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (classes) element.className = classes;
  return element;
}

const count = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
const percent = (fraction) => `${(fraction * 100).toFixed(1)}%`;

let session = new URLSearchParams(location.search).get("session") || "";
let events = null;
let page = null;
let chosen = null;
let now = 0;  // Time of the last answer; timers continue from it.
let since = 0;

function colour(utilization) {
  const share = Math.round(Math.min(1, Math.max(0, utilization)) * 100);
  return `color-mix(in oklab, var(--high) ${share}%, var(--low))`;
}

function group(nodes, key) {
  const groups = new Map();
  for (const node of nodes) {
    const name = node[key] || "";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(node);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}

function cell(node, dense) {
  const button = make("button", undefined, "cell");
  button.classList.toggle("dense", dense);
  button.classList.toggle("goes", "order" in node);
  button.classList.toggle("chosen", node.node === chosen);
  if (node.utilization !== undefined) button.style.background = colour(node.utilization);
  else button.style.background = "var(--line)";
  const what = "order" in node ? `goes, number ${node.order}` : `stays: ${node.reason}`;
  button.title = `${node.node}, ${node.utilization === undefined ? "utilization not known"
    : percent(node.utilization)}, ${what}`;
  button.setAttribute("aria-label", button.title);
  button.addEventListener("click", () => explain(node.node));
  return button;
}

function showMap() {
  const dense = page.nodes.length > 1500;
  const groups = $("groups");
  groups.replaceChildren();
  for (const [name, nodes] of group(page.nodes, "group")) {
    const box = make("div", undefined, "group");
    const head = make("h3", name || "in no group");
    const going = nodes.filter((node) => "order" in node).length;
    head.append(make("small", `${count(nodes.length, "node", "nodes")}, ${going} go`));
    box.append(head);
    for (const [zone, members] of group(nodes, "zone")) {
      const row = make("div", undefined, "zone");
      row.append(make("span", zone || "no zone"));
      const cells = make("div", undefined, "cells");
      cells.append(...members.map((node) => cell(node, dense)));
      row.append(cells);
      box.append(row);
    }
    groups.append(box);
  }
}

function nodeLink(node, note) {
  const item = make("span", node, "name");
  item.tabIndex = 0;
  item.addEventListener("click", () => explain(node));
  if (note) item.append(make("small", note));
  return item;
}

function showLists() {
  const going = page.nodes.filter((node) => "order" in node).sort((a, b) => a.order - b.order);
  const list = $("goes");
  list.replaceChildren();
  for (const node of going) {
    const item = make("li");
    item.append(nodeLink(node.node, node.pods ? count(node.pods, "pod moves", "pods move") : "empty"));
    list.append(item);
  }
  if (going.length === 0) list.append(make("span", "nothing now", "quiet"));
  const stays = $("stays");
  stays.replaceChildren();
  const reasons = new Map();
  for (const node of page.nodes) {
    if (!("order" in node)) reasons.set(node.reason, (reasons.get(node.reason) || 0) + 1);
  }
  for (const [reason, nodes] of [...reasons].sort((a, b) => b[1] - a[1])) {
    const row = stays.insertRow();
    row.insertCell().textContent = reason;
    row.insertCell().textContent = nodes.toLocaleString("en");
  }
  $("warnings").replaceChildren(...page.warnings.map((text) => make("li", text)));
  $("warnings-section").hidden = page.warnings.length === 0;
  showTimers();
}

// Turns "goesWithNode" into words.
const words = (name) => (name || "").replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

// As DurationText of base/duration.h.
function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  const two = (large, largeUnit, small, smallUnit) =>
    small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
  if (s < 60) return `${s} s`;
  if (s < 3600) return two(Math.floor(s / 60), "min", s % 60, "s");
  if (s < 48 * 3600) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return two(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
}

function showTimers() {
  if (page === null) return;
  const timers = $("timers");
  $("timers-section").hidden = page.timers.length === 0;
  timers.replaceChildren();
  const at = now + (performance.now() - since) / 1000;
  for (const timer of page.timers.slice(0, 50)) {
    const row = timers.insertRow();
    row.insertCell().append(nodeLink(timer.node));
    row.insertCell().textContent = `unneeded for ${duration(at - Date.parse(timer.since) / 1000)}`;
  }
}

async function explain(node) {
  chosen = node;
  showMap();
  const box = $("node");
  const text = $("node-text");
  box.hidden = false;
  box.querySelector("h2").textContent = node;
  const reply = await fetch(`/explain.json?${new URLSearchParams({session, node})}`);
  text.replaceChildren();
  if (!reply.ok) return text.append(make("p", await reply.text()));
  const why = (await reply.json()).nodes[0];
  const decision = why.decision === "remove" ? `Goes, number ${why.order}.`
    : `Stays: ${why.reason}.`;
  text.append(make("p", decision));
  if (why.because) text.append(make("p", why.because));
  const table = make("table");
  for (const pod of why.pods || []) {
    const row = table.insertRow();
    row.insertCell().append(make("span", `${pod.namespace}/${pod.name}`, "name"));
    row.insertCell().textContent = pod.to ? `to ${pod.to}` : pod.reason || words(pod.outcome);
  }
  text.append(table);
}

async function load() {
  const reply = await fetch(`/page.json?${new URLSearchParams({session})}`);
  if (!reply.ok) {
    page = null;
    $("headline").textContent = await reply.text();
    for (const id of ["groups", "goes", "stays"]) $(id).replaceChildren();
    return;
  }
  page = await reply.json();
  now = Date.parse(page.now) / 1000;
  since = performance.now();
  $("headline").textContent =
    `${page.removed.toLocaleString("en")} of ${count(page.nodes.length, "node", "nodes")} can go, ` +
    `${count(page.movedPods, "pod moves", "pods move")}`;
  if (page.notFedSince) {
    $("live").textContent = `version ${page.version}, not fed since ${page.notFedSince}`;
  }
  showMap();
  showLists();
}

function follow() {
  if (events !== null) events.close();
  events = new EventSource(`/events?${new URLSearchParams({session})}`);
  let loading = false;
  let again = false;
  const refresh = async () => {
    if (loading) { again = true; return; }
    loading = true;
    do {
      again = false;
      await load();
    } while (again);
    loading = false;
  };
  events.onmessage = (event) => {
    $("live").textContent = `live, version ${event.data}`;
    refresh();
  };
  events.onerror = () => { $("live").textContent = "not connected"; };
}

async function start() {
  const names = await (await fetch("/sessions.json")).json();
  const select = $("session");
  select.replaceChildren(...names.map((name) => make("option", name)));
  if (!names.includes(session)) session = names[0] || "";
  select.value = session;
  select.addEventListener("change", () => {
    session = select.value;
    chosen = null;
    $("node").hidden = true;
    history.replaceState(null, "", `?${new URLSearchParams({session})}`);
    follow();
  });
  if (names.length === 0) {
    $("headline").textContent = "no session yet";
    setTimeout(start, 2000);
    return;
  }
  follow();
}

setInterval(showTimers, 1000);
start();
