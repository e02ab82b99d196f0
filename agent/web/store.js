// SPDX-License-Identifier: Apache-2.0
/*
 * What the page knows: the sandboxes and what they used over the last minutes, events, what was denied, and what was run.
 *
 * It asks each second while the page is visible; events come by themselves.
 */
import {COLOURS} from "./plot.js";
import {call, follow, problemLine, Unreachable} from "./client.js";

export const SPANS_MS = [60000, 120000, 300000];
const SPAN_MS = SPANS_MS.at(-1);
const POLL_MS = 1000;
const ANSWER_MS = 10000; /* a server that needs longer than this is taken for one that is away */
const EVENTS_MAX = 500;

export const store = {
	sandboxes: [],
	usage: new Map(), /* id → {colour, cpu, memory: samples, now: the last reading} */
	events: [],       /* the latest first */
	denied: [], /* {key, at, sandbox, what, why, rule, place}, the latest first */
	executions: [],   /* the latest first */
	names: new Map(), /* id → name, of sandboxes that have ended, too */
	isListed: false,
	hasOthers: false, /* they are of several users */
	problem: null, /* why the helper of the sandboxes could not be asked */
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
	const signal = AbortSignal.timeout(ANSWER_MS);
	const [listed, used, run] = await Promise.all(["list", "stats", "executions"].map((action) => call("sandboxes", {action}, signal)));
	const at = Date.now();

	store.problem = listed.error ?? used.error ?? null;
	if (store.problem) {
		changed("sandboxes");
		return;
	}
	for (const reading of used.stats)
		addUsage(reading, at);
	for (const [id, usage] of store.usage)
		if (usage.lastAt < at - SPAN_MS)
			store.usage.delete(id);
	const sandboxes = listed.sandboxes.sort((a, b) => a.created_ms - b.created_ms);
	await followNew(sandboxes);
	store.sandboxes = sandboxes;
	sandboxes.forEach(({id, name}) => store.names.set(id, name));
	store.hasOthers = sandboxes.some(({uid}) => uid !== sandboxes[0].uid);
	store.executions = run.executions;
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

let arrived = 0, last = 0;

const times = (count) => count > 1 ? `${count} times` : "";
const joined = (...parts) => parts.filter(Boolean).join(", ");

/* What happened, in words; its kind is shown beside it. */
export function eventText(event) {
	const text = event.kind === "followed" ? `it is ${event.state}` : event.error ? `${event.text}: ${problemLine(event.error)}` : event.text;

	return joined(event.command && `command ${event.command}`, text, times(event.count), event.lost && `${event.lost} events before it are lost`);
}

const placeOf = (error) => error.file ? error.file + (error.line ? ":" + error.line : "") : "";

/* Kinds of events that tell of something denied: what it was, and why, where the event itself does not say so. */
const DENIED = {
	denied: (event) => ({what: joined("System call " + (event.subject ?? "of a number without name"), times(event.count)), why: "The profile's rules for system calls forbid it"}),
	blocked: (event) => ({what: joined("Connection to " + event.subject, times(event.count))}),
	refused: (event) => ({what: event.text, why: event.error.rule ? event.error.message : problemLine(event.error), rule: event.error.rule, place: placeOf(event.error)}),
	full: (event) => ({what: joined("Connection to " + event.subject, times(event.count)), why: "The maximum number is reached"}),
	"forks-refused": (event) => ({what: joined("Another process", times(event.count)), why: "The maximum number is reached"}),
	oom: (event) => ({what: joined("Memory", event.count > 1 && `${event.count} processes were killed`), why: "The memory limit is reached"}),
};

export const isDenied = (kind) => Object.hasOwn(DENIED, kind);

function addEvent(event) {
	const kept = {...event, key: ++arrived};

	last = event.number;
	store.events.unshift(kept);
	store.events.length = Math.min(store.events.length, EVENTS_MAX);
	if (isDenied(event.kind)) {
		store.denied.unshift({at: event.time_ms, key: arrived, sandbox: event.sandbox, why: event.why, rule: event.rule, place: event.place,
			...DENIED[event.kind](event)});
		store.denied.length = Math.min(store.denied.length, EVENTS_MAX);
		changed("denied");
	}
	changed("events");
}

/* The server follows the sandboxes that there are when it is asked for events; it is told of those that were made elsewhere. */
async function followNew(sandboxes) {
	if (sandboxes.some(({id}) => !sandboxOf(id)))
		await call("events", {after: Number.MAX_SAFE_INTEGER, max: 1});
}

let stop = null;

/* Events come while the page is visible: a browser has few connections for one server. Those that it missed come afterwards. */
function listen() {
	stop?.abort();
	stop = new AbortController();
	if (!document.hidden)
		follow(() => "/v1/events?after=" + last, (kind, event) => addEvent(event), () => {}, stop.signal);
}

/* Begins to listen and to ask. */
export function start() {
	document.addEventListener("visibilitychange", () => { listen(); refresh(); });
	listen();
	refresh();
}
