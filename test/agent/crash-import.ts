/**
 * Imports a medium and kills itself, as a power cut would, at the n-th boundary of the journal.
 * Usage: node crash-import.ts <folder> <medium> <n>; n = 0 goes through and prints every boundary.
 */
import { join } from 'node:path';
import { importMedium } from '../../agent/daemon/import-medium.ts';
import { acquireLock } from '../../agent/store/lock.ts';
import { openState } from '../../agent/store/state.ts';
import { NOW, testAgent } from './world.ts';

const [folder = '', medium = '', count = '0'] = process.argv.slice(2);
const last = Number(count);
let points = 0;

using state = openState(join(folder, 'state'));
using _lock = await acquireLock(state.directory, 'import', NOW);
const agent = testAgent(state, folder, {
  onJournal: (point) => {
    points += 1;
    if (last === 0) process.stdout.write(`${point}\n`);
    if (points === last) process.kill(process.pid, 'SIGKILL');
  },
});
await importMedium(agent, medium, { prune: true });
