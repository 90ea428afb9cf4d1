"use strict";
// Draws plans and simulations: a report (the element "data" holds JSON) or, served by a daemon, a session that changes.
// Draws the parts that the data has.  Texts from a cluster are only ever set as text, never as HTML.

const $ = (id) => document.getElementById(id);
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
// Characters that are invisible or change the direction of a text become escapes, as in the output of commands.
const visible = (text) =>
  String(text).replace(INVISIBLE, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

// make("td", {class: "n", onclick: f}, "text", element, ...)
function make(tag, attributes, ...children) {
  const element = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element[key] = value;
    else element.setAttribute(key, value === true ? "" : visible(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === "") continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

const num = (value, digits = 0) =>
  value.toLocaleString("en", {minimumFractionDigits: digits, maximumFractionDigits: digits});
const count = (value, one, many) => `${num(value)} ${value === 1 ? one : many}`;
const percent = (fraction) => Number.isFinite(fraction)
  ? `${num(fraction * 100, Math.abs(fraction) >= 0.9995 || fraction === 0 ? 0 : 1)}%` : "-";
const GIB = 2 ** 30;
const RESOURCES = [["cpu", "cpu", (v) => `${num(v / 1000, v < 1e5 ? 1 : 0)} cores`],
  ["memory", "memory", (v) => v < 1024 * GIB ? `${num(v / GIB, 1)} GiB` : `${num(v / GIB / 1024, 1)} TiB`],
  ["gpu", "GPU", (v) => count(v, "GPU", "GPUs")]];
const HOURS_A_MONTH = 730;  // As in the output of commands.
// The command that prints the data of a report.
const TAKE_OUT = `sed -n '/^<script type=.*id="data"/{n;p}' FILE`;
const by = (key, sign = 1) => (a, b) => (key(a) < key(b) ? -sign : key(a) > key(b) ? sign : 0);
const words = (name) => String(name || "").replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim();

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

const REASONS = {
  NotUnderutilized: "more is requested than the threshold",
  BlockedByPod: "one of its pods must not be evicted now",
  NoPlaceToMovePods: "a pod fits on no other node",
  NotAutoscaled: "no group whose size changes",
  NodeGroupMinSizeReached: "its group is at its minimum size",
  MinimalResourceLimitExceeded: "the cluster's minimum of a resource",
  ScaleDownDisabledAnnotation: "an annotation keeps it",
  ScaleDownUnreadyDisabled: "not ready, and such nodes stay",
  CurrentlyBeingDeleted: "is being deleted already",
  NotStarted: "has not started yet",
  HeadroomReached: "less than the headroom would be free",
  PodOfGang: "its gang runs only as a whole",
  EvictionRequested: "an EvictionRequest asks for its eviction",
  NotUnneededLongEnough: "not unneeded for long enough",
  NotUnneededOtherReason: "its group waits",
  RecentlyUnremovable: "was judged a moment ago",
  NotJudged: "the pass ended before its turn",
  AtomicScaleDownFailed: "its group goes as a whole or not at all",
  NotEnoughPdb: "a PodDisruptionBudget allows no eviction",
  NotReplicated: "a pod without a controller",
  LocalStorageRequested: "a pod with local storage",
  NotSafeToEvictAnnotation: "a pod is annotated as not safe to evict",
  UnmovableKubeSystemPod: "a pod of kube-system without a budget",
  ControllerNotFound: "the controller of a pod is missing",
  MinReplicasReached: "a workload with few replicas",
  DoNotDisruptAnnotation: "an annotation protects a pod",
};

// --- The data, indexed ------------------------------------------------------------------

let data = null;    // As JSON.
let nodes = [];     // In the order of the cluster.
let byName = new Map();
const state = {colour: "use", find: "", chosen: null, open: new Set(), sort: {}, ready: 60, drains: 1};

function addNode(entry, order) {
  const node = {name: entry.node, group: entry.group || "", zone: entry.zone || "", type: entry.instanceType || "",
    capacity: entry.capacityType || "", price: entry.pricePerHour, order, reason: entry.reason || "", entry,
    offers: {cpu: entry.allocatable.cpuMilli, memory: entry.allocatable.memoryBytes, gpu: entry.allocatable.gpus},
    runs: null, before: null, after: null};
  byName.set(node.name, node);
  nodes.push(node);
}

const kindsOf = () => data.cluster.pods;
const podsOf = (raw) => {
  const pods = [];
  let kind = 0;
  for (const each of raw || []) {
    if (typeof each === "number") kind = each;
    else pods.push({kind, namespace: data.cluster.namespaces[kindsOf()[kind][0]], name: kindsOf()[kind][1] + each});
  }
  return pods;
};

// What pods request, from a map of kind -> number of pods.
function requested(runs) {
  const sum = {cpu: 0, memory: 0, gpu: 0};
  for (const [kind, pods] of runs) {
    const [, , cpu, memory, gpu] = kindsOf()[kind];
    sum.cpu += cpu * pods;
    sum.memory += memory * pods;
    sum.gpu += gpu * pods;
  }
  return sum;
}

function index() {
  nodes = [];
  byName = new Map();
  const plan = data.plan;
  if (!plan) return;
  plan.remove.forEach((entry, at) => addNode(entry, at + 1));
  plan.keep.forEach((entry) => addNode(entry, 0));
  if (!data.cluster) {
    for (const node of nodes) {
      const used = node.entry.utilization;
      if (!used || used.value === null) continue;
      node.before = {};
      for (const key of ["cpu", "memory", "gpu"]) {
        if (used[key] !== undefined) node.before[key] = used[key] * node.offers[key];
      }
    }
    return;
  }
  const order = new Map(data.cluster.nodes.map((each, at) => [each[0], at]));
  nodes.sort(by((node) => order.get(node.name) ?? Infinity));
  const add = (runs, kind) => runs.set(kind, (runs.get(kind) || 0) + 1);
  for (const [name, raw, gpus] of data.cluster.nodes) {
    const node = byName.get(name);
    if (!node) continue;
    node.raw = raw;
    if (gpus !== undefined) node.offers.gpu = gpus;
    node.runs = new Map();
    let kind = 0;
    for (const each of raw) {
      if (typeof each === "number") kind = each;
      else add(node.runs, kind);
    }
    node.then = node.order ? new Map() : new Map(node.runs);
    node.arrives = [];
  }
  for (const node of nodes) {
    if (!node.order || !node.raw) continue;
    const kinds = new Map(podsOf(node.raw).map((pod) => [`${pod.namespace}/${pod.name}`, pod.kind]));
    for (const pod of node.entry.pods) {
      const kind = kinds.get(`${pod.namespace}/${pod.name}`);
      const to = byName.get(pod.to);
      if (kind === undefined || !to || !to.then) continue;
      add(to.then, kind);
      to.arrives.push({pod, kind, from: node.name});
    }
  }
  for (const node of nodes) {
    if (!node.runs) continue;
    node.before = requested(node.runs);
    node.after = node.order ? null : requested(node.then);
  }
  data.plan.keep.forEach((entry, at) => { byName.get(entry.node).keeper = data.cluster.keepers[at]; });
}

// The fraction of a resource that pods request; undefined: not known.
function used(node, when, key) {
  const sum = node[when];
  if (!sum) return undefined;
  if (key === "use") {
    if (node.offers.gpu > 0) return used(node, when, "gpu");
    const [cpu, memory] = [used(node, when, "cpu"), used(node, when, "memory")];
    return cpu === undefined ? memory : memory === undefined ? cpu : Math.max(cpu, memory);
  }
  return sum[key] === undefined || !(node.offers[key] > 0) ? undefined : sum[key] / node.offers[key];
}

const summary = () => data.plan.summary;
// Nodes without a known price count as 0, as in the output of commands.
const priced = () => nodes.some((node) => node.price !== undefined);
const withoutPrice = () => {
  const unknown = nodes.filter((node) => node.price === undefined).length;
  return unknown === 0 ? "" : ` The price of ${count(unknown, "node", "nodes")} is unknown and counts as 0; the warnings name them.`;
};
function money(amount, digits = 2) {
  const currency = (data.plan ? summary().currency : (data.blockers || {}).currency) || "";
  return `${num(amount, Math.abs(amount) >= 1000 ? 0 : digits)}${currency ? " " + currency : ""}`;
}
function decision(node) {
  if (node.order) return `goes, number ${node.order}`;
  const pod = node.entry.blockingPod || node.entry.unplacedPod;
  return `stays: ${node.reason}${pod && pod.reason ? ` (${pod.reason})` : ""}`;
}

// --- Parts that several sections use -------------------------------------------------------

const titles = new Map();  // Of the sections that are drawn, by id, as the navigation has them.

// The body of a section, empty.
function section(id, title, short = title) {
  titles.set(id, short);
  let part = $(id);
  if (!part) {
    part = make("section", {id, "aria-labelledby": `${id}-h`}, make("h2", {id: `${id}-h`}, title), make("div"));
    $("main").append(part);
  }
  part.hidden = false;
  part.lastChild.replaceChildren();
  return part.lastChild;
}

function nodeLink(name) {
  return byName.has(name)
    ? make("button", {class: "link name", type: "button", onclick: () => choose(name)}, name)
    : make("span", {class: "name"}, name);
}

const share = (part, was) => make("div", {class: "bars", "aria-hidden": "true"},
  ...[[was, "was"], [part, ""]].filter(([value]) => value > 0).map(([value, kind]) => {
    const bar = make("i", {class: kind});
    bar.style.width = `${Math.min(1, value) * 100}%`;
    return bar;
  }));

// A table below a heading that names it.
const titled = (id, title, columns, rows, limit) =>
  [make("h3", {id: `${id}-h`}, title), table(id, null, columns, rows, limit)];

// caption: null: the element with the id `${id}-h` names the table.
// columns: {title, value: row -> what it is sorted by, show: value, row -> text or element, number}
function table(id, caption, columns, rows, limit = 12) {
  const box = make("div", {class: "wide"});
  const draw = () => {
    const sort = state.sort[id];
    const sorted = sort ? [...rows].sort(by(columns[sort.at].value, sort.sign)) : rows;
    const all = state.open.has(id);
    const head = columns.map((column, at) => make("th", {scope: "col", class: column.number ? "n" : column.class,
      "aria-sort": sort && sort.at === at ? (sort.sign > 0 ? "ascending" : "descending") : null},
    column.value ? make("button", {type: "button", id: `${id}-by-${at}`, onclick: () => {
      state.sort[id] = {at, sign: sort && sort.at === at ? -sort.sign : column.number ? -1 : 1};
      draw();
      $(`${id}-by-${at}`).focus();
    }}, column.title) : column.title));
    const body = (all ? sorted : sorted.slice(0, limit)).map((row) => make("tr", null, columns.map((column) => {
      const value = column.value ? column.value(row) : undefined;
      const shown = column.show ? column.show(value, row) : value;
      return make("td", {class: column.number ? "n" : column.class}, ...[shown].flat());
    })));
    box.replaceChildren(make("table", {id: `${id}-table`, "aria-labelledby": caption ? null : `${id}-h`}, caption && make("caption", null, caption),
      make("thead", null, make("tr", null, head)), make("tbody", null, body)));
    if (rows.length > limit) {
      box.append(make("button", {type: "button", class: "more", id: `${id}-more`, "aria-expanded": String(all),
        onclick: () => {
          if (all) state.open.delete(id);
          else state.open.add(id);
          draw();
          $(`${id}-more`).focus();
        }}, all ? "show fewer" : `show all ${num(rows.length)}`));
    }
  };
  draw();
  return box;
}
const name = (value) => make("span", {class: "name"}, value);

// Draws rows that this page has no form for: a column for each member.
function anyTable(id, caption, rows) {
  const flat = (row, prefix = "", to = {}) => {
    for (const [key, value] of Object.entries(row)) {
      if (Array.isArray(value)) {
        to[prefix + key] = value.map((each) => typeof each === "object" && each !== null
          ? each.node || [each.namespace, each.name].filter(Boolean).join("/") || JSON.stringify(each) : each).join(", ");
      } else if (typeof value === "object" && value !== null) flat(value, `${prefix}${key}.`, to);
      else to[prefix + key] = value;
    }
    return to;
  };
  const list = rows.map((row) => typeof row === "object" && row !== null ? flat(row) : {value: row});
  const keys = [...new Set(list.flatMap((row) => Object.keys(row)))];
  return table(id, caption, keys.map((key) => ({
    title: words(key.replaceAll(".", ", ")),
    number: list.every((row) => row[key] === undefined || typeof row[key] === "number"),
    value: (row) => row[key],
    show: (value) => value === undefined ? "" : typeof value === "number" ? num(value, Number.isInteger(value) ? 0 : 2)
      : name(String(value).length > 300 ? String(value).slice(0, 300) + "..." : value)})), list);
}

// The step between labels of an axis of seconds.
const roundTime = (most) => [10, 60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200].find((each) => most / each <= 8)
  || 86400 * Math.ceil(most / 86400 / 8);

// Curves; points: [[x, y]].  step: the value holds until the next point.
function chart(title, lines, xText, yText = num, step = false) {
  const [W, H, left, right, top, bottom] = [innerWidth < 600 ? 400 : 860, 220, 60, 24, 10, 26];
  const points = lines.flatMap((line) => line.points);
  const xMax = Math.max(1e-9, ...points.map((p) => p[0]));
  const yMax = Math.max(1e-9, ...points.map((p) => p[1]));
  const nice = (most) => {
    const power = 10 ** Math.floor(Math.log10(most / 4));
    return [1, 2, 5, 10].map((times) => times * power).find((each) => each >= most / 4);
  };
  const yStep = Math.max(yText === num ? 1 : 0, nice(yMax));  // Numbers of things are whole.
  const yTop = Math.ceil(yMax / yStep) * yStep;
  const X = (x) => left + (W - left - right) * x / xMax;
  const Y = (y) => H - bottom - (H - top - bottom) * y / yTop;
  const svg = make("svg:svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title});
  for (let y = 0; y <= yTop + yStep / 2; y += yStep) {
    svg.append(make("svg:path", {class: "grid", d: `M${left} ${Y(y)}H${W - right}`}),
      make("svg:text", {class: "y", x: left - 8, y: Y(y) + 4}, yText(y)));
  }
  const xStep = step ? xMax / 4 : xText === duration ? roundTime(xMax) : nice(xMax);
  for (let x = 0; x <= xMax * 1.001; x += xStep) svg.append(make("svg:text", {class: "x", x: X(x), y: H - 6}, xText(x)));
  const colourOf = (at) => lines.length > 2 ? `c${at % 7}` : at ? "second" : "first";
  lines.forEach((line, at) => {
    let d = "";
    for (const [x, y] of line.points) {
      d += !d ? `M${X(x).toFixed(1)} ${Y(y).toFixed(1)}`
        : step ? `H${X(x).toFixed(1)}V${Y(y).toFixed(1)}` : `L${X(x).toFixed(1)} ${Y(y).toFixed(1)}`;
    }
    svg.append(make("svg:path", {class: `line ${colourOf(at)}`, d}));
  });
  return make("figure", null, make("figcaption", {class: "note"}, title), lines.length < 2 ? "" : make("div", {class: "legend"},
    lines.map((line, at) => make("span", {class: "name"}, make("i", {class: colourOf(at)}), line.name))), svg);
}

// --- The heat map -------------------------------------------------------------------------

let rows = [];     // The canvases: {nodes, before, after, group, zone}.
let painting = false;
const CELLS = [[400, 15, 3], [1600, 11, 2], [6000, 8, 2], [Infinity, 6, 1]];

function palette() {
  const style = getComputedStyle(document.documentElement);
  const colour = (key) => style.getPropertyValue(`--${key}`).trim();
  const rgb = (text) => {
    const hex = text.length === 4 ? [...text.slice(1)].map((c) => c + c).join("") : text.slice(1);
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  };
  const [low, high] = [rgb(colour("low")), rgb(colour("high"))];
  const scale = Array.from({length: 101}, (_, i) =>
    `rgb(${low.map((value, at) => Math.round(value + (high[at] - value) * i / 100)).join(",")})`);
  return {scale, mark: colour("mark"), line: colour("line"), ink: colour("ink"),
    reasons: [0, 1, 2, 3, 4, 5, 6].map((i) => colour(`c${i}`))};
}

const reasonKey = (node) => {
  const pod = node.entry.blockingPod;
  return pod && pod.reason ? pod.reason : node.reason;
};
function reasonRanks() {
  const counts = new Map();
  for (const node of nodes) if (!node.order) counts.set(reasonKey(node), (counts.get(reasonKey(node)) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([reason]) => reason);
}

const found = (node) => !state.find ||
  [node.name, node.group, node.zone, node.type, node.reason, node.capacity].some((text) => text.toLowerCase().includes(state.find));

function layout(canvas, cells) {
  const [, size, gap] = CELLS.find(([most]) => nodes.length <= most);
  const width = canvas.clientWidth || 300;
  const columns = Math.max(1, Math.floor((width + gap - 2) / (size + gap)));
  return {size, gap, width, columns, height: Math.ceil(cells / columns) * (size + gap) + 2};
}

function paint(row, colours, ranks) {
  for (const when of ["before", "after"]) {
    const canvas = row[when];
    const {size, gap, width, columns, height} = layout(canvas, row.nodes.length);
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    row.nodes.forEach((node, at) => {
      const [x, y] = [1 + (at % columns) * (size + gap), 1 + Math.floor(at / columns) * (size + gap)];
      pen.globalAlpha = found(node) ? 1 : 0.15;
      const gone = when === "after" && node.order;
      if (!gone) {
        const value = used(node, when === "after" && !node.after ? "before" : when, state.colour);
        pen.fillStyle = state.colour === "reason"
          ? (node.order ? colours.scale[0] : colours.reasons[Math.min(6, ranks.indexOf(reasonKey(node)))])
          : value === undefined ? colours.line : colours.scale[Math.round(Math.min(1, Math.max(0, value)) * 100)];
        pen.fillRect(x, y, size, size);
      }
      if (node.order) {
        pen.strokeStyle = colours.mark;
        pen.lineWidth = gone ? 1 : size > 10 ? 2 : 1.5;
        pen.setLineDash(gone ? [2, 2] : []);
        const inset = gone ? 0.5 : 1;
        pen.strokeRect(x + inset, y + inset, size - 2 * inset, size - 2 * inset);
      }
      if (node.name === state.chosen) {
        pen.setLineDash([]);
        pen.strokeStyle = colours.ink;
        pen.lineWidth = 2;
        pen.strokeRect(x, y, size, size);
      }
    });
  }
}

function paintAll() {
  painting = false;
  const [colours, ranks] = [palette(), reasonRanks()];
  for (const row of rows) paint(row, colours, ranks);
}
const resized = new ResizeObserver(() => repaint());
function repaint() {
  if (painting || rows.length === 0) return;
  painting = true;
  requestAnimationFrame(paintAll);
}

function cellAt(row, canvas, event) {
  const {size, gap, columns} = layout(canvas, row.nodes.length);
  const box = canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left - 1) / (size + gap));
  const line = Math.floor((event.clientY - box.top - 1) / (size + gap));
  return column < 0 || column >= columns || line < 0 ? undefined : row.nodes[line * columns + column];
}
const useText = (value) => value === undefined ? "not known" : percent(value);
function about(node) {
  const then = node.after ? `, then ${useText(used(node, "after", "use"))}` : "";
  return `${node.name}: ${useText(used(node, "before", "use"))}${then}; ${decision(node)}`;
}

// A canvas is a slider for the keyboard and screen readers: its value is a node.
function mapCanvas(row, when) {
  const canvas = make("canvas", when === "before" ? {id: `row-${rows.length}`, tabindex: "0", role: "slider", "aria-valuemin": "1",
    "aria-valuemax": row.nodes.length, "aria-valuenow": "1", "aria-label": `Nodes of ${row.label}; Enter opens one`,
    "aria-valuetext": about(row.nodes[0])} : {role: "img", "aria-label": `${row.label} after the plan: ` +
    `${count(row.nodes.filter((node) => !node.order).length, "node", "nodes")}`});
  canvas.onclick = (event) => {
    const node = cellAt(row, canvas, event);
    if (node) choose(node.name);
  };
  canvas.onmousemove = (event) => {
    const node = cellAt(row, canvas, event);
    const tip = $("tip");
    tip.hidden = !node;
    if (!node) return;
    tip.textContent = visible(about(node));
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - 330))}px`;
    tip.style.top = `${Math.min(event.clientY + 16, innerHeight - 60)}px`;
  };
  canvas.onmouseleave = () => { $("tip").hidden = true; };
  canvas.onkeydown = (event) => {
    const {columns} = layout(canvas, row.nodes.length);
    const now = Number(canvas.getAttribute("aria-valuenow")) - 1;
    const moves = {ArrowRight: now + 1, ArrowLeft: now - 1, ArrowDown: now + columns, ArrowUp: now - columns, Home: 0,
      End: row.nodes.length - 1};
    if (event.key === "Enter" || event.key === " ") choose(row.nodes[now].name);
    else if (event.key in moves) {
      const to = Math.max(0, Math.min(row.nodes.length - 1, moves[event.key]));
      canvas.setAttribute("aria-valuenow", to + 1);
      canvas.setAttribute("aria-valuetext", visible(about(row.nodes[to])));
      state.chosen = row.nodes[to].name;
      repaint();
    } else return;
    event.preventDefault();
  };
  return canvas;
}

function drawMap() {
  const body = section("map", "Nodes, before and after", "map");
  const find = make("input", {type: "search", id: "find", placeholder: "name, group, zone, reason", oninput: () => {
    state.find = find.value.trim().toLowerCase();
    repaint();
    drawNodes();
  }});
  find.value = state.find;
  const modes = [["use", "what counts: cpu, memory or GPU"], ["cpu", "cpu"], ["memory", "memory"],
    ...(nodes.some((node) => node.offers.gpu > 0) ? [["gpu", "GPU"]] : []), ["reason", "why nodes stay"]];
  const colour = make("select", {id: "colour", onchange: () => {
    state.colour = colour.value;
    legend.replaceChildren(...legendOf());
    repaint();
  }}, modes.map(([value, text]) => make("option", {value}, text)));
  colour.value = state.colour;
  const legendOf = () => [
    ...(state.colour === "reason"
      ? [...reasonRanks().slice(0, 6), ...(reasonRanks().length > 6 ? ["others"] : [])].map((reason, i) => {
        const patch = make("i");
        patch.style.background = `var(--c${i})`;
        return make("span", null, patch, reason);
      })
      : [make("span", null, "0%", make("i", {class: "scale"}), "100% requested")]),
    make("span", null, make("i", {class: "goes"}), "goes"), make("span", null, make("i", {class: "gone"}), "gone")];
  const legend = make("div", {class: "legend"}, legendOf());
  const map = make("div", {class: "map"}, make("span", {class: "corner"}), make("span", {class: "head"}, "before"),
    make("span", {class: "head"}, "after"));
  rows = [];
  const grouped = (list, key) => {
    const groups = new Map();
    for (const each of list) {
      if (!groups.has(key(each))) groups.set(key(each), []);
      groups.get(key(each)).push(each);
    }
    return groups;
  };
  const natural = ([a], [b]) => a.localeCompare(b, "en", {numeric: true});
  for (const [group, members] of [...grouped(nodes, (node) => node.group)].sort(natural)) {
    const zones = [...grouped(members, (node) => node.zone)].sort(natural);
    const going = count(members.length, "node", "nodes") + (members.some((node) => node.order)
      ? `, ${num(members.filter((node) => node.order).length)} go` : "");
    const head = make("b", {class: "name"}, group || "in no group");
    if (zones.length > 1) map.append(make("div", {class: "group"}, head, make("small", null, going)));
    for (const [zone, list] of zones) {
      const label = `${visible(group || "in no group")}, ${visible(zone || "no zone")}`;
      const sorted = [...list].sort((a, b) => (a.order ? 1 : 0) - (b.order ? 1 : 0) ||
        (used(b, "before", "use") ?? -1) - (used(a, "before", "use") ?? -1));
      const row = {nodes: sorted, label};
      row.before = mapCanvas(row, "before");
      row.after = mapCanvas(row, "after");
      rows.push(row);
      const zoneName = make("span", {class: "zone", title: zone}, zone || "no zone");
      map.append(make("div", {class: "side"}, zones.length > 1 ? zoneName : [head, zoneName, make("small", null, going)]),
        make("div", null, row.before), make("div", null, row.after));
    }
  }
  body.append(make("div", {class: "controls"}, make("label", {for: "colour"}, "colour "), colour,
    make("label", {for: "find"}, "find "), find), legend, map,
  make("p", {class: "note"}, "Each square is a node. A click, or Enter, shows its pods and why it goes or stays. ",
    make("a", {href: "#nodes"}, "The same as a table.")));
  resized.disconnect();
  resized.observe(map);
  repaint();
}

// --- One node ------------------------------------------------------------------------------

function meters(node) {
  return make("div", {class: "meter"}, RESOURCES.filter(([key]) => node.offers[key] > 0).flatMap(([key, title, text]) => {
    const [was, then] = [used(node, "before", key), used(node, "after", key)];
    return [make("span", {class: "quiet"}, title), share(Math.min(was ?? 0, then ?? was ?? 0), Math.max(was ?? 0, then ?? 0)),
      make("span", null, `${useText(was)}${then !== undefined ? ` to ${useText(then)}` : ""}`)];
  }));
}

function whyOf(node) {
  const entry = node.entry;
  if (node.order) {
    return [`Goes, number ${node.order} of ${num(summary().removed)}.`, entry.detail,
      entry.risky ? "A budget does not allow the eviction of all its pods at once: they go one after the other." : ""];
  }
  const pod = entry.blockingPod || entry.unplacedPod;
  const lines = [`Stays: ${node.reason}${REASONS[node.reason] ? `, ${REASONS[node.reason]}` : ""}.`, entry.detail];
  if (pod) {
    lines.push(`${pod.namespace}/${pod.name}${pod.reason ? `: ${pod.reason}${pod.podDisruptionBudget ? " " + pod.podDisruptionBudget : ""}` : ""}` +
      `${REASONS[pod.reason] ? `, ${REASONS[pod.reason]}` : ""}${pod.detail ? `; ${pod.detail}` : ""}.`);
    for (const no of pod.reasons || []) lines.push(`${count(no.nodes, "node", "nodes")}: ${no.reason}.`);
    for (const each of pod.details || []) lines.push(`${each.node}: ${each.detail}.`);
    if (pod.detailsLeftOut) lines.push(`${count(pod.detailsLeftOut, "more node", "more nodes")} with such an answer.`);
  }
  return lines;
}

function podRows(node) {
  const moves = new Map((node.entry.pods || []).map((pod) => [`${pod.namespace}/${pod.name}`, pod]));
  const keeps = node.entry.blockingPod || node.entry.unplacedPod;
  const list = node.raw ? podsOf(node.raw) : (node.entry.pods || []);
  const rows = list.map((pod) => {
    const move = moves.get(`${pod.namespace}/${pod.name}`);
    const kind = pod.kind === undefined ? null : kindsOf()[pod.kind];
    const what = move ? ["to ", nodeLink(move.to), move.via ? ` (in the plan by way of ${move.via.join(", ")})` : ""]
      : node.order ? ["ends with the node"]
        : keeps && keeps.namespace === pod.namespace && keeps.name === pod.name ? [make("b", null, "keeps the node")]
          : kind && kind[6] ? ["belongs to the node"] : ["stays"];
    return {name: `${pod.namespace}/${pod.name}`, cpu: kind ? kind[2] : undefined, memory: kind ? kind[3] : undefined, what,
      first: move || what[0] instanceof Node ? 0 : 1};
  });
  for (const {pod, kind, from} of node.arrives || []) {
    rows.push({name: `${pod.namespace}/${pod.name}`, cpu: kindsOf()[kind][2], memory: kindsOf()[kind][3],
      what: ["comes from ", nodeLink(from)], first: 0});
  }
  return rows.sort(by((row) => row.first));
}

let opener = null;
function choose(chosen, quiet = false) {
  const node = byName.get(chosen);
  const box = $("node");
  if (!node) return close();
  if (!quiet && !box.contains(document.activeElement)) opener = document.activeElement;
  state.chosen = chosen;
  box.querySelector("h2").textContent = visible(chosen);
  const facts = [["group", node.group], ["zone", node.zone], ["type", node.type], ["paid as", node.capacity],
    ["price an hour", node.price === undefined ? "" : money(node.price)]].filter(([, value]) => value);
  const pods = podRows(node);
  const columns = [{title: "pod", value: (row) => row.name, show: name}];
  if (node.raw) {
    columns.push({title: "cpu", number: true, value: (row) => row.cpu, show: (value) => num(value / 1000, 2)},
      {title: "GiB", number: true, value: (row) => row.memory, show: (value) => num(value / GIB, 2)});
  }
  columns.push({title: "", show: (value, row) => row.what});
  $("node-text").replaceChildren(
    ...whyOf(node).filter(Boolean).map((line) => make("p", {class: "name"}, line)), make("div", {id: "node-live"}),
    make("p", {class: "quiet name"}, facts.map(([key, value]) => `${key} ${value}`).join(", ")), meters(node),
    pods.length ? table("pods", count(pods.length, "pod", "pods"), columns, pods, 40)
      : make("p", null, "No pods."));
  box.hidden = false;
  repaint();
  if (!quiet) {
    box.scrollTop = 0;
    box.focus({preventScroll: true});
  }
  if (live) explain(chosen);
}
function close() {
  state.chosen = null;
  $("node").hidden = true;
  repaint();
  if (opener && opener.isConnected) opener.focus();
  opener = null;
}

// --- Sections ------------------------------------------------------------------------------

function headline() {
  const parts = [];
  if (data.plan) {
    const s = summary();
    document.title = `ebb: ${num(s.removed)} of ${num(s.nodes)} nodes can go`;
    parts.push(`${num(s.removed)} of ${count(s.nodes, "node", "nodes")} can go (${percent(s.removed / s.nodes)}), ` +
      `${count(s.movedPods, "pod moves", "pods move")}`);
  } else if (data.blockers) {
    parts.push(`${count(data.blockers.removed, "node", "nodes")} can go, ${num(data.blockers.kept)} stay`);
  } else if (data.comparison) {
    parts.push(`${num(data.comparison.before.removed)} nodes can go before the change, ${num(data.comparison.after.removed)} after`);
  } else if (data.story) {
    document.title = `${data.story.command}: ${visible(data.story.title)}`;
    parts.push(`${data.story.title}: ${data.story.headline}`);
  } else if (data.title) parts.push(data.title);
  $("headline").textContent = visible(parts.join(" "));
}

const total = (key, when) => {
  let [sum, offers] = [0, 0];
  for (const node of nodes) {
    if (when === "after" && node.order) continue;
    offers += node.offers[key];
    if (node[when]) sum += node[when][key] || 0;
  }
  return {sum, offers, use: offers > 0 ? sum / offers : undefined};
};

function drawGlance() {
  const body = section("glance", "At a glance", "glance");
  const s = summary();
  const replace = data.plan.replace;
  const cost = replace ? replace.costPerHour : nodes.reduce((sum, node) => sum + (node.price || 0), 0);
  const saved = replace ? replace.with.netSavedPerHour : s.savedPerHour ?? 0;
  const bought = replace ? replace.buy.length : 0;
  const tiles = [["nodes", `${num(s.nodes)} \u2192 ${num(s.nodes - s.removed + bought)}`, `${percent(s.removed / s.nodes)} go` +
    (bought ? `, ${num(bought)} bought` : "")]];
  if (priced()) {
    tiles.push(["cost now, an hour", money(cost), `${money(cost * HOURS_A_MONTH, 0)} a month`],
      ["saved an hour", money(saved), percent(cost > 0 ? saved / cost : 0)],
      ["saved a month", money(saved * HOURS_A_MONTH, 0), "730 hours"]);
  }
  for (const [key, title, text] of RESOURCES) {
    const now = total(key, "before");
    if (!data.cluster || !(now.offers > 0)) continue;
    tiles.push([`${title} requested`, `${percent(now.use)} \u2192 ${percent(total(key, "after").use)}`,
      `of ${text(total(key, "after").offers)} that stay`]);
  }
  tiles.push(["pods that move", num(s.movedPods), `of ${num(s.pods)}`]);
  if (s.mayGoLater) tiles.push(["may go later", num(s.mayGoLater), "nodes whose budget recovers"]);
  if (data.plan.complete === false) {
    body.append(make("p", {class: "warn"}, "The input is not a whole cluster: ",
      (data.plan.missing || []).map((each) => each.message).join("; ")));
  }
  body.append(make("dl", {class: "tiles"}, tiles.map(([title, value, small]) =>
    make("div", null, make("dt", null, title), make("dd", null, value, make("small", null, small))))));
  body.append(make("p", {class: "note"}, `For ${data.plan.now}.` + (priced() ? withoutPrice() : "") +
    (data.cluster ? "" : " Where pods arrive is not shown: a plan alone does not say what each pod requests.")));
}

// What to buy before any node goes (report/plan_purchases.h).
function drawPurchases() {
  const r = data.plan.replace;
  const body = section("purchases", "Nodes to buy first", "purchases");
  body.append(make("p", null, r.buy.length === 0 ? `Buy nothing: ${r.whyNone}.`
    : "Buy these nodes, and wait until all of them are Ready. Then the nodes of the plan go, in their order."));
  if (r.buy.length) {
    body.append(table("bought", "What to buy", [{title: "node", value: (row) => row.node, show: name},
      {title: "type", value: (row) => row.machineType, show: name}, {title: "group", value: (row) => row.group, show: name},
      {title: "zone", value: (row) => row.zone || "-", show: name}, {title: "capacity type", value: (row) => row.capacityType || "-"},
      {title: "an hour", number: true, value: (row) => row.pricePerHour, show: (v) => money(v)},
      {title: "pods that move there", number: true, value: (row) => row.pods}], r.buy));
  }
  const sides = [["do nothing", {costPerHour: r.costPerHour, netSavedPerHour: 0, removed: 0, movedPods: 0}, 0], ["only remove", r.without, 0],
    ...(r.buy.length ? [["this plan", r.with, r.buy.length]] : [])];
  body.append(...titled("purchase-sides", "What it costs", [{title: "", value: (row) => row[0]},
    {title: "cost an hour", number: true, value: (row) => row[1].costPerHour, show: (v) => money(v)},
    {title: "saved an hour", number: true, value: (row) => row[1].netSavedPerHour, show: (v) => money(v)},
    {title: "saved a month", number: true, value: (row) => row[1].netSavedPerHour * HOURS_A_MONTH, show: (v) => money(v, 0)},
    {title: "bought", number: true, value: (row) => row[2]}, {title: "nodes that go", number: true, value: (row) => row[1].removed},
    {title: "pods that move", number: true, value: (row) => row[1].movedPods}], sides));
  const list = (title, lines) => lines.length ? [make("p", {class: "note"}, title),
    make("ul", {class: "plain quiet"}, lines.map((each) => make("li", null, each)))] : [];
  body.append(...list(`${count(r.tried, "set", "sets")} of new nodes of ${count(r.machineTypes, "machine type", "machine types")} ` +
    "were tried. Not bought:", r.unusableTypes.map((each) =>
    `${each.detail} (${each.reason}): ${each.first.join("; ")}${each.count > each.first.length ? "; ..." : ""}`)),
  ...list("The purchases assume:", r.assumptions));
  drawOthers(body, "purchases", r, ["buy", "unusableTypes", "assumptions", "with", "without"]);
}

function drawUse() {
  if (!data.cluster) return;
  const body = section("use", "Utilization, before and after", "utilization");
  const histograms = [];
  const meter = make("div", {class: "meter"});
  for (const [key, title, text] of RESOURCES) {
    const [was, then] = [total(key, "before"), total(key, "after")];
    if (!(was.offers > 0)) continue;
    for (const [when, each] of [["before", was], ["after", then]]) {
      const bar = make("i", {class: when === "before" ? "was" : ""});
      bar.style.width = `${Math.min(1, each.use || 0) * 100}%`;
      meter.append(make("span", {class: "quiet"}, when === "before" ? title : ""), make("div", {class: "bars", "aria-hidden": "true"}, bar),
        make("span", null, `${when} ${percent(each.use)}`));
    }
    const bins = ["before", "after"].map((when) => {
      const counts = Array(11).fill(0);
      for (const node of nodes) {
        const value = used(node, when, key);
        if (value !== undefined) counts[Math.min(10, Math.floor(value * 10 + 1e-9))]++;
      }
      counts[9] += counts.pop();
      return counts;
    });
    const most = Math.max(1, ...bins.flat());
    const svg = make("svg:svg", {viewBox: "0 0 520 150", role: "img",
      "aria-label": `Nodes by the share of their ${title} that is requested, before and after; the table below has the numbers`});
    bins[0].forEach((_, i) => {
      bins.forEach((bin, at) => {
        const height = 118 * bin[i] / most;
        svg.append(make("svg:rect", {class: at ? "after" : "before", x: 8 + i * 51 + at * 22, y: 130 - height, width: 21, height}));
        if (bin[i] > 0) svg.append(make("svg:text", {class: "x", x: 18 + i * 51 + at * 22, y: 126 - height}, num(bin[i])));
      });
      svg.append(make("svg:text", {class: "x", x: 30 + i * 51, y: 146}, `${i * 10}-${i * 10 + 10}`));
    });
    histograms.push(make("figure", null, make("figcaption", {class: "note"}, `Nodes by ${title} requested, in % of what they offer`), svg,
      make("details", null, make("summary", null, "as a table"), table(`bins-${key}`, `Nodes by ${title} requested`, [
        {title: "requested", value: (row) => row, show: (i) => `${i * 10} to ${i * 10 + 10}%`},
        {title: "nodes before", number: true, value: (row) => bins[0][row], show: (v) => num(v)},
        {title: "nodes after", number: true, value: (row) => bins[1][row], show: (v) => num(v)}], bins[0].map((_, i) => i)))));
  }
  body.append(meter, make("div", {class: "two"}, histograms), make("p", {class: "note"},
    "What pods request, of what the nodes offer them. Light: before. Dark: after, on the nodes that stay." +
    (summary().pendingPods && summary().pendingPods.placed > 0
      ? ` Room that is kept for ${count(summary().pendingPods.placed, "pending pod", "pending pods")} is not counted.` : "")));
}

// Divides the price of each node among its pods, by what they request of it.
function costs(key) {
  const sums = new Map();
  const put = (id, when, amount) => {
    if (!sums.has(id)) sums.set(id, {id, before: 0, after: 0});
    sums.get(id)[when] += amount;
  };
  for (const node of nodes) {
    for (const [when, runs] of [["before", node.runs], ["after", node.order ? null : node.then]]) {
      if (!runs) continue;
      const weigh = (gpus) => {
        let all = 0;
        const weights = [...runs].map(([kind, pods]) => {
          const [, , cpu, memory, gpu] = kindsOf()[kind];
          const weight = pods * (gpus ? gpu / node.offers.gpu
            : (cpu / (node.offers.cpu || 1) + memory / (node.offers.memory || 1)) / 2);
          all += weight;
          return [kind, weight];
        });
        return [all, weights];
      };
      let [all, weights] = weigh(node.offers.gpu > 0);
      if (all === 0) [all, weights] = weigh(false);
      if (all === 0) put(-2, when, node.price || 0);
      for (const [kind, weight] of weights) if (weight > 0) put(kindsOf()[kind][key], when, (node.price || 0) * weight / all);
    }
  }
  return [...sums.values()].sort(by((row) => row.before - row.after, -1));
}

function drawMoney() {
  const shares = (title, key) => {
    const rows = new Map();
    for (const node of nodes) {
      const id = node[key];
      if (!rows.has(id)) rows.set(id, {id, nodes: 0, goes: 0, before: 0, after: 0, cpu: 0, memory: 0, gpu: 0});
      const row = rows.get(id);
      row.nodes++;
      row.before += node.price || 0;
      if (node.order) {
        row.goes++;
        for (const [r] of RESOURCES) row[r] += node.offers[r];
      } else row.after += node.price || 0;
    }
    return rows.size === 1 && rows.has("") ? null : [title, key, [...rows.values()].sort(by((row) => row.before - row.after || row.goes, -1))];
  };
  const body = section("money", priced() ? "Money" : "Where nodes go", priced() ? "money" : "where");
  const whole = [["group", "group"], ["instance type", "type"], ["paid as", "capacity"], ["zone", "zone"]]
    .map(([title, key]) => shares(title, key)).filter(Boolean);
  const saved = (row) => row.before - row.after;
  const costColumns = (most) => [
    {title: "costs an hour", number: true, value: (row) => row.before, show: (v) => money(v)},
    {title: "saved an hour", number: true, value: saved, show: (v) => money(v)},
    {title: "saved a month", number: true, value: saved, show: (v) => money(v * HOURS_A_MONTH, 0)},
    {title: "", class: "bar", show: (v, row) => share(Math.max(0, saved(row)) / most)}];
  for (const [title, key, list] of whole) {
    const columns = [{title, value: (row) => row.id, show: (v) => v ? name(v) : make("span", {class: "quiet"}, "none")},
      {title: "nodes", number: true, value: (row) => row.nodes, show: (v) => num(v)},
      {title: "go", number: true, value: (row) => row.goes, show: (v, row) => row.goes === row.nodes && v > 0 ? `${num(v)} (all)` : num(v)}];
    if (priced()) columns.push(...costColumns(Math.max(1e-9, ...list.map(saved))));
    else {
      for (const [r, unit, text] of RESOURCES) {
        if (list.some((row) => row[r] > 0)) columns.push({title: `${unit} freed`, number: true, value: (row) => row[r], show: text});
      }
    }
    body.append(...titled(`by-${key}`, `By ${title}`, columns, list));
  }
  if (!priced()) {
    body.append(make("p", {class: "note"}, summary().prices ? "No price of these nodes is known; the warnings name them. Give prices in a file: --prices FILE"
      : live ? "No prices are known here."
      : "No prices were given; with --prices this part shows money, also by namespace and team."));
    return;
  }
  if (!data.cluster) return;
  for (const [title, key, names] of [["namespace", 0, data.cluster.namespaces],
    [`team (label ${data.cluster.teamLabel})`, 5, data.cluster.teams]]) {
    if (names.length === 0) {
      body.append(make("p", {class: "note"}, `No pod and no namespace has the label ${data.cluster.teamLabel}; --team-label names another one.`));
      continue;
    }
    const list = costs(key);
    body.append(...titled(`cost-${key}`, `By ${title}`, [
      {title: title, value: (row) => row.id === -2 ? "~~" : row.id === -1 ? "~" : names[row.id], show: (v, row) => row.id < 0
        ? make("span", {class: "quiet"}, row.id === -2 ? "nodes whose pods request nothing" : "no label") : name(v)},
      ...costColumns(Math.max(1e-9, ...list.map(saved)))], list));
  }
  body.append(make("p", {class: "note"}, `A month has 730 hours. The price of a node is divided among its pods by the mean of their ` +
    "shares of its requested cpu and memory, on a node with GPUs by the GPUs. What no pod requests is divided in the same way, so the sums are the whole bill." + withoutPrice()));
}

function drawKeeps() {
  const body = section("keeps", "What keeps the rest", "what stays");
  if (!data.plan) return drawBlockers(body);
  const kept = nodes.filter((node) => !node.order);
  const price = (list) => list.reduce((sum, node) => sum + (node.price || 0), 0);
  const worth = priced() ? [{title: "costs an hour", number: true, value: (row) => row.price, show: (v) => money(v)},
    {title: "a month", number: true, value: (row) => row.price, show: (v) => money(v * HOURS_A_MONTH, 0)}] : [];
  const reasons = reasonRanks().map((reason) => {
    const list = kept.filter((node) => reasonKey(node) === reason);
    return {reason, nodes: list.length, price: price(list)};
  });
  body.append(table("reasons", "Nodes that stay, by the first reason", [
    {title: "reason", value: (row) => row.reason, show: (v) => [v, REASONS[v] ? make("span", {class: "quiet"}, ` ${REASONS[v]}`) : ""]},
    {title: "nodes", number: true, value: (row) => row.nodes, show: (v) => num(v)}, ...worth,
    {title: "", class: "bar", show: (v, row) => share(row.nodes / Math.max(1, kept.length))}], reasons));
  if (data.blockers) drawBlockers(body);
  const keepers = (summary().keptMostBy || []).map((each, at) => ({...each, price: price(kept.filter((node) => node.keeper === at))}));
  if (keepers.length) {
    body.append(...titled("keepers", "Objects that are the first obstacle of most nodes", [
      {title: "what", value: (row) => `${row.namespace}/${row.name}`, show: (v, row) => [make("span", {class: "quiet"}, `${row.kind} `), name(v)]},
      {title: "reason", value: (row) => row.reason},
      {title: "nodes", number: true, value: (row) => row.nodes, show: (v) => num(v)}, ...(data.cluster ? worth : []),
      {title: "", class: "bar", show: (v, row) => share(row.nodes / Math.max(1, kept.length))}], keepers));
  }
}

function drawBlockers(body) {
  const found = data.blockers;
  const tried = found.blockers.filter((each) => each.nodesGained !== undefined);
  const columns = [
    {title: "what", value: (row) => [row.namespace, row.name].filter(Boolean).join("/"),
      show: (v, row) => [make("span", {class: "quiet"}, `${row.kind} `), name(v)]},
    {title: "more nodes go", number: true, value: (row) => row.nodesGained, show: (v) => `${v > 0 ? "+" : ""}${num(v)}`}];
  if (tried.some((row) => row.savedPerHourGained !== undefined)) {
    columns.push({title: "saves an hour", number: true, value: (row) => row.savedPerHourGained, show: (v) => money(v)},
      {title: "a month", number: true, value: (row) => row.savedPerHourGained, show: (v) => money(v * HOURS_A_MONTH, 0)});
  }
  columns.push({title: "if", class: "text", value: (row) => row.change || "", show: (v, row) => [name(v), row.command ? make("div", null, make("code", {class: "name"}, row.command)) : ""]},
    {title: "reason", value: (row) => row.reason, show: (v, row) => [v, row.detail ? make("div", {class: "quiet"}, row.detail) : ""]},
    {title: "first obstacle of", number: true, value: (row) => row.nodes, show: (v) => num(v)});
  const [heading, list] = titled("blockers", "What a change would bring", columns, tried);
  body.append(heading, make("p", {class: "note"}, "Each was tried by itself: the change was made, and the plan made again."), list);
  if (found.sets && found.sets.length) {
    body.append(...titled("sets", "Changes that help together", [
      {title: "these together", show: (v, row) => row.changes.map((each) => make("div", {class: "name"},
        `${each.kind} ${[each.namespace, each.name].filter(Boolean).join("/")}: ${each.change}`))},
      {title: "more nodes go", number: true, value: (row) => row.nodesGained, show: (v) => `+${num(v)}`},
      ...(found.sets.some((row) => row.savedPerHourGained !== undefined)
        ? [{title: "saves an hour", number: true, value: (row) => row.savedPerHourGained, show: (v) => money(v)},
          {title: "a month", number: true, value: (row) => row.savedPerHourGained, show: (v) => money(v * HOURS_A_MONTH, 0)}] : [])], found.sets));
  }
  const lower = found.lowerRequests;
  if (lower) {
    body.append(make("h3", {id: "lower-h"}, "If workloads requested what they use"),
      make("p", null, `${count(lower.nodesGained, "more node goes", "more nodes go")}` +
        `${lower.savedPerHourGained === undefined ? "" : `, which saves ${money(lower.savedPerHourGained)} an hour`}.`), anyTable("lower", null, lower.workloads));
  }
  const untried = new Map();
  for (const {notTried} of found.blockers) if (notTried) untried.set(notTried, (untried.get(notTried) || 0) + 1);
  for (const [why, objects] of untried) {
    body.append(make("p", {class: "note"}, `${count(objects, "more keeps", "more keep")} nodes, and no change was tried: ${why}.`));
  }
  drawOthers(body, "blockers", found, ["apiVersion", "kind", "complete", "missing", "removed", "kept", "blockers", "currency",
    "sets", "setsTried", "lowerRequests"]);
}

// Members that no section of this page draws: lists as tables.
function drawOthers(body, id, object, known) {
  for (const [key, value] of Object.entries(object)) {
    if (known.includes(key) || value === null) continue;
    const title = words(key);
    const rows = Array.isArray(value) ? value : typeof value === "object" ? [value] : [];
    if (rows.length) body.append(make("h3", {id: `${id}-${key}-h`}, title[0].toUpperCase() + title.slice(1)), anyTable(`${id}-${key}`, null, rows));
  }
}

// When each node is empty, if `drains` nodes drain at once, in the plan's order, and an evicted pod gives its
// budgets' disruptions back after `ready` seconds.
function schedule(drains, ready) {
  const budgets = data.cluster ? data.cluster.budgets.map(([, , allowed]) => Array(Math.min(1000, Math.max(1, allowed))).fill(0)) : [];
  const slots = Array(drains).fill(0);
  return data.plan.remove.map((entry, at) => {
    const row = {order: at + 1, node: entry.node, pods: entry.pods.length, waits: ""};
    if (entry.pods.length === 0) return {...row, start: 0, end: 0};
    const slot = slots.indexOf(Math.min(...slots));
    row.start = slots[slot];
    let last = row.start;
    entry.pods.forEach((_, i) => {
      let time = row.start;
      const mine = data.cluster ? data.cluster.waits[at][i] : [];
      const places = mine.map((budget) => {
        const free = budgets[budget];
        let best = 0;
        for (let k = 1; k < free.length; ++k) if (free[k] < free[best]) best = k;
        if (free[best] > time) {
          time = free[best];
          if (time > last) row.waits = data.cluster.budgets[budget].slice(0, 2).join("/");
        }
        return best;
      });
      mine.forEach((budget, k) => { budgets[budget][places[k]] = time + ready; });
      last = Math.max(last, time);
    });
    row.end = last + ready;
    slots[slot] = row.end;
    return row;
  });
}

function drawOrder() {
  if (data.plan.remove.length === 0) return;
  const body = section("order", "The order of drains", "order");
  const out = make("div");
  const draw = () => {
    const list = schedule(state.drains, state.ready);
    const end = Math.max(1, ...list.map((row) => row.end));
    const ends = list.map((row) => row.end).sort((a, b) => a - b);
    const step = Math.max(1, Math.floor(ends.length / 400));
    const points = [[0, 0], ...ends.map((time, i) => [time, i + 1])
      .filter((_, i) => i % step === 0 || i === ends.length - 1)];
    const empty = list.filter((row) => row.pods === 0).length;
    const waiting = list.filter((row) => row.waits).length;
    out.replaceChildren(
      make("p", null, `${count(empty, "node is", "nodes are")} empty and can go at once; the others take ${duration(end)}. ` +
        (waiting ? `${count(waiting, "node waits", "nodes wait")} for a budget.` : "No node waits for a budget.")),
      chart("Nodes that are empty by then", [{points}], duration, num, true),
      table("drains", "Nodes in the order of their removal", [
        {title: "#", number: true, value: (row) => row.order, show: (v) => num(v)},
        {title: "node", value: (row) => row.node, show: nodeLink},
        {title: "pods", number: true, value: (row) => row.pods, show: (v) => num(v)},
        {title: "starts", number: true, value: (row) => row.start, show: (v) => duration(v)},
        {title: "empty after", number: true, value: (row) => row.end, show: (v) => duration(v)},
        {title: "", class: "bar", show: (v, row) => {
          const bar = make("i");
          bar.style.left = `${row.start / end * 100}%`;
          bar.style.width = `${(row.end - row.start) / end * 100}%`;
          return make("div", {class: "bars", "aria-hidden": "true"}, bar);
        }},
        {title: "waits for", value: (row) => row.waits, show: name}], list, 15));
  };
  const field = (id, text, key, most) => {
    const input = make("input", {id, type: "number", min: "1", max: most, onchange: () => {
      state[key] = Math.min(most, Math.max(1, Math.round(Number(input.value)) || 1));
      input.value = state[key];
      draw();
    }});
    input.value = state[key];
    return [make("label", {for: id}, text), input];
  };
  body.append(make("div", {class: "controls"}, field("drains", "nodes that drain at once ", "drains", 100),
    field("ready", "seconds until an evicted pod is ready elsewhere ", "ready", 86400)), out,
  make("p", {class: "note"}, data.cluster ? "A model: the nodes drain in the plan's order; each eviction spends a disruption of the pod's budgets, " +
      "and the budget gets it back when the pod is ready elsewhere. A budget that allows nothing now counts as one that allows one."
    : "A model: the nodes drain in the plan's order. A plan alone does not have the budgets."));
  draw();
}

// The plan carried on: budgets recover, and further plans follow.
function drawWaves() {
  const body = section("waves", "How far it can go, in waves", "waves");
  const [waves, all] = [data.plan.waves, summary().waves];
  if (all) {
    body.append(make("p", null, `${count(all.waves, "wave removes", "waves remove")} ${count(all.removed, "node", "nodes")} in ${duration(all.takesSeconds)}; ` +
      `${count(all.nodes, "node is", "nodes are")} left` + (all.savedPerHour === undefined ? "."
      : `, and ${money(all.savedPerHour)} an hour saved, ${money(all.savedPerHour * HOURS_A_MONTH, 0)} a month.`)));
  }
  if (waves.length > 1) {
    const points = [[0, summary().nodes], ...waves.map((wave) => [(wave.atSeconds || 0) + (wave.takesSeconds || 0), wave.nodes])];
    body.append(chart("Nodes that are left", [{points}], duration, num, true));
  }
  const figure = (key, title, show = num) => waves.some((wave) => wave[key] !== undefined)
    ? [{title, number: true, value: (row) => row[key], show: (v) => v === undefined ? "" : show(v)}] : [];
  body.append(table("list-waves", "Each wave is the plan for the cluster as it is then", [
    ...figure("wave", "wave"), ...figure("atSeconds", "starts", duration), ...figure("takesSeconds", "takes", duration), ...figure("removed", "nodes that go"),
    ...figure("movedPods", "pods that move"), ...figure("movedAgainPods", "moved before"), ...figure("nodes", "nodes left"),
    ...figure("savedPerHour", "saved an hour, all", money)], waves));
  if (all && all.assumptions) {
    body.append(make("p", {class: "note"}, "The model assumes:"), make("ul", {class: "plain quiet"}, all.assumptions.map((each) => make("li", null, each))));
  }
}

const CHECKS = [["podsWithoutRequests", "pods that request neither cpu nor memory"], ["assumedMinimums", "groups whose minimum is not known; 0 is assumed"],
  ["onOneNode", {groups: "groups that end on one node or none", zones: "zones that end on one node or none", workloads: "workloads whose pods end on one node"}],
  ["restarts", {jobs: "Jobs that start over", singleReplicas: "workloads whose only pod is evicted", withoutController: "evicted pods that no controller makes again"}]];

function drawChecks() {
  const lines = CHECKS.flatMap(([key, title]) => {
    const value = summary()[key];
    if (!value) return [];
    return typeof title === "string" ? [[title, value]] : Object.entries(value).map(([part, each]) => [title[part] || words(part), each]);
  }).filter(([, each]) => each && each.count > 0);
  if (lines.length === 0) return;
  section("check", "To check first", "check").append(make("ul", {class: "plain"}, lines.map(([title, each]) => make("li", null,
    make("b", null, num(each.count)), ` ${title}: `, make("span", {class: "name quiet"}, each.first.join(", ") + (each.count > each.first.length ? ", ..." : ""))))));
}

function drawProof() {
  const body = section("proof", "How good is the plan", "proof");
  const s = summary();
  const facts = [["verified", s.stable && s.stable.verified === false
    ? "Not as a whole (--stable-verify-every); certificates hold for what changed."
    : "Independent code checked every move of this plan: each pod fits where it goes, and each budget and group allows it."]];
  const ends = {complete: "Every candidate was judged.", limit: "A limit on the number of nodes ended the pass; more may be able to go.",
    deadline: "The time limit ended the pass; more may be able to go.", robust: "The plan was shortened so that no pods stay pending.",
    evictionLimit: "More nodes can go with more evictions.", noRoomForPending: "Pods of nodes in deletion find no room, so no node was judged."};
  facts.push(["judged", ends[s.termination] || words(s.termination)]);
  if (s.bound) {
    facts.push(["bound", `No plan removes more than ${count(s.bound.removed, "node", "nodes")}; this one removes ${num(s.removed)}` +
      (s.bound.gap === 0 ? ": it is a best plan." : `, ${percent(s.bound.gap)} below.`)]);
    if (s.bound.netSavedPerHour !== undefined) facts.push(["bound of savings", `${money(s.bound.netSavedPerHour)} an hour; the gap is ${percent(s.bound.netSavedPerHourGap)}.`]);
  } else facts.push(["bound", "Not computed; --bound proves how many nodes any plan can remove at most."]);
  if (s.search) {
    facts.push(["search", `${num(s.search.iterations)} iterations from ${count(s.search.firstPlanRemoved, "node", "nodes")} to ${num(s.removed)}; ended: ${words(s.search.ended)}.`]);
  }
  if (s.trials) {
    const line = (t) => `${num(t.pendingMedian)} pods pending in the median trial, ${num(t.pendingMax)} at most; ${percent(t.landedAsPlanned)} landed as planned`;
    facts.push(["trials", `${num(s.trials.trials)} trials with a scheduler that does not know the plan. In the plan's order: ${line(s.trials.planOrder)}. In random order: ${line(s.trials.randomOrder)}.`]);
  } else facts.push(["trials", "None; --trials lets a simulated scheduler, which does not know the plan, place the pods."]);
  if (s.kubernetesVersion) facts.push(["Kubernetes", s.kubernetesVersion]);
  body.append(make("dl", {class: "facts"}, facts.flatMap(([key, text]) => [make("dt", null, key), make("dd", null, text)])));
  drawOthers(body, "summary", s, ["keptByReason", "leftOut", "pendingPods", "freed", "byGroup", "byInstanceType", "byCapacityType",
    "keptMostBy", "warnings", "search", "bound", "trials", "stable", "session", "totals", "waves", ...CHECKS.map(([key]) => key)]);
}

