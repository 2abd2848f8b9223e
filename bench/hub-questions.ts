/**
 * `npm run bench hub-questions`: how fast a hub takes reports that are really signed, and answers questions about the present and the past,
 * by the number of sites with 50 assignments each. The database is on disk. FLEET_BENCH_SITES (100,1000,10000), FLEET_BENCH_ROUNDS (40).
 */
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { loadavg } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { readFacts } from '../scheduler/hub/promote/facts/read-facts.ts';
import { readFacts as readRollout } from '../scheduler/hub/promote/rollout/read-facts.ts';
import { join } from 'node:path';
import type { Digest } from '../bundles/digest.ts';
import { digestOf } from '../bundles/digest.ts';
import type { Event } from '../bundles/formats/events/event.ts';
import { openLayout, writeLayoutIndex } from '../bundles/formats/layout/layout.ts';
import { REF_NAME } from '../bundles/media-types.ts';
import type { Channel } from '../bundles/names.ts';
import { formatTime } from '../bundles/time.ts';
import type { SignedReport } from '../bundles/trust/reports/report.ts';
import { answerEvents } from '../scheduler/hub/questions/answers/answer-events.ts';
import { answerHistory } from '../scheduler/hub/questions/answers/answer-history.ts';
import { answerPackage } from '../scheduler/hub/questions/answers/answer-package.ts';
import { answerSearch } from '../scheduler/hub/questions/answers/answer-search.ts';
import { answerWhere } from '../scheduler/hub/questions/answers/answer-where.ts';
import { answerWorkloads } from '../scheduler/hub/questions/answers/answer-workloads.ts';
import { answerCompare } from '../scheduler/hub/questions/answers/compare-environments.ts';
import {
  type AskedQuestion,
  atOrNow,
  parseQuestion,
} from '../scheduler/hub/questions/history/parse-question.ts';
import type { Hub } from '../scheduler/hub/hub.ts';
import { ingestReport } from '../scheduler/hub/ingest/reports/ingest-report.ts';
import { judgeReport } from '../scheduler/hub/ingest/reports/judge-report.ts';
import { newAgentRow } from '../scheduler/hub/sites/agent-record.ts';
import { listMedia } from '../scheduler/hub/questions/status/list-media.ts';
import { readStatus } from '../scheduler/hub/questions/status/read-status.ts';
import { renderTable } from '../scheduler/hub/questions/status/render-table.ts';
import { streamJson, streamLines } from '../scheduler/hub/questions/status/stream-status.ts';
import { openStore } from '../scheduler/hub/store/open-store.ts';
import type { AgentRow } from '../scheduler/hub/store/tables.ts';
import { openKeyDirectory } from '../scheduler/keys/key-directory.ts';
import { initDevRoot } from '../scheduler/keys/root/init-dev-root.ts';
import { newSigningKey } from '../test/harness/signed-fleet.ts';
import { writeSignedLayout } from '../test/harness/signed-layout.ts';
import { temporaryDirectory } from '../test/harness/temporary-directory.ts';
import { type Happening, simulateAgent } from './hub/simulate-agent.ts';
import { figure, formatTable } from './table.ts';

const SITES = (process.env['FLEET_BENCH_SITES'] ?? '100,1000,10000').split(',').map(Number);
const ROUNDS = Number(process.env['FLEET_BENCH_ROUNDS'] ?? 40);
const ASSIGNMENTS = 50;
const FLEET = 'bench';
const NOW = new Date('2026-11-21T08:00:00Z');
const SHARED = digestOf('the candidate');
const CHANNELS: readonly Channel[] = ['prod', 'qa'].flatMap((environment) =>
  Array.from({ length: 10 }, (_, index) => ({ environment, clusterType: `host-${index}` })),
);
const [PROD, QA] = [CHANNELS.slice(0, 10), CHANNELS.slice(10)];

const siteName = (index: number): string => `site-${String(index).padStart(5, '0')}`;
const hoursAgo = (hours: number): Date => new Date(NOW.getTime() - hours * 3_600_000);
const names = Array.from({ length: ASSIGNMENTS }, (_, index) => `app-${String(index).padStart(2, '0')}`);

