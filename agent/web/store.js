/*
 * What the page knows: the sandboxes and what they used over the last minutes, events, what was denied, and what was run.
 *
 * It asks each second while the page is visible; events come by themselves.
 */
import {COLOURS} from "./plot.js";
import {call, follow, Unreachable} from "./client.js";

export const SPANS_MS = [60000, 120000, 300000];
const SPAN_MS = SPANS_MS.at(-1);
const POLL_MS = 1000;
const EVENTS_MAX = 500;

/* Kinds of events that tell of something denied; those of the second list, of a limit that was met. */
export const DENIED_KINDS = ["denied", "blocked"];
export const LIMIT_KINDS = ["forks-refused", "oom", "full"];

export const store = {
	sandboxes: [],
	usage: new Map(), /* id → {colour, cpu, memory: samples, now: the last reading} */
	events: [],       /* the latest first */
	denied: [],       /* {key, at, sandbox, what, why, rule, place}, the latest first */
	executions: [],   /* the latest first */
	isListed: false,
};

const listeners = new Set();

/* Calls `listener(what)` when that has changed: "sandboxes", "events", "denied" or "executions". */
export function onChange(listener) {
	listeners.add(listener);
}

function changed(what) {
	listeners.forEach((listener) => listener(what));
}

export const sandboxOf = (id) => store.sandboxes.find((sandbox) => sandbox.id === id);

/* --- usage ------------------------------------------------------------------------------------------------------------------------ */

function freeColour() {
	const taken = new Set([...store.usage.values()].map(({colour}) => colour));

	for (let colour = 0; colour < COLOURS; colour++)
		if (!taken.has(colour))
			return colour;
	return store.usage.size % COLOURS;
}

function addSample(samples, at, value) {
	samples.push({at, value});
	while (samples[0].at < at - SPAN_MS - 5000)
		samples.shift();
}

function addUsage(reading, at) {
	const known = store.usage.get(reading.id) ?? {colour: freeColour(), cpu: [], memory: [], now: null, cpuNow: null};
	const before = known.now, passed = before ? reading.taken_us - before.taken_us : 0;

	if (passed > 0 && typeof reading.cpu_us === "number")
		addSample(known.cpu, at, known.cpuNow = Math.max(0, 100 * (reading.cpu_us - before.cpu_us) / passed));
	if (typeof reading.memory_bytes === "number")
		addSample(known.memory, at, reading.memory_bytes);
	known.now = reading;
	known.lastAt = at;
	store.usage.set(reading.id, known);
}

/* The series of a plot: of one sandbox, or of all that were seen in its time. */
export function series(of, id = undefined) {
	return [...store.usage].filter(([each]) => id === undefined || each === id).map(([, usage]) => ({colour: usage.colour, samples: usage[of]}));
}

async function poll() {
	const [listed, used, run] = await Promise.all([
		call("sandboxes", {action: "list"}), call("sandboxes", {action: "stats"}), call("sandboxes", {action: "executions"}),
	]);
	const at = Date.now();

	for (const reading of used.sandboxes ?? [])
		addUsage(reading, at);
	for (const [id, usage] of store.usage)
		if (usage.lastAt < at - SPAN_MS)
			store.usage.delete(id);
	store.sandboxes = (listed.sandboxes ?? []).sort((a, b) => a.created_ms - b.created_ms);
	store.executions = run.executions ?? [];
	store.isListed = true;
	changed("sandboxes");
	changed("executions");
}

let timer = 0, isPolling = false;

/* Asks now, and then each second. */
export async function refresh() {
	clearTimeout(timer);
	if (!isPolling && !document.hidden) {
		isPolling = true;
		try {
			await poll();
		} catch (error) {
			if (!(error instanceof Unreachable))
				throw error;
		} finally {
			isPolling = false;
		}
	}
	clearTimeout(timer);
	timer = setTimeout(refresh, POLL_MS);
}

/* --- events ----------------------------------------------------------------------------------------------------------------------- */

let deniedCount = 0;

function addDenied(denied) {
	deniedCount++;
	store.denied.unshift({key: "denied-" + deniedCount, ...denied});
	store.denied.length = Math.min(store.denied.length, EVENTS_MAX);
	changed("denied");
}

/* A request of this page that the policy refused. */
export function addRefusal(error, what) {
	addDenied({
		at: Date.now(), sandbox: "", what, why: [error.message, error.detail].filter(Boolean).join(" "), rule: error.rule ?? "",
		place: error.file ? error.file + (error.line ? ":" + error.line : "") : "",
	});
}

function addEvent(event) {
	store.events.unshift({key: event.sandbox + "/" + event.number, ...event});
	store.events.length = Math.min(store.events.length, EVENTS_MAX);
	if (DENIED_KINDS.includes(event.kind) || LIMIT_KINDS.includes(event.kind))
		addDenied(deniedOf(event));
	changed("events");
}

function deniedOf(event) {
	return {at: event.time_ms, sandbox: event.sandbox, what: event.text, why: "", rule: event.rule ?? "", place: event.place ?? ""};
}

/* Begins to listen and to ask. */
export function start() {
	const forever = new AbortController().signal;

	document.addEventListener("visibilitychange", refresh);
	refresh();
	follow("/v1/events", (kind, event) => addEvent(event), refresh, forever);
}
