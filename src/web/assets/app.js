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

const prepare = () => {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
  }
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    say("Could not copy");
    return;
  }
  const label = button.textContent;
  button.textContent = "Copied";
  say("Copied");
  setTimeout(() => { button.textContent = label; }, 1500);
});

document.addEventListener("change", (event) => {
  if (event.target.id !== "all") return;
  for (const box of document.querySelectorAll("input[name=code]")) {
    box.checked = event.target.checked;
  }
});

document.addEventListener("htmx:afterSwap", prepare);
prepare();

// The count of a link's page, read again while the page is looked at.
const live = document.querySelector("[data-live]");
if (live) {
  setInterval(async () => {
    if (document.hidden) return;
    const answer = await fetch(live.dataset.live, { headers: { accept: "application/json" } });
    if (answer.ok) live.textContent = (await answer.json()).clicks.toLocaleString("en");
  }, 3000);
}