/** First installs, then the packages of the release; one site in 100 has a tenth of them at another version, one of which drifts. */
const happeningsOf = (
  { lags, seconds }: { readonly lags: boolean; readonly seconds: number },
  channel: Channel,
  packages: ReadonlyMap<string, Digest>,
): readonly Happening[] => {
  const happenings: readonly Partial<Event>[] = [
    { type: 'imported', release: { ...channel, version: 1 } },
    ...names.map((assignment) => ({
      assignment,
      package: digestOf(`old ${assignment}`),
      outcome: 'created' as const,
    })),
    ...names.map((assignment, index) => ({
      assignment,
      package:
        lags && index % 10 === 0 ? digestOf(`other ${assignment}`) : (packages.get(assignment) as Digest),
      outcome: 'configured' as const,
    })),
    ...(lags ? [{ type: 'drift', assignment: names[0] }] : []),
  ];
  return happenings.map((one, index) => ({
    ...one,
    time: new Date(hoursAgo(200 - index).getTime() + seconds * 1000),
  }));
};

const p95 = async (ask: (round: number) => Promise<unknown>): Promise<number> => {
  await ask(0);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    await ask(round);
    times.push(performance.now() - start);
  }
  return times.toSorted((a, b) => a - b)[Math.ceil(ROUNDS * 0.95) - 1] ?? Number.NaN;
};

/** Each site has a statement and receipts in the index of the layout. No question reads them, so they name no blob. */
const addSites = async (layout: string, sites: number): Promise<void> => {
  const opened = await openLayout(layout);
  const descriptors = Array.from({ length: sites }, (_, index) =>
    ['site', 'receipts'].map((tag) => ({
      mediaType: 'application/vnd.oci.image.manifest.v1+json' as const,
      digest: digestOf(`${tag} ${index}`),
      size: 1234,
      annotations: { [REF_NAME]: `sites/${siteName(index)}:${tag}` },
    })),
  );
  await writeLayoutIndex(opened, [...opened.manifests, ...descriptors.flat()]);
};

/** Reads a whole answer, as a client does. @returns the longest time in ms that nothing else could run */
const readWhole = async (pieces: AsyncIterable<string>): Promise<number> => {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await pipeline(pieces, new Writable({ write: (_chunk, _encoding, done) => done() }));
  delay.disable();
  return delay.max / 1e6;
};

type Figures = ReadonlyMap<string, number>;

