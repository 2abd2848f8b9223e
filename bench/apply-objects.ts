/**
 * `npm run bench apply-objects`: 1,000 objects, in ten packages and in fifty, onto an API server: cold, with one object changed, and again
 * when nothing has changed; the bundled agent beside `kubectl apply --server-side`, in turn in the same run, whole processes. The agent
 * verifies a medium, journals, dry-runs, waits for health and reports meanwhile; kubectl does not. FLEET_BENCH_ROUNDS (5).
 */
import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { bundleAgent } from '../test/harness/run/bundle-agent.ts';
import { startOwnCluster } from '../test/harness/kubernetes/own-cluster.ts';
import { enrolOnCluster } from '../test/e2e/reliability/agent-on-cluster.ts';
import { kubectlOf } from '../test/harness/parts/kube.ts';
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

/** Cold, one object changed, nothing changed. */
const WHAT = ['cold', 'one object changed', 'nothing changed'] as const;
type Three = readonly [Measured, Measured, Measured];

/** Another value in one ConfigMap of one package. */
const withChange = (packages: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(packages).map(([name, text], index) => [
      name,
      index === 0 ? text.replace('number = ', 'changed = ') : text,
    ]),
  );

const kubectl = async (which: Run): Promise<Three> => {
  const file = join(folder.path, `${prefixOf('kubectl', which)}.yaml`);
  const argv = [kubectlOf(kube), '--kubeconfig', cluster.kubeconfig, 'apply', '--server-side', '-f', file];
  const packages = thousandObjects(prefixOf('kubectl', which), which.shape);
  const apply = async (given: Readonly<Record<string, string>>): Promise<Measured> => {
    await writeFile(file, Object.values(given).join('\n---\n'));
    return measure(argv);
  };
  return [await apply(packages), await apply(withChange(packages)), await apply(withChange(packages))];
};

/** Enrols the agent before the measurement. */
const agent = async (which: Run): Promise<Three> => {
  const home = join(folder.path, prefixOf('agent', which));
  await using enrolled = await enrolOnCluster({ program, kubeconfig: cluster.kubeconfig, home });
  const run = (...words: string[]): Promise<Measured> =>
    measure([process.execPath, program, ...words], { env: enrolled.env });
  const packages = thousandObjects(prefixOf('agent', which), which.shape);
  return [
    await run('import', await enrolled.release(packages)),
    await run('import', await enrolled.release(withChange(packages))),
    await run('run', '--once'),
  ];
};

const TOOLS = { kubectl, 'fleet-agent': agent } as const;
const SHAPES = [TEN, FIFTY];

const rowsOf = async (shape: Shape): Promise<readonly (readonly string[])[]> => {
  const runs: Record<string, Three[]> = { kubectl: [], 'fleet-agent': [] };
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, apply] of Object.entries(TOOLS)) runs[name]?.push(await apply({ round, shape }));
  return WHAT.flatMap((what, index) =>
    Object.entries(runs).map(([name, list]) => {
      const measured = list.map((three) => three[index] as Measured);
      const { wallSeconds, cpuSeconds, peakMiB } = medianOf(measured);
      const ratio = median(
        measured.map(
          (one, round) => one.wallSeconds / (runs['kubectl']?.[round]?.[index]?.wallSeconds ?? Number.NaN),
        ),
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
