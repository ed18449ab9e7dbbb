// The script of an Opscope report: it makes the timelines move, the tables sortable, and selects
// the same thing everywhere. Without it, the report has static pictures and tables.
//
// The data comes from a file of strangers. It is parsed as JSON, and shown as text alone: nothing
// here makes markup from a string.
"use strict";

// -- numbers and texts ---------------------------------------------------------------------------

const NARROW = "\u202f", THIN = "\u2009";
const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
// Where a time comes from, as bits; 0 is measured.
const ROUNDED = 2, ROUNDING_TICKS = 1000;
const TIMINGS = [[1, "placed"], [2, "rounded"], [4, "estimated"], [8, "derived"]];
const BAND = { process: 0, row: 1, strip: 2, gap: 3, counter: 4 };

function groupDigits(number) {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, THIN).replace("-", "\u2212");
}

/** "1.643 µs", "385 ns", "0": as Opscope formats a duration. */
function formatTime(ns) {
  if (ns === 0) return "0";
  const size = Math.abs(ns);
  const [unit, factor] =
    UNITS.find(([, f]) => size >= f || Math.round((size / f) * 1e6) / 1e6 >= 1) || UNITS[3];
  if (factor === 1 && Number.isInteger(ns)) return groupDigits(ns) + NARROW + unit;
  const [whole, rest] = (ns / factor).toFixed(3).split(".");
  return `${groupDigits(whole)}.${rest}${NARROW}${unit}`;
}

/** "< 1 µs": what a file says of a duration that it cuts to 0. */
function cutText(clock) {
  const ns = (ROUNDING_TICKS * Number(clock.numerator)) / Number(clock.denominator);
  return `<${NARROW}${ns === 1000 ? `1${NARROW}µs` : formatTime(ns)}`;
}

/** The ruler's lines between two times: their ns, a label each, and the unit of the labels. */
function rulerLines(t0, t1, width, origin) {
  const span = t1 - t0;
  const [unit, factor] = UNITS.find(([, f]) => span >= f) || UNITS[3];
  const least = (span * 80) / Math.max(width, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least) || 10 * power;
  let decimals = 0;
  while (decimals < 9 && Math.abs((step / factor) * 10 ** decimals) < 1) decimals += 1;
  const lines = [];
  for (let n = Math.ceil((t0 - origin) / step); origin + n * step <= t1; n += 1) {
    lines.push({ ns: origin + n * step, label: ((n * step) / factor).toFixed(decimals) });
  }
  return { unit, lines };
}

/** As much of a text as fits into some px. */
function cutText(text, width) {
  const most = Math.floor(width / 6.4);
  if (text.length <= most) return text;
  return most < 3 ? "" : text.slice(0, most - 1) + "…";
}

// -- the slices ----------------------------------------------------------------------------------

/**
 * The boxes of a profile as arrays, from their differences. Times are ns on the axis; `exact` is
 * the number of a slice among those that are exact, -1 for a group of several.
 */
function decodeProfile(profile) {
  const n = profile.dur.length;
  const rate = Number(profile.clock.numerator) / Number(profile.clock.denominator);
  const start = new Float64Array(n), end = new Float64Array(n);
  const exact = new Int32Array(n), count = new Float64Array(n).fill(1);
  const busy = new Float64Array(n).fill(1);
  const rows = [];
  let at = 0;
  for (const [band, size, process, thread] of profile.rows) {
    let tick = 0;
    for (let i = at; i < at + size; i += 1) {
      tick += profile.gap[i];
      start[i] = profile.start_ns + tick * rate;
      tick += profile.dur[i];
      end[i] = profile.start_ns + tick * rate;
    }
    rows.push({ band, process, thread, first: at, last: at + size });
    at += size;
  }
  let box = 0;
  profile.group.forEach((step, i) => {
    box += step;
    exact[box] = -1;
    count[box] = profile.count[i];
    busy[box] = profile.dur[box] ? Math.min(profile.busy[i] / profile.dur[box], 1) : 1;
  });
  let next = 0;
  for (let i = 0; i < n; i += 1) {
    if (exact[i] !== -1) {
      exact[i] = next;
      next += 1;
    }
  }
  return { profile, rows, start, end, exact, count, busy, rate };
}

