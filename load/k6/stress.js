// A stress test: ten steps up to MAX_RATE. It ends early once latency (P99_MS, 1000) or errors pass all bounds. Requests
// without a response may have been counted; the first threshold that fails shows the bottleneck.
//   k6 run -e BASE_URL=https://sho.rt -e MAX_RATE=20000 load/k6/stress.js
//   MAX_RATE (10 times RATE), RATE (500/s), DURATION (5m)

import { follow, number, options as common, seconds, setup, teardown } from './lib.js';

const rate = number('RATE', 500);
const most = number('MAX_RATE', 10 * rate);
const step = seconds('DURATION', '5m') * 100;
const stages = [];
for (let part = 1; part <= 10; part += 1) {
  const target = Math.round((most * part) / 10);
  stages.push({ target, duration: `${Math.round(step / 5)}ms` });
  stages.push({ target, duration: `${Math.round((step * 4) / 5)}ms` });
}

const giveUp = { abortOnFail: true, delayAbortEval: '10s' };

export const options = common({ executor: 'ramping-arrival-rate', startRate: rate, stages }, 1000, {
  'http_req_duration{kind:redirect}': [{ threshold: `p(99)<${number('P99_MS', 1000)}`, ...giveUp }],
  'http_req_failed{kind:redirect}': [{ threshold: 'rate<0.05', ...giveUp }],
  checks: ['rate>0.95'],
});

export { setup, teardown };
export default follow;
