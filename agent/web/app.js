// SPDX-License-Identifier: Apache-2.0
/*
 * The web view of Yett: sandboxes that live, what they use, what happens in them, what was denied, and what was run.
 *
 * This file has the pages, the keys, and the colours. Everything is asked of the server that the page came from, and all that it tells is
 * shown as text (dom.js).
 */
import {find, findAll, make, setText} from "./dom.js";
import {onState, operations, problemLine, Unreachable} from "./client.js";
import {act, actionsOf, tell} from "./acts.js";
import {onChange, sandboxOf, start, store} from "./store.js";
import {openSandbox, setUpSandboxes, showSandbox, showSandboxes} from "./view_sandboxes.js";
import {announceEvents, setUpEvents, showDenied, showEvents} from "./view_events.js";
import {closeExecution, openExecution, setUpRun, showExecution, showExecutions, showRun} from "./view_run.js";
import {setUpPolicy} from "./view_policy.js";

/* --- pages ------------------------------------------------------------------------------------------------------------------------ */

/* By the first word after "#/"; `one` is the page of what the second word names. */
const PAGES = {
	sandboxes: {title: "Sandboxes", show: showSandboxes, one: {name: "sandbox", open: openSandbox, show: showSandbox}},
	executions: {title: "Executions", show: showExecutions, one: {name: "execution", open: openExecution, show: showExecution, close: closeExecution}},
	events: {title: "Events", show: showEvents},
	denied: {title: "Denied", show: showDenied},
	run: {title: "Run", show: showRun},
	policy: {title: "Policy", show: () => {}},
};

let current = null;

