// SPDX-License-Identifier: Apache-2.0
/*
 * What was run, watched: its output as it comes, what became of it, and what can be said to it.
 */
import {age, bytes, duration, fill, find, linesNode, make, setText, visibleLines} from "./dom.js";
import {attempt, makeProblem} from "./acts.js";
import {call, follow, Unreachable} from "./client.js";
import {refresh, store} from "./store.js";

const SHOWN_MAX = 100000; /* characters of output in the page */
const PIECE_MAX = 4000;
const DRAW_MS = 60;
const STATUS = {pending: "busy", running: "busy", completed: "good", failed: "bad", timed_out: "warn", killed: "warn"};

export const isOver = (status) => !["pending", "running"].includes(status);
export const statusText = (status) => status.replace("_", " ");
export const statusClass = (status) => ("badge " + (STATUS[status] ?? "")).trim();

export class Watch {
	constructor(place) {
		this.id = null;
		this.status = make("span", {class: "badge"});
		this.facts = make("dl", {});
		this.kill = make("button", {type: "button", class: "danger", onclick: () => this.killIt()}, "Kill");
		this.asked = make("pre", {class: "asked"});
		this.output = make("pre", {class: "output", tabindex: "0", role: "log", "aria-label": "Output", "aria-live": "off"});
		this.cut = make("p", {class: "cut", hidden: true}, "Earlier output is left out here; read_file has it.");
		this.problem = make("div", {class: "below"});
		this.input = make("input", {"aria-label": "Input for it", placeholder: "Input, a line", spellcheck: "false", autocomplete: "off"});
		this.inputLine = make("form", {class: "input-line", onsubmit: (event) => this.send(event)},
			this.input, make("button", {type: "submit"}, "Send"),
			make("button", {type: "button", title: "Close its standard input", onclick: () => this.endInput()}, "End input"));
		fill(place, make("div", {class: "panel"},
			make("div", {class: "watch-head"}, this.status, this.facts, make("div", {class: "actions small"}, this.kill)),
			this.asked, this.cut, this.output, this.inputLine), this.problem);
	}

	/* Watches an execution from its beginning; null: none. */
	show(id) {
		this.stop?.abort();
		this.stop = new AbortController();
		this.id = id;
		this.record = null;
		this.empty();
		if (id)
			this.watch(id, this.stop.signal);
	}

	empty() {
		clearTimeout(this.timer);
		Object.assign(this, {waiting: [], waitingLength: 0, length: 0, isCut: false, held: {out: "", err: ""}, timer: null, drawMs: DRAW_MS});
		this.output.replaceChildren();
		this.cut.hidden = true;
	}

	async watch(id, signal) {
		await this.ask(id);
		await follow(() => `/v1/executions/${encodeURIComponent(id)}/output`, (kind, data) => this.hear(kind, data), () => this.empty(), signal);
		if (!signal.aborted)
			await this.ask(id);
		refresh();
	}

	hear(kind, data) {
		if (kind === "end") {
			this.add(this.held.out, "out");
			this.add(this.held.err, "err");
			return true;
		}
		if (data.skipped)
			this.note(`${data.skipped} bytes are not kept here`);
		const name = kind === "stderr" ? "err" : "out", text = this.held[name] + data.text;
		const isSplit = text.endsWith("\r"); /* perhaps the end of a line, whose other half comes next */
		this.held[name] = isSplit ? "\r" : "";
		this.add(isSplit ? text.slice(0, -1) : text, name);
		return false;
	}

	/* Keeps what it wrote, to be shown soon: what comes fast is not drawn piece by piece, and of what is too much only the end. */
	add(text, className) {
		const shown = visibleLines(text);

		this.waiting.push({shown: shown.slice(-SHOWN_MAX), className});
		this.waitingLength += Math.min(shown.length, SHOWN_MAX);
		while (this.waitingLength - this.waiting[0].shown.length > SHOWN_MAX) {
			this.waitingLength -= this.waiting.shift().shown.length;
			this.isCut = true;
		}
		this.timer ??= setTimeout(() => this.draw(), this.drawMs);
	}

	draw() {
		const isAtEnd = this.output.scrollHeight - this.output.scrollTop - this.output.clientHeight < 40, began = performance.now();

		this.timer = null;
		for (const {shown, className} of this.waiting)
			this.append(shown, className);
		this.length += this.waitingLength;
		this.waiting = [];
		this.waitingLength = 0;
		while (this.length > SHOWN_MAX && this.output.childElementCount > 1) {
			this.length -= this.output.firstElementChild.textContent.length;
			this.output.firstElementChild.remove();
			this.isCut = true;
		}
		this.cut.hidden = !this.isCut;
		if (isAtEnd)
			this.output.scrollTop = this.output.scrollHeight;
		this.drawMs = Math.max(DRAW_MS, 4 * (performance.now() - began));
	}

	append(text, className) {
		const last = this.output.lastElementChild;

		if (last?.className === className && last.textContent.length < PIECE_MAX)
			last.firstChild.appendData(text);
		else
			this.output.append(make("span", {class: className}, linesNode(text)));
	}

	note(text) {
		this.add(text + "\n", "note");
	}

	async ask(id) {
		try {
			const answer = await call("wait_command", {id, timeout: 0});
			if (this.id !== id)
				return;
			this.record = answer;
			this.update();
		} catch (error) {
			if (!(error instanceof Unreachable))
				throw error;
		}
	}

	showProblem(error) {
		const text = JSON.stringify(error ?? null);

		this.problem.hidden = !error;
		if (error && this.problem.dataset.shown !== text)
			fill(this.problem, makeProblem(error));
		this.problem.dataset.shown = text;
	}

	/* Shows what is known of it now. */
	update() {
		const line = store.executions.find((execution) => execution.id === this.id) ?? {};
		const record = {...line, ...this.record};
		const status = this.record && isOver(this.record.status ?? "running") ? this.record.status : line.status ?? record.status;

		if (!status) {
			setText(this.status, "unknown");
			this.showProblem(record.error);
			return;
		}
		setText(this.status, statusText(status));
		this.status.className = statusClass(status);
		this.kill.hidden = isOver(status);
		this.inputLine.hidden = status !== "running" || record.metadata?.input !== "kept";
		this.showProblem(record.error);
		if (line.text && this.asked.textContent !== visibleLines(line.text))
			this.asked.textContent = visibleLines(line.text);
		this.asked.hidden = !line.text;
		const facts = this.factsOf(record, status), text = JSON.stringify(facts);
		if (this.facts.dataset.shown !== text) {
			this.facts.dataset.shown = text;
			fill(this.facts, facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
		}
	}

	factsOf(record, status) {
		const took = isOver(status) ? duration(record.ended_ms - record.started_ms) : age(Date.now() - record.started_ms);

		return [
			["language", record.language], ["exit status", record.exit_code], ["signal", record.signal], [isOver(status) ? "took" : "for", took],
			["value", record.value], ["memory", record.memory_used_bytes ? bytes(record.memory_used_bytes) : null], ["why", record.error ? null : record.why],
			["warnings", record.warnings?.length ? record.warnings.join("; ") : null],
		].filter(([, value]) => value !== null && value !== undefined && value !== "");
	}

	async killIt() {
		await attempt("wait_command", {id: this.id, signal: "KILL", timeout: 0}, "Kill");
		refresh();
	}

	async send(event) {
		event.preventDefault();
		if (await attempt("wait_command", {id: this.id, input: this.input.value + "\n", timeout: 0}, "Input"))
			this.input.value = "";
	}

	endInput() {
		return attempt("wait_command", {id: this.id, close_input: true, timeout: 0}, "End of input");
	}
}
