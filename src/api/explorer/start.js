"use strict";

// Requests go where this script is from, by whatever name the service was reached.
const { src } = document.currentScript;
const here = new URL("..", src).href.replace(/\/$/, "");

// What is worth trying out: no HEAD, which answers as its GET does, and not the files of this page. A body that may be left out
// is: its example would be sent beside the parameters, which are then given twice.
const withoutOptionalBody = ({ requestBody, ...operation }) =>
  requestBody?.required ? { ...operation, requestBody } : operation;
const worthTrying = (paths) => {
  const listed = Object.entries(paths).filter(([path]) => !/^\/docs(\/|$)/.test(path));
  const tried = (operations) =>
    Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, withoutOptionalBody(operation)]));
  return Object.fromEntries(listed.map(([path, { head, ...operations }]) => [path, tried(operations)]));
};

const fromHere = () => ({
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec: (update) => (document) =>
          update({ ...document, paths: worthTrying(document.paths), servers: [{ url: here }] }),
      },
    },
  },
});

// Swagger UI reads the whole document anew for each part that is opened, for a second or more. What is opened needs only
// its own path, and the components that it names.
const COMPONENT = /"#\/components\/([^/"]+)\/([^/"]+)"/g;
const neededFor = (document, [section, name]) => {
  const part = { [section]: { [name]: document[section]?.[name] } };
  const components = section === "components" ? structuredClone(part.components) : {};
  const gather = (value) => {
    for (const [, kind, id] of (JSON.stringify(value) ?? "").matchAll(COMPONENT)) {
      components[kind] ??= {};
      if (components[kind][id]) continue;
      components[kind][id] = document.components[kind][id];
      gather(components[kind][id]);
    }
  };
  gather(part);
  return { ...document, paths: {}, ...part, components };
};
const readInParts = () => ({
  afterLoad({ fn }) {
    const { resolveSubtree } = fn;
    this.fn.resolveSubtree = (document, path, options) => resolveSubtree(neededFor(document, path), path, options);
  },
});

// Swagger UI would show the regular expression that a value does not match.
const reasons = {
  "Idempotency-Key": "must be 1 to 255 printable ASCII characters",
  country: "must be two letters, such as DE",
  custom_code: "must be 1 to 64 of A-Z a-z 0-9 - _",
  dark: "must be a colour as RRGGBB",
  light: "must be a colour as RRGGBB",
  cursor: "must be the cursor of a page's Link header",
  code: "must be 1 to 64 of A-Z a-z 0-9 - _",
  links: "must be delete",
  month: "must be a month, as 2026-10",
  short_code: "must be 1 to 64 of A-Z a-z 0-9 - _",
  target_url: "must be an absolute http:// or https:// URL with a host",
};
const readable = (name, error) =>
  typeof error === "string" && error.includes("must follow pattern") ? (reasons[name] ?? "is invalid") : error;

const readableReasons = () => ({
  statePlugins: {
    spec: {
      wrapSelectors: {
        parameterWithMetaByIdentity: (original) => (_state, ...args) => {
          const parameter = original(...args);
          const errors = parameter.get("errors");
          return errors ? parameter.set("errors", errors.map((error) => readable(parameter.get("name"), error))) : parameter;
        },
        validationErrors: (original) => (_state, ...args) =>
          original(...args).map((text) => {
            const [, name, error] = text.match(/^For '([^']*)': (.*)\.$/s) ?? [];
            return name === undefined ? text : `${name}: ${readable(name, error)}`;
          }),
      },
    },
  },
  wrapComponents: {
    // Swagger UI shows the reason only while the pointer is on the field.
    JsonSchema_string: (Original, { React }) => (props) => {
      const errors = props.errors?.toJS?.() ?? [];
      const texts = errors.map((error) => React.createElement("p", { key: error, className: "fault", role: "alert" }, error));
      return React.createElement(React.Fragment, null, React.createElement(Original, props), ...texts);
    },
  },
});

// Swagger UI puts a link with the address of an operation into the button that opens it, where the keyboard cannot tell them apart.
// To open an operation sets the address, too.
const withoutNestedLinks = ({ React }) => ({
  components: { DeepLink: ({ text }) => React.createElement("span", null, text) },
});

// What Swagger UI gives no name that a screen reader could say, and what scrolls where the keyboard cannot reach it.
const names = [
  ["textarea.body-param__text", () => "Request body"],
  [".examples-select-element", () => "Example"],
  ["tr[data-param-name] select", (field) => field.closest("tr").dataset.paramName],
  ["table.responses-table", ({ id }) => `Responses of ${id.replace(/_responses$/, "")}`],
];
const reachAll = () => {
  for (const [selector, name] of names) {
    for (const field of document.querySelectorAll(`${selector}:not([aria-label])`)) field.setAttribute("aria-label", name(field));
  }
  for (const text of document.querySelectorAll("pre.microlight:not([tabindex])")) text.tabIndex = 0;
};
new MutationObserver(reachAll).observe(document.getElementById("explorer"), { childList: true, subtree: true });

// A script may not follow a redirect to another site, nor see where it leads: it is told that there was one.
const stayHere = (request) => Object.assign(request, { redirect: "manual" });

const tellRedirect = (response) => {
  if (response.status !== 0) return response;
  const text = `A redirect. Browsers do not tell a page where one leads: open ${response.url} in a new tab to go there.`;
  const headers = { "content-type": "text/plain" };
  return Object.assign(response, { ok: true, status: 302, statusText: "Found", headers, text, data: text });
};

// The token is kept over a reload and ends with the tab: Swagger UI itself would keep it in the browser for good.
const KEPT = "shunt-authorized";
localStorage.removeItem("authorized");
const keptInThisTab = () => ({
  statePlugins: {
    auth: {
      wrapActions: {
        persistAuthorizationIfNeeded: (original, { authSelectors }) => () => {
          sessionStorage.setItem(KEPT, JSON.stringify(authSelectors.authorized().toJS()));
          return original();
        },
      },
    },
  },
});
const restore = ({ authActions }) => {
  const kept = sessionStorage.getItem(KEPT);
  if (kept) authActions.restoreAuthorization({ authorized: JSON.parse(kept) });
};

const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

const explorer = SwaggerUIBundle({
  url: new URL("../openapi.json", src).href,
  dom_id: "#explorer",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [fromHere, readInParts, readableReasons, withoutNestedLinks, keptInThisTab],
  onComplete: () => restore(explorer),
  requestInterceptor: stayHere,
  responseInterceptor: tellRedirect,
});