function drawFrontier() {
  const points = data.frontier.points;
  const body = section("frontier", "More evictions, more nodes", "frontier");
  if (points.length === 0) return body.append(make("p", null, "No node can go."));
  const money2 = points.some((p) => p.savedPerHour !== undefined);
  const currency = data.frontier.currency ? ` ${data.frontier.currency}` : "";
  const pods = (x) => num(Math.round(x));
  body.append(chart("Nodes that go, by pods that are evicted", [{points: [[0, 0], ...points.map((p) => [p.movedPods, p.removed])]}], pods));
  if (money2) body.append(chart(`Saved an hour${currency}, by pods that are evicted`, [{points: [[0, 0], ...points.map((p) => [p.movedPods, p.savedPerHour])]}], pods, (y) => num(y, 1)));
  body.append(table("points", "The best plan that was found for each number of evictions", [
    {title: "pods evicted", number: true, value: (row) => row.movedPods, show: (v) => num(v)},
    {title: "nodes that go", number: true, value: (row) => row.removed, show: (v) => num(v)},
    {title: "pods a node", number: true, value: (row) => row.movedPods / row.removed, show: (v) => num(v, 2)},
    ...(money2 ? [{title: "saved an hour", number: true, value: (row) => row.savedPerHour, show: (v) => `${num(v, 2)}${currency}`},
      {title: "a month", number: true, value: (row) => row.savedPerHour, show: (v) => `${num(v * HOURS_A_MONTH, 0)}${currency}`}] : [])], points));
}

