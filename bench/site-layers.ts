/**
 * `npm run bench site-layers`: one value of a region changes in the repository, until every site of it is signed for again: build, compose, sign,
 * write, in one process with the memory settings of a hub. Every third site is in the region. Then the answers that the page asks for: the tree, the
 * first views of forms of sites, and the preview of a value of all sites. Then the programs as users run them: the value of the region again, one
 * value of all sites in one call beside a call for a single site, and the medium of a site at which values alone changed. FLEET_BENCH_SITES (2000), 20 assignments, 4 layers.
 */
import './site-layers/hub-flags.ts';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { adviseBuilt } from '../scheduler/assemble/advise-built.ts';
import { createBuildMemory } from '../scheduler/assemble/incremental/build-memory.ts';
import { build } from '../scheduler/build/build.ts';
import { newAgentRow } from '../scheduler/hub/sites/agent-record.ts';
import { issueSite } from '../scheduler/hub/sites/issue-site.ts';
import { composeSites, writeComposed } from '../scheduler/hub/sites/layers/compose-sites.ts';
import { answerSiteValues } from '../scheduler/hub/promote/values/answer-site-values.ts';
import { resolveAsked } from '../scheduler/hub/promote/values/asked-values.ts';
import { answerValuesTree } from '../scheduler/hub/promote/values/answer-values-tree.ts';
import { previewValues } from '../scheduler/hub/promote/values/preview-values.ts';
import { listVersions } from '../scheduler/hub/promote/values/list-versions.ts';
import { parseAllowance } from '../scheduler/hub/sites/tokens/allowance.ts';
import { readEnrolled } from '../scheduler/hub/sites/layers/read-enrolled.ts';
import { openSources } from '../scheduler/load/sources/open-sources.ts';
import { buildEnvironment } from '../scheduler/views/build-environment.ts';
import { siteSigner } from '../scheduler/hub/sites/site-signer.ts';
import { openStore } from '../scheduler/hub/store/open-store.ts';
import { initDevRoot } from '../scheduler/keys/root/init-dev-root.ts';
import { openKeyDirectory } from '../scheduler/keys/key-directory.ts';
import { newSigningKey } from '../test/harness/fleets/signed-fleet.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { writeFiles } from '../test/scheduler/file-tree.ts';
import { type Measured, measure as runMeasured } from './measure.ts';
import { CHANNEL, labelsOf, layeredPlatform, layers } from './site-layers/layered-platform.ts';
import { figure, formatTable } from './table.ts';

const SITES = Number(process.env['FLEET_BENCH_SITES'] ?? 2000);
const ASSIGNMENTS = 20;
const FLEET = 'bench';
const NOW = new Date('2026-11-21T08:00:00Z');

await using folder = await temporaryDirectory('bench-site-layers');
const at = (...parts: readonly string[]): string => join(folder.path, ...parts);
await writeFiles(folder.path, layeredPlatform(FLEET, ASSIGNMENTS));
await initDevRoot(at('keys'), FLEET, NOW);
const keys = await openKeyDirectory(at('keys'));
const { signal } = new AbortController();
const memory = createBuildMemory();
const buildAll = (now: Date) =>
  build({
    platform: at('platform'),
    maps: [],
    cacheDirectory: at('cache'),
    layout: at('layout'),
    keys,
    memory,
    now,
    signal,
  });
const first = await buildAll(NOW);
const [press] = first.channels;
if (press?.outcome !== 'released' || press.held.length > 0)
  throw new Error(`not released: ${press?.outcome}, ${press?.held[0]?.message}`);

await using store = await openStore(at('hub.db'), FLEET);
const hub = { keys, store, layout: at('layout'), [Symbol.asyncDispose]: async () => {} };
const signer = await siteSigner(hub);
const key = newSigningKey();
await store.transact(async (tx) => {
  for (let index = 0; index < SITES; index += 1) {
    const site = `plant-${index}`;
    const row = newAgentRow({ site, agent: 'edge' }, key.public.pem, CHANNEL, labelsOf(index), NOW);
    await tx.insertInto('agent').values(row).execute();
    await issueSite(tx, site, signer, NOW);
  }
});

const rows: string[][] = [];
const measure = async (what: string, work: () => Promise<number>): Promise<void> => {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  const sites = await work();
  const { user, system } = process.cpuUsage(cpu);
  rows.push([
    what,
    String(sites),
    `${figure((performance.now() - start) / 1000)} s`,
    `${figure((user + system) / 1e6)} s`,
    `${figure(process.memoryUsage.rss() / 2 ** 20)} MB`,
  ]);
};
const compose = async (now: Date): Promise<number> => {
  const { changed, held } = await composeSites(hub, signer, { now });
  if (held.length > 0) throw new Error(`${held.length} sites are held`);
  await writeComposed(hub, { now });
  return changed.length;
};

