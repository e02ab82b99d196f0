// SPDX-License-Identifier: Apache-2.0
/*
 * The pages "Run", "Executions" and of one execution.
 */
import {age, duration, fill, find, findAll, make, nameOf, reconcile, setText, time} from "./dom.js";
import {attempt} from "./acts.js";
import {isOver, statusClass, statusText, Watch} from "./watch.js";
import {refresh, sandboxOf, store} from "./store.js";
import {sandboxLink} from "./view_events.js";

/* --- executions ------------------------------------------------------------------------------------------------------------------- */

function createRow(execution) {
	return make("tr", {role: "row", "data-id": execution.id},
		make("th", {scope: "row", role: "rowheader"}, make("a", {class: "one-line mono", href: "#/executions/" + execution.id}, firstLine(execution.text))),
		make("td", {role: "cell", "data-label": "Status"}, make("span", {})), make("td", {role: "cell", "data-label": "Language"}, execution.language ?? "\u2013"),
		make("td", {role: "cell", "data-label": "Sandbox"}),
		make("td", {class: "nowrap", role: "cell", "data-label": "Started"}, time(execution.started_ms)),
		make("td", {class: "number", role: "cell", "data-label": "Took"}));
}

const firstLine = (text) => (text ?? "").split("\n").find((line) => line.trim()) || "(empty)";

function updateRow(row, execution) {
	const [, status, , sandbox, , took] = row.cells;

	setText(status.firstElementChild, statusText(execution.status));
	status.firstElementChild.className = statusClass(execution.status);
	if (sandbox.dataset.shown !== execution.sandbox) {
		sandbox.dataset.shown = execution.sandbox ?? "";
		fill(sandbox, sandboxLink(execution.sandbox));
	}
	setText(took, isOver(execution.status) ? duration(execution.ended_ms - execution.started_ms) : age(Date.now() - execution.started_ms));
}

export function showExecutions() {
	find("#executions").hidden = store.executions.length === 0;
	find("#executions-empty").hidden = !store.isListed || store.executions.length > 0;
	reconcile(find("#executions tbody"), store.executions, (execution) => execution.id, createRow, updateRow);
}

/* --- one -------------------------------------------------------------------------------------------------------------------------- */

let watch, runWatch = null;

export function openExecution(id) {
	watch ??= new Watch(find("#execution-watch"));
	watch.show(id);
	setText(find("#execution-title"), "Execution " + id.slice(0, 12));
}

export function closeExecution() {
	watch.show(null);
}

export function showExecution() {
	const line = store.executions.find((execution) => execution.id === watch.id);

	if (line)
		setText(find("#execution-title"), firstLine(line.text).slice(0, 120));
	watch.update();
}

/* --- run -------------------------------------------------------------------------------------------------------------------------- */

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function showParts(form) {
	const isCode = form.elements.what.value === "code", isFresh = form.elements.sandbox.value === "";

	const isShown = {
		code: isCode, command: !isCode, fresh: isFresh,
		kept: isCode && !isFresh && ["python", "javascript"].includes(form.elements.language.value),
	};

	findAll("[data-for]", form).forEach((part) => { part.hidden = !isShown[part.dataset.for]; });
}

/* The request that the form says: [operation, arguments]. */
function asked(form) {
	const field = form.elements, isCode = field.what.value === "code";
	const request = isCode ? {language: field.language.value, code: field.code.value} : {command: field.command.value};

	request.background = true;
	if (!isCode && field.keep.checked) {
		request.keep_input = true;
		request.metadata = {input: "kept"}; /* by which it is told that it can be given more */
	}
	if (isCode && field.kept.checked && !field.kept.closest("label").hidden)
		request.mode = "kept";
	if (field.sandbox.value)
		request.sandbox = field.sandbox.value;
	else if (field.profile.value.trim())
		request.profile = field.profile.value.trim();
	if (!field.sandbox.value && lines(field.allow.value).length)
		request.allow = lines(field.allow.value);
	if (field.stdin.value)
		request.stdin = field.stdin.value;
	if (field.timeout.value.trim())
		request.timeout = field.timeout.value.trim();
	return [isCode ? "run_code" : "run_command", request];
}

async function submit(event) {
	const form = find("#run-form"), button = find('[type="submit"]', form);

	event.preventDefault();
	button.disabled = true;
	const answer = await attempt(...asked(form), "Run");
	button.disabled = false;
	if (answer) {
		runWatch ??= new Watch(find("#run-watch"));
		runWatch.show(answer.id);
		refresh();
	}
}

export function setUpRun() {
	const form = find("#run-form");

	form.addEventListener("input", () => showParts(form));
	form.addEventListener("submit", submit);
	form.addEventListener("keydown", (event) => {
		if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
			event.preventDefault();
			form.requestSubmit();
		}
	});
	showParts(form);
}

export function showRun() {
	const select = find('#run-form [name="sandbox"]'), chosen = select.value;
	const choices = store.sandboxes.filter((sandbox) => sandbox.state === "running" || sandbox.id === chosen);
	const shown = choices.map((sandbox) => sandbox.id).join(" ");

	if (select.dataset.shown !== shown) {
		select.dataset.shown = shown;
		fill(select, select.options[0], choices.map((sandbox) => make("option", {value: sandbox.id}, nameOf(sandbox))));
		select.value = sandboxOf(chosen) ? chosen : "";
		showParts(find("#run-form"));
	}
	runWatch?.update();
}