function drawComparison() {
  const c = data.comparison;
  const body = section("comparison", "Before and after the change", "comparison");
  if (c.ofTwoClusters) body.append(make("p", {class: "warn"}, "No node is in both plans: they are of two clusters, and the differences say nothing."));
  const keys = [["nodes of the cluster", "nodes"], ["nodes that go", "removed"], ["pods that move", "movedPods"], ["saved an hour", "savedPerHour"]]
    .filter(([, key]) => c.before[key] !== undefined || c.after[key] !== undefined);
  const text = (v, side) => v === undefined ? "-" : Number.isInteger(v) ? num(v) : `${num(v, 2)}${side.currency ? " " + side.currency : ""}`;
  body.append(table("sides", "Totals", [{title: "", value: (row) => row[0]},
    {title: "before", number: true, value: (row) => c.before[row[1]], show: (v) => text(v, c.before)},
    {title: "after", number: true, value: (row) => c.after[row[1]], show: (v) => text(v, c.after)},
    {title: "difference", number: true, value: (row) => c.after[row[1]] - c.before[row[1]],
      show: (v) => !Number.isFinite(v) || (c.before.currency || "") !== (c.after.currency || "") ? "-" : `${v > 0 ? "+" : ""}${num(v, Number.isInteger(v) ? 0 : 2)}`}], keys));
  for (const [id, title, list] of [["now-too", "Nodes that go after and not before", c.removedAfterAlone], ["no-more", "Nodes that go before and not after", c.removedBeforeAlone]]) {
    if (list.length) {
      body.append(...titled(id, title, [{title: "node", value: (row) => row.node, show: nodeLink},
        {title: "group", value: (row) => row.group || "", show: name}, {title: "the other plan keeps it", value: (row) => row.keptBecause || "", show: name}], list));
    }
  }
  body.append(make("p", {class: "note"}, `${count(c.removedByBoth, "node goes", "nodes go")} in both.` +
    (data.plan ? " The other parts of this page show the second plan." : "")));
}

