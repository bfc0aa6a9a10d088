"use strict";

// Requests go where this script is from, by whatever name the service was reached.
const { src } = document.currentScript;
const here = new URL("..", src).href.replace(/\/$/, "");

const fromHere = () => ({
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec: (update) => (document) => update({ ...document, servers: [{ url: here }] }),
      },
    },
  },
});

// A script may not follow a redirect to another site, nor see where it leads: it is told that there was one.
const stayHere = (request) => Object.assign(request, { redirect: "manual" });

const tellRedirect = (response) => {
  if (response.status !== 0) return response;
  const text = `A redirect. Browsers do not tell a page where one leads: open ${response.url} in a new tab to go there.`;
  const headers = { "content-type": "text/plain" };
  return Object.assign(response, { ok: true, status: 302, statusText: "Found", headers, text, data: text });
};

const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

SwaggerUIBundle({
  url: new URL("../openapi.json", src).href,
  dom_id: "#explorer",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [fromHere],
  requestInterceptor: stayHere,
  responseInterceptor: tellRedirect,
});
