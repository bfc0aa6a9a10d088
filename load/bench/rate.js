// Requests paths at a constant rate, for the check of pace: k6 run -e BASE_URL= -e PATHS= -e RATE= -e SECONDS= rate.js
// Prints the outcome as one line of JSON, with latencies in microseconds.

import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import http from 'k6/http';
import { Counter } from 'k6/metrics';

const paths = new SharedArray('paths', () => open(__ENV.PATHS).trimEnd().split('\n'));
const others = new Counter('others');

export const options = {
  scenarios: {
    rate: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE),
      timeUnit: '1s',
      duration: `${__ENV.SECONDS}s`,
      // A request that is due never waits for a free connection.
      preAllocatedVUs: 512,
      maxVUs: 512,
    },
  },
  summaryTrendStats: ['med', 'p(99)', 'p(99.9)', 'max', 'count'],
  discardResponseBodies: true,
};

export default function () {
  const path = paths[exec.scenario.iterationInTest % paths.length];
  const response = http.get(`${__ENV.BASE_URL}${path}`, { redirects: 0, tags: { name: 'redirect' } });
  if (response.status !== 302) {
    others.add(1);
  }
}

export function handleSummary({ metrics, state }) {
  const slow = metrics.http_req_duration.values;
  const count = (name) => (metrics[name] ? metrics[name].values.count : 0);
  const outcome = {
    answered: slow.count,
    seconds: state.testRunDurationMs / 1000,
    p50: slow.med * 1000,
    p99: slow['p(99)'] * 1000,
    p999: slow['p(99.9)'] * 1000,
    max: slow.max * 1000,
    others: count('others'),
    dropped: count('dropped_iterations'),
  };
  return { stdout: `${JSON.stringify(outcome)}\n` };
}