function drawNodes() {
  const body = section("nodes", "All nodes", "nodes");
  const list = nodes.filter(found);
  const [was, then] = [(node) => used(node, "before", "use") ?? -1, (node) => used(node, "after", "use") ?? -1];
  body.append(table("all", `${count(list.length, "node", "nodes")}${state.find ? ` with "${state.find}"` : ""}`, [
    {title: "node", value: (node) => node.name, show: nodeLink}, {title: "decision", value: decision},
    {title: "before", number: true, value: was, show: (v) => v < 0 ? "-" : percent(v)},
    {title: "after", number: true, value: then, show: (v) => v < 0 ? "-" : percent(v)},
    {title: "group", value: (node) => node.group, show: name}, {title: "zone", value: (node) => node.zone, show: name},
    ...(priced() ? [{title: "an hour", number: true, value: (node) => node.price ?? -1, show: (v) => v < 0 ? "unknown" : money(v)}] : [])], list, 15));
}

function drawWarnings() {
  const warnings = summary().warnings || [];
  const left = Object.entries(summary().leftOut || {}).filter(([, pods]) => pods > 0)
    .map(([what, pods]) => `${count(pods, "pod was", "pods were")} left out: ${words(what)}`);
  if (warnings.length + left.length === 0) return;
  section("warnings", "Warnings and what is left out", "warnings").append(make("ul", {class: "plain"},
    warnings.map((each) => make("li", {class: "name"}, each.message, each.command ? make("div", {class: "quiet"}, each.command) : "")),
    left.map((text) => make("li", null, text))));
}

