// SPDX-License-Identifier: Apache-2.0
/*
 * The pages "Sandboxes" and of one sandbox.
 */
import {age, bytes, count, duration, fill, find, make, nameOf, percent, reconcile, setClass, setText, time, visible} from "./dom.js";
import {showActions} from "./acts.js";
import {drawSpark, makeSpark, Plot} from "./plot.js";
import {series, SPANS_MS, store, sandboxOf} from "./store.js";
import {eventRow} from "./view_events.js";

const STATES = {running: "good", paused: "warn", failed: "bad", stopped: "", stopping: "busy", creating: "busy", starting: "busy"};
const SPARK_MS = 60000;
const CPU = {name: "Processor", format: percent, least: 25, spans: SPANS_MS};
const MEMORY = {name: "Memory", format: bytes, least: 1 << 20, spans: SPANS_MS};

export function badge(text, kind) {
	return make("span", {class: ("badge " + (kind ?? "")).trim()}, text);
}

function cell(label, className = "") {
	return make("td", {"data-label": label, class: className, role: "cell"});
}

/* --- all -------------------------------------------------------------------------------------------------------------------------- */

let plots;

export function setUpSandboxes() {
	plots = {
		cpu: new Plot(find("#plot-cpu"), CPU), memory: new Plot(find("#plot-memory"), MEMORY),
		oneCpu: new Plot(find("#plot-one-cpu"), CPU), oneMemory: new Plot(find("#plot-one-memory"), MEMORY),
	};
}

function createRow(sandbox) {
	const {colour} = store.usage.get(sandbox.id) ?? {colour: 7};
	const meter = make("span", {});
	const row = make("tr", {role: "row", "data-id": sandbox.id},
		make("th", {scope: "row", role: "rowheader"}, make("span", {class: `key series-${colour}`, "aria-hidden": "true"}),
			make("a", {href: "#/sandboxes/" + sandbox.id}), make("span", {class: "under mono"})),
		cell("State"), cell("Profile"), cell("Age", "number"),
		make("td", {class: "number", role: "cell", "data-label": "Processor"}, makeSpark(colour), make("span", {})),
		make("td", {class: "number whole", role: "cell", "data-label": "Memory"}, make("span", {}), make("span", {class: "meter", "aria-hidden": "true"}, meter)),
		cell("Processes", "number"),
		make("td", {class: "whole", role: "cell"}, make("div", {class: "actions small"})));

	row.meter = meter;
	return row;
}

function updateRow(row, sandbox) {
	const [name, state, profile, old, cpu, memory, processes, last] = row.cells;
	const usage = store.usage.get(sandbox.id), now = usage?.now ?? {};
	const part = now.memory_limit_bytes ? 100 * now.memory_bytes / now.memory_limit_bytes : 0;

	setText(find("a", name), nameOf(sandbox));
	setText(find(".under", name), [sandbox.name ? sandbox.id.slice(0, 12) : "", store.hasOthers ? `user ${sandbox.uid}` : ""].filter(Boolean).join(" "));
	if (state.textContent !== sandbox.state)
		fill(state, badge(sandbox.state, STATES[sandbox.state]));
	setText(profile, sandbox.profile);
	setText(old, age(Date.now() - sandbox.created_ms));
	if (usage) {
		setClass(find(".key", name), `key series-${usage.colour}`);
		find("path", cpu).setAttribute("class", `plot-line series-${usage.colour}`);
		drawSpark(find("svg", cpu), usage.cpu, Date.now(), SPARK_MS);
	}
	setText(cpu.lastElementChild, percent(usage?.cpuNow));
	setText(memory.firstElementChild, bytes(now.memory_bytes) + (now.memory_limit_bytes ? " of " + bytes(now.memory_limit_bytes) : ""));
	row.meter.style.setProperty("--part", Math.min(part, 100).toFixed(1));
	setClass(row.meter, part > 90 ? "full" : "");
	setText(processes, count(now.processes));
	showActions(find(".actions", last), sandbox, () => sandboxOf(sandbox.id));
}

/* Both go back as far. */
function drawPair(cpu, memory, id) {
	const now = Date.now(), used = series("memory", id);
	const since = Math.min(now, ...used.map(({samples}) => samples[0]?.at ?? now));

	cpu.draw(series("cpu", id), now, since);
	memory.draw(used, now, since);
}

