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

// A country's name in English, as the rest of the page.
const countries = new Intl.DisplayNames("en", { type: "region", fallback: "code" });

const prepare = () => {
  for (const place of document.querySelectorAll("[data-country]")) {
    if (/^[A-Z]{2}$/.test(place.textContent)) place.textContent = countries.of(place.textContent);
  }
  for (const made of document.querySelectorAll("button[data-copy], .every")) {
    made.hidden = false;
  }
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
const selectText = (button) => {
  const field = document.createElement("input");
  field.readOnly = true;
  field.className = "inline copied";
  field.value = button.dataset.copy;
  field.setAttribute("aria-label", "Text to copy");
  field.addEventListener("blur", () => {
    field.remove();
    button.textContent = "Copy";
  });
  button.before(field);
  field.focus();
  field.select();
  button.textContent = `Press ${COPY_KEY}`;
  say(`Press ${COPY_KEY} to copy`);
};
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const isCopied = await copied(button.dataset.copy);
  if (!isCopied) {
    selectText(button);
    return;
  }
  button.textContent = "Copied";
  say("Copied");
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});

// What is done to the selected links is at hand as soon as one is selected.
const countSelected = () => {
  const count = document.querySelectorAll("input[name=code]:checked").length;
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
  note.textContent = "Your session had ended, so this was not sent. It is entered again; check it, and send it again.";
  form.prepend(note);
  note.scrollIntoView({ block: "center" });
};
enterAgain();

// The way back from a link leads to the list as it was.
const PLACE = "shunt-list";
const notePlace = () => {
  if (location.pathname !== "/app") return;
  const query = new URLSearchParams(location.search);
  query.delete("done");
  sessionStorage.setItem(PLACE, query.toString());
};
document.addEventListener("htmx:pushedIntoHistory", notePlace);
notePlace();
const place = sessionStorage.getItem(PLACE);
const back = document.querySelector("[data-back]");
if (back && place) back.href = `/app?${place}`;

document.addEventListener("htmx:afterSwap", () => {
  prepare();
  if (document.getElementById("q")) {
    const links = document.querySelectorAll(".links > li").length;
    say(links === 1 ? "1 link is shown" : `${links} links are shown`);
  }
  // The link that was followed is gone: the keyboard goes on from the part that is new.
  if (document.activeElement === document.body) document.getElementById("visitors-title")?.focus({ preventScroll: true });
});
prepare();

// The count of a link's page as it rises, while the page is looked at.
const live = document.querySelector("[data-live]");
if (live) {
  const minute = document.querySelector("[data-minute]");
  let source;
  const listen = () => {
    source?.close();
    if (document.hidden) return;
    source = new EventSource(live.dataset.live);
    source.addEventListener("message", (event) => {
      const { clicks, last_minute: now } = JSON.parse(event.data);
      live.textContent = clicks.toLocaleString("en");
      minute.hidden = now === 0;
      minute.textContent = ` · ${now.toLocaleString("en")} in the last minute`;
    });
  };
  document.addEventListener("visibilitychange", listen);
  listen();
}

// The clicks of all links, while their page is looked at.
const count = document.querySelector("[data-count]");
if (count) {
  setInterval(async () => {
    if (document.hidden) return;
    const response = await fetch(count.dataset.count).catch(() => undefined);
    if (response?.ok && !response.redirected) count.textContent = await response.text();
  }, 5000);
}

// The browser's time zone, in which days begin unless the page's address names another one.
const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (browserZone && !document.cookie.includes(`shunt_tz=${browserZone}`)) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `shunt_tz=${browserZone}; path=/app; max-age=31536000; samesite=lax${secure}`;
}

