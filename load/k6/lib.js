// Shared by the scripts: settings, an account with links, the redirect, and the check at the end.
//
// Settings from the environment: BASE_URL (http://127.0.0.1:8000), LINKS (20), VUS (64, at most twice
// as many), P99_MS, and per script RATE and DURATION.
//
// The check: virtual users share no state, so a counter per link makes the comparison. Each answered redirect adds one
// to its link's counter; at the end `teardown` subtracts the clicks of the link's statistics. A threshold requires each
// counter to be 0, so a lost click or one too many fails the run (k6 ends with code 99). A click from outside the run
// would fail it, too, but the links are not published.

import http from 'k6/http';
import { check, fail } from 'k6';
import { Counter } from 'k6/metrics';

export const settings = {
  baseUrl: (__ENV.BASE_URL || 'http://127.0.0.1:8000').replace(/\/+$/, ''),
  links: number('LINKS', 20),
  vus: number('VUS', 64),
};

const uncounted = new Counter('answered_minus_counted');
const PASSWORD = 'a password for load tests';

/** A number from the environment. */
export function number(name, otherwise) {
  const value = Number(__ENV[name] || otherwise);
  if (!(value > 0)) {
    throw new Error(`${name} must be a number above 0`);
  }
  return value;
}

/** A time from the environment, such as 30s, 5m, 2h, in seconds. */
export function seconds(name, otherwise) {
  const parts = /^(\d+)(s|m|h)$/.exec(__ENV[name] || otherwise);
  if (!parts) {
    throw new Error(`${name} must be a time such as 30s, 5m or 2h`);
  }
  return Number(parts[1]) * { s: 1, m: 60, h: 3600 }[parts[2]];
}

/** Options of a script with one scenario; `thresholds` are added to those that all share. */
export function options(scenario, p99, thresholds = {}) {
  const shared = {
    'http_req_duration{kind:redirect}': [`p(99)<${number('P99_MS', p99)}`],
    'http_req_failed{kind:redirect}': ['rate==0'],
    'http_reqs{kind:redirect}': ['count>0'],
    checks: ['rate==1'],
  };
  for (let link = 0; link < settings.links; link += 1) {
    shared[`answered_minus_counted{link:${link}}`] = ['count==0'];
  }
  return {
    scenarios: {
      load: Object.assign(
        { preAllocatedVUs: settings.vus, maxVUs: 2 * settings.vus, gracefulStop: '70s' },
        scenario,
      ),
    },
    thresholds: Object.assign(shared, thresholds),
    discardResponseBodies: true,
    summaryTrendStats: ['med', 'p(90)', 'p(99)', 'max'],
    setupTimeout: '5m',
    teardownTimeout: '5m',
  };
}

/** Registers an account and creates its links; the functions below get its result. */
export function setup() {
  const email = `k6-${Date.now()}-${Math.floor(Math.random() * 1e9)}@example.com`;
  const token = ask('POST', '/auth/register', { body: { email, password: PASSWORD } }).access_token;
  const codes = [];
  for (let link = 0; link < settings.links; link += 1) {
    codes.push(shorten(token, link).short_code);
  }
  return { token, codes };
}

/** Compares, for every link, the clicks in its stats with the redirects that were answered. */
export function teardown(data) {
  data.codes.forEach((code, link) => {
    const stats = ask('GET', `/urls/${code}/stats`);
    check(stats, { 'clicks and total are the same': ({ clicks, total }) => clicks === total });
    uncounted.add(-stats.clicks, { link: String(link) });
  });
}

/** Follows one of the links, drawn at random. */
export function follow(data) {
  const link = Math.floor(Math.random() * data.codes.length);
  const answer = http.get(`${settings.baseUrl}/${data.codes[link]}`, {
    redirects: 0,
    timeout: '60s',
    tags: { kind: 'redirect', name: '/{code}' },
  });
  const followed = answer.status === 302;
  uncounted.add(followed ? 1 : 0, { link: String(link) });
  check(answer, {
    'redirected to the target': () => followed && answer.headers.Location === target(link),
  });
}

/** Makes a link. */
export function shorten(token, number) {
  const query = `target_url=${encodeURIComponent(target(number))}`;
  return ask('POST', `/urls/shorten?${query}`, { token, name: '/urls/shorten' });
}

/** Changes a link: `patch` has the fields that change. */
export function edit(token, code, patch) {
  return ask('PATCH', `/urls/${code}`, { token, body: patch, name: '/urls/{code}' });
}

/** Where a link leads, or the status of the answer; nothing is counted. */
export function leadsTo(code) {
  const answer = http.request('HEAD', `${settings.baseUrl}/${code}`, null, {
    redirects: 0,
    responseCallback: http.expectedStatuses(302, 404),
    tags: { kind: 'preview', name: '/{code}' },
  });
  return answer.status === 302 ? answer.headers.Location : answer.status;
}

/** Deletes a link. */
export function remove(token, code) {
  ask('DELETE', `/urls/${code}`, { token, status: 204 });
}

/** The account's newest links. */
export function newest(token, limit) {
  return ask('GET', `/urls/my?limit=${limit}`, { token, name: '/urls/my' });
}

/** One request to the API; its answer must have the status. */
export function ask(method, path, { body = null, token = '', status = 200, name = '' } = {}) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body) {
    headers['Content-Type'] = 'application/json';
  }
  const answer = http.request(method, `${settings.baseUrl}${path}`, body && JSON.stringify(body), {
    headers,
    responseType: 'text',
    tags: { kind: 'api', name: name || path.replace(/[^/]+(?=\/stats$)/, '{code}') },
  });
  if (!check(answer, { 'the API answers as it should': () => answer.status === status })) {
    fail(`${method} ${path} answered ${answer.status}: ${answer.body}`);
  }
  return answer.body ? JSON.parse(answer.body) : null;
}

function target(number) {
  return `https://www.example.com/load/${number}`;
}
