/**
 * `npm run bench office-growth`: what grows at an office that runs for years. FLEET_BENCH_BUILDS (400) builds of the example company, one a
 * day, each of another commit and every fifth with another file of 1 MB for a host; then FLEET_BENCH_DAYS (365) of reports of 20 agents,
 * two events a day each, with a retention of 90 days. Shows the size of each folder and the rows of each table on the way.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import { digestOf, hexOf } from '../bundles/digest.ts';
import { addDays, DAY_MS } from '../bundles/time.ts';
import { createBuildMemory } from '../scheduler/assemble/incremental/build-memory.ts';
import { storeReports, takeReport } from '../scheduler/hub/http/agents/take-report.ts';
import { newAgentRow } from '../scheduler/hub/sites/agent-record.ts';
import { openStore } from '../scheduler/hub/store/open-store.ts';
import { noteVersions } from '../scheduler/hub/questions/history/note-versions.ts';
import { applyRetention } from '../scheduler/hub/upkeep/retention/apply-retention.ts';
import { sampleCompliance } from '../scheduler/hub/upkeep/sample-compliance.ts';
import { buildStep } from '../scheduler/hub/watch/build-step.ts';
import { createDeliverStep } from '../scheduler/hub/watch/deliver-step.ts';
import { openKeyDirectory } from '../scheduler/keys/key-directory.ts';
import { readConfiguration } from '../scheduler/settings/configuration.ts';
import { openOffice } from '../test/e2e/office.ts';
import { newSigningKey } from '../test/harness/fleets/signed-fleet.ts';
import { commitFolder, makeGitRepository } from '../test/harness/neighbours/git-repository.ts';
import { runOrFail } from '../test/harness/run/run-command.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { simulateAgent } from './hub/simulate-agent.ts';
import { formatTable } from './table.ts';

const BUILDS = Number(process.env['FLEET_BENCH_BUILDS'] ?? 400);
const DAYS = Number(process.env['FLEET_BENCH_DAYS'] ?? 365);
const AGENTS = 20;
const LOOKS = 5;
const { signal } = new AbortController();
const log = { info: () => {}, warn: console.error, error: console.error };

await using folder = await temporaryDirectory('bench-growth');
const at = (...names: readonly string[]): string => join(folder.path, ...names);

type Size = { readonly files: number; readonly bytes: number };

const sizeOf = async (path: string): Promise<Size> => {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  let [files, bytes] = [0, 0];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    files += 1;
    bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0;
  }
  return { files, bytes };
};

const shown = ({ files, bytes }: Size): string => `${files} / ${(bytes / 1e6).toFixed(1)}`;

/** Moves the times of all files of the cache back by a day. */
const ageByADay = async (path: string): Promise<void> => {
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const found = await stat(file).catch(() => undefined);
    const before = found && new Date(found.mtimeMs - DAY_MS);
    if (before) await utimes(file, before, before).catch(() => undefined);
  }
};

const looksAt = (all: number, index: number): boolean => (index + 1) % Math.ceil(all / LOOKS) === 0;

const office = await openOffice(folder.path);
await writeFile(at('hub', 'README.md'), 'Trees\n');
const content = new Map<string, Buffer>();
await using server = createServer((request, response) => void response.end(content.get(request.url ?? '')));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const repository = at('all.git');
const source = at('source');
const copy = async (): Promise<void> => {
  await runOrFail(['mkdir', '-p', source]);
  await runOrFail(['cp', '-r', at('platform'), at('apps'), source]);
};
const packageFile = 'apps/info-screen/host/package.yaml';
const host = await readFile(at(packageFile), 'utf8');
await office.edit('platform/base/workspaces/retail.yaml', (text) =>
  text.replace('  host:\n', '  host:\n    paths: [/srv/model.bin]\n'),
);
await copy();
await makeGitRepository(repository, { main: source });
await appendFile(
  join(repository, 'config'),
  '[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n',
);
await makeGitRepository(at('trees.git'), { main: at('hub') });
await writeFile(
  at('fleet-scheduler.yaml'),
  `platform: file://${repository}#main:platform\nkeys: keys\nlayout: releases\ndb: hub/hub.db\ncache: cache\nimages: images\nenvironments: [prod]\ntree: git+file://${at('trees.git')}\nallowRemovals: 100\n`,
);
const configuration = await readConfiguration({ config: at('fleet-scheduler.yaml') }, folder.path);
const options = {
  configuration,
  env: process.env,
  cwd: folder.path,
  clock: () => new Date(),
  log,
  random: () => 0,
};

