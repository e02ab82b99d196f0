// SPDX-License-Identifier: Apache-2.0
/*
 * A plot of what several sandboxes use together over the last minutes: areas that stand on each other, drawn as SVG.
 */
import {fill, find, make, setText, time} from "./dom.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 600, HEIGHT = 160;
export const COLOURS = 8; /* as many as style.css has: .series-0 and on */

function shape(name, attributes) {
	const element = document.createElementNS(NAMESPACE, name);

	for (const [key, value] of Object.entries(attributes))
		element.setAttribute(key, value);
	return element;
}

/* What an axis ends with: `unit`, doubled until `value` is below it. */
function ceiling(value, unit) {
	while (value > unit)
		unit *= 2;
	return unit;
}

const GAP_MS = 5000;

/* A layer's parts between which nothing was measured: nobody looked, or the server was away. */
function apart({colour, points}) {
	const parts = [];

	points.forEach((point, i) => {
		if (i === 0 || point.at - points[i - 1].at > GAP_MS)
			parts.push({colour, points: []});
		parts.at(-1).points.push(point);
	});
	return parts;
}

export class Plot {
	/*
	 * `name` is written above it, `format` writes its values, `least` is the least that its axis ends with. It goes back as far as there is
	 * something to be seen: so many of the first of `spans` (milliseconds) as that takes.
	 */
	constructor(place, {name, format, least, spans}) {
		Object.assign(this, {format, least, spans, spanMs: spans[0], series: [], at: null});
		this.drawing = shape("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true"});
		this.areas = shape("g", {});
		this.mark = shape("line", {class: "plot-mark", y1: 0, y2: HEIGHT, visibility: "hidden"});
		for (const part of [1, 2, 3])
			this.drawing.append(shape("line", {class: "plot-grid", x1: 0, x2: WIDTH, y1: HEIGHT * part / 4, y2: HEIGHT * part / 4}));
		this.drawing.append(this.areas, this.mark);
		this.value = make("output", {class: "plot-value"});
		this.first = make("span", {});
		this.top = make("span", {class: "plot-top"});
		this.field = make("div", {class: "plot-field", tabindex: "0", role: "slider", "aria-label": name + ": the moment that is read", "aria-valuemin": "0"}, this.drawing, this.top);
		fill(place, make("figcaption", {class: "plot-head"}, make("h2", {}, name), this.value), this.field,
			make("div", {class: "plot-feet", "aria-hidden": "true"}, this.first, make("span", {}, "now")));
		this.listen();
	}

	listen() {
		this.field.addEventListener("pointermove", (event) => {
			const box = this.field.getBoundingClientRect();
			this.read(this.spanMs * (1 - (event.clientX - box.left) / box.width));
		});
		this.field.addEventListener("pointerleave", () => this.read(null));
		this.field.addEventListener("blur", () => this.read(null));
		this.field.addEventListener("keydown", (event) => {
			const step = {ArrowLeft: 5000, ArrowRight: -5000, PageUp: 30000, PageDown: -30000}[event.key];
			if (step) {
				this.read(Math.min(Math.max((this.at ?? 0) + step, 0), this.spanMs));
				event.preventDefault();
			}
		});
	}

	/* Shows what was used so long before now; null: what is used now. */
	read(ago) {
		this.at = ago === null || ago <= 0 ? null : ago;
		this.draw(this.series, this.now, this.since);
	}

	/*
	 * `series`: [{colour, samples: [{at, value}]}], the lowest first; all have a sample where one of them has, or later ones only. `since` is
	 * when the first of them was taken, here or in a plot beside this one.
	 */
	draw(series, now, since) {
		Object.assign(this, {series, now, since, spanMs: this.spans.find((span) => now - since <= span) ?? this.spans.at(-1)});
		const moments = [...new Set(series.flatMap(({samples}) => samples.map(({at}) => at)))]
			.filter((at) => at >= now - this.spanMs).sort((a, b) => a - b);
		const bottoms = new Map(moments.map((at) => [at, 0]));
		const layers = series.map(({colour, samples}) => {
			const points = samples.filter(({at}) => bottoms.has(at)).map(({at, value}) => {
				const bottom = bottoms.get(at);
				bottoms.set(at, bottom + value);
				return {at, bottom, top: bottom + value};
			});
			return {colour, points};
		}).flatMap(apart);
		const top = ceiling(Math.max(this.least, ...bottoms.values()), this.least);

		this.areas.replaceChildren(...layers.flatMap((layer) => this.layer(layer, top)));
		setText(this.top, this.format(top));
		setText(this.first, `${this.spanMs / 60000} min ago`);
		this.tell(moments, bottoms);
	}

	layer({colour, points}, top) {
		const x = (at) => (WIDTH * (1 - (this.now - at) / this.spanMs)).toFixed(1);
		const y = (value) => (HEIGHT * (1 - value / top)).toFixed(1);
		const over = points.map((point) => `${x(point.at)} ${y(point.top)}`);
		const under = points.map((point) => `${x(point.at)} ${y(point.bottom)}`).reverse();

		return points.length < 2 ? [] : [
			shape("path", {class: `plot-area series-${colour}`, d: `M${over.join("L")}L${under.join("L")}Z`}),
			shape("path", {class: `plot-line series-${colour}`, d: `M${over.join("L")}`}),
		];
	}

	tell(moments, totals) {
		const wanted = this.now - (this.at ?? 0);
		const nearest = moments.reduce((best, at) => best === null || Math.abs(at - wanted) < Math.abs(best - wanted) ? at : best, null);
		const text = nearest === null ? this.format(0) : this.format(totals.get(nearest));
		const shown = this.at === null || nearest === null ? text : `${text} at ${time(nearest)}`;

		setText(this.value, shown);
		this.field.setAttribute("aria-valuemax", String(this.spanMs / 1000));
		this.field.setAttribute("aria-valuenow", String(Math.round((this.spanMs - (this.at ?? 0)) / 1000)));
		this.field.setAttribute("aria-valuetext", shown);
		this.mark.setAttribute("visibility", this.at === null ? "hidden" : "visible");
		if (this.at !== null) {
			const x = WIDTH * (1 - (this.now - (nearest ?? wanted)) / this.spanMs);
			this.mark.setAttribute("x1", x);
			this.mark.setAttribute("x2", x);
		}
	}
}

/* A line of one sandbox's values, as high as its own greatest: for rows of tables. */
export function drawSpark(drawing, samples, now, spanMs) {
	const recent = samples.filter(({at}) => at >= now - spanMs);
	const top = Math.max(1, ...recent.map(({value}) => value));

	find("path", drawing).setAttribute("d", recent.length < 2 ? "" : "M" + recent.map(({at, value}) =>
		`${(100 * (1 - (now - at) / spanMs)).toFixed(1)} ${(23 - 22 * value / top).toFixed(1)}`).join("L"));
}

export function makeSpark(colour) {
	const drawing = shape("svg", {class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true"});

	drawing.append(shape("path", {class: `plot-line series-${colour}`, d: ""}));
	return drawing;
}