function drawData() {
  const body = section("json", "The data", "data");
  body.append(make("p", {class: "note"}, "All of this page stands in its file as JSON; plans and other answers in it have the form of -o json. ",
    live ? "" : `Without a browser: ${TAKE_OUT}, and if the type of that element is application/gzip, | base64 -d | gunzip.`),
  make("button", {type: "button", class: "more", id: "download", onclick: () => {
    const link = make("a", {download: "ebb-report.json"});
    link.href = URL.createObjectURL(new Blob([JSON.stringify(data, null, 1)], {type: "application/json"}));
    link.click();
    URL.revokeObjectURL(link.href);
  }}, "save it as a file"));
}

// A page of curves and tables (report/story.h).
function drawStory() {
  for (const {id, title, items} of data.story.parts) {
    const body = section(id, title, title.toLowerCase());
    items.forEach((item, at) => {
      if (item.note !== undefined) body.append(make("p", {class: "note"}, item.note));
      else if (item.chart !== undefined) body.append(chart(item.chart, item.lines, duration, item.percent ? (y) => `${num(y * 100)}%` : num));
      else {
        const key = `${id}-${at}`;
        // A table without a title is the only one of its part, whose heading names it.
        const columns = item.head.map((head, of) => ({title: head,
          number: of > 0 && item.rows.every((row) => /^[\d,.]*%?$/.test(row[of])),
          show: (_, row) => name(row[of])}));
        body.append(...item.table ? titled(key, item.table, columns, item.rows, 20) : [table(id, null, columns, item.rows, 20)]);
      }
    });
  }
}