// The chart of a page: its data is that of the server's own bars. Dragging over it asks for the part that is marked.
const drawChart = (figure) => {
  const { zone, step, start, lengths, clicks, previous } = JSON.parse(figure.dataset.chart);
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
  const [ink, soft, line, accent] = ["--ink", "--soft", "--line", "--accent"].map(color);
  const font = `12px ${style.fontFamily}`;
  const size = () => ({ width: figure.clientWidth, height: 260 });
  const axis = { stroke: soft, font, ticks: { stroke: line, width: 1 }, grid: { stroke: line, width: 1 } };
  const format = new Intl.DateTimeFormat("en-CA", {
    timeZone: zone, year: "numeric", month: "2-digit",
    ...(step === "month" ? {} : { day: "2-digit" }),
    ...(step === "hour" ? { hour: "2-digit", minute: "2-digit", hour12: false } : {}),
  });
  const ask = (chart) => {
    const { left, width } = chart.select;
    if (width < 4) return;
    const moment = (x) => new Date(Math.round(chart.posToVal(x, "x")) * 1000);
    const [from, to] = [moment(left), moment(left + width)];
    const query = new URLSearchParams(location.search);
    query.delete("new");
    query.delete("saved");
    const days = (to - from) / 86_400_000;
    query.set("interval", days <= 4 ? "hour" : days <= 200 ? "day" : "month");
    query.set("from", from.toISOString());
    query.set("to", to.toISOString());
    query.set("tz", zone);
    location.search = query;
  };
  const parts = (value) => {
    const found = format.formatToParts(new Date(value * 1000));
    return Object.fromEntries(found.map(({ type, value: text }) => [type, text]));
  };
  const dates = (_, values) => {
    const apart = values.length > 1 ? values[1] - values[0] : 0;
    return values.map((value) => {
      const { year, month, day, hour, minute } = parts(value);
      if (step === "month" || apart > 20 * 86_400) return `${year}-${month}`;
      return step === "hour" && apart < 86_400 ? `${hour}:${minute}` : `${month}-${day}`;
    });
  };
  const day = (seconds) => format.format(new Date(seconds * 1000));
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  // Without a pointer on it the legend has the sums.
  const shown = (all) => (_, value) => (value ?? all).toLocaleString("en");
  const counts = (_, values) => values.map((value) => (Number.isInteger(value) ? value.toLocaleString("en") : ""));
  const drawing = figure.querySelector("svg");
  const label = drawing.getAttribute("aria-label");
  const place = document.createElement("div");
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", label);
  const chart = new uPlot({
    ...size(),
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false } },
    scales: {
      x: { range: () => [at[0], end] },
      y: { range: (_, __, most) => [0, Math.max(1, most * 1.05)] },
    },
    axes: [{ ...axis, values: dates }, { ...axis, values: counts, size: 60 }],
    series: [
      { label: "From", value: (_, seconds) => (seconds == null ? `${day(at[0])} to ${day(at.at(-1))}` : day(seconds)) },
      { label: "Clicks", value: shown(sum(clicks)), stroke: accent, fill: accent, width: 0, paths: uPlot.paths.bars({ size: [0.8, 48], align: 1 }), points: { show: false } },
      { label: "Previous", value: shown(sum(previous)), stroke: ink, width: 1.5, dash: [4, 4], paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } },
    ],
    hooks: { setSelect: [ask] },
  }, [
    // The end is a place of its own, so that the last step is as wide as the others.
    [...at, end],
    [...clicks, null],
    [...at.map((_, index) => previous[index] ?? null), previous[at.length - 1] ?? null],
  ], (made, begin) => {
    drawing.replaceWith(place);
    figure.nextElementSibling.hidden = true;
    place.append(made.root);
    begin();
  });
  new ResizeObserver(() => chart.setSize(size())).observe(figure);
};
if (typeof uPlot === "function") {
  for (const figure of document.querySelectorAll("[data-chart]")) drawChart(figure);
}

// A file of a table goes into the field for it, if the service takes as much. Spreadsheets of old write no UTF-8. A file that is
// partly UTF-8 is no text: undefined.
const MOST = 2 * 1024 * 1024;
const textOf = (bytes) => {
  const [first, second] = bytes;
  const decoded = (encoding) => new TextDecoder(encoding).decode(bytes);
  if (first === 0xff && second === 0xfe) return decoded("utf-16le");
  if (first === 0xfe && second === 0xff) return decoded("utf-16be");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return /[^\x00-\x7f\ufffd]/.test(decoded("utf-8")) ? undefined : decoded("windows-1252");
  }
};
const file = document.querySelector("[data-file]");
if (file) {
  file.hidden = false;
  file.querySelector("input").addEventListener("change", async (event) => {
    const [chosen] = event.target.files;
    if (!chosen) return;
    const fault = document.getElementById("file-fault");
    const text = chosen.size < MOST ? textOf(new Uint8Array(await chosen.arrayBuffer())) : "";
    const isTooLarge = chosen.size >= MOST || new URLSearchParams({ table: text ?? "" }).toString().length > MOST - 1024;
    const isNoText = text === undefined;
    fault.textContent = isTooLarge ? "This file is too large to import here. Split it, or use shunt import."
      : isNoText ? "Some letters of this file are not UTF-8. Save it as UTF-8." : "";
    if (isTooLarge || isNoText) event.target.value = "";
    else document.getElementById("table").value = text;
  });
}
