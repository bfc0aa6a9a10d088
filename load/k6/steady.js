// The everyday load: a constant rate.
//   k6 run -e BASE_URL=https://sho.rt -e RATE=500 load/k6/steady.js      RATE (200/s), DURATION (5m)

import { follow, number, options as common, seconds, setup, teardown } from './lib.js';

export const options = common({
  executor: 'constant-arrival-rate',
  rate: number('RATE', 200),
  duration: `${seconds('DURATION', '5m')}s`,
}, 50, { dropped_iterations: ['count==0'] });

export { setup, teardown };
export default follow;