function draw(given) {
  data = given;
  const focus = document.activeElement && document.activeElement.id;
  titles.clear();
  for (const part of document.querySelectorAll("main > section")) part.hidden = true;
  index();
  headline();
  if (data.plan) drawGlance();
  if (data.plan && data.plan.replace) drawPurchases();
  if (data.comparison) drawComparison();
  if (data.story) drawStory();
  if (data.timers && data.timers.length) drawTimers();
  if (data.plan) {
    drawMap();
    drawUse();
    drawMoney();
    drawKeeps();
    drawOrder();
    if (data.plan.waves) drawWaves();
    drawChecks();
    const extra = Object.entries(data.plan).filter(([key, value]) => Array.isArray(value) && value.length && !["remove", "keep", "missing", "waves"].includes(key));
    for (const [key, value] of extra) {
      const title = words(key);
      section(`plan-${key}`, title[0].toUpperCase() + title.slice(1)).append(anyTable(`list-${key}`, title, value));
    }
  }
  if (!data.plan && data.blockers) drawKeeps();
  if (data.frontier) drawFrontier();
  if (data.plan) {
    drawProof();
    drawNodes();
    drawWarnings();
  }
  drawData();
  $("nav").replaceChildren(make("ul", null, [...titles].map(([id, title]) => make("li", null, make("a", {href: `#${id}`}, title)))));
  // The order of drawing is the order on the page, also for a part that came later.
  for (const id of titles.keys()) $("main").append($(id));
  if (state.chosen && !$("node").hidden) choose(state.chosen, true);
  if (focus && $(focus)) $(focus).focus({preventScroll: true});
  paintAll();
  document.documentElement.dataset.state = "drawn";
}

