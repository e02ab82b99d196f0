// SPDX-License-Identifier: Apache-2.0
/*
 * The pages "Events" and "Denied".
 */
import {find, make, nameOf, reconcile, setText, time} from "./dom.js";
import {eventText, isDenied, store} from "./store.js";

const ANNOUNCE_MS = 3000;
const SHOWN_MAX = 200;
const KINDS = {started: "busy", exited: "", ended: "", failed: "bad", timeout: "warn", paused: "warn", resumed: "good", unreachable: "warn",
	"network-lost": "bad", asked: "warn"};

const kindClass = (kind) => isDenied(kind) ? "bad" : KINDS[kind] ?? "";

export function sandboxLink(id) {
	return id ? make("a", {href: "#/sandboxes/" + id, "data-sandbox": id}, nameOf({id, name: store.names.get(id)})) : null;
}

/* An event may come before the list from which the name of its sandbox is known. */
function nameSandboxes(place) {
	const link = find("a[data-sandbox]", place);

	if (link)
		setText(link, nameOf({id: link.dataset.sandbox, name: store.names.get(link.dataset.sandbox)}));
}

const FRESH_MS = 2000;

/* What is new is seen to come. */
const freshness = (at) => Date.now() - at < FRESH_MS ? "is-new" : null;

/* The row of an event; with its sandbox, or without. */
export function eventRow(event, withSandbox) {
	return make("tr", {role: "row", class: freshness(event.time_ms)},
		make("td", {class: "nowrap", role: "cell"}, time(event.time_ms)),
		withSandbox ? make("td", {role: "cell"}, sandboxLink(event.sandbox)) : null,
		make("td", {role: "cell"}, make("span", {class: ("badge " + kindClass(event.kind)).trim()}, event.kind)),
		make("td", {class: "whole", role: "cell"}, eventText(event)));
}

/* --- events ----------------------------------------------------------------------------------------------------------------------- */

const filter = {kind: "", text: "", held: null};

function fits(event) {
	const text = filter.text.toLowerCase();

	return (!filter.kind || event.kind === filter.kind) &&
		(!text || [eventText(event), event.sandbox, event.kind, store.names.get(event.sandbox)].some((part) => part?.toLowerCase().includes(text)));
}

function showKinds() {
	const select = find('#events-filter [name="kind"]'), known = new Set([...select.options].map((option) => option.value));

	for (const {kind} of store.events)
		if (!known.has(kind)) {
			known.add(kind);
			select.append(make("option", {value: kind}, kind));
		}
}

export function showEvents() {
	const events = (filter.held ?? store.events).filter(fits).slice(0, SHOWN_MAX);

	showKinds();
	find("#events").hidden = events.length === 0;
	find("#events-empty").hidden = events.length > 0;
	setText(find("#events-empty"), store.events.length > 0 ? "No event matches the filter." :
		"No events since the server was started. New events are listed here as they happen.");
	reconcile(find("#events tbody"), events, (event) => event.key, (event) => eventRow(event, true), nameSandboxes);
}

/* What comes is told to those who do not see it, but not more often than can be listened to. */
let announced = null, announceTimer = 0;

export function announceEvents() {
	if (announceTimer)
		return;
	announceTimer = setTimeout(() => {
		const at = store.events.indexOf(announced), fresh = store.events.slice(0, at < 0 ? undefined : at);

		announceTimer = 0;
		announced = store.events[0] ?? null;
		if (fresh.length === 1)
			setText(find("#announce"), [fresh[0].kind, eventText(fresh[0])].filter(Boolean).join(": "));
		else if (fresh.length > 1)
			setText(find("#announce"), `${fresh.length} events, the last: ` + [fresh[0].kind, eventText(fresh[0])].filter(Boolean).join(": "));
	}, ANNOUNCE_MS);
}

export function setUpEvents() {
	const form = find("#events-filter"), hold = find("#events-hold");

	form.addEventListener("submit", (event) => event.preventDefault());
	form.addEventListener("input", () => {
		filter.kind = form.elements.kind.value;
		filter.text = form.elements.text.value;
		showEvents();
	});
	hold.addEventListener("click", () => {
		filter.held = filter.held ? null : [...store.events];
		hold.setAttribute("aria-pressed", String(filter.held !== null));
		showEvents();
	});
}

/* --- denied ----------------------------------------------------------------------------------------------------------------------- */

function deniedRow(denied) {
	return make("tr", {role: "row", class: freshness(denied.at)},
		make("td", {class: "nowrap", role: "cell"}, time(denied.at)),
		make("td", {role: "cell"}, sandboxLink(denied.sandbox) ?? make("span", {class: "badge"}, "a request")),
		make("td", {class: "whole", role: "cell"}, denied.what),
		make("td", {class: "whole", role: "cell"}, denied.why ?? ""),
		make("td", {class: "whole rule", role: "cell"}, denied.rule ? make("code", {}, denied.rule) : null, denied.place ? make("span", {class: "under mono"}, denied.place) : null));
}

export function showDenied() {
	find("#denied").hidden = store.denied.length === 0;
	find("#denied-empty").hidden = store.denied.length > 0;
	reconcile(find("#denied tbody"), store.denied.slice(0, SHOWN_MAX), (denied) => denied.key, deniedRow, nameSandboxes);
}
