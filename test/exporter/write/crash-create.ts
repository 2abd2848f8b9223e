/**
 * Fills a medium and kills itself, as a power cut would, before its n-th change of the file system.
 * Usage: node crash-create.ts <layout> <to> <form> <n>; n = 0 goes through. Form: directory, tar, set or sealed.
 */
import { type Form, fillForm } from './fill-form.ts';
import { watchChanges } from './watch-changes.ts';

const [layout = '', to = '', form = 'set', count = '0'] = process.argv.slice(2);
const last = Number(count);
let changes = 0;

await watchChanges(({ reads }) => {
  if (reads) return;
  changes += 1;
  if (changes === last) process.kill(process.pid, 'SIGKILL');
});
await fillForm(layout, to, form as Form);
process.stdout.write(String(changes));
