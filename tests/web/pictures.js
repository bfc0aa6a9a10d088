// Pictures of the pages, with links and titles as people have them. `links` makes the account and the links; without it the
// pictures are made.

import { join } from "node:path";
import { open } from "./browser.js";

const address = process.env.ADDRESS;
const account = { email: "ada@example.com", password: "a horse on a staple" };
const links = [
  ["https://www.example.com/spring/collection?utm_source=newsletter", "Spring collection", "spring, newsletter", "spring-26"],
  ["https://docs.example.com/handbook/first-steps", "Handbook: first steps", "docs", "handbook"],
  ["https://www.example.com/press/2026/annual-report.pdf", "Annual report 2026", "press", "report-2026"],
  ["https://jobs.example.com/engineering/rust-developer", "Job: Rust developer", "jobs", "rust-job"],
  ["https://tickets.example.com/conference/early-bird", "Conference, early bird", "events, newsletter", "early-bird", "2027-01-15T12:00"],
  ["https://maps.example.com/office/berlin", "Office in Berlin", "", "berlin"],
  ["https://www.example.com/support/returns", "How to return an order", "docs", "returns"],
  ["https://video.example.com/watch/launch", "Launch video", "spring", "launch", "2026-12-31T23:00"],
];

const visit = async (path) => {
  const response = await fetch(address + path.url, { method: "POST", ...path.options });
  if (!response.ok) throw new Error(`${path.url}: ${response.status} ${await response.text()}`);
  return response.json();
};

const makeLinks = async () => {
  const headers = { "content-type": "application/json" };
  const { access_token: token } = await visit({ url: "/auth/register", options: { headers, body: JSON.stringify(account) } });
  for (const [target_url, title, tags, custom_code, end] of links) {
    const body = { target_url, title, custom_code, tags: tags ? tags.split(", ") : [] };
    if (end) body.expires_at = `${end}:00Z`;
    await visit({ url: "/urls/shorten", options: { headers: { ...headers, authorization: `Bearer ${token}` }, body: JSON.stringify(body) } });
  }
};

const makePictures = async () => {
  const options = { viewport: { width: 1280, height: 800 }, timezoneId: "Europe/Berlin" };
  const browser = await open([new URL(address).host], options);
  const page = await browser.newPage();
  const picture = async (path, name, { colorScheme = "light", ready = "main" } = {}) => {
    await page.emulateMedia({ colorScheme });
    await page.goto(address + path);
    await page.locator(ready).first().waitFor();
    await page.screenshot({ path: join(process.env.PICTURES, `${name}.png`) });
  };
  await page.goto(`${address}/app/login`);
  await page.getByLabel("E-mail").fill(account.email);
  await page.getByRole("textbox", { name: "Password" }).fill(account.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Links", exact: true }).waitFor();
  await picture("/app", "pages-links", { ready: ".links" });
  await picture("/app/links/spring-26", "pages-link", { colorScheme: "dark", ready: "canvas" });
  await picture("/app/all", "pages-all", { ready: "canvas" });
  await browser.close();
  const visitors = await open([new URL(address).host], { ...options, viewport: { width: 1280, height: 640 }, locale: "de-DE" });
  const visitor = await visitors.newPage();
  await visitor.goto(`${address}/spring-26+`);
  await visitor.screenshot({ path: join(process.env.PICTURES, "pages-preview.png") });
  await visitors.close();
};

await (process.argv[2] === "links" ? makeLinks() : makePictures());
