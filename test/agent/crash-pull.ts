/**
 * Takes up a release from a registry and kills itself, as a power cut would, at the n-th boundary of the journal.
 * Usage: node crash-pull.ts <folder> <address> <n>; n = 0 goes through and prints every boundary.
 */
import { join } from 'node:path';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { acquireLock } from '../../agent/store/lock.ts';
import { openState } from '../../agent/store/state.ts';
import { takeUp } from './take-up.ts';
import { NOW, POLICY, testAgent } from './world.ts';

const [folder = '', address = '', count = '0'] = process.argv.slice(2);
const last = Number(count);
let points = 0;

using state = openState(join(folder, 'state'));
using _lock = await acquireLock(state.directory, 'run', NOW);
await using registry = openRegistry(parseRegistryAddress(address), { plainHttp: [], env: {} });
const agent = testAgent(state, folder, {
  // Two packages may go unasked: a registry cannot say --prune.
  policy: { ...POLICY, pruneBudget: 5, onDrift: 'report' },
  onJournal: (point) => {
    points += 1;
    if (last === 0) process.stdout.write(`${point}\n`);
    if (points === last) process.kill(process.pid, 'SIGKILL');
  },
});
await takeUp(agent, registry);
