/**
 * `npm run bench apply-large`: a package of very many ConfigMaps (FLEET_BENCH_OBJECTS, 10,000) on an API server: created, looked at, one
 * changed, removed; each by the bundled agent as a whole process.
 */
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { bundleAgent } from '../test/harness/run/bundle-agent.ts';
import { enrolOnCluster } from '../test/e2e/reliability/agent-on-cluster.ts';
import { startOwnCluster } from '../test/harness/kubernetes/own-cluster.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { gatherPart } from './gather-part.ts';
import { type Measured, measure } from './measure.ts';
import { figure, formatTable } from './table.ts';

const OBJECTS = Number(process.env['FLEET_BENCH_OBJECTS'] ?? 10_000);

await using folder = await temporaryDirectory('bench-large');
const program = await bundleAgent(join(folder.path, 'bundle'));
const [kube, kwok] = [await gatherPart('kube'), await gatherPart('kwok')];
await using cluster = await startOwnCluster({ kube, kwok });

const mapsIn = (namespace: string, count: number, text = 'one'): string =>
  [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...Array.from({ length: count }, (_, number) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `settings-${number}`, namespace },
      data: { 'settings.conf': `number = ${number}\n`.repeat(8), text: number === 0 ? text : 'one' },
    })),
  ]
    .map((object) => JSON.stringify(object))
    .join('\n---\n');

const left = async (): Promise<number> => {
  const { body } = await cluster.request('GET', '/api/v1/namespaces/large/configmaps?limit=1');
  const { items = [], metadata } = body as { items?: unknown[]; metadata?: { remainingItemCount?: number } };
  return items.length + (metadata?.remainingItemCount ?? 0);
};

const other = { other: mapsIn('other', 1) };
await using agent = await enrolOnCluster({
  program,
  kubeconfig: cluster.kubeconfig,
  home: join(folder.path, 'agent'),
});
const run = (...words: string[]): Promise<Measured> =>
  measure([process.execPath, program, ...words], { env: agent.env });

const measured: (readonly [string, Measured])[] = [];
const of = (count: number, text: string) => ({ ...other, large: mapsIn('large', count, text) });
measured.push(['created', await run('import', await agent.release(of(OBJECTS, 'one')))]);
measured.push(['looked at', await run('run', '--once')]);
measured.push(['one changed', await run('import', await agent.release(of(OBJECTS, 'two')))]);
// All but one, and not the namespace, whose deletion would delete what is in it. So many removals wait for a confirmation, with an error.
await run('import', await agent.release(of(1, 'two'))).catch(() => {});
measured.push(['all but one removed', await run('prune')]);
const count = await left();
if (count > 2) throw new Error(`${count} objects are left`);
const rows = measured.map(([what, { wallSeconds, cpuSeconds, peakMiB }]) => [
  what,
  ...[wallSeconds, cpuSeconds, peakMiB].map(figure),
]);
process.stdout.write(
  `\n${OBJECTS} ConfigMaps in one package, load ${loadavg()[0]?.toFixed(1)} at the end.\n\n${formatTable(
    ['what', 'wall s', 'cpu s', 'peak MiB'],
    rows,
  )}\n`,
);