export function showSandboxes() {
	drawPair(plots.cpu, plots.memory, undefined);
	find("#sandboxes").hidden = store.sandboxes.length === 0;
	find("#sandboxes-empty").hidden = !store.isListed || store.sandboxes.length > 0;
	reconcile(find("#sandboxes tbody"), store.sandboxes, (sandbox) => sandbox.id, createRow, updateRow);
}

/* --- one -------------------------------------------------------------------------------------------------------------------------- */

const USED = [
	["Processor time", (now) => now.cpu_us === null ? null : duration(now.cpu_us / 1000)],
	["Memory", (now) => bytes(now.memory_bytes) + (now.memory_limit_bytes ? " of " + bytes(now.memory_limit_bytes) : "")],
	["Memory at most", (now) => bytes(now.memory_peak_bytes)],
	["Processes", (now) => count(now.processes)],
	["Threads", (now) => count(now.threads) + (now.pids_limit ? " of " + now.pids_limit : "")],
	["Read from disks", (now) => bytes(now.read_bytes)],
	["Written to disks", (now) => bytes(now.written_bytes)],
	["Connections", (now) => now.connections],
	["Connections blocked", (now) => now.blocked],
	["Killed for want of memory", (now) => count(now.oom_kills)],
];

function showFacts(place, facts) {
	const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
	const text = JSON.stringify(shown);

	if (place.dataset.shown === text)
		return;
	place.dataset.shown = text;
	fill(place, shown.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

const unlessNone = (number, format = String) => number ? format(number) : "unlimited";

const FACTS = [
	["Id", (sandbox) => sandbox.id],
	["Profile", (sandbox) => sandbox.profile],
	["State", (sandbox) => sandbox.ended ? `${sandbox.state}: ${sandbox.ended}` : sandbox.state],
	["Made", (sandbox) => time(sandbox.created_ms)],
	["Stays", (sandbox) => sandbox.lingers ? "until it is ended" : "as long as the program that made it"],
	["User id", (sandbox) => String(sandbox.uid)],
	["Network", (sandbox) => [sandbox.network, ...sandbox.addresses].join(", ")],
	["Label", (sandbox) => sandbox.label],
	["Weaker", (sandbox) => sandbox.weaker],
	["Memory", (sandbox) => unlessNone(sandbox.limits.memory_bytes, bytes)],
	["Processors", (sandbox) => unlessNone(sandbox.limits.cpu_millis, (millis) => String(millis / 1000))],
	["Processes and threads", (sandbox) => unlessNone(sandbox.limits.pids)],
	["Open files of each", (sandbox) => unlessNone(sandbox.limits.open_files)],
	["Labels", (sandbox) => sandbox.labels.join(", ")],
];

/* The sandbox whose page is shown; as it was last, once it has ended. */
const one = {id: null, last: null};

export function openSandbox(id) {
	one.id = id;
	one.last = null;
}

export function showSandbox() {
	const sandbox = sandboxOf(one.id), usage = store.usage.get(one.id);

	one.last = sandbox ?? one.last;
	setText(find("#sandbox-title"), nameOf(one.last ?? {id: one.id}));
	find("#sandbox-gone").hidden = !store.isListed || Boolean(sandbox);
	setText(find("#sandbox-gone"), "This sandbox has ended.");
	find("#sandbox-actions").hidden = !sandbox;
	if (sandbox)
		showActions(find("#sandbox-actions"), sandbox, () => sandboxOf(one.id));
	drawPair(plots.oneCpu, plots.oneMemory, one.id);
	showFacts(find("#sandbox-facts"), one.last ? FACTS.map(([name, value]) => [name, value(one.last)]) : []);
	showFacts(find("#sandbox-usage"), USED.map(([name, value]) => [name, usage?.now ? value(usage.now) : null]));
	const events = store.events.filter((event) => event.sandbox === one.id);
	find("#sandbox-events").hidden = events.length === 0;
	find("#sandbox-events-empty").hidden = events.length > 0;
	reconcile(find("#sandbox-events tbody"), events, (event) => event.key, (event) => eventRow(event, false), () => {});
	document.title = visible(nameOf(one.last ?? {id: one.id})) + " \u2013 Yett";
}
