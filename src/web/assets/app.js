// Adds what is nicer with a script; every page works without it.
"use strict";

const say = (text) => {
  let place = document.getElementById("said");
  if (!place) {
    place = document.createElement("p");
    place.id = "said";
    place.className = "hidden";
    place.setAttribute("role", "status");
    document.body.append(place);
  }
  place.textContent = text;
};

// The language of the page, for numbers and dates; in English the day stands before the month, as the server writes it.
const pageLanguage = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;

const prepare = () => {
  for (const made of document.querySelectorAll("button[data-copy], .every")) {
    made.hidden = false;
  }
  for (const button of document.querySelectorAll("[data-share]")) button.hidden = !navigator.share;
};

// Over plain HTTP browsers have no clipboard for scripts, and some allow no script to copy: there the text is selected, ready for a key.
const copied = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.className = "hidden";
    field.value = text;
    field.readOnly = true;
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    return isCopied;
  }
};
const COPY_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘C" : "Ctrl+C";
// What a page says in its language.
const phrases = document.body.dataset;
const selectText = (button) => {
  const press = phrases.press.replace("{key}", COPY_KEY);
  const field = document.createElement("input");
  field.readOnly = true;
  field.className = "inline copied";
  field.value = button.dataset.copy;
  field.setAttribute("aria-label", phrases.text);
  const note = document.createElement("span");
  note.className = "hint";
  note.textContent = press;
  field.addEventListener("blur", () => {
    field.remove();
    note.remove();
  });
  button.before(field);
  button.after(note);
  field.focus();
  field.select();
  say(press);
};
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const isCopied = await copied(button.dataset.copy);
  if (!isCopied) {
    selectText(button);
    return;
  }
  const done = phrases.copied;
  const icon = button.querySelector("use");
  const before = icon ? icon.getAttribute("href") : button.textContent;
  const show = (now) => {
    if (icon) icon.setAttribute("href", now);
    else button.textContent = now;
  };
  if (before !== done && !before.endsWith("#check")) {
    show(icon ? before.replace("#copy", "#check") : done);
    setTimeout(() => show(before), 1500);
  }
  say(done);
});

// What is done to the selected links is at hand as soon as one is selected.
const countSelected = () => {
  const count = document.querySelectorAll("#list input[name=code]:checked").length;
  const place = document.getElementById("selected");
  if (!place) return;
  place.textContent = count === 0 ? "" : `: ${count}`;
  if (count > 0) place.closest("details").open = true;
};
document.addEventListener("change", (event) => {
  if (event.target.id === "all") {
    for (const box of document.querySelectorAll("input[name=code]")) box.checked = event.target.checked;
  }
  if (event.target.id === "all" || event.target.name === "code") countSelected();
});

// A second click on a button sends a form no second time; a later one does, where the first was stopped.
const SENT_FOR_MS = 10_000;
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (Date.now() - form.dataset.sent < SENT_FOR_MS) event.preventDefault();
  else form.dataset.sent = Date.now();
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
  countSelected();
});

// What was entered in a form whose session had ended is entered again after signing in. No password is kept.
const DRAFT = "shunt-draft";
document.addEventListener("submit", ({ target: form }) => {
  if (form.method !== "post") return;
  const secret = [...form.querySelectorAll("[type=password], [name=csrf]")].map(({ name }) => name);
  const fields = [...new FormData(form)].filter(([name]) => !secret.includes(name));
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify({ path: location.pathname, action: form.getAttribute("action"), fields }));
  } catch {
    sessionStorage.removeItem(DRAFT);
  }
});
const enterAgain = () => {
  const draft = JSON.parse(sessionStorage.getItem(DRAFT));
  sessionStorage.removeItem(DRAFT);
  const from = document.referrer && new URL(document.referrer);
  if (!draft || draft.path !== location.pathname || !from || from.pathname !== "/app/login") return;
  const form = [...document.forms].find((form) => form.method === "post" && form.getAttribute("action") === draft.action);
  if (!form || draft.fields.length === 0) return;
  const left = new Map();
  for (const [name, value] of draft.fields) left.set(name, [...(left.get(name) ?? []), value]);
  for (const field of form.elements) {
    if (!field.name || field.name === "csrf" || ["password", "submit", "file"].includes(field.type)) continue;
    if (field.type === "checkbox") field.checked = left.get(field.name)?.includes(field.value) ?? false;
    else if (left.get(field.name)?.length) field.value = left.get(field.name).shift();
  }
  form.closest("details")?.setAttribute("open", "");
  const note = document.createElement("p");
  note.className = "warning";
  note.setAttribute("role", "status");
  note.textContent = phrases.again;
  form.prepend(note);
  note.scrollIntoView({ block: "center" });
};
enterAgain();