// --- A report -------------------------------------------------------------------------------

async function openReport(element) {
  const text = element.textContent.trim();
  if (element.type !== "application/gzip") return draw(JSON.parse(text));
  if (!window.DecompressionStream) {
    $("headline").textContent = "This browser is too old to open the data of this page (it lacks DecompressionStream). Without it: " +
      `${TAKE_OUT} | base64 -d | gunzip`;
    return undefined;
  }
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return draw(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json());
}

// --- A session of a daemon --------------------------------------------------------------------

let live = false;
let session = "";
let events = null;
let since = 0;  // performance.now() of the last answer; timers continue from it.

function drawTimers() {
  const body = section("timers", "Timers", "timers");
  const at = () => Date.parse(data.plan.now) / 1000 + (performance.now() - since) / 1000;
  body.append(table("timer", "Nodes that are unneeded, and for how long", [
    {title: "node", value: (row) => row.node, show: nodeLink},
    {title: "unneeded for", number: true, value: (row) => Date.parse(row.since) / 1000, show: (v) => duration(at() - v)}], data.timers));
}

async function explain(chosen) {
  const reply = await fetch(`/explain.json?${new URLSearchParams({session, node: chosen})}`);
  const box = $("node-live");
  if (!reply.ok || state.chosen !== chosen || !box) return;
  const why = (await reply.json()).nodes[0];
  const pods = (why.pods || []).filter((pod) => !pod.to && (pod.reason || pod.detail));
  box.replaceChildren(...(why.because ? [make("p", {class: "name"}, why.because)] : []),
    ...pods.slice(0, 20).map((pod) => make("p", {class: "quiet name"}, `${pod.namespace}/${pod.name}: ${pod.reason || words(pod.outcome)}`)));
}

