// A soak test for hours: redirects at a constant rate, and one iteration in CHANGES creates a link, lists the newest, and
// deletes it again.
//   k6 run -e BASE_URL=https://sho.rt load/k6/soak.js      RATE (100/s), DURATION (2h), CHANGES (100)

import { check } from 'k6';
import exec from 'k6/execution';
import {
  follow, newest, number, options as common, remove, seconds, setup, shorten, teardown,
} from './lib.js';

const changes = number('CHANGES', 100);

export const options = common({
  executor: 'constant-arrival-rate',
  rate: number('RATE', 100),
  duration: `${seconds('DURATION', '2h')}s`,
}, 100);

export { setup, teardown };

export default function visit(data) {
  follow(data);
  if (exec.scenario.iterationInTest % changes === 0) {
    const { short_code: code } = shorten(data.token, exec.scenario.iterationInTest);
    const listed = newest(data.token, 100).some((link) => link.short_code === code);
    check(listed, { 'a new link is among the newest': (is) => is });
    remove(data.token, code);
  }
}
