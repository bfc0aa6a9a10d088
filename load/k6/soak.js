// A soak test for hours: redirects at a constant rate, and one iteration in CHANGES creates a link, lists the newest, gives
// the link another target, ends it, and deletes it; each change has to be felt at once.
//   k6 run -e BASE_URL=https://sho.rt load/k6/soak.js      RATE (100/s), DURATION (2h), CHANGES (100)

import { check } from 'k6';
import exec from 'k6/execution';
import {
  edit, follow, leadsTo, newest, number, options as common, remove, seconds, setup, shorten, teardown,
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
    const target_url = 'https://www.example.com/edited';
    const edited = edit(data.token, code, { target_url, tags: ['soak'] });
    check(edited, { 'an edit keeps the clicks': ({ clicks }) => clicks === 0 });
    check(leadsTo(code), { 'an edit is felt at once': (location) => location === target_url });
    const ended = edit(data.token, code, { expires_at: '2020-01-01T00:00:00Z' });
    check(ended, { 'an ended link says so': ({ status }) => status === 'expired' });
    check(leadsTo(code), { 'an ended link is not followed': (status) => status === 404 });
    remove(data.token, code);
  }
}
