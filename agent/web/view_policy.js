/*
 * The page "Policy": what it says to a request typed in, and sandboxes that are made of such requests.
 */
import {bytes, fill, find, linesNode, make} from "./dom.js";
import {attempt, makeProblem, tell} from "./acts.js";
import {refresh} from "./store.js";
import {call} from "./client.js";

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function addShare(path = "") {
	const share = make("div", {class: "share"},
		make("label", {class: "whole"}, "Directory", make("input", {name: "path", value: path, spellcheck: "false"})),
		make("label", {}, "Seen at", make("input", {name: "target", spellcheck: "false", placeholder: "the same place"})),
		make("label", {}, "As", make("select", {name: "mode"}, ["ro", "cow", "rw"].map((mode) => make("option", {value: mode}, MODES[mode])))),
		make("button", {type: "button", class: "quiet", "aria-label": "Remove this directory", onclick: () => {
			share.remove();
			find("#policy-share-add").focus();
		}}, "\u00d7"));

	find("#policy-shares").append(share);
	return share;
}

const MODES = {ro: "read-only", cow: "copy-on-write", rw: "writable"};

function asked() {
	const field = find("#policy-form").elements, request = {};
	const shares = [...find("#policy-shares").children].map((share) => ({
		path: find('[name="path"]', share).value.trim(), target: find('[name="target"]', share).value.trim(), mode: find('[name="mode"]', share).value,
	})).filter(({path}) => path).map(({target, ...share}) => target ? {...share, target} : share);

	for (const name of ["profile", "network", "name"])
		if (field[name].value.trim())
			request[name] = field[name].value.trim();
	for (const name of ["allow", "deny"])
		if (lines(field[name].value).length)
			request[name] = lines(field[name].value);
	if (shares.length)
		request.shares = shares;
	return request;
}

const fact = (name, value) => value === undefined || value === null || value === "" ? [] : [make("dt", {}, name), make("dd", {}, value)];

function allowed(plan) {
	return [make("div", {class: "panel verdict yes"}, make("h2", {}, "Allowed")), make("pre", {}, JSON.stringify(plan, null, 1))];
}

async function ask(event) {
	const request = asked();

	event.preventDefault();
	try {
		const answer = await call("sandboxes", {action: "plan", ...request});
		fill(find("#policy-answer"), answer.error ? makeProblem(answer.error) : allowed(answer.plan));
	} catch (error) {
		tell(error.message);
	}
}

async function makeIt() {
	const request = asked();
	const answer = await attempt("sandboxes", {action: "make", ...request}, "A sandbox");

	if (answer) {
		await refresh();
		location.hash = "#/sandboxes";
	}
}

/* `networks`: what a request may ask for. */
export function setUpPolicy(networks) {
	find('#policy-form [name="network"]').append(...networks.map((network) => make("option", {value: network}, network)));
	find("#policy-form").addEventListener("submit", ask);
	find("#policy-make").addEventListener("click", makeIt);
	find("#policy-share-add").addEventListener("click", () => find("input", addShare()).focus());
}