await measure('first composition of every site', () => compose(NOW));
await measure('one value of a region: build, compose, sign, write', async () => {
  await writeFile(at('platform/base/layers.yaml'), layers('n2'));
  const now = new Date(NOW.getTime() + 60_000);
  const { channels } = await buildAll(now);
  if (channels.some(({ bundle }, index) => bundle !== first.channels[index]?.bundle))
    throw new Error('a bundle was built again');
  return await compose(now);
});
await measure('values of all sites judged, as validate and build do', async () => {
  const { platform, bundles } = await buildEnvironment(
    { platform: at('platform'), maps: [], cacheDirectory: at('cache'), env: {} },
    openSources({ maps: [], cacheDirectory: at('cache'), env: process.env }),
    'prod',
  );
  const { findings } = await adviseBuilt({ platform, bundles }, await readEnrolled(hub));
  return findings.length;
});
await measure('nothing changed', () => compose(NOW));

const allowances = [parseAllowance('values:*')];
const view = async (
  what: string,
  rounds: number,
  ask: (round: number) => Promise<unknown>,
): Promise<string[]> => {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await ask(round);
    times.push(performance.now() - start);
  }
  const sorted = times.toSorted((a, b) => a - b);
  const part = (share: number): string => `${figure(sorted[Math.floor(share * (rounds - 1))] ?? 0)} ms`;
  return [what, part(0.5), part(0.95)];
};
const views = [
  await view('tree, 100 sites of a page', 20, () =>
    answerValuesTree(hub, { allowances, select: {} }, { limit: 100 }),
  ),
  await view('form of a site, with its history', 40, async (round) => {
    const site = `plant-${(round * 49) % SITES}`;
    const [found] = await Promise.all([answerSiteValues(hub, site, allowances), listVersions(hub, site, 20)]);
    if (found?.places[0]?.values.length !== 2) throw new Error(`the form of ${site} lacks values`);
  }),
  await view(`preview of a value of ${SITES} sites`, 5, async (round) => {
    const changes = await resolveAsked(hub, { select: { kind: 'plant' }, set: { port: 9000 + round } });
    const { sites } = await previewValues(hub, changes, { seen: undefined, review: undefined });
    if (sites.length !== SITES) throw new Error(`the preview names ${sites.length} sites`);
  }),
];

const scheduler = join(import.meta.dirname, '../scheduler/fleet-scheduler.js');
const exporter = join(import.meta.dirname, '../exporter/fleet-export.js');
await writeFile(
  at('fleet-scheduler.yaml'),
  `platform: ${at('platform')}\nkeys: ${at('keys')}\nlayout: ${at('layout')}\ndb: ${at('hub.db')}\n`,
);
const run = (...words: readonly string[]): Promise<Measured> =>
  runMeasured([process.execPath, scheduler, ...words, '--config', at('fleet-scheduler.yaml')]);
const set = (...words: readonly string[]): Promise<Measured> => run('sites', 'set', ...words);
await writeFile(at('platform/base/layers.yaml'), layers('n3'));
const built = await run('build');
const composed = await run('sites', 'compose');
const single = await set('plant-0', 'port=8080');
const many = await set('--select', 'kind=plant', 'port=9090');
const shown = (what: string, { wallSeconds, cpuSeconds, peakMiB }: Measured): readonly string[] => [
  what,
  `${figure(wallSeconds)} s`,
  `${figure(cpuSeconds)} s`,
  `${figure(peakMiB)} MB`,
];
const calls = [
  shown('build, after one value of a region changed', built),
  shown(`sites compose, ${Math.ceil(SITES / 3)} sites`, composed),
  shown('sites set plant-0 port=8080', single),
  shown(`sites set --select kind=plant port=9090 (${SITES} sites)`, many),
];

const fill = (to: string, ...more: readonly string[]): Promise<Measured> =>
  runMeasured([
    process.execPath,
    exporter,
    'create',
    '--from',
    at('layout'),
    '--site',
    'plant-0',
    '--to',
    at(to),
    ...more,
  ]);
await fill('full');
await set('plant-0', 'port=7070');
await fill('values', '--values-only');
const bytesOf = async (folderName: string): Promise<number> => {
  const entries = await readdir(at(folderName), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
};

process.stdout.write(
  `${formatTable(['call', 'wall', 'CPU', 'memory'], calls)}\n\n${SITES} single calls would take ${figure((SITES * single.cpuSeconds) / many.cpuSeconds)} times the CPU of the one; the medium of a site has ${await bytesOf('full')} bytes, and where values alone changed ${await bytesOf('values')}\n\n`,
);
process.stdout.write(
  `${formatTable(['step', 'sites signed', 'wall', 'CPU', 'memory after it'], rows)}\n\n${SITES} sites, ${ASSIGNMENTS} assignments, 4 layers; load ${loadavg()[0]?.toFixed(1)}\n\n${formatTable(['answer', 'median', 'p95'], views)}\n`,
);
