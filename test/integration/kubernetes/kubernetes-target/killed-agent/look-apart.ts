/**
 * One look of an agent at a cluster, killed, as by a power cut, at the n-th boundary of its journal.
 * Usage: node look-apart.ts <folder> <kubeconfig> <namespace> <n>
 */
import { connect, look, openLocked } from './scenarios.ts';

const [folder = '', kubeconfig = '', ns = '', count] = process.argv.slice(2);
const last = Number(count);
let points = 0;

await using site = await openLocked({ folder, api: await connect(kubeconfig), ns }, () => {
  points += 1;
  if (points === last) process.kill(process.pid, 'SIGKILL');
});
await look(site);
