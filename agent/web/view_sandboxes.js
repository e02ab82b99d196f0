/*
 * The pages "Sandboxes" and of one sandbox.
 */
import {age, bytes, count, duration, fill, find, make, nameOf, percent, reconcile, setClass, setText, time, visible} from "./dom.js";
import {showActions} from "./acts.js";
import {drawSpark, makeSpark, Plot} from "./plot.js";
import {series, SPANS_MS, store, sandboxOf} from "./store.js";
import {call, Unreachable} from "./client.js";
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
	setText(find(".under", name), sandbox.name ? sandbox.id.slice(0, 12) : sandbox.user ?? "");
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

export function showSandboxes() {
	const now = Date.now();

	plots.cpu.draw(series("cpu"), now);
	plots.memory.draw(series("memory"), now);
	find("#sandboxes").hidden = store.sandboxes.length === 0;
	find("#sandboxes-empty").hidden = !store.isListed || store.sandboxes.length > 0;
	reconcile(find("#sandboxes tbody"), store.sandboxes, (sandbox) => sandbox.id, createRow, updateRow);
}

/* --- one -------------------------------------------------------------------------------------------------------------------------- */

const USED = [
	["Processor time", (now) => now.cpu_us === undefined ? null : duration(now.cpu_us / 1000)],
	["Memory", (now) => bytes(now.memory_bytes) + (now.memory_limit_bytes ? " of " + bytes(now.memory_limit_bytes) : "")],
	["Memory at most", (now) => bytes(now.memory_peak_bytes)],
	["Processes", (now) => count(now.processes) + (now.pids_limit ? " of " + now.pids_limit : "")],
	["Threads", (now) => count(now.threads)],
	["Open files", (now) => count(now.open_files)],
	["Read from disks", (now) => bytes(now.read_bytes)],
	["Written to disks", (now) => bytes(now.written_bytes)],
	["Connections", (now) => now.connections === undefined ? null : `${now.connections} open, ${now.connected} made, ${now.blocked} blocked`],
	["Over the network", (now) => now.sent_bytes === undefined ? null : `${bytes(now.sent_bytes)} sent, ${bytes(now.received_bytes)} received`],
	["Killed for want of memory", (now) => count(now.oom_kills)],
	["Forks refused", (now) => count(now.forks_refused)],
];

function showFacts(place, facts) {
	const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
	const text = JSON.stringify(shown);

	if (place.dataset.shown === text)
		return;
	place.dataset.shown = text;
	fill(place, shown.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

const NAMES = {
	id: "Id", name: "Name", state: "State", profile: "Profile", user: "User", uid: "User id", private_uid: "Runs as user id",
	label: "Label", network: "Network", address4: "Address", address6: "IPv6 address", memory_bytes: "Memory limit", cpu_millis: "Processors",
	pids: "Process limit", open_files: "Open files limit", weaker: "Weaker", hostname: "Host name", platform: "Platform",
	architecture: "Architecture", type: "Type", backend: "Backend",
};
const FORMATS = {memory_bytes: bytes, cpu_millis: (number) => number ? String(number / 1000) : "all", pids: (number) => number || "unlimited"};

const one = {id: null, info: null};

async function askInfo(id) {
	try {
		const answer = await call("sandboxes", {action: "info", sandbox: id});
		if (one.id === id && !answer.error)
			one.info = answer.info ?? answer;
	} catch (error) {
		if (!(error instanceof Unreachable))
			throw error;
	}
}

export function openSandbox(id) {
	one.id = id;
	one.info = null;
	askInfo(id).then(showSandbox);
}

export function showSandbox() {
	const now = Date.now(), sandbox = sandboxOf(one.id), usage = store.usage.get(one.id);
	const facts = {...one.info, ...sandbox};

	setText(find("#sandbox-title"), sandbox ? nameOf(sandbox) : one.id.slice(0, 12));
	find("#sandbox-gone").hidden = !store.isListed || Boolean(sandbox);
	setText(find("#sandbox-gone"), "This sandbox has ended.");
	find("#sandbox-actions").hidden = !sandbox;
	if (sandbox)
		showActions(find("#sandbox-actions"), sandbox, () => sandboxOf(one.id));
	plots.oneCpu.draw(series("cpu", one.id), now);
	plots.oneMemory.draw(series("memory", one.id), now);
	showFacts(find("#sandbox-facts"), [
		...Object.entries(NAMES).filter(([key]) => facts[key] !== undefined && facts[key] !== null)
			.map(([key, name]) => [name, FORMATS[key] ? FORMATS[key](facts[key]) : String(facts[key])]),
		["Made", facts.created_ms ? time(facts.created_ms) : null],
	]);
	showFacts(find("#sandbox-usage"), USED.map(([name, value]) => [name, usage?.now ? value(usage.now) : null]));
	const events = store.events.filter((event) => event.sandbox === one.id);
	find("#sandbox-events").hidden = events.length === 0;
	find("#sandbox-events-empty").hidden = events.length > 0;
	reconcile(find("#sandbox-events tbody"), events, (event) => event.key, (event) => eventRow(event, false), () => {});
	document.title = visible(sandbox ? nameOf(sandbox) : "Sandbox") + " \u2013 Yett";
}
