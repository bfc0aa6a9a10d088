// A sudden spike: from RATE to SPIKE times as much within a moment, and back.
//   k6 run -e BASE_URL=https://sho.rt load/k6/spike.js      RATE (100/s), SPIKE (20), DURATION (2m)

import { follow, number, options as common, seconds, setup, teardown } from './lib.js';

const rate = number('RATE', 100);
const peak = rate * number('SPIKE', 20);
const tenth = seconds('DURATION', '2m') * 100;

export const options = common({
  executor: 'ramping-arrival-rate',
  startRate: rate,
  stages: [
    { target: rate, duration: `${3 * tenth}ms` },
    { target: peak, duration: `${Math.round(tenth / 2)}ms` },
    { target: peak, duration: `${3 * tenth}ms` },
    { target: rate, duration: `${Math.round(tenth / 2)}ms` },
    { target: rate, duration: `${3 * tenth}ms` },
  ],
}, 200);

export { setup, teardown };
export default follow;