// What was done is said once: a reload does not say it again. What is left to do stays in the address.
const SAID = ["done", "undo", "n", "rest", "with", "since", "until", "saved"];
const said = new URL(location);
if (!said.searchParams.has("rest") && SAID.some((name) => said.searchParams.has(name))) {
  for (const name of SAID) said.searchParams.delete(name);
  history.replaceState(history.state, "", said);
}

// The way back from a link leads to the list as it was.
const PLACE = "shunt-list";
const notePlace = () => {
  if (location.pathname !== "/app") return;
  const query = new URLSearchParams(location.search);
  for (const name of SAID) query.delete(name);
  sessionStorage.setItem(PLACE, query.toString());
};
document.addEventListener("htmx:pushedIntoHistory", notePlace);
notePlace();
const place = sessionStorage.getItem(PLACE);
const back = document.querySelector("[data-back]");
if (back && place) back.href = `/app?${place}`;

// Which tab of each card is shown stays as it is.
let tabs = [];
document.addEventListener("htmx:beforeSwap", () => {
  tabs = [...document.querySelectorAll("input[name^=tab-]:checked")].map(({ id }) => id);
});
document.addEventListener("htmx:afterSwap", () => {
  prepare();
  drawCharts();
  for (const id of tabs) document.getElementById(id)?.click();
  if (document.getElementById("q")) {
    const empty = document.querySelector("#list h2")?.textContent;
    say(document.getElementById("list").dataset.shown || empty || "");
  }
  // The link that was followed is gone: the keyboard goes on from the part that is new.
  if (document.activeElement === document.body) document.getElementById("visitors-title")?.focus({ preventScroll: true });
});
prepare();

// A menu ends where something else is clicked, and with Escape, which leads back to it.
const endMenus = (but) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (menu !== but) menu.open = false;
  }
};
document.addEventListener("click", (event) => endMenus(event.target.closest("details.menu")));

// Keys of the list; a page without such a field leads there.
const isTyping = ({ target }) => target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable], dialog[open]");
const focusOn = (id) => {
  const field = document.getElementById(id);
  field?.focus();
  field?.select();
  return field;
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const open = document.querySelector("details.menu[open]");
    endMenus();
    open?.querySelector("summary").focus();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event)) return;
  const keys = {
    "/": () => focusOn("q") || location.assign("/app#q"),
    c: () => focusOn("target_url") || location.assign("/app/links/new"),
    "?": () => (document.getElementById("keys") ? document.getElementById("keys").showModal() : location.assign("/app#keys")),
  };
  if (!Object.hasOwn(keys, event.key) || !document.querySelector("header nav")) return;
  event.preventDefault();
  keys[event.key]();
});
if (location.hash === "#q") focusOn("q");
if (location.hash === "#keys") document.getElementById("keys")?.showModal();

// The count of a link's page as it rises, while the page is looked at. A swap may have put another element in its place.
const live = () => document.querySelector("[data-live]");
if (live()) {
  let source;
  const listen = () => {
    source?.close();
    if (document.hidden || !live()) return;
    source = new EventSource(live().dataset.live);
    source.addEventListener("message", (event) => {
      const { clicks, last_minute: now } = JSON.parse(event.data);
      const [place, minute] = [live(), document.getElementById("minute")];
      if (!place) return;
      place.textContent = clicks.toLocaleString(pageLanguage);
      minute.hidden = now === 0;
      minute.textContent = place.dataset.minute.replace("{n}", now.toLocaleString(pageLanguage));
    });
  };
  document.addEventListener("visibilitychange", listen);
  listen();
}

