"use strict";
// Draws the report from the numbers in #data. What is shown is one record, `view`; every change of
// it draws the page again.

const DATA = JSON.parse(document.getElementById("data").textContent);
const view = {
  algos: new Set(DATA.algos.map((algo) => algo.id)),
  tasks: new Set(DATA.tasks.map((task) => task.id)),
  metric: DATA.metrics.length ? DATA.metrics[0].id : null,
  paper: true,
  seeds: false,
};
const TASK = Object.fromEntries(DATA.tasks.map((task) => [task.id, task]));
const ALGO = Object.fromEntries(DATA.algos.map((algo) => [algo.id, algo]));
const card = document.getElementById("card");
const algos = () => DATA.algos.filter((algo) => view.algos.has(algo.id));
const tasks = () => DATA.tasks.filter((task) => view.tasks.has(task.id));

// Elements

function make(space, tag, attributes, children) {
  const made = space ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(2)) if (child !== null && child !== undefined) made.append(child);
  return made;
}
const el = (tag, attributes, ...children) => make(false, tag, attributes, children);
const svg = (tag, attributes, ...children) => make(true, tag, attributes, children);
const colour = (algo) => `var(--c${ALGO[algo].look})`;

function swatch(algo) {
  const line = svg("line", { x1: 1, x2: 25, y1: 5, y2: 5, stroke: colour(algo), "stroke-width": 2.5, "stroke-dasharray": ALGO[algo].dash || null });
  return svg("svg", { width: 26, height: 10, "aria-hidden": true }, line);
}

// Numbers

function short(value) {
  if (value === null || value === undefined) return "–";
  if (value !== 0 && Math.abs(value) < 0.0005) return value.toExponential(1);
  return Math.abs(value) >= 100 ? value.toFixed(1) : value.toFixed(3);
}

function quantity(steps) {
  for (const [size, letter] of [[1e6, "M"], [1e3, "k"]])
    if (Math.abs(steps) >= size) return `${+(steps / size).toPrecision(4)}${letter}`;
  return String(+steps.toPrecision(4));
}

function ticks(low, high, wanted) {
  const rough = (high - low) / wanted || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((times) => times * unit).find((each) => each >= rough);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(+at.toPrecision(12));
  return found;
}

// The card with what is behind a number

