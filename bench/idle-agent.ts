/**
 * `npm run bench idle-agent`: what the bundled agent costs while nothing happens, as a connected host and as a connected
 * cluster of 1,000 objects in 10 packages that it owns and watches. FLEET_BENCH_SECONDS (600) each.
 */
import { mkdir } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundleAgent } from '../test/harness/run/bundle-agent.ts';
import { HARNESS_AGENT } from '../test/harness/kubernetes/api-client.ts';
import { startOwnCluster } from '../test/harness/kubernetes/own-cluster.ts';
import { packKubernetesBundle } from '../test/harness/fleets/kubernetes-bundle.ts';
import { runOrFail } from '../test/harness/run/run-command.ts';
import { packTestBundle } from '../test/harness/fleets/signed-medium.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { gatherPart } from './gather-part.ts';
import { onePackage, thousandObjects } from './idle-agent/packages.ts';
import { startAgent } from './idle-agent/start-agent.ts';
import { type Idle, watchProcess } from './idle-agent/watch-process.ts';
import { figure, formatTable } from './table.ts';

const SECONDS = Number(process.env['FLEET_BENCH_SECONDS'] ?? 600);
/** As the systemd unit and Dockerfile.agent start it. */
const ENVIRONMENT = {
  NODE_OPTIONS: '--max-semi-space-size=1',
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
};
/** Pause after the release is applied, until memory use is steady. */
const SETTLE_MS = 15_000;

type Row = Idle & { readonly title: string; readonly requests: number };

await using folder = await temporaryDirectory('bench-idle');
const program = process.env['FLEET_BENCH_AGENT'] ?? (await bundleAgent(join(folder.path, 'bundle')));
const hertz = Number((await runOrFail(['getconf', 'CLK_TCK'])).stdout);

const host = async (): Promise<Row> => {
  const home = join(folder.path, 'host');
  await mkdir(home);
  await using agent = await startAgent({
    program,
    folder: home,
    bundle: (fleet) =>
      packTestBundle(
        fleet,
        Array.from({ length: 10 }, (_, index) => onePackage(index)),
      ),
    env: { ...ENVIRONMENT, FLEET_AGENT_TARGETS: 'host' },
  });
  await sleep(SETTLE_MS);
  const before = agent.requests();
  const idle = await watchProcess(agent.pid, SECONDS, hertz);
  return { ...idle, title: 'host, 10 packages', requests: agent.requests() - before };
};

const cluster = async (): Promise<Row> => {
  const home = join(folder.path, 'cluster');
  await mkdir(home);
  const [kube, kwok] = [await gatherPart('kube'), await gatherPart('kwok')];
  await using api = await startOwnCluster({ kube, kwok, audit: true });
  const requestsOfAgent = async (): Promise<number> =>
    (await api.readAudit()).filter(
      ({ userAgent = '' }) => !OTHERS.test(userAgent) && userAgent !== HARNESS_AGENT,
    ).length;
  await using agent = await startAgent({
    program,
    folder: home,
    bundle: (fleet) => packKubernetesBundle(fleet, thousandObjects()),
    env: { ...ENVIRONMENT, FLEET_AGENT_TARGETS: 'kubernetes', FLEET_AGENT_KUBECONFIG: api.kubeconfig },
  });
  await sleep(SETTLE_MS);
  const before = agent.requests() + (await requestsOfAgent());
  const idle = await watchProcess(agent.pid, SECONDS, hertz);
  const requests = agent.requests() + (await requestsOfAgent()) - before;
  return { ...idle, title: 'cluster, 1,000 objects in 10 packages', requests };
};
const OTHERS = /^(kube|kubectl|kubelet|kwok)[\w-]*\//;

const CASES: Readonly<Record<string, () => Promise<Row>>> = { host, cluster };
const chosen = process.env['FLEET_BENCH_CASES']?.split(',') ?? Object.keys(CASES);
const rows: Row[] = [];
for (const name of chosen) {
  process.stdout.write(`${name}: ${SECONDS} s, load ${loadavg()[0]?.toFixed(1)} ...\n`);
  const row = await CASES[name]?.();
  if (row) rows.push(row);
}

process.stdout.write(
  `\nThe bundled agent idle for ${SECONDS} s; own = memory not shared with another Node.\n\n`,
);
process.stdout.write(
  `${formatTable(
    ['agent', 'RSS MiB', 'most', 'own', 'CPU % of a core', 'requests'],
    rows.map(({ title, medianMiB, maxMiB, ownMiB, cpuSeconds, seconds, requests }) => [
      title,
      figure(medianMiB),
      figure(maxMiB),
      figure(ownMiB),
      ((100 * cpuSeconds) / seconds).toFixed(3),
      String(requests),
    ]),
  )}\n`,
);