/** The first of the boxes [first, last) that ends after a time; boxes of a row do not overlap. */
function firstAfter(boxes, first, last, time) {
  let low = first, high = last;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (boxes.end[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The duration of a box in ns, from its ticks alone. */
function durationNs(boxes, i) {
  const { numerator, denominator } = boxes.profile.clock;
  return Math.floor((boxes.profile.dur[i] * Number(numerator)) / Number(denominator));
}

/** Which keys of a profile a selection means: the slices of an operator, module or line. */
function keysOf(data, profile, selection) {
  const column = { operator: 0, module: 1 }[selection.kind];
  return profile.keys.map((key) => {
    if (selection.kind === "line") {
      const places = key[2] < 0 ? [] : data.places[key[2]];
      return places.some(([file, line]) => file === selection.file && line === selection.line);
    }
    return profile.number === selection.profile && key[column] === selection.number;
  });
}

// -- a timeline ----------------------------------------------------------------------------------

const RULER = 24, LEAST_NS = 1, CLICK = 4;

class Timeline {
  constructor(report, axis, place) {
    this.report = report;
    this.axis = axis;
    this.all = axis.profiles.map(decodeProfile);
    this.whole = withMargin(axis.span);
    [this.t0, this.t1] = axis.view;
    this.hits = null; // per profile, which exact slices are selected or found
    this.chosen = null; // { boxes, i } of the selected box
    this.build(place);
  }

  build(place) {
    const tools = element("div", "buttons");
    const buttons = [
      ["Zoom in", () => this.zoom(0.5)], ["Zoom out", () => this.zoom(2)],
      ["Earlier", () => this.pan(-0.3)], ["Later", () => this.pan(0.3)],
      ["Whole trace", () => this.show(...this.whole)],
      ["First view", () => this.show(...this.axis.view)],
    ];
    for (const [name, act] of buttons) {
      const button = element("button", "", name);
      button.type = "button";
      button.addEventListener("click", act);
      tools.append(button);
    }
    const hint = element("p", "hint", "Drag to pan. Click, then turn the wheel to zoom at the " +
      "mouse, or hold Ctrl. Keys: W and S zoom, A and D pan, 0 shows all, Esc selects nothing.");
    this.scroller = element("div", "scroller");
    this.canvas = element("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", `Timeline of ${this.axis.title}`);
    const space = element("div", "space");
    space.style.height = `${this.axis.height + RULER + 4}px`;
    space.append(this.canvas);
    this.scroller.append(space);
    this.tip = element("div", "tip");
    this.tip.hidden = true;
    place.append(tools, this.scroller, hint, this.tip);
    place.hidden = false;
    this.scroller.addEventListener("scroll", () => this.redraw());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", (event) => this.release(event));
    this.canvas.addEventListener("pointercancel", () => { this.drag = null; });
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("focus", () => this.redraw());
    this.canvas.addEventListener("blur", () => this.redraw());
    new ResizeObserver(() => requestAnimationFrame(() => this.resize())).observe(this.scroller);
  }

  get left() { return this.width < 560 ? 72 : 168; }
  get room() { return Math.max(this.width - this.left, 1); }
  get perPixel() { return (this.t1 - this.t0) / this.room; }
  timeAt(x) { return this.t0 + (x - this.left) * this.perPixel; }

  resize() {
    this.width = this.scroller.clientWidth;
    this.height = this.scroller.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(Math.round(this.width * ratio), 1);
    this.canvas.height = Math.max(Math.round(this.height * ratio), 1);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.ratio = ratio;
    this.redraw();
  }

  show(t0, t1) {
    const [low, high] = this.whole;
    const span = Math.min(Math.max(t1 - t0, LEAST_NS), high - low);
    this.t0 = Math.min(Math.max(t0, low), high - span);
    this.t1 = this.t0 + span;
    this.redraw();
  }

  zoom(factor, at = (this.t0 + this.t1) / 2) {
    this.show(at - (at - this.t0) * factor, at + (this.t1 - at) * factor);
  }

  pan(share) {
    const by = (this.t1 - this.t0) * share;
    this.show(this.t0 + by, this.t1 + by);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = (this.t0 + this.t1) / 2;
    const acts = {
      w: () => this.zoom(0.7), "+": () => this.zoom(0.7), s: () => this.zoom(1 / 0.7, middle),
      "-": () => this.zoom(1 / 0.7, middle), a: () => this.pan(-0.15), d: () => this.pan(0.15),
      arrowleft: () => this.pan(-0.15), arrowright: () => this.pan(0.15),
      0: () => this.show(...this.whole), home: () => this.show(...this.whole),
      escape: () => this.report.select(null),
    };
    const act = acts[event.key.toLowerCase()];
    if (act) {
      act();
      event.preventDefault();
    }
  }

  wheel(event) {
    const isOurs = document.activeElement === this.canvas || event.ctrlKey || event.metaKey;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.pan(event.deltaX / this.room);
    } else if (isOurs && !event.shiftKey) {
      this.zoom(1.0015 ** event.deltaY, this.timeAt(event.offsetX));
    } else {
      return; // the page scrolls
    }
    event.preventDefault();
  }

  press(event) {
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { x: event.clientX, y: event.clientY, t0: this.t0, t1: this.t1,
      top: this.scroller.scrollTop, moved: false };
  }

  move(event) {
    const drag = this.drag;
    if (!drag) {
      this.hover(event);
      return;
    }
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    drag.moved = drag.moved || Math.abs(dx) + Math.abs(dy) > CLICK;
    if (!drag.moved) return;
    const by = dx * ((drag.t1 - drag.t0) / this.room);
    this.scroller.scrollTop = drag.top - dy;
    this.show(drag.t0 - by, drag.t1 - by);
  }

  release(event) {
    const drag = this.drag;
    this.drag = null;
    if (drag && !drag.moved) this.report.choose(this, this.boxAt(event.offsetX, event.offsetY));
  }

  hover(event) {
    const found = this.boxAt(event.offsetX, event.offsetY);
    this.tip.hidden = !found;
    if (!found) return;
    this.tip.textContent = describe(found.boxes, found.i).join("\n");
    const right = event.clientX > window.innerWidth / 2;
    this.tip.style.left = right ? "" : `${event.clientX + 14}px`;
    this.tip.style.right = right ? `${window.innerWidth - event.clientX + 14}px` : "";
    this.tip.style.top = `${event.clientY + 14}px`;
  }

  boxAt(x, y) {
    if (x < this.left || y < RULER) return null;
    const { bands } = this.axis, line = y - RULER + this.scroller.scrollTop;
    const slack = 3 * this.perPixel, time = this.timeAt(x);
    for (const boxes of this.all) {
      for (const row of boxes.rows) {
        const top = bands.y[row.band];
        if (line < top || line >= top + bands.height[row.band]) continue;
        const isStrip = bands.kind[row.band] === BAND.strip;
        const near = isStrip ? slack : this.perPixel;
        const i = firstAfter(boxes, row.first, row.last, time - near);
        if (i < row.last && boxes.start[i] <= time + (isStrip ? slack : 0)) return { boxes, i };
      }
    }
    return null;
  }

  /** Show a box in the middle, with its surroundings. */
  reveal(boxes, i) {
    const start = boxes.start[i], span = Math.max((boxes.end[i] - start) * 8, LEAST_NS);
    const middle = (start + boxes.end[i]) / 2;
    const half = Math.min(span, this.t1 - this.t0) / 2;
    this.show(middle - half, middle + half);
    const row = boxes.rows.find((one) => i >= one.first && i < one.last);
    const top = this.axis.bands.y[row.band];
    if (top < this.scroller.scrollTop || top > this.scroller.scrollTop + this.height - 80) {
      this.scroller.scrollTop = Math.max(top - this.height / 2, 0);
    }
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    const context = this.canvas.getContext("2d");
    if (!context || !this.width) return;
    const colors = this.report.colors();
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = colors.canvas;
    context.fillRect(0, 0, this.width, this.height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const top = this.scroller.scrollTop;
    context.save();
    context.beginPath();
    context.rect(0, RULER, this.width, this.height - RULER);
    context.clip();
    this.drawLines(context, colors);
    this.drawCounters(context, colors, top);
    for (const boxes of this.all) this.drawProfile(context, colors, boxes, top);
    this.drawTitles(context, colors, top);
    context.restore();
    this.drawRuler(context, colors);
  }

  drawLines(context, colors) {
    this.ruler = rulerLines(this.t0, this.t1, this.room, this.axis.span[0]);
    context.fillStyle = colors.line;
    for (const { ns } of this.ruler.lines) {
      context.fillRect(this.xOf(ns), RULER, 1, this.height);
    }
  }

  drawRuler(context, colors) {
    context.fillStyle = colors.text2;
    context.textAlign = "left";
    context.fillText(this.ruler.unit, 6, RULER / 2);
    context.textAlign = "center";
    for (const { ns, label } of this.ruler.lines) {
      const x = this.xOf(ns);
      if (x > this.left - 4) context.fillText(label, x, RULER / 2);
    }
    context.textAlign = "left";
    if (document.activeElement === this.canvas) {
      context.strokeStyle = colors.accent;
      context.lineWidth = 2;
      context.strokeRect(1, 1, this.width - 2, this.height - 2);
    }
  }

  xOf(ns) { return this.left + (ns - this.t0) / this.perPixel; }

  drawTitles(context, colors, top) {
    const { bands } = this.axis;
    bands.title.forEach((title, band) => {
      const y = RULER + bands.y[band] - top, height = bands.height[band];
      if (y > this.height || y + height < RULER) return;
      const isProcess = bands.kind[band] === BAND.process;
      context.fillStyle = isProcess ? colors.chrome : colors.canvas;
      context.fillRect(0, y, isProcess ? this.width : this.left, height);
      if (!title) return;
      context.fillStyle = isProcess ? colors.text1 : colors.text2;
      const room = isProcess ? this.width - 12 : this.left - 10;
      context.fillText(cutText(title, room), 6, y + height / 2 + 0.5, room);
    });
  }

  drawProfile(context, colors, boxes, top) {
    const { bands } = this.axis, { profile } = boxes;
    const hits = this.hits ? this.hits.get(profile) : null;
    for (const row of boxes.rows) {
      const band = row.band, y = RULER + bands.y[band] - top;
      if (y > this.height || y + bands.height[band] < RULER) continue;
      const isStrip = bands.kind[band] === BAND.strip;
      const height = isStrip ? bands.height[band] : bands.slice_height[band];
      let covered = -Infinity;
      const first = firstAfter(boxes, row.first, row.last, this.t0);
      for (let i = first; i < row.last && boxes.start[i] <= this.t1; i += 1) {
        const x0 = Math.max(this.xOf(boxes.start[i]), this.left - 2);
        const x1 = Math.min(this.xOf(boxes.end[i]), this.width + 2);
        const number = boxes.exact[i];
        const isChosen = this.chosen && this.chosen.boxes === boxes && this.chosen.i === i;
        const isHit = hits && number >= 0 && hits[number];
        if (x1 < covered && !isHit && !isChosen) continue; // less than a pixel, in one drawn
        if (isStrip) this.drawMark(context, colors, x0, y + height / 2, hits && !isHit);
        else this.drawBox(context, colors, boxes, i, x0, x1, y + 1, height, hits && !isHit);
        covered = Math.max(Math.floor(x1) + 1, covered);
        if (isChosen) this.drawFrame(context, colors, x0, x1, y, height);
      }
    }
  }

  drawBox(context, colors, boxes, i, x0, x1, y, height, isDim) {
    const color = boxes.profile.color[i], number = boxes.exact[i];
    const wide = Math.max(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 1);
    const faint = number < 0 ? 0.35 + 0.65 * boxes.busy[i] : 1;
    context.globalAlpha = isDim ? 0.25 * faint : faint;
    context.fillStyle = colors.fill[color];
    context.fillRect(x0, y, wide, height);
    if (number >= 0 && wide > 3) {
      context.strokeStyle = colors.edge[color];
      context.lineWidth = 0.5;
      context.strokeRect(x0 + 0.25, y + 0.25, wide - 0.5, height - 0.5);
    }
    if (number >= 0 && wide > 24 && height > 10) {
      const label = cutText(boxes.profile.texts[boxes.profile.text[number]][0], wide - 8);
      context.globalAlpha = isDim ? 0.5 : 1;
      context.fillStyle = isDim ? colors.text2 : colors.label[color];
      const x = Math.max(x0, this.left) + 4;
      if (label) context.fillText(label, x, y + height / 2 + 0.5, Math.max(x1 - x - 4, 1));
    }
    context.globalAlpha = 1;
  }

  drawMark(context, colors, x, y, isDim) {
    context.globalAlpha = isDim ? 0.3 : 1;
    context.fillStyle = colors.diamond;
    context.beginPath();
    context.moveTo(x, y - 4);
    context.lineTo(x + 4, y);
    context.lineTo(x, y + 4);
    context.lineTo(x - 4, y);
    context.fill();
    context.globalAlpha = 1;
  }

  drawFrame(context, colors, x0, x1, y, height) {
    context.strokeStyle = colors.accent;
    context.lineWidth = 2;
    context.strokeRect(x0 - 1, y, Math.max(x1 - x0, 3) + 1, height + 2);
  }

  drawCounters(context, colors, top) {
    const { bands } = this.axis;
    for (const counter of this.axis.counters) {
      const bottom = RULER + bands.y[counter.band] + bands.height[counter.band] - top - 1;
      const height = bands.height[counter.band] - 2;
      const scale = height / Math.max(counter.top - counter.bottom, Number.MIN_VALUE);
      const areas = [[counter.most, counter.mean.length ? colors.peak : colors.area]];
      if (counter.mean.length) areas.push([counter.mean, colors.area]);
      for (const [values, color] of areas) {
        context.fillStyle = color;
        for (let i = 0; i < values.length; i += 1) {
          const last = i + 1 < values.length ? counter.at[i + 1] : this.t1;
          if (last < this.t0 || counter.at[i] > this.t1) continue;
          const x0 = Math.max(this.xOf(counter.at[i]), this.left);
          const x1 = Math.min(this.xOf(last), this.width);
          const tall = (values[i] - counter.bottom) * scale;
          if (tall > 0) {
            context.fillRect(x0, bottom - tall, Math.max(x1 - x0, 1), tall);
            context.save();
            context.fillStyle = colors.counterLine;
            context.fillRect(x0, bottom - tall, Math.max(x1 - x0, 1), 1);
            context.restore();
          }
        }
      }
    }
  }
}

function withMargin([t0, t1]) {
  const margin = Math.max((t1 - t0) / 50, 1);
  return [t0 - margin, t1 + margin];
}

/** What a box is, in lines. */
function describe(boxes, i) {
  const { profile } = boxes, number = boxes.exact[i];
  const row = boxes.rows.find((one) => i >= one.first && i < one.last);
  const where = [row.process, row.thread].filter(Boolean).join(" › ");
  if (number < 0) {
    const span = formatTime(durationNs(boxes, i));
    return [`${groupDigits(boxes.count[i])} slices, drawn as a group`,
      `${(100 * boxes.busy[i]).toFixed(1)}${NARROW}% of ${span} covered`, where];
  }
  const [label, name] = profile.texts[profile.text[number]];
  const timing = profile.timing.length ? profile.timing[number] : 0, ns = durationNs(boxes, i);
  const duration = profile.native[number] ||
    (ns === 0 && timing & ROUNDED ? cutText(profile.clock) : formatTime(ns));
  const origin = TIMINGS.filter(([bit]) => timing & bit).map(([, word]) => word).join(", ");
  return [label || "(no name)", origin ? `${duration} (${origin})` : duration,
    ...(name === undefined ? [] : [`in the file: ${name}`]), where];
}

// -- the report ----------------------------------------------------------------------------------

function element(name, kind = "", text = "") {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  if (text) made.textContent = text;
  return made;
}

class Report {
  constructor(data) {
    this.data = data;
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.output = document.getElementById("selected");
    this.matches = document.getElementById("matches");
    this.at = -1; // of the hits, which one was shown last
    this.timelines = [...document.querySelectorAll(".axis")].map(
      (place) => new Timeline(this, data.axes[Number(place.dataset.axis)],
        place.querySelector(".live")));
    this.dark.addEventListener("change", () => this.repaint());
    const tools = document.querySelector(".tools");
    if (tools) {
      tools.hidden = false;
      document.getElementById("search").addEventListener("input", (event) =>
        this.search(event.target.value));
      document.getElementById("next-match").addEventListener("click", () => this.next());
    }
    document.querySelectorAll("tr[data-p]").forEach((row) => this.makeSelectable(row));
    document.querySelectorAll("table.sortable").forEach(makeSortable);
    document.documentElement.classList.add("js");
  }

  colors() {
    const own = this.data.colors[this.dark.matches ? 1 : 0];
    const style = getComputedStyle(document.documentElement);
    const token = (name) => style.getPropertyValue(`--${name}`).trim();
    return { ...own, canvas: token("canvas"), chrome: token("chrome"), line: token("hairline"),
      text1: token("text1"), text2: token("text2"), accent: token("accent"),
      diamond: token("diamond"), area: token("counter-area"), peak: token("counter-peak"),
      counterLine: token("counter-line") };
  }

  repaint() { this.timelines.forEach((one) => one.redraw()); }

  makeSelectable(row) {
    const { p, k, n, f, line } = row.dataset;
    const selection = line === undefined
      ? { kind: k, profile: Number(p), number: Number(n) }
      : { kind: "line", file: Number(f), line: Number(line) };
    const cell = line === undefined ? row.lastElementChild : row.children[3];
    const button = element("button", "select", cell.textContent);
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    cell.replaceChildren(button);
    row.addEventListener("click", () => this.select(
      row.classList.contains("selected") && !this.chosenBox ? null : selection));
  }

  /** Select the slices of an operator, module or line; null: nothing. */
  select(selection) {
    this.chosenBox = null;
    this.timelines.forEach((one) => { one.chosen = null; });
    this.mark(selection);
    if (!selection) {
      this.say([]);
      return;
    }
    const row = document.querySelector("tr.selected");
    const name = row ? row.querySelector("button").textContent : "";
    const what = selection.kind === "line" ? `Line ${selection.line}` : name;
    this.say([`${what}: ${groupDigits(this.count())} slices in this report`]);
  }

  /** Select one box of a timeline, its operator and its lines; groups are only described. */
  choose(timeline, found) {
    if (!found) {
      this.select(null);
      return;
    }
    const { boxes, i } = found, number = boxes.exact[i];
    this.select(null);
    timeline.chosen = number < 0 ? null : found;
    this.chosenBox = timeline.chosen;
    const key = number < 0 ? null : boxes.profile.keys[boxes.profile.key[number]];
    if (key) {
      if (key[0] >= 0) {
        this.mark({ kind: "operator", profile: boxes.profile.number, number: key[0] });
      }
      this.markLines(key[2] < 0 ? [] : this.data.places[key[2]]);
    }
    this.say(describe(boxes, i));
    this.repaint();
  }

  mark(selection) {
    const rows = [...document.querySelectorAll("tr[data-p]")];
    const isOf = (row) => selection && (selection.kind === "line"
      ? row.dataset.line === String(selection.line) && row.dataset.f === String(selection.file)
      : row.dataset.k === selection.kind && row.dataset.n === String(selection.number)
        && row.dataset.p === String(selection.profile));
    rows.forEach((row) => this.pick(row, isOf(row)));
    if (selection && selection.kind === "operator") {
      const row = rows.find(isOf);
      const places = row && row.dataset.l !== undefined ? this.data.places[Number(row.dataset.l)] : [];
      this.markLines(places);
    }
    this.find(selection && ((profile) => {
      const keys = keysOf(this.data, profile, selection);
      return (number) => keys[profile.key[number]];
    }));
  }

  markLines(places) {
    for (const [file, line] of places) {
      document.querySelectorAll(`tr[data-f="${file}"][data-line="${line}"]`).forEach(
        (row) => this.pick(row, true));
    }
  }

  pick(row, isSelected) {
    const button = row.querySelector("button.select");
    if (button) button.setAttribute("aria-pressed", String(Boolean(isSelected)));
    if (row.classList.toggle("selected", Boolean(isSelected))) {
      const scroller = row.closest(".scroll");
      const { offsetTop } = row;
      if (offsetTop < scroller.scrollTop + 30 ||
          offsetTop > scroller.scrollTop + scroller.clientHeight - 30) {
        scroller.scrollTop = Math.max(offsetTop - scroller.clientHeight / 2, 0);
      }
    }
  }

  /** Remember which slices are found; isFound: from a profile to a test of its exact slices. */
  find(isFound) {
    this.at = -1;
    for (const timeline of this.timelines) {
      timeline.hits = isFound && new Map(timeline.all.map(({ profile }) => {
        const test = isFound(profile);
        return [profile, Uint8Array.from(profile.key, (_, number) => (test(number) ? 1 : 0))];
      }));
      timeline.redraw();
    }
  }

  count() {
    const each = this.timelines.flatMap((one) => (one.hits ? [...one.hits.values()] : []));
    return each.reduce((sum, hits) => sum + hits.reduce((a, b) => a + b, 0), 0);
  }

  search(query) {
    const wanted = query.trim().toLowerCase();
    this.select(null);
    document.querySelectorAll("table.sortable tbody tr").forEach((row) => {
      row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
    });
    this.find(wanted === "" ? null : (profile) => {
      const texts = profile.texts.map((own) => own.some((t) => t.toLowerCase().includes(wanted)));
      return (number) => texts[profile.text[number]];
    });
    this.matches.textContent = wanted === "" ? "" : `${groupDigits(this.count())} slices`;
  }

  /** Go to the next slice that is selected or found. */
  next() {
    const all = this.timelines.flatMap((timeline) => (timeline.hits ? timeline.all : []).flatMap(
      (boxes) => {
        const hits = timeline.hits.get(boxes.profile);
        return Array.from(boxes.exact, (number, i) => ({ timeline, boxes, i, number }))
          .filter(({ number }) => number >= 0 && hits[number]);
      }));
    if (!all.length) return;
    all.sort((a, b) => a.boxes.start[a.i] - b.boxes.start[b.i]);
    this.at = (this.at + 1) % all.length;
    const { timeline, boxes, i } = all[this.at];
    this.timelines.forEach((one) => { one.chosen = null; });
    timeline.chosen = { boxes, i };
    timeline.reveal(boxes, i);
    this.say([`${groupDigits(this.at + 1)} of ${groupDigits(all.length)}`, ...describe(boxes, i)]);
  }

  say(lines) {
    if (!this.output) return;
    this.output.hidden = !lines.length;
    this.output.textContent = lines.join(" · ");
  }
}

/** Give the columns of a table buttons that sort it. */
function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = element("button", "sort", head.textContent);
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const isDown = head.getAttribute("aria-sort") === "descending";
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", isDown ? "ascending" : "descending");
      const rows = [...body.rows];
      rows.sort((a, b) => compareCells(a.cells[column], b.cells[column]) * (isDown ? 1 : -1));
      body.append(...rows);
    });
  });
}

function compareCells(a, b) {
  const x = a.dataset.v, y = b.dataset.v;
  if (x !== undefined && y !== undefined) return Number(x) - Number(y);
  if (x !== undefined || y !== undefined) return x === undefined ? -1 : 1;
  return a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
}

if (typeof document !== "undefined") {
  const source = document.getElementById("opscope-timeline");
  new Report(JSON.parse(source.textContent));
} else {
  module.exports = { compareCells, cutText, decodeProfile, describe, durationNs, firstAfter,
    formatTime, groupDigits, keysOf, rulerLines };
}
