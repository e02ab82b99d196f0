// SPDX-License-Identifier: Apache-2.0
/*
 * What the page asks of the server: operations, and streams of events, with what to do while it does not answer.
 */

const RETRY_FIRST_MS = 500;
const RETRY_LAST_MS = 8000;

const listeners = new Set();
let state = "connecting";

/* Calls `listener` with "connecting", "connected", "lost" or "expired" whenever that changes. */
export function onState(listener) {
	listeners.add(listener);
	listener(state);
}

function setState(next) {
	if (state === next)
		return;
	state = next;
	listeners.forEach((listener) => listener(state));
}

/* The server could not be reached, or does not know this browser any more. */
export class Unreachable extends Error {}

async function request(path, options) {
	let response;

	try {
		response = await fetch(path, {credentials: "same-origin", cache: "no-store", ...options});
	} catch (error) {
		if (error.name === "AbortError")
			throw error;
		setState("lost");
		throw new Unreachable("The server cannot be reached.");
	}
	if (response.status === 401) {
		setState("expired");
		throw new Unreachable("The server does not know this browser any more.");
	}
	setState("connected");
	return response;
}

/*
 * Asks for an operation: its answer, which has "error" where it was refused or could not be done. Throws Unreachable, and AbortError where
 * `signal` says so, which has the server end what it had begun.
 */
export async function call(operation, asked = {}, signal = undefined) {
	const response = await request("/v1/" + operation, {
		method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(asked), signal,
	});

	try {
		return await response.json();
	} catch (error) {
		if (error.name === "AbortError")
			throw error;
		setState("lost");
		throw new Unreachable("The server broke off in the middle of its answer.");
	}
}

/* Why an answer has "error", in one line. */
export function problemLine(error) {
	return [error.message, error.detail].filter(Boolean).join(" ");
}

export async function operations() {
	return (await request("/v1/operations", {})).json();
}

/* The messages of a text/event-stream, as {event, data}. https://html.spec.whatwg.org/multipage/server-sent-events.html */
async function* messages(body) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";

	for (;;) {
		const {done, value} = await reader.read();
		if (done)
			return;
		const blocks = (rest + value).split("\n\n");
		rest = blocks.pop();
		for (const block of blocks) {
			const message = {event: "message", data: ""};
			for (const line of block.split("\n")) {
				if (line.startsWith("event:"))
					message.event = line.slice(6).trim();
				else if (line.startsWith("data:"))
					message.data += line.slice(5).trimStart();
			}
			if (message.data)
				yield message;
		}
	}
}

const BUSY_MS = 30;
let breathedAt = 0;

/* Lets the page be drawn and clicked on, however fast messages come. */
async function breathe() {
	if (performance.now() - breathedAt < BUSY_MS)
		return;
	await new Promise((resolve) => setTimeout(resolve));
	breathedAt = performance.now();
}

const pause = (ms, signal) => new Promise((resolve) => {
	const timer = setTimeout(resolve, ms);
	signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, {once: true});
});

/*
 * Follows the stream at `path()` until `signal` says otherwise, `each(event, data)` returns true, or there is none. When the server goes
 * away, it is asked for again, and `again()` called before what comes then.
 */
export async function follow(path, each, again, signal) {
	let wait = RETRY_FIRST_MS, isFirst = true;

	while (!signal.aborted) {
		try {
			const response = await request(path(), {headers: {"Accept": "text/event-stream"}, signal});
			if (response.status === 404)
				return;
			if (response.ok) {
				if (!isFirst)
					again();
				isFirst = false;
				wait = RETRY_FIRST_MS;
				for await (const message of messages(response.body)) {
					if (each(message.event, JSON.parse(message.data)))
						return;
					await breathe();
				}
			}
		} catch (error) {
			if (signal.aborted)
				return;
			if (!(error instanceof Unreachable))
				setState("lost");
		}
		await pause(wait, signal);
		wait = Math.min(wait * 2, RETRY_LAST_MS);
	}
}
