/**
 * Imports a medium onto a folder as host and kills itself, as a power cut would, at the n-th boundary of the journal.
 * Usage: node import-apart.ts <folder> <medium> <n> [kubeconfig]; n = 0 goes through and prints every boundary. With a
 * kubeconfig its target is that cluster.
 */
import { join } from 'node:path';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { openClusterAccess } from '../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { acquireLock } from '../../../agent/store/lock.ts';
import { openState } from '../../../agent/store/state.ts';
import { NOW, testAgent } from '../world.ts';
import { clusterOf, hostOf } from './secret-world.ts';

const [folder = '', medium = '', count = '0', kubeconfig] = process.argv.slice(2);
const last = Number(count);
let points = 0;

const access = kubeconfig === undefined ? undefined : await openClusterAccess({ kubeconfig, context: '' });
const api = access && openKubernetesApi(access, { patienceMs: 30_000, requestMs: 30_000 });

using state = openState(join(folder, 'state'));
using _lock = await acquireLock(state.directory, 'import', NOW);
const agent = testAgent(state, folder, {
  targets: [kubeconfig === undefined ? hostOf(folder) : clusterOf(api, folder)],
  onJournal: (point) => {
    points += 1;
    if (last === 0) process.stdout.write(`${point}\n`);
    if (points === last) process.kill(process.pid, 'SIGKILL');
  },
});
await importMedium(agent, medium, { prune: true });
await api?.close();
