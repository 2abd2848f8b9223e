/**
 * `npm run bench apply-objects`: 1,000 objects, in ten packages and in fifty, onto an API server: cold, and again when nothing has
 * changed; the bundled agent beside `kubectl apply --server-side`, in turn in the same run, whole processes. The agent verifies a
 * medium, journals, dry-runs, waits for health and reports meanwhile; kubectl does not. FLEET_BENCH_ROUNDS (5).
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { digestOf, hexOf } from '../bundles/digest.ts';
import { createCertifiedFleet, startHubServer } from '../test/agent/hub-server.ts';
import { bundleAgent } from '../test/harness/run/bundle-agent.ts';
import { startOwnCluster } from '../test/harness/kubernetes/own-cluster.ts';
import { kubectlOf } from '../test/harness/parts/kube.ts';
import { packKubernetesBundle } from '../test/harness/fleets/kubernetes-bundle.ts';
import { writeTestMedium } from '../test/harness/fleets/signed-medium.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { gatherPart } from './gather-part.ts';
import { FIFTY, type Shape, TEN, thousandObjects } from './idle-agent/packages.ts';
import { type Measured, measure, median, medianOf } from './measure.ts';
import { figure, formatTable } from './table.ts';

const ROUNDS = Number(process.env['FLEET_BENCH_ROUNDS'] ?? 5);

await using folder = await temporaryDirectory('bench-apply');
const program = await bundleAgent(join(folder.path, 'bundle'));
const [kube, kwok] = [await gatherPart('kube'), await gatherPart('kwok')];
await using cluster = await startOwnCluster({ kube, kwok });

/** Each run has namespaces of its own. */
type Run = { readonly round: number; readonly shape: Shape };
const prefixOf = (tool: string, { round, shape }: Run): string => `${tool}-${shape.packages}-${round}`;

const kubectl = async (which: Run): Promise<readonly [Measured, Measured]> => {
  const file = join(folder.path, `${prefixOf('kubectl', which)}.yaml`);
  await writeFile(
    file,
    Object.values(thousandObjects(prefixOf('kubectl', which), which.shape)).join('\n---\n'),
  );
  const argv = [kubectlOf(kube), '--kubeconfig', cluster.kubeconfig, 'apply', '--server-side', '-f', file];
  return [await measure(argv), await measure(argv)];
};

/** Enrols the agent and imports its medium, before the measurement. */
const agent = async (which: Run): Promise<readonly [Measured, Measured]> => {
  const home = join(folder.path, prefixOf('agent', which));
  await mkdir(home);
  const fleet = await createCertifiedFleet();
  await using hub = await startHubServer(fleet, home);
  const token = join(home, 'token');
  await writeFile(token, 'token-1\n');
  const env = {
    FLEET_AGENT_STATE: join(home, 'state'),
    FLEET_AGENT_HUB: hub.url,
    FLEET_AGENT_TARGETS: 'kubernetes',
    FLEET_AGENT_KUBECONFIG: cluster.kubeconfig,
    NODE_OPTIONS: '--max-semi-space-size=2',
  };
  const run = (words: readonly string[]): Promise<Measured> =>
    measure([process.execPath, program, ...words], { env });
  await run([
    'enroll',
    '--site=plant-7',
    '--name=kiosk-1',
    '--channel=prod/factory-host',
    `--token-file=${token}`,
    `--root-sha256=${hexOf(digestOf(fleet.roots[0] ?? ''))}`,
  ]);
  const bundle = packKubernetesBundle(fleet, thousandObjects(prefixOf('agent', which), which.shape));
  const medium = await writeTestMedium(join(home, 'medium'), fleet, { release: { version: 1, bundle } });
  return [await run(['import', medium]), await run(['run', '--once'])];
};

const TOOLS = { kubectl, 'fleet-agent': agent } as const;
const SHAPES = [TEN, FIFTY];

const rowsOf = async (shape: Shape): Promise<readonly (readonly string[])[]> => {
  const cold: Record<string, Measured[]> = { kubectl: [], 'fleet-agent': [] };
  const again: Record<string, Measured[]> = { kubectl: [], 'fleet-agent': [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, apply] of Object.entries(TOOLS)) {
      const [first, second] = await apply({ round, shape });
      cold[name]?.push(first);
      again[name]?.push(second);
    }
  }
  return Object.entries({ cold, 'nothing changed': again }).flatMap(([what, runs]) =>
    Object.entries(runs).map(([name, list]) => {
      const { wallSeconds, cpuSeconds, peakMiB } = medianOf(list);
      const ratio = median(
        list.map((run, round) => run.wallSeconds / (runs['kubectl']?.[round]?.wallSeconds ?? Number.NaN)),
      );
      const figures = [wallSeconds, ratio, cpuSeconds, peakMiB].map(figure);
      return [`${what}, ${shape.packages} packages`, name, ...figures];
    }),
  );
};

const rows: (readonly string[])[] = [];
for (const shape of SHAPES) rows.push(...(await rowsOf(shape)));
const load = loadavg()[0]?.toFixed(1);
process.stdout.write(
  `\n1,000 objects, median of ${ROUNDS} rounds, load ${load} at the end; x = wall against kubectl, round by round.\n\n${formatTable(
    ['what', 'tool', 'wall s', 'x', 'cpu s', 'peak MiB'],
    rows,
  )}\n`,
);
