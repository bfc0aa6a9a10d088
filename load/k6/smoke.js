// A smoke test: a few redirects a second for a short time.
//   k6 run -e BASE_URL=https://sho.rt load/k6/smoke.js       RATE (10/s), DURATION (10s)

import { follow, number, options as common, seconds, setup, teardown } from './lib.js';

export const options = common({
  executor: 'constant-arrival-rate',
  rate: number('RATE', 10),
  duration: `${seconds('DURATION', '10s')}s`,
}, 250);

export { setup, teardown };
export default follow;
