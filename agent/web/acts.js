// SPDX-License-Identifier: Apache-2.0
/*
 * What can be done to a sandbox from several pages, and how the page tells what came of it.
 */
import {fill, find, linesNode, make, nameOf, setText, visible} from "./dom.js";
import {call, problemLine} from "./client.js";
import {refresh} from "./store.js";

const TOAST_MS = 7000;
let toastTimer = 0;

/* Tells something for a few seconds, by speech, too. */
export function tell(text) {
	const toast = find("#toast");

	setText(toast, text);
	toast.hidden = false;
	clearTimeout(toastTimer);
	toastTimer = setTimeout(() => { toast.hidden = true; }, TOAST_MS);
}

const fact = (name, value) => value ? [make("dt", {}, name), make("dd", {}, value)] : [];

/* Why something is refused, by which rule, and what would change that. */
export function makeProblem(error) {
	return make("div", {class: "panel verdict no"}, make("h2", {}, error.code === "permission-denied" ? "Refused" : "Not possible"),
		make("p", {}, error.rule ? error.message : problemLine(error)), /* facts have the detail, then */
		make("dl", {class: "facts"}, fact("Rule", error.rule), fact("Where", error.file && error.file + (error.line ? ":" + error.line : "")),
			fact("Asked", error.asked), fact("Allowed", error.allowed)),
		error.mend ? [make("h3", {}, "The smallest change that would allow it"), make("pre", {}, linesNode(error.mend))] : []);
}

/* Asks for an operation, and tells why where it was not done. The answer; null where it was not done. */
export async function attempt(operation, asked, what) {
	try {
		const answer = await call(operation, asked);
		if (!answer.error)
			return answer;
		tell(what + ": " + problemLine(answer.error));
	} catch (error) {
		tell(what + ": " + error.message);
	}
	return null;
}

/* Whether the person says yes. */
function confirm(title, text, yes) {
	const dialog = find("#confirm");

	setText(find("#confirm-title"), title);
	setText(find("#confirm-text"), text);
	setText(find("#confirm-yes"), yes);
	dialog.returnValue = "no";
	dialog.showModal();
	return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), {once: true}));
}

const DONE = {pause: "is paused.", resume: "is running.", kill: "has no commands left.", end: "was ended."};

/* Does `action` to a sandbox; "end" only if the person confirms it. */
export async function act(action, sandbox) {
	const name = nameOf(sandbox);

	if (action === "end" && !await confirm(`End ${name}?`, "All processes in the sandbox are killed, and its files are lost, except in shared directories.", "End it"))
		return;
	if (await attempt("sandboxes", {action, sandbox: sandbox.id}, `${name}: ${action}`))
		tell(`${name} ${DONE[action]}`);
	refresh();
}

/* What a sandbox in this state can be asked for. */
export function actionsOf(sandbox) {
	if (sandbox.state === "paused")
		return ["resume", "kill", "end"];
	return sandbox.state === "running" ? ["pause", "kill", "end"] : ["end"];
}

const MEANT = {pause: "Pause", resume: "Resume", kill: "Kill the commands of", end: "End"};
const WORDS = {pause: "Pause", resume: "Resume", kill: "Kill", end: "End"};

/* Fills `place` with a button for each of them, unless it has these. `of()` gives the sandbox as it is when one is pressed. */
export function showActions(place, sandbox, of) {
	const actions = actionsOf(sandbox), shown = actions.join(" ");

	if (place.dataset.shown === shown)
		return;
	const focused = place.contains(document.activeElement) ? document.activeElement.dataset.act : null;
	place.dataset.shown = shown;
	fill(place, actions.map((action) => make("button", {
		type: "button", class: action === "end" ? "danger" : null, "data-act": action, "aria-label": visible(`${MEANT[action]} ${nameOf(sandbox)}`), title: action === "kill" ? "Kills every command in it, and not the sandbox" : null,
		onclick: () => of() && act(action, of()),
	}, WORDS[action])));
	if (focused)
		(find(`[data-act="${focused}"]`, place) ?? find("button", place)).focus();
}