/* Shows the page that the address names. */
function route(isFirst = false) {
	const [name, id] = location.hash.replace(/^#\//, "").split("/").map(decodeURIComponent);
	const entry = Object.hasOwn(PAGES, name) ? PAGES[name] : PAGES.sandboxes;
	const page = id && entry.one ? entry.one : entry;
	const shown = page.name ?? Object.keys(PAGES).find((each) => PAGES[each] === entry);

	current?.close?.();
	current = page;
	findAll("main > section").forEach((section) => { section.hidden = section.id !== "page-" + shown; });
	findAll("nav a").forEach((link) => {
		if (PAGES[link.dataset.page] === entry)
			link.setAttribute("aria-current", "page");
		else
			link.removeAttribute("aria-current");
	});
	document.title = entry.title + " \u2013 Yett";
	page.open?.(id);
	page.show();
	if (isFirst !== true) {
		window.scrollTo(0, 0);
		find(`#${shown}-title`).focus();
	}
}

let isDue = false;

function showSoon() {
	if (isDue)
		return;
	isDue = true;
	requestAnimationFrame(() => {
		isDue = false;
		current.show();
		showState();
		setText(find("#sandboxes-count"), store.isListed ? store.sandboxes.length : "");
		const running = store.executions.filter(({status}) => status === "running" || status === "pending").length;
		setText(find("#executions-count"), running ? running + " running" : "");
		setText(find("#denied-count"), store.denied.length || "");
		find("#denied-count").classList.toggle("alarm", store.denied.length > 0);
	});
}

/* --- colours ---------------------------------------------------------------------------------------------------------------------- */

const THEMES = {system: "Auto", light: "Light", dark: "Dark"};

function kept(name, otherwise) {
	try {
		return localStorage.getItem(name) ?? otherwise;
	} catch {
		return otherwise; /* a browser that keeps nothing */
	}
}

function keep(name, value) {
	try {
		localStorage.setItem(name, value);
	} catch {
		/* It counts until the page is left, then. */
	}
}

let theme = Object.hasOwn(THEMES, kept("yett-theme", "")) ? kept("yett-theme", "") : "system";

function showTheme() {
	if (theme === "system")
		delete document.documentElement.dataset.theme;
	else
		document.documentElement.dataset.theme = theme;
	setText(find("#theme"), THEMES[theme]);
	find("#theme").setAttribute("aria-label", THEMES[theme] + " colours");
}

function nextTheme() {
	const names = Object.keys(THEMES);

	theme = names[(names.indexOf(theme) + 1) % names.length];
	keep("yett-theme", theme);
	showTheme();
}

/* --- keys ------------------------------------------------------------------------------------------------------------------------- */

function go(page) {
	location.hash = "#/" + page;
}

/* The sandbox whose row has the focus, or whose page is shown. */
function focusedSandbox() {
	const row = document.activeElement?.closest("tr[data-id]");

	return sandboxOf(row ? row.dataset.id : location.hash.split("/")[2]);
}

function toSandbox(...actions) {
	const sandbox = focusedSandbox();
	const action = sandbox && actions.find((each) => actionsOf(sandbox).includes(each));

	if (action)
		act(action, sandbox);
	else
		tell("First go to a sandbox.");
}

function move(step) {
	const links = findAll("main > section:not([hidden]) tbody tr a").filter((link) => link.closest("tr").querySelector("a") === link);
	const row = document.activeElement?.closest("tr");
	const at = links.findIndex((link) => link.closest("tr") === row);

	links[Math.min(Math.max(at < 0 ? 0 : at + step, 0), links.length - 1)]?.focus();
}

const KEYS = [
	...Object.keys(PAGES).map((page, i) => ({key: String(i + 1), what: PAGES[page].title, does: () => go(page)})),
	{key: "n", what: "Run something", does: () => { go("run"); }},
	{key: "j", what: "The next row", does: () => move(1)},
	{key: "k", what: "The row before", does: () => move(-1)},
	{key: "p", what: "Pause or resume the sandbox", does: () => toSandbox("pause", "resume")},
	{key: "x", what: "Kill its commands", does: () => toSandbox("kill")},
	{key: "e", what: "End it, after a question", does: () => toSandbox("end")},
	{key: "/", what: "Search the events", does: () => { go("events"); setTimeout(() => find('#events-filter [name="text"]').focus()); }},
	{key: "t", what: "Other colours", does: nextTheme},
	{key: "?", what: "These keys", does: () => find("#help").showModal()},
];

function pressed(event) {
	const isTyping = event.target.closest("input:not([type=radio], [type=checkbox]), textarea, select, dialog");
	const entry = KEYS.find(({key}) => key === event.key);

	if (!entry || isTyping || event.ctrlKey || event.metaKey || event.altKey || !find("#keys-on").checked)
		return;
	event.preventDefault();
	entry.does();
}

function setUpKeys() {
	find("#keys tbody").append(...KEYS.map(({key, what}) => make("tr", {}, make("th", {scope: "row"}, make("kbd", {}, key)), make("td", {}, what))));
	find("#keys-on").checked = kept("yett-keys", "on") === "on";
	find("#keys-on").addEventListener("change", (event) => keep("yett-keys", event.target.checked ? "on" : "off"));
	document.addEventListener("keydown", pressed);
}

/* --- the server ------------------------------------------------------------------------------------------------------------------- */

const STATES = {
	connecting: ["Connecting", null],
	connected: ["Connected", null],
	lost: ["Not connected", "The server does not answer. The page shows old data, and retries until the server answers."],
	expired: ["Not known here", "The server does not know this browser any more. Open the address that `yett serve` prints."],
};

let state = "connecting";

function showState() {
	const [word, away] = STATES[state];
	const text = away ?? (store.problem ? "Cannot get the list of sandboxes: " + problemLine(store.problem) : null);

	setText(find("#connection"), word);
	find("#connection").className = "connection " + state;
	setText(find("#lost"), text ?? "");
	find("#lost").hidden = text === null;
	document.body.classList.toggle("is-lost", text !== null);
}

/* What a field of an operation's request may be, of its JSON Schema. */
function choices(list, operation, field) {
	const found = list.find(({name}) => name === operation)?.request.properties[field] ?? {};

	return (found.enum ?? found.anyOf?.find((each) => each.enum)?.enum ?? []).filter((each) => typeof each === "string");
}

async function learn() {
	try {
		const {operations: list} = await operations();
		setUpPolicy(choices(list, "sandboxes", "network"));
	} catch (error) {
		if (!(error instanceof Unreachable))
			throw error;
		setTimeout(learn, 2000);
	}
}

findAll("table.cards").forEach((table) => {
	table.setAttribute("role", "table");
	findAll("thead, tbody", table).forEach((part) => part.setAttribute("role", "rowgroup"));
	findAll("thead tr", table).forEach((row) => row.setAttribute("role", "row"));
	findAll("thead th", table).forEach((cell) => cell.setAttribute("role", "columnheader"));
});
onState((now) => {
	state = now;
	showState();
});
setUpSandboxes();
setUpEvents();
setUpRun();
setUpKeys();
showTheme();
find("#theme").addEventListener("click", nextTheme);
find("#help-open").addEventListener("click", () => find("#help").showModal());
window.addEventListener("hashchange", route);
route(true);
onChange((what) => {
	showSoon();
	if (what === "events")
		announceEvents();
});
learn();
start();