async function load() {
  const reply = await fetch(`/page.json?${new URLSearchParams({session})}`);
  if (!reply.ok) {
    $("headline").textContent = visible(await reply.text());
    for (const part of document.querySelectorAll("main > section")) part.hidden = true;
    return;
  }
  const answer = await reply.json();
  since = performance.now();
  if (answer.notFedSince) $("live").textContent = `version ${answer.version}, not fed since ${answer.notFedSince}`;
  draw(answer);
}

function follow() {
  if (events !== null) events.close();
  events = new EventSource(`/events?${new URLSearchParams({session})}`);
  let [loading, again] = [false, false];
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
  live = true;
  session = new URLSearchParams(location.search).get("session") || "";
  const names = await (await fetch("/sessions.json")).json();
  const select = $("session");
  $("sessions").hidden = false;
  select.replaceChildren(...names.map((each) => make("option", null, each)));
  if (!names.includes(session)) session = names[0] || "";
  select.value = session;
  select.onchange = () => {
    session = select.value;
    close();
    history.replaceState(null, "", `?${new URLSearchParams({session})}`);
    follow();
  };
  if (names.length === 0) {
    $("headline").textContent = "no session yet";
    setTimeout(start, 2000);
    return;
  }
  follow();
}

$("node-close").onclick = close;
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !$("node").hidden) close(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
addEventListener("beforeprint", () => { document.documentElement.dataset.print = ""; paintAll(); });
addEventListener("afterprint", () => { delete document.documentElement.dataset.print; repaint(); });
addEventListener("error", (event) => { document.documentElement.dataset.state = "failed"; document.documentElement.dataset.error = event.message; });
addEventListener("unhandledrejection", (event) => { document.documentElement.dataset.state = "failed"; document.documentElement.dataset.error = event.reason; });
if ($("data")) openReport($("data"));
else if (location.protocol.startsWith("http")) {
  start();
  setInterval(() => {
    if (data && data.timers.length && !$("timers").contains(document.activeElement)) drawTimers();
  }, 1000);
}