const run = async (sites: number): Promise<Figures> => {
  await using folder = await temporaryDirectory('bench-hub');
  await initDevRoot(join(folder.path, 'keys'), FLEET, NOW);
  const keys = await openKeyDirectory(join(folder.path, 'keys'));
  await using store = await openStore(join(folder.path, 'hub.db'), FLEET);
  const layout = join(folder.path, 'layout');
  const roles = ['root', 'bundle', 'release', 'lease', 'receipt', 'audit'] as const;
  const signing = Object.fromEntries(
    await Promise.all(roles.map(async (role) => [role, await keys.key(role)])),
  );
  const writer = writeSignedLayout(
    { fleet: FLEET, keys: signing, roots: keys.roots.map(({ bytes }) => bytes) },
    layout,
  );
  for (const channel of CHANNELS)
    await writer.release({
      channel,
      version: 1,
      shared: SHARED,
      issuedAt: hoursAgo(250),
      bundles: [
        {
          kind: 'host',
          packages: Object.fromEntries(
            names.map((name) => [name, { 'package.json': `${channel.environment} ${name}` }]),
          ),
        },
      ],
    });
  await addSites(layout, sites);
  const hub: Pick<Hub, 'store' | 'layout' | 'keys'> = { store, layout, keys };
  const compared = (await answerCompare(hub, { left: 'prod', right: 'qa' }, NOW)).json as {
    assignments: { assignment: string; left: { package: Digest }; right: { package: Digest } }[];
  };
  const packagesOf = (side: 'left' | 'right') =>
    new Map(compared.assignments.map((one) => [one.assignment, one[side].package]));
  const packages = new Map([
    ['prod', packagesOf('left')],
    ['qa', packagesOf('right')],
  ]);
  const key = newSigningKey();
  const agents: { readonly row: AgentRow; readonly report: SignedReport }[] = [];
  let events = 0;
  for (let index = 0; index < sites; index += 1) {
    const who = { site: siteName(index), agent: 'a' };
    const channel = (index % 10 === 0 ? QA : PROD)[Math.floor(index / 10) % 10] as Channel;
    const row = newAgentRow(who, key.public.pem, channel, {}, hoursAgo(300));
    const happenings = happeningsOf(
      { lags: index % 100 === 7, seconds: index % 3600 },
      channel,
      packages.get(channel.environment) ?? new Map(),
    );
    events += happenings.length;
    agents.push({ row, report: await simulateAgent(row.id, FLEET, key).report(happenings, NOW) });
  }
  await store.transact(async (tx) => {
    for (const { row } of agents) await tx.insertInto('agent').values(row).execute();
  });
  const start = performance.now();
  for (const { row, report } of agents) {
    const judged = judgeReport(report, row, FLEET, 'report');
    await ingestReport(store, judged, row, { source: 'network', now: NOW });
  }
  const seconds = (performance.now() - start) / 1000;
  const ask = (asked: AskedQuestion) => parseQuestion(hub, asked, NOW);
  const site = (round: number): string => siteName((round * 97) % sites);
  const { signal } = new AbortController();
  const figures: [string, number][] = [['events/s taken', events / seconds]];
  const measured: Readonly<Record<string, (round: number) => Promise<unknown>>> = {
    'status, all, as JSON': () => readWhole(streamJson(hub, {}, NOW)),
    'status, all, as a table': () => readWhole(streamLines(hub, {}, NOW, { render: renderTable })),
    'status, 20 agents': () => readStatus(hub, {}, NOW, { page: { limit: 20 } }),
    'status, one site': (round) => readStatus(hub, { site: site(round) }, NOW),
    'history, newest 100': async () => answerHistory(hub, await ask({}), NOW),
    'history, environment': async () => answerHistory(hub, await ask({ environment: 'qa' }), NOW),
    'history, site': async (round) => answerHistory(hub, await ask({ site: site(round) }), NOW),
    'history, assignment': async (round) =>
      answerHistory(hub, await ask({ workload: names[round % ASSIGNMENTS] }), NOW),
    'events, newest 100': async () => answerEvents(hub, await ask({}), NOW),
    'events, site': async (round) => answerEvents(hub, await ask({ site: site(round) }), NOW),
    'where, 100 agents': async (round) => {
      const question = await ask({ workload: names[round % ASSIGNMENTS] });
      return answerWhere(hub, { ...question, at: atOrNow(question, NOW) }, NOW);
    },
    'state of a past day, 20 agents': async () => {
      const question = await ask({ at: formatTime(hoursAgo(120)), limit: '20' });
      return answerWhere(hub, { ...question, at: atOrNow(question, NOW) }, NOW);
    },
    'gate of prod': () => readFacts(hub, { from: 'prod', to: 'next' }, SHARED, { now: NOW, signal }),
    'rollout of a channel': () => readRollout(hub, CHANNELS[0] as Channel, formatTime(hoursAgo(300)), NOW),
    'workloads, 50 of a page': () => answerWorkloads(hub, { page: { limit: 50 } }, NOW),
    'media, 50 agents of a page': () => listMedia(hub, {}, { limit: 50 }, NOW),
    'search for a part of a name': (round) =>
      answerSearch(hub, { text: String(round).padStart(2, '0'), page: { limit: 50 } }, NOW),
    'one package at one agent': (round) =>
      answerPackage(hub, { agent: `${site(round)}/a`, assignment: names[round % ASSIGNMENTS] ?? '' }, NOW),
    compare: () => answerCompare(hub, { left: 'prod', right: 'qa' }, NOW),
  };
  figures.push(['longest block by a whole status', await readWhole(streamJson(hub, {}, NOW))]);
  for (const [name, question] of Object.entries(measured)) figures.push([name, await p95(question)]);
  return new Map(figures);
};

const results: Figures[] = [];
for (const sites of SITES) results.push(await run(sites));
const [first] = results;
const rows = [...(first?.keys() ?? [])].map((name) => {
  const values = results.map((one) => one.get(name) ?? Number.NaN);
  return [name, ...values.map(figure), figure((values.at(-1) ?? 0) / (values[0] ?? 1))];
});
process.stdout.write(`
Reports of ${2 * ASSIGNMENTS + 1} events or one more, each in a transaction of its own; p95 of ${ROUNDS} calls in ms; load ${loadavg().map(figure).join(' ')}.

${formatTable(['', ...SITES.map((sites) => `${sites} sites`), 'ratio'], rows)}
`);