// The clicks of all links, while their page is looked at.
if (document.querySelector("[data-count]")) {
  setInterval(async () => {
    const count = document.querySelector("[data-count]");
    if (document.hidden || !count) return;
    const response = await fetch(count.dataset.count).catch(() => undefined);
    if (response?.ok && !response.redirected) count.textContent = await response.text();
  }, 5000);
}

// What leads to a page without a script opens on this page with one.
document.addEventListener("click", async (event) => {
  const opener = event.target.closest("[data-dialog]");
  if (opener && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    document.getElementById(opener.dataset.dialog).showModal();
  }
  if (event.target.nodeName === "DIALOG") event.target.close();
  const share = event.target.closest("[data-share]");
  // Who closes the list of ways to share has not failed.
  if (share) await navigator.share({ url: share.dataset.share, title: share.dataset.title }).catch(() => undefined);
});

// The preview of a QR code follows its form.
for (const form of document.querySelectorAll("form[data-qr]")) {
  const [image, fault] = [form.querySelector("img"), form.querySelector(".fault")];
  form.querySelector("button").hidden = true;
  const address = (format, size) => {
    const query = new URLSearchParams(new FormData(form));
    for (const name of ["dark", "light"]) query.set(name, query.get(name).slice(1));
    query.set("format", format);
    if (size) query.set("size", size);
    return `${form.dataset.qr}?${query}`;
  };
  const show = () => {
    image.src = address("svg", 528);
    for (const link of form.querySelectorAll("[data-format]")) link.href = address(link.dataset.format);
    const png = form.querySelector("[data-format=png]");
    png.hidden = form.querySelector("[data-svg-only]")?.checked ?? false;
  };
  form.addEventListener("input", show);
  // A refused download would say nothing: the field says what it takes.
  form.addEventListener("click", (event) => {
    if (event.target.closest("[data-format]") && !form.reportValidity()) event.preventDefault();
  });
  image.addEventListener("load", () => { fault.hidden = true; });
  image.addEventListener("error", () => { fault.hidden = false; });
}

// The browser's time zone, in which days begin unless the page's address names another one.
const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (browserZone && !document.cookie.includes(`shunt_tz=${browserZone}`)) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `shunt_tz=${browserZone}; path=/app; max-age=31536000; samesite=lax${secure}`;
}