function showCard(content, x, y) {
  card.replaceChildren(...content);
  card.hidden = false;
  card.dataset.from = scrollY;
  const box = card.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
  const top = y + 16 + box.height > innerHeight ? y - 12 - box.height : y + 16;
  card.style.left = `${Math.max(8, Math.min(left, innerWidth - box.width - 8))}px`;
  card.style.top = `${Math.max(8, top)}px`;
}
function hideCard() {
  card.hidden = true;
  for (const open of document.querySelectorAll(".open")) open.classList.remove("open");
}
// A page that moves away under the card takes it along; the browser's own small corrections do not.
addEventListener("scroll", () => { if (Math.abs(scrollY - card.dataset.from) > 24) hideCard(); }, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") hideCard(); });

const pairs = (rows) => el("table", {}, rows.map(([name, value]) => el("tr", {}, el("td", {}, name), el("td", {}, value))));

function cardOfCell(line, algo, cell) {
  const won = line.kind === "win" ? " (battles won)" : "";
  const parts = [el("b", {}, `${ALGO[algo].title} on ${TASK[line.task].title}${won}`)];
  const rows = [["mean", `${short(cell.mean)}${cell.step === null ? "" : `, at step ${cell.step.toLocaleString("en")}`}`]];
  for (const [kind, [low, high]] of Object.entries(cell.intervals)) rows.push([`95%, ${kind}`, low === null ? "none" : `${short(low)} to ${short(high)}`]);
  for (const [seed, value] of cell.seeds) rows.push([`seed ${seed}`, short(value)]);
  parts.push(pairs(rows));
  if (Object.keys(cell.tests).length) {
    parts.push(el("p", {}, `Against the best, ${ALGO[line.best].title}:`));
    const p = Object.entries(cell.tests).map(([name, value]) => [name, value === null ? "not possible" : `p = ${short(value)}`]);
    if (DATA.holm) p.push([`${DATA.test}, by Holm`, `p = ${short(cell.p)}`]);
    parts.push(pairs(p));
  }
  if (cell.paper) parts.push(el("p", {}, `The paper's own, ${cell.paper.table}: ${cell.paper.text}${cell.paper.best ? ", its best" : ""}${cell.paper.indistinct ? ", not significantly different from its best" : ""}`));
  for (const note of cell.notes) parts.push(el("p", {}, note));
  return parts;
}

// Whoever points at, touches or reaches an element by keyboard sees the card of it.
function explains(element, content) {
  const open = (x, y) => { hideCard(); element.classList.add("open"); showCard(content(), x, y); };
  const beside = () => { const box = element.getBoundingClientRect(); open(box.right - 12, box.bottom - 12); };
  element.tabIndex = 0;
  element.addEventListener("mousemove", (event) => open(event.clientX, event.clientY));
  element.addEventListener("mouseleave", hideCard);
  element.addEventListener("focus", beside);
  element.addEventListener("click", beside);
  element.addEventListener("blur", hideCard);
  return element;
}

// Filters

function chip(words, pressed, press, extra) {
  const { plain, mark } = extra || {};
  return el("button", { class: plain ? "chip plain" : "chip", type: "button", "aria-pressed": String(pressed), onclick: press }, mark, words);
}

function toggle(set, id) {
  if (!set.delete(id)) set.add(id);
  draw();
}

function filters() {
  const all = () => {
    view.algos = new Set(DATA.algos.map((algo) => algo.id));
    view.tasks = new Set(DATA.tasks.map((task) => task.id));
    draw();
  };
  const complete = view.algos.size === DATA.algos.length && view.tasks.size === DATA.tasks.length;
  const metric = el("select", { id: "metric", "aria-label": "metric of the curves", onchange: (event) => { view.metric = event.target.value; draw(); } },
    DATA.metrics.map((each) => el("option", { value: each.id, selected: each.id === view.metric }, each.title)));
  const body = [
    el("div", { class: "group" }, el("b", {}, "Algorithms"), DATA.algos.map((algo) => chip(algo.title, view.algos.has(algo.id), () => toggle(view.algos, algo.id), { mark: swatch(algo.id) }))),
    DATA.tasks.length > 1 ? el("div", { class: "group" }, el("b", {}, "Tasks"), DATA.tasks.map((task, i) => [
      i && DATA.tasks[i - 1].family === task.family ? null : el("span", { class: "family" }, task.family),
      chip(task.title, view.tasks.has(task.id), () => toggle(view.tasks, task.id)),
    ])) : null,
    el("div", { class: "group" }, el("b", {}, "Show"),
      chip("the paper's numbers", view.paper, () => { view.paper = !view.paper; draw(); }, { plain: true }),
      chip("each seed", view.seeds, () => { view.seeds = !view.seeds; draw(); }, { plain: true }),
      el("label", {}, "curves of ", metric),
      complete ? null : chip("everything again", false, all, { plain: true })),
  ];
  const holder = document.getElementById("filters");
  const before = holder.querySelector("details");
  const open = before ? before.open : innerWidth > 736;
  holder.replaceChildren(el("details", { open }, el("summary", {}, `Filters: ${view.algos.size} of ${DATA.algos.length} algorithms, ${view.tasks.size} of ${DATA.tasks.length} tasks`), body));
}

// Tables

// A table that scrolls sideways on its own. Titles in a list of one stand to the left.
function headed(titles, rows, kind) {
  const head = titles.map((title) => el("th", { scope: "col", class: Array.isArray(title) ? "left" : null }, title));
  return el("div", { class: "scroll" }, el("table", { class: kind }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
}

function resultCell(line, algo) {
  const cell = line.cells[algo];
  if (!cell) return el("td", {}, "–");
  const made = el("td", { class: cell.best ? "cell best" : "cell" }, cell.text, el("span", { class: "mark" }, cell.mark));
  if (cell.paper) made.append(el("span", { class: cell.paper.best ? "theirs best" : "theirs" }, `paper ${cell.paper.text}`, el("span", { class: "mark" }, cell.paper.indistinct ? "*" : "")));
  return explains(made, () => cardOfCell(line, algo, cell));
}

function resultTable(table) {
  const shown = algos();
  const rows = [];
  let family = null;
  for (const line of table.lines.filter((each) => view.tasks.has(each.task))) {
    const task = TASK[line.task];
    const group = task.family + (line.kind === "win" ? ", battles won" : "");
    if (group !== family) rows.push(el("tr", { class: "family" }, el("th", { scope: "rowgroup" }, group), shown.map(() => el("th", {}))));
    family = group;
    rows.push(el("tr", {}, el("th", { scope: "row", class: task.sparse ? "sparse" : null }, task.title, " ", el("span", { class: "steps" }, `${line.steps} steps`)), shown.map((algo) => resultCell(line, algo.id))));
  }
  return section(table.title, headed(["", ...shown.map((algo) => algo.title)], rows, "results"), el("ul", { class: "legend" }, table.legend.map((words) => el("li", {}, words))));
}

function testTable() {
  const rows = [];
  for (const table of DATA.tables) for (const line of table.lines) {
    if (!view.tasks.has(line.task)) continue;
    for (const algo of algos()) {
      const cell = line.cells[algo.id];
      if (!cell || !Object.keys(cell.tests).length) continue;
      const won = line.kind === "win" ? " (won)" : "";
      const numbers = [line.cells[line.best].mean - cell.mean, ...Object.values(cell.tests), ...(DATA.holm ? [cell.p] : [])];
      rows.push(el("tr", {}, el("td", {}, `${TASK[line.task].title}${won}`), el("td", { class: "left" }, table.summary), el("td", { class: "left" }, ALGO[line.best].title), el("td", { class: "left" }, algo.title), numbers.map((value) => el("td", {}, short(value)))));
    }
  }
  const titles = ["task", ["number"], ["best"], ["against"], "difference", "p Student", "p Welch", "p ranks", ...(DATA.holm ? ["p by Holm"] : [])];
  return section("Tests against the best", rows.length ? headed(titles, rows) : el("p", { class: "empty" }, "Nothing to test: no line has two algorithms of the same length."));
}

function arrivalTable() {
  const rows = DATA.arrivals.filter((each) => view.tasks.has(each.task)).map((arrival) => el("tr", {}, el("td", {}, TASK[arrival.task].title), el("td", {}, arrival.target), algos().map((algo) => el("td", {}, arrival.times[algo.id] ? arrival.times[algo.id].text : "–"))));
  const words = "Median steps until an evaluation first has the return (Kaplan and Meier: a run that has not is censored, not left out), and how many seeds have.";
  return section("Steps to a return", el("p", { class: "words" }, words), rows.length ? headed(["task", "return", ...algos().map((algo) => algo.title)], rows) : el("p", { class: "empty" }, "No algorithm reached a return above 0."));
}

// Charts

const WIDTH = 360, HEIGHT = 230, LEFT = 40, RIGHT = 10, TOP = 8, BOTTOM = 34;

function frame(xRange, yRange, xTitle, yTitle, xText) {
  const x = (value) => LEFT + ((value - xRange[0]) / (xRange[1] - xRange[0] || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - ((value - yRange[0]) / (yRange[1] - yRange[0] || 1)) * (HEIGHT - TOP - BOTTOM);
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, tabindex: 0, role: "img" });
  for (const at of ticks(...yRange, 5)) chart.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) }), svg("text", { x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, String(at)));
  for (const at of ticks(...xRange, 5)) chart.append(svg("line", { class: "axis", x1: x(at), x2: x(at), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4 }), svg("text", { x: x(at), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, xText(at)));
  chart.append(svg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }));
  chart.append(svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 3, "text-anchor": "middle" }, xTitle));
  if (yTitle) chart.append(svg("text", { x: 0, y: 0, transform: `translate(9 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle" }, yTitle));
  return { chart, x, y };
}

// The path through the points that have a value; broken where one has none.
function path(xs, ys, x, y) {
  let words = "", pen = "M";
  xs.forEach((at, i) => {
    if (ys[i] === null) { pen = "M"; return; }
    words += `${pen}${x(at).toFixed(2)} ${y(ys[i]).toFixed(2)}`;
    pen = "L";
  });
  return words;
}

function band(xs, low, high, x, y) {
  const known = xs.map((at, i) => i).filter((i) => low[i] !== null && high[i] !== null);
  if (known.length < 2) return null;
  const there = known.map((i) => `${x(xs[i]).toFixed(2)} ${y(high[i]).toFixed(2)}`);
  const back = known.reverse().map((i) => `${x(xs[i]).toFixed(2)} ${y(low[i]).toFixed(2)}`);
  return `M${[...there, ...back].join("L")}Z`;
}

function extent(values, padding) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return [0, 1];
  const low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
  const room = (high - low || Math.abs(high) || 1) * padding;
  return [low - (low === 0 ? room / 3 : room), high + room];
}

// A crosshair that stops at the places `stops` and shows the card of the one it is at.
function crosshair({ chart, x, y }, stops, values, content) {
  const cross = svg("line", { class: "cross", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  const dots = svg("g", {});
  chart.append(cross, dots);
  let at = stops.length - 1;
  const leave = () => { cross.setAttribute("visibility", "hidden"); dots.replaceChildren(); hideCard(); };
  const show = (cardX, cardY) => {
    cross.setAttribute("x1", x(stops[at]));
    cross.setAttribute("x2", x(stops[at]));
    cross.setAttribute("visibility", "visible");
    dots.replaceChildren(...values(stops[at]).map(([algo, value]) => svg("circle", { cx: x(stops[at]), cy: y(value), r: 3.5, fill: colour(algo) })));
    showCard(content(stops[at]), cardX, cardY);
  };
  const follow = (event) => {
    const box = chart.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * WIDTH;
    at = stops.reduce((best, stop, i) => (Math.abs(x(stop) - place) < Math.abs(x(stops[best]) - place) ? i : best), 0);
    show(event.clientX, event.clientY);
  };
  const beside = () => {
    const box = chart.getBoundingClientRect();
    show(box.left + (x(stops[at]) / WIDTH) * box.width, box.top + box.height / 2);
  };
  chart.addEventListener("pointermove", follow);
  chart.addEventListener("pointerdown", follow);
  chart.addEventListener("pointerleave", leave);
  chart.addEventListener("blur", leave);
  chart.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    at = Math.max(0, Math.min(stops.length - 1, at + move));
    beside();
  });
}

function panel(task) {
  const title = el("h3", { class: task.sparse ? "sparse" : null }, `${task.family} ${task.title}`);
  const all = (DATA.curves[view.metric] || {})[task.id] || {};
  const lines = algos().filter((algo) => all[algo.id]).map((algo) => [algo.id, all[algo.id]]);
  if (!lines.length) return el("figure", { class: "panel", style: "margin:0" }, title, el("p", { class: "empty" }, "Nothing of this metric among what is shown."));
  const values = lines.flatMap(([, line]) => [...line.mean, ...line.low, ...line.high, ...(view.seeds ? Object.values(line.seeds).flat() : [])]);
  const stops = [...new Set(lines.flatMap(([, line]) => line.steps))].sort((a, b) => a - b);
  const metric = DATA.metrics.find((each) => each.id === view.metric).title;
  const area = frame([stops[0], stops[stops.length - 1]], extent(values, 0.06), "environment steps", metric, quantity);
  const { chart, x, y } = area;
  chart.setAttribute("aria-label", `${metric} over environment steps on ${task.family} ${task.title}; arrow keys move along the steps`);
  for (const [algo, line] of lines) {
    const shape = band(line.steps, line.low, line.high, x, y);
    if (shape) chart.append(svg("path", { class: "band", d: shape, fill: colour(algo) }));
  }
  for (const [algo, line] of lines) {
    if (view.seeds) for (const seed of Object.values(line.seeds)) chart.append(svg("path", { class: "seed", d: path(line.steps, seed, x, y), stroke: colour(algo) }));
    chart.append(svg("path", { class: "line", d: path(line.steps, line.mean, x, y), stroke: colour(algo), "stroke-dasharray": ALGO[algo].dash || null, "data-algo": algo }));
  }
  const here = (step) => lines.map(([algo, line]) => [algo, line, line.steps.indexOf(step)]).filter(([, line, i]) => i >= 0 && line.mean[i] !== null).sort((a, b) => b[1].mean[b[2]] - a[1].mean[a[2]]);
  crosshair(area, stops, (step) => here(step).map(([algo, line, i]) => [algo, line.mean[i]]), (step) => [
    el("b", {}, `step ${step.toLocaleString("en")}`),
    el("table", {}, here(step).map(([algo, line, i]) => el("tr", {}, el("td", {}, swatch(algo)), el("td", { class: "left" }, ALGO[algo].title), el("td", {}, short(line.mean[i])), el("td", {}, line.low[i] === null ? "" : `${short(line.low[i])} to ${short(line.high[i])}`), el("td", {}, `n ${line.count[i]}`)))),
    view.seeds ? el("p", {}, here(step).map(([algo, line, i]) => `${ALGO[algo].title}: ${Object.values(line.seeds).map((seed) => short(seed[i])).join(", ")}`).join("; ")) : null,
  ].filter(Boolean));
  return el("figure", { class: "panel", style: "margin:0" }, title, chart);
}

function curveSection() {
  const words = `Mean over the seeds that are there at each point; the band is the 95% interval (${DATA.interval}), and there is none where there is one seed. Point at a curve for its numbers.`;
  return section("Learning curves", el("p", { class: "words" }, words), key(algos().map((algo) => algo.id)), el("div", { class: "panels" }, tasks().map(panel)));
}

const key = (ids) => el("div", { class: "key" }, ids.map((id) => el("span", {}, swatch(id), ALGO[id].title)));

function forest(group, shown) {
  const height = 26 * shown.length + 34;
  const known = shown.flatMap((algo) => group.means[algo].filter((value) => value !== null));
  const range = [Math.min(0, ...known), Math.max(1, ...known)];
  const x = (value) => 128 + ((value - range[0]) / (range[1] - range[0])) * (WIDTH - 128 - 14);
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": "interquartile means with intervals" });
  for (const at of ticks(...range, 4)) chart.append(svg("line", { class: "grid", x1: x(at), x2: x(at), y1: 4, y2: height - 30 }), svg("text", { x: x(at), y: height - 16, "text-anchor": "middle" }, String(at)));
  shown.forEach((algo, row) => {
    const [value, low, high] = group.means[algo];
    const y = 18 + 26 * row;
    chart.append(svg("text", { x: 118, y: y + 4, "text-anchor": "end" }, ALGO[algo].title));
    if (value === null) return;
    if (low !== null) chart.append(svg("line", { x1: x(low), x2: x(high), y1: y, y2: y, stroke: colour(algo), "stroke-width": 7, opacity: 0.35 }));
    const dot = svg("circle", { cx: x(value), cy: y, r: 4.5, fill: colour(algo) });
    chart.append(explains(dot, () => [el("b", {}, ALGO[algo].title), `interquartile mean ${short(value)}`, low === null ? "" : `, ${short(low)} to ${short(high)}`]));
  });
  chart.append(svg("text", { x: (128 + WIDTH - 14) / 2, y: height - 2, "text-anchor": "middle" }, "interquartile mean of normalised scores"));
  return el("div", { class: "forest" }, chart);
}

function profile(group, shown) {
  const area = frame([0, 1], [0, 1], "normalised score", "share of runs above", String);
  const { chart, x, y } = area;
  chart.setAttribute("aria-label", "performance profiles");
  for (const algo of shown) {
    const shape = band(group.thresholds, group.profiles[algo].low, group.profiles[algo].high, x, y);
    if (shape) chart.append(svg("path", { class: "band", d: shape, fill: colour(algo) }));
  }
  for (const algo of shown) chart.append(svg("path", { class: "line", d: path(group.thresholds, group.profiles[algo].share, x, y), stroke: colour(algo), "stroke-dasharray": ALGO[algo].dash || null }));
  const at = (score) => shown.map((algo) => [algo, group.profiles[algo].share[group.thresholds.indexOf(score)]]).filter(([, share]) => share !== null);
  crosshair(area, group.thresholds, at, (score) => [el("b", {}, `score above ${score}`), pairs(at(score).map(([algo, share]) => [ALGO[algo].title, `${(100 * share).toFixed(0)}% of runs`]))]);
  return el("div", { class: "profile" }, chart);
}

function aggregateSection() {
  const group = DATA.aggregates;
  const notes = el("ul", { class: "notes" }, group.notes.map((note) => el("li", {}, note)));
  if (!group.algos.length) return section("Over all tasks", el("p", { class: "empty" }, "Fewer than two algorithms can be put together."), notes);
  const shown = group.algos.filter((algo) => view.algos.has(algo));
  const rows = shown.map((algo) => el("tr", {}, el("td", {}, ALGO[algo].title), shown.map((other) => {
    if (algo === other) return el("td", {}, "");
    const [value, low, high] = group.improvement[algo][other];
    return el("td", { style: value === null ? null : `background: color-mix(in srgb, ${colour(algo)} ${Math.round(Math.max(0, value - 0.5) * 60)}%, transparent)` }, value === null ? "–" : value.toFixed(2), el("span", { class: "theirs", style: "display:block" }, low === null ? "" : `${low.toFixed(2)} to ${high.toFixed(2)}`));
  })));
  return section("Over all tasks", el("p", { class: "words" }, `${group.words} The task filter does not change this section.`), key(shown), el("div", { class: "two" }, forest(group, shown), profile(group, shown)),
    el("p", { class: "words" }, "Probability of improvement: how likely a run of the row's algorithm is better than one of the column's."), headed(["", ...shown.map((algo) => ALGO[algo].title)], rows), notes);
}

function madeSection() {
  const rows = DATA.made.filter((each) => view.tasks.has(each.task) && view.algos.has(each.algo)).map((each) => el("tr", {},
    el("td", {}, each.task), el("td", { class: "left" }, ALGO[each.algo].title), el("td", {}, each.seeds), el("td", {}, each.steps), el("td", {}, each.points),
    el("td", { class: "left" }, each.commits.map((commit) => el("code", {}, commit, " "))), el("td", {}, each.versions.join(", ")),
    el("td", { class: "left wrap" }, Object.entries(each.options).map(([path, value]) => `${path} ${value}`).join(", "))));
  const commands = [...new Set(DATA.made.flatMap((each) => each.commands))];
  return section("How it was made", headed(["task", ["algorithm"], "seeds", "steps", "evaluations", ["commit"], "version", ["options that are not the defaults"]], rows),
    el("p", { class: "words" }, "Commands of the runs:"), el("pre", {}, commands.join("\n")),
    DATA.command ? el("p", { class: "words" }, "Command of this report:") : null, DATA.command ? el("pre", {}, DATA.command) : null);
}

function noteSection() {
  const notes = DATA.notes.map((note) => el("li", {}, note));
  return section("Notes", notes.length ? el("ul", { class: "notes" }, notes) : el("p", { class: "words" }, "Nothing is missing or odd."));
}

const section = (title, ...parts) => el("section", {}, el("h2", {}, title), parts);

function draw() {
  hideCard();
  const focused = document.activeElement ? document.activeElement.textContent : null;
  filters();
  document.getElementById("main").className = view.paper ? "" : "hide-paper";
  document.getElementById("main").replaceChildren(
    ...DATA.tables.map(resultTable), noteSection(), curveSection(), aggregateSection(), arrivalTable(), testTable(), madeSection());
  // The button that was pressed is a new one now: whoever uses the keyboard stays on it.
  for (const button of document.querySelectorAll("#filters button")) if (button.textContent === focused) button.focus({ preventScroll: true });
}

draw();
