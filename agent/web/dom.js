// SPDX-License-Identifier: Apache-2.0
/*
 * How the page is built, and how what others wrote is shown in it: as text, and never as anything else.
 *
 * Names, commands and outputs come from sandboxes, which are hostile. They reach the page through visible() and text nodes only.
 */

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
const HIDDEN_BUT_LINES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

const CONTROLS = ("NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI " +
	"DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US").split(" ");

function picture(character) {
	const code = character.charCodeAt(0);
	const name = code === 0x7f ? "DEL" : CONTROLS[code] ?? "U+" + code.toString(16).toUpperCase().padStart(4, "0");

	return "\u27e8" + name + "\u27e9";
}

/* A text on one line, in which characters that steer terminals, or turn the direction of writing, are to be seen. */
export function visible(text) {
	return String(text).replace(HIDDEN, picture);
}

/* The same of an output: the ends of its lines, and tabs, stay what they are. */
export function visibleLines(text) {
	return String(text).replace(/\r\n/g, "\n").replace(HIDDEN_BUT_LINES, picture);
}

/* A text node with such an output. */
export function linesNode(text) {
	return document.createTextNode(visibleLines(text));
}

/*
 * An element. `with_` has its class, attributes, and handlers ("onclick"); `children` are nodes, and texts, which become text nodes that are
 * visible(). null is left out.
 */
export function make(name, with_ = {}, ...children) {
	const element = document.createElement(name);

	for (const [key, value] of Object.entries(with_)) {
		if (key.startsWith("on"))
			element.addEventListener(key.slice(2), value);
		else if (value === true || value === false)
			element.toggleAttribute(key, value);
		else if (value !== null && value !== undefined)
			element.setAttribute(key, value);
	}
	fill(element, ...children);
	return element;
}

/* What is in an element from now on. */
export function fill(element, ...children) {
	element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
		.map((child) => child instanceof Node ? child : document.createTextNode(visible(child))));
}

/* Sets the text of an element, if it is another one: what is selected in it stays so otherwise. */
export function setText(element, text) {
	const shown = visible(text);

	if (element.textContent !== shown)
		element.textContent = shown;
}

export function setClass(element, name) {
	if (element.className !== name)
		element.className = name;
}

export const find = (selector, from = document) => from.querySelector(selector);
export const findAll = (selector, from = document) => [...from.querySelectorAll(selector)];

/*
 * Keeps the children of `parent` in the order of `items`, one for each, by its key: `create(item)` makes it and `update(element, item)` has
 * it show the item. Elements of items that stay do so, and with them the focus.
 */
export function reconcile(parent, items, key, create, update) {
	const known = parent.elementsByKey ??= new Map();
	const wanted = new Set(items.map(key));
	let at = parent.firstElementChild;

	for (const [name, element] of known) {
		if (wanted.has(name))
			continue;
		if (element === at)
			at = at.nextElementSibling;
		element.remove();
		known.delete(name);
	}
	for (const item of items) {
		let element = known.get(key(item));

		if (!element) {
			element = create(item);
			known.set(key(item), element);
		}
		if (element === at)
			at = at.nextElementSibling;
		else
			parent.insertBefore(element, at);
		update(element, item);
	}
}

/* --- how values are written ------------------------------------------------------------------------------------------------------- */

const NOTHING = "\u2013";

export function bytes(number) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let unit = 0;

	if (number === null || number === undefined)
		return NOTHING;
	while (number >= 1024 && unit < units.length - 1) {
		number /= 1024;
		unit++;
	}
	return (unit === 0 || number >= 100 ? number.toFixed(0) : number.toFixed(1)) + " " + units[unit];
}

export function percent(number) {
	return number === null || number === undefined ? NOTHING : number.toFixed(number < 10 ? 1 : 0) + " %";
}

export function count(number) {
	return number === null || number === undefined ? NOTHING : String(number);
}

/* How long, in the two largest units: "3 min 20 s". */
export function duration(ms) {
	const units = [["d", 86400000], ["h", 3600000], ["min", 60000], ["s", 1000]];
	const first = units.findIndex(([, length]) => ms >= length);

	if (ms === null || ms === undefined || ms < 0)
		return NOTHING;
	if (first < 0)
		return Math.round(ms) + " ms";
	if (units[first][0] === "s")
		return (ms / 1000).toFixed(ms < 10000 ? 2 : 0) + " s";
	const [name, length] = units[first], [next, nextLength] = units[first + 1];
	const rest = Math.floor(ms % length / nextLength);
	return Math.floor(ms / length) + " " + name + (rest ? " " + rest + " " + next : "");
}

/* The same in whole seconds: what grows while it is looked at. */
export function age(ms) {
	return duration(ms < 1000 ? ms < 0 ? ms : 0 : Math.floor(ms / 1000) * 1000).replace(/\.\d+ s$/, " s").replace(/^0 ms$/, "0 s");
}

const two = (number) => String(number).padStart(2, "0");

/* The time of day, and the day where it is not today. */
export function time(ms) {
	const date = new Date(ms), today = new Date();
	const day = date.toDateString() === today.toDateString() ? "" :
		date.getFullYear() + "-" + two(date.getMonth() + 1) + "-" + two(date.getDate()) + " ";

	return day + two(date.getHours()) + ":" + two(date.getMinutes()) + ":" + two(date.getSeconds());
}

/* A sandbox by its name, or the beginning of its id. */
export function nameOf(sandbox) {
	return sandbox.name || sandbox.id.slice(0, 12);
}