// The chart of a page: its data is that of the server's own chart. Dragging over it asks for the part that is marked.
const drawChart = (figure) => {
  const { zone, step, start, lengths, clicks, previous, running, words } = JSON.parse(figure.dataset.chart);
  const at = [];
  let end = start;
  for (const [length, points] of lengths) {
    for (let point = 0; point < points; point += 1, end += length) at.push(end);
  }
  const style = getComputedStyle(document.documentElement);
  const color = (name) => {
    // Only a property of an element has the colour of the scheme in use.
    const probe = document.createElement("i");
    probe.style.color = `var(${name})`;
    figure.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const [edge, soft, line, accent, tint] = ["--edge", "--soft", "--line", "--accent", "--tint"].map(color);
  const font = `12px ${style.fontFamily}`;
  const size = () => ({ width: figure.clientWidth, height: 260 });
  const axis = { stroke: soft, font, ticks: { stroke: line, width: 1 }, grid: { stroke: line, width: 1 } };
  const written = (options) => new Intl.DateTimeFormat(pageLanguage, { timeZone: zone, ...options });
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const whole = { hour: { day: "numeric", month: "short", year: "numeric", ...time }, day: { day: "numeric", month: "short", year: "numeric" }, month: { month: "long", year: "numeric" } }[step];
  const part = { hour: at.length <= 24 ? time : { day: "numeric", month: "short", ...time }, day: { day: "numeric", month: "short" }, month: { month: "short", year: "numeric" } }[step];
  const [format, brief] = [written(whole), written(part)];
  const ask = (chart) => {
    const { left, width } = chart.select;
    if (width < 4) return;
    // From the start of the first point to the end of the last.
    const [first, last] = [chart.posToIdx(left), chart.posToIdx(left + width)];
    const [from, to] = [at[first], at[last + 1] ?? end].map((seconds) => new Date(seconds * 1000));
    const query = new URLSearchParams(location.search);
    for (const name of ["new", "saved", "period"]) query.delete(name);
    const days = (to - from) / 86_400_000;
    query.set("interval", days <= 4 ? "hour" : days <= 200 ? "day" : "month");
    query.set("from", from.toISOString());
    query.set("to", to.toISOString());
    query.set("tz", zone);
    location.search = query;
  };
  // Each label is that of a point of its own, so no label is there twice.
  const splits = (chart) => {
    const room = step === "hour" && at.length > 24 ? 110 : 76;
    const apart = Math.max(1, Math.ceil(at.length / Math.max(1, Math.floor(chart.bbox.width / devicePixelRatio / room))));
    return at.filter((_, point) => point % apart === 0);
  };
  const day = (seconds) => format.format(new Date(seconds * 1000));
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  const number = (value) => value.toLocaleString(pageLanguage);
  // Without a pointer on it the legend has the sums.
  const counts = (all, values) => (_, __, ___, point) => (point == null ? number(all) : values[point] == null ? "–" : number(values[point]));
  const whole_steps = [];
  for (let power = 1; power < 1e16; power *= 10) whole_steps.push(power, 2 * power, 5 * power);
  const drawing = figure.querySelector("svg");
  const place = document.createElement("div");
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", drawing.getAttribute("aria-label"));
  const isRunning = running !== null;
  const over = clicks.map((count, point) => (isRunning && point >= running ? null : count));
  const last = clicks.map((count, point) => (isRunning && (point === running || point === running - 1) ? count : null));
  const below = clicks.map((count, point) => (isRunning && point > running ? null : count));
  const points = { show: at.length === 1 };
  figure.classList.toggle("is-over", !isRunning);
  figure.classList.toggle("without-before", previous.length === 0);
  const chart = new uPlot({
    ...size(),
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 7 } },
    scales: {
      x: { range: () => [at[0], at.length > 1 ? at.at(-1) : end] },
      y: { range: (_, __, most) => [0, Math.max(1, most * 1.05)] },
    },
    axes: [{ ...axis, splits, values: (_, values) => values.map((value) => brief.format(new Date(value * 1000))) }, { ...axis, incrs: whole_steps, values: (_, values) => values.map(number), size: 56 }],
    series: [
      { label: words[0], value: (_, seconds) => (seconds == null ? `${day(at[0])} – ${day(at.at(-1))}` : day(seconds)) },
      { label: words[1], value: counts(sum(clicks), clicks), stroke: accent, fill: tint, width: 0, points: { show: false } },
      { label: words[3], show: previous.length > 0, value: counts(sum(previous), previous), stroke: edge, width: 1.5, dash: [4, 4], points: { show: false } },
      { label: words[2], stroke: accent, width: 2, dash: [3, 4], points, value: (_, __, ___, point) => (isRunning && (point == null || point === running) ? number(clicks[running]) : "–") },
      { label: "", stroke: accent, width: 2, points: { show: false } },
    ],
    hooks: { setSelect: [ask] },
  }, [at, below, at.map((_, point) => previous[point] ?? null), last, over], (made, begin) => {
    drawing.replaceWith(place);
    place.append(made.root);
    begin();
  });
  new ResizeObserver(() => chart.setSize(size())).observe(figure);
};
const drawCharts = () => {
  if (typeof uPlot !== "function") return;
  for (const figure of document.querySelectorAll("[data-chart]:not(.is-drawn)")) {
    figure.classList.add("is-drawn");
    drawChart(figure);
  }
};
drawCharts();

// A file that is too large for the service is not sent.
for (const field of document.querySelectorAll("input[type=file][data-most]")) {
  field.addEventListener("change", () => {
    const isTooLarge = field.files[0]?.size > Number(field.dataset.most);
    document.getElementById("file-fault").textContent = isTooLarge ? field.dataset.fault : "";
    if (isTooLarge) field.value = "";
  });
}
