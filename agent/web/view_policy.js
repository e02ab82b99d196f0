// SPDX-License-Identifier: Apache-2.0
/*
 * The page "Policy": what it says to a request typed in, and sandboxes that are made of such requests.
 */
import {bytes, fill, find, make} from "./dom.js";
import {makeProblem, tell} from "./acts.js";
import {refresh} from "./store.js";
import {call} from "./client.js";

/* --- the request ------------------------------------------------------------------------------------------------------------------ */

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

/* --- its answer ------------------------------------------------------------------------------------------------------------------- */

/* A fact with the line of the policy that it rests on. */
function fact(name, value, place = null) {
	return value === undefined || value === null || value === "" ? [] :
		[make("dt", {}, name), make("dd", {}, value, place ? make("span", {class: "under mono"}, place) : null)];
}

const unlessNone = (number, format = String) => number ? format(number) : "unlimited";

/* What a sandbox would get, out of the steps by which it would be made. */
function grantedFacts(plan) {
	const step = (name) => plan.steps.find((each) => each.step === name) ?? {};
	const {limits, place} = step("cgroup"), slot = step("slot"), network = step("network");

	return [
		fact("Profile", plan.profile.name, plan.profile.place), fact("Grant", plan.grant.name, plan.grant.place),
		fact("Memory", unlessNone(limits.memory_bytes, bytes), place), fact("Processors", unlessNone(limits.cpu_millis, (millis) => String(millis / 1000))),
		fact("Processes and threads", unlessNone(limits.pids)), fact("Open files of each", unlessNone(step("identity").limits?.files)),
		fact("Network", [network.network ?? "none", ...network.rules ?? []].join("; "), network.place),
		plan.steps.filter((each) => each.step === "share" && each.layer !== "store").map((share) => fact("Shared", `${share.target}, ${shareMode(share)}`, share.place)),
		fact("Sandboxes at once", unlessNone(slot.sandboxes_max), slot.place), fact("Weaker", plan.weaker),
	].flat(2);
}

function shareMode(share) {
	return share.layer ? MODES.cow : share.writable ? MODES.rw : MODES.ro;
}

const value = (any) => any !== null && typeof any === "object" ? Object.entries(any).map(([name, each]) =>
	Array.isArray(any) ? value(each) : `${name} ${value(each)}`).join(", ") : String(any);

function stepItem({step, place, target, ...rest}) {
	const more = Object.entries(rest).filter(([, each]) => each !== null && each !== false && each !== "" && each?.length !== 0)
		.map(([name, each]) => each === true ? name : `${name} ${value(each)}`).join("; ");

	return make("li", {}, make("b", {}, step), " ", target ? make("code", {}, target) : null, " ", more, place ? make("span", {class: "under mono"}, place) : null);
}

function allowed(plan) {
	return [
		make("div", {class: "panel verdict yes"}, make("h2", {}, "Allowed"), make("dl", {class: "facts"}, grantedFacts(plan))),
		make("details", {class: "panel steps"}, make("summary", {}, `How it would be made: ${plan.steps.length} steps`), make("ol", {}, plan.steps.map(stepItem))),
	];
}

/* Asks for `action` of the request; where that is refused, the page says so. */
async function request(action) {
	try {
		const answer = await call("sandboxes", {action, ...asked()});
		if (!answer.error)
			return answer;
		fill(find("#policy-answer"), makeProblem(answer.error));
	} catch (error) {
		tell(error.message);
	}
	return null;
}

async function ask(event) {
	event.preventDefault();
	const answer = await request("plan");
	if (answer)
		fill(find("#policy-answer"), allowed(answer.plan));
}

async function makeIt() {
	const answer = await request("make");

	if (answer) {
		find("#policy-form").elements.name.value = "";
		await refresh();
		location.hash = "#/sandboxes/" + answer.sandbox.id;
	}
}

/* `networks`: what a request may ask for. */
export function setUpPolicy(networks) {
	find('#policy-form [name="network"]').append(...networks.map((network) => make("option", {value: network}, network)));
	find("#policy-form").addEventListener("submit", ask);
	find("#policy-make").addEventListener("click", makeIt);
	find("#policy-share-add").addEventListener("click", () => find("input", addShare()).focus());
}
