/**
 * Kills the agent, or another of the programs, with SIGKILL at random moments under load. Prints what it saw; exit code 1 when
 * something did not recover. Usage: node test/e2e/reliability/kill-agent.ts [agent|hub|publish] [folder|cluster]
 * FLEET_KILLS: how often, 100; FLEET_SEED: of the moments, 1.
 */
import { join } from 'node:path';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { parts } from '../../harness/parts.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { makeClusterField } from './cluster-field.ts';
import type { Field } from './field.ts';
import { makeFolderField } from './folder-field.ts';
import { startOnlineOffice } from './online-office.ts';
import { runKills, type Victim } from './run-kills.ts';

const [victim = 'agent', where = 'folder'] = process.argv.slice(2) as [Victim?, ('folder' | 'cluster')?];
const kills = Number(process.env['FLEET_KILLS'] ?? 100);
const seed = Number(process.env['FLEET_SEED'] ?? 1);

const need = (name: 'dockerRegistry' | 'kube' | 'kwok'): string => {
  const part = parts[name];
  if (!part.present) throw new Error(part.reason);
  return part.path;
};

await using folder = await temporaryDirectory('kills');
await using office = await startOnlineOffice(folder.path, {
  dockerRegistry: need('dockerRegistry'),
  watches: victim !== 'publish',
});
await using cleanup = new AsyncDisposableStack();
const makeField = async (): Promise<Field> => {
  if (where === 'folder') return makeFolderField(office, join(folder.path, 'root'));
  const cluster = await startOwnCluster({ kube: need('kube'), kwok: need('kwok') });
  return makeClusterField(office, cleanup.use(cluster));
};
const field = await makeField();
const report = await runKills(office, field, {
  victim,
  kills,
  seed,
  recoveryMs: 60_000,
  say: (line) => void process.stdout.write(`${line}\n`),
});
const sorted = report.recoveries.toSorted((a, b) => a - b);
const seconds = (share: number): string =>
  ((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0) / 1000).toFixed(1);
process.stdout.write(
  `${kills} kills of ${victim} (${where}, seed ${seed}), ${report.changes} changes, ${report.events} events at the hub, each once
recovered: ${report.recoveries.length} of ${kills}, median ${seconds(0.5)} s, longest ${seconds(1)} s
${Object.entries(report.moments)
  .toSorted(([, a], [, b]) => b - a)
  .map(([moment, count]) => `${String(count).padStart(4)}  ${moment}`)
  .join('\n')}
`,
);
