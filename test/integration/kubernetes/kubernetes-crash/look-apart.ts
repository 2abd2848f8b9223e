/**
 * One look of an agent at a cluster, killed, as by a power cut, at the n-th boundary of its journal.
 * Usage: node look-apart.ts <folder> <kubeconfig> <namespace> <n>; n = 0 goes through and prints every boundary.
 */
import { look, openLocked } from './scenarios.ts';

const [folder = '', kubeconfig = '', ns = '', count = '0'] = process.argv.slice(2);
const last = Number(count);
let points = 0;

await using site = await openLocked(folder, kubeconfig, ns, (point) => {
  points += 1;
  if (last === 0) process.stdout.write(`${point}\n`);
  if (points === last) process.kill(process.pid, 'SIGKILL');
});
await look(site);