const start = new Date('2026-01-01T00:00:00Z');
let now = start;
const keys = await openKeyDirectory(at('keys'));
const db = at('year.db');
await using store = await openStore(db, keys.root.fleet);
const hub = { keys, store, layout: at('releases'), [Symbol.asyncDispose]: async () => {} };

const FOLDERS = ['cache/content', 'cache/trees', 'cache', 'releases/blobs', 'releases'];
const memory = createBuildMemory();
const deliver = createDeliverStep(options);
const builds: string[][] = [];
for (let index = 0; index < BUILDS; index += 1) {
  const model = `/model-${Math.floor(index / 5)}.bin`;
  if (!content.has(model)) content.set(model, randomBytes(1 << 20));
  const digest = digestOf(content.get(model) ?? Buffer.alloc(0));
  const file = `  files:\n    - path: /srv/model.bin\n      url: ${base}${model}\n      sha256: "${hexOf(digest)}"\n`;
  await writeFile(at(packageFile), host.replace('  files:\n', file));
  await writeFile(at('apps/info-screen/host/index.html'), `<h1>day ${index}</h1>\n`);
  await copy();
  await commitFolder(repository, 'main', source);
  // As a server does.
  if (index % 50 === 49) await runOrFail(['git', '--git-dir', repository, 'repack', '-a', '-d', '-q']);
  const built = await buildStep(options, memory, signal);
  if (built.failure) throw built.failure;
  await deliver(true, signal);
  const begin = performance.now();
  await noteVersions(hub);
  const noted = (performance.now() - begin) / 1000;
  await ageByADay(at('cache'));
  if (!looksAt(BUILDS, index)) continue;
  const sizes = await Promise.all(FOLDERS.map((name) => sizeOf(at(name))));
  const repositories = (await readdir(at('cache'))).filter((name) => name.endsWith('.git'));
  const each = await Promise.all(repositories.map((name) => sizeOf(at('cache', name))));
  const git = {
    files: each.reduce((sum, { files }) => sum + files, 0),
    bytes: each.reduce((sum, { bytes }) => sum + bytes, 0),
  };
  builds.push([`${index + 1}`, built.seconds.toFixed(2), noted.toFixed(2), shown(git), ...sizes.map(shown)]);
}
process.stdout.write(`
Builds, one a day: files / MB of each folder.

${formatTable(['builds', 's', 'versions s', 'cache/*.git (2)', ...FOLDERS], builds)}
`);

const clock = () => now;
const context = { hub, clock, store: storeReports({ hub, clock, receiptKey: await keys.key('receipt') }) };
const key = newSigningKey();
const channel = { environment: 'prod', clusterType: 'kiosk' };
const agents = Array.from({ length: AGENTS }, (_, index) => {
  const row = newAgentRow({ site: `shop-${index}`, agent: 'a' }, key.public.pem, channel, {}, start);
  return { row, simulated: simulateAgent(row.id, keys.root.fleet, key) };
});
await store.transact(async (tx) => {
  await tx
    .insertInto('agent')
    .values(agents.map(({ row }) => row))
    .execute();
});
const TABLES = (await store.db.introspection.getTables()).map(({ name }) => name);
const days: string[][] = [];
for (let day = 0; day < DAYS; day += 1) {
  now = addDays(start, day);
  for (const [index, { row, simulated }] of agents.entries()) {
    const happenings = [0, 1].map((one) => ({
      assignment: `app-${one}`,
      package: digestOf(`${index} ${day} ${one}`),
      outcome: 'configured' as const,
      time: now,
    }));
    const { statement, events } = await simulated.report(happenings, now);
    await takeReport(
      { statement: JSON.parse(statement.toString()), events: events.toString() },
      row,
      context,
    );
  }
  await sampleCompliance(hub, now);
  await applyRetention(hub, { days: 90, now, signal, share: 1 });
  if (!looksAt(DAYS, day)) continue;
  const counted = new SQLite(db, { readonly: true });
  const rows = TABLES.map(
    (name) => counted.prepare(`select count(*) from "${name}"`).pluck().get() as number,
  );
  const free = counted.pragma('freelist_count', { simple: true }) as number;
  counted.close();
  const [file, wal] = await Promise.all([stat(db), stat(`${db}-wal`)]);
  const filled = TABLES.flatMap((name, one) => (rows[one] ? [`${name} ${rows[one]}`] : []));
  days.push([
    `${day + 1}`,
    (file.size / 1e6).toFixed(1),
    (wal.size / 1e6).toFixed(1),
    `${free}`,
    filled.join(', '),
  ]);
}
process.stdout.write(`
Reports of ${AGENTS} agents, two events a day each, retention of 90 days.

${formatTable(['days', 'database MB', 'WAL MB', 'free pages', 'rows'], days)}
`);
