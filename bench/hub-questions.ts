/**
 * `npm run bench hub-questions`: how fast a hub takes reports that are really signed, and answers what its page and its API ask, through its
 * routes, by the number of sites with 50 assignments each. On SQLite, or with FLEET_BENCH_DATABASE=postgresql on a server of its own that
 * waits for its disk, or on an empty database of a URL. FLEET_BENCH_SITES (100,1000,10000), FLEET_BENCH_ROUNDS (40), FLEET_BENCH_QUESTIONS
 * (a part of their names), FLEET_BENCH_STORE (a folder that keeps the fleets for the next run).
 */
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { addDays } from '../bundles/time.ts';
import { streamJson } from '../scheduler/hub/questions/status/stream-status.ts';
import { createToken } from '../scheduler/hub/sites/tokens/create-token.ts';
import { findPart } from '../test/harness/parts.ts';
import { startPostgresql } from '../test/harness/neighbours/postgresql.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { ASSIGNMENTS, NOW, openFleetHub } from './hub/fleet-hub.ts';
import { ask, openServer } from './hub/fleet-server.ts';
import { pageQuestions } from './hub/page-questions.ts';
import { figure, formatTable } from './table.ts';

const SITES = (process.env['FLEET_BENCH_SITES'] ?? '100,1000,10000').split(',').map(Number);
const ROUNDS = Number(process.env['FLEET_BENCH_ROUNDS'] ?? 40);
const WANTED = process.env['FLEET_BENCH_QUESTIONS'] ?? '';
const DATABASE = process.env['FLEET_BENCH_DATABASE'];

/** Reads a whole answer, as a client does. @returns the longest block of the event loop in ms */
const readWhole = async (pieces: AsyncIterable<string>): Promise<number> => {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await pipeline(pieces, new Writable({ write: (_chunk, _encoding, done) => done() }));
  delay.disable();
  return delay.max / 1e6;
};

type Figures = ReadonlyMap<string, number>;

const run = async (sites: number, folder: string, database: string | undefined): Promise<Figures> => {
  await using fleet = await openFleetHub(sites, { folder, database });
  const { hub, made } = fleet;
  const terms = { note: undefined, expires: addDays(NOW, 30), now: NOW };
  const { token } = await createToken(hub.store, { scope: 'reader' }, terms);
  const server = await openServer(hub);
  const figures: [string, number][] = [['events/s taken', made.events / made.seconds]];
  for (const [name, question] of Object.entries(pageQuestions(sites))) {
    if (!name.includes(WANTED)) continue;
    const times: number[] = [];
    const first = await ask(server, question(0), token);
    const before = process.cpuUsage();
    for (let round = 0; round < ROUNDS; round += 1) times.push(await ask(server, question(round), token));
    const { user, system } = process.cpuUsage(before);
    figures.push([name, times.toSorted((a, b) => a - b)[Math.ceil(ROUNDS * 0.95) - 1] ?? Number.NaN]);
    figures.push([`${name}, first`, first]);
    figures.push([`${name}, cpu`, (user + system) / 1000 / ROUNDS]);
  }
  if ('whole status'.includes(WANTED)) {
    const start = performance.now();
    figures.push(['whole status: longest block', await readWhole(streamJson(hub, {}, NOW))]);
    figures.push(['whole status', performance.now() - start]);
  }
  await server.close();
  return new Map(figures);
};

await using temporary = await temporaryDirectory('bench-hub');
const kept = process.env['FLEET_BENCH_STORE'] ?? temporary.path;
const found = DATABASE === 'postgresql' ? findPart('postgresql') : undefined;
if (found?.present === false) throw new Error(found.reason);
await using postgresql = found ? await startPostgresql(found.path, { fast: false }) : undefined;
const results: Figures[] = [];
for (const sites of SITES) {
  const database = postgresql ? postgresql.url(await postgresql.create()) : DATABASE;
  results.push(await run(sites, join(kept, `${sites}`), database));
}
const rows = [...(results[0]?.keys() ?? [])]
  .filter((name) => !/, (?:first|cpu)$/.test(name))
  .map((name) => [
    name,
    ...results.map((one) => figure(one.get(name) ?? Number.NaN)),
    ...['first', 'cpu'].map((what) => figure(results.at(-1)?.get(`${name}, ${what}`) ?? Number.NaN)),
  ]);
process.stdout.write(`
${ASSIGNMENTS} assignments a site, on ${DATABASE === undefined ? 'SQLite' : 'PostgreSQL'}; p95 of ${ROUNDS} calls in ms, and of the largest fleet the first call and the mean CPU time of the hub; load ${loadavg().map(figure).join(' ')}.

${formatTable(['', ...SITES.map((sites) => `${sites} sites`), 'first', 'cpu'], rows)}
`);
