// A password can be shown while it is entered.
"use strict";

{
  const { show, hide } = document.currentScript.dataset;
  const buttons = [];
  const set = ({ field, button }, isShown) => {
    field.type = isShown ? "text" : "password";
    button.textContent = isShown ? hide : show;
    button.setAttribute("aria-pressed", String(isShown));
  };
  for (const field of document.querySelectorAll("input[type=password]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "show";
    button.setAttribute("aria-controls", field.id);
    const label = field.labels[0]?.firstChild?.textContent.trim();
    const made = { field, button };
    set(made, false);
    if (label) button.setAttribute("aria-description", label);
    button.addEventListener("click", () => {
      set(made, field.type === "password");
      field.focus();
    });
    field.after(button);
    buttons.push(made);
  }
  // Neither the browser nor another script keeps it as a text.
  document.addEventListener("submit", () => buttons.forEach((made) => set(made, false)), true);
}
