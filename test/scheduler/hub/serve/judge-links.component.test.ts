import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { linksOf } from '../../../../scheduler/hub/promote/facts/link.ts';
import { createLinkJudge } from '../../../../scheduler/hub/serve/judge-links.ts';
import { promoteIfOpen } from '../../../../scheduler/hub/serve/promote-open.ts';
import { readLinkStates } from '../../../../scheduler/hub/questions/state/link-states.ts';
import { openStore, type Store } from '../../../../scheduler/hub/store/open-store.ts';
import { decide } from '../../../../scheduler/release/audit/decide.ts';
import { type KeyDirectory, openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import type { Promotion, PromotionPolicy } from '../../../../scheduler/model/promotion.ts';
import { openReleases } from '../../../../scheduler/release/write/open-releases.ts';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { writeFiles } from '../../file-tree.ts';
import { type ChainOffice, NOW, openBuiltOffice } from '../../release/chain/chain-office.ts';
import { policy } from '../promote/gate/gate-cases.ts';
import { dropDatabase, hubDatabaseAt } from '../test-database.ts';

const NEVER = new AbortController().signal;

let office: ChainOffice;
let keys: KeyDirectory;
let store: Store;
let statements: string[];
let log: [string, Record<string, unknown>][];

beforeEach(async () => {
  office = await openBuiltOffice();
  keys = await openKeyDirectory(join(office.folder, 'keys'));
  statements = [];
  const db = await hubDatabaseAt(join(office.folder, 'hub.db'), 'halden');
  store = await openStore(db, 'halden', {
    log: ({ query }) => void statements.push(query.sql),
  });
  await writeFiles(office.folder, { 'fleet-scheduler.yaml': 'keys: keys\nlayout: out\n' });
  log = [];
  return async () => {
    await store[Symbol.asyncDispose]();
    await dropDatabase(db);
  };
});

const automatic = (more: Partial<PromotionPolicy> = {}): PromotionPolicy =>
  policy({ name: 'dev-to-qa', from: 'dev', to: 'qa', mode: 'automatic', ...more });

const chainOf = (...promotionPolicies: readonly PromotionPolicy[]): Promotion => ({
  environments: [{ name: 'dev' }, { name: 'qa', promotedFrom: 'dev' }, { name: 'prod', promotedFrom: 'qa' }],
  promotionPolicies,
  rolloutPolicies: [],
  freshnessPolicies: [],
});

/** @param newest the platform as it is when a promotion is about to be written */
const judgeOf = async (chain: Promotion, newest = chain) => {
  const promoted: true[] = [];
  const note = (fields: object, message: string): void =>
    void log.push([message, fields as Record<string, unknown>]);
  const { round, follow } = createLinkJudge({
    configuration: await readConfiguration(
      { config: join(office.folder, 'fleet-scheduler.yaml') },
      office.folder,
    ),
    store,
    clock: () => NOW,
    log: { info: note, warn: note, error: note } as never,
    readChain: async () => newest,
    askChecks: async () => {},
    lockWaitMs: 1,
    onPromoted: () => void promoted.push(true),
  });
  follow(chain);
  return { round: () => round(NEVER), promoted };
};

const entries = async () => (await readAuditLog(await openLayout(office.layout), keys.roots)).entries;

const decision = async (kind: 'pause' | 'resume', environment: string): Promise<void> => {
  using releases = await openReleases(office.layout, { command: kind, now: NOW });
  const said = { decision: kind, environment, person: 'eve', reason: 'stock taking', now: NOW };
  await decide(releases, keys, said);
};

const states = async (): Promise<readonly string[]> =>
  (await readLinkStates(store.db)).map(({ to, state, waitsFor }) => `${to} ${state} ${waitsFor ?? '-'}`);

test('an automatic link is promoted once by its policy, and the next build releases it', async () => {
  const judge = await judgeOf(chainOf(automatic()));
  for (let round = 0; round < 3; round++) await judge.round();
  expect(await entries()).toMatchObject([
    {
      kind: 'promotion',
      predicate: {
        to: 'qa',
        mode: 'automatic',
        person: null,
        reason: 'PromotionPolicy dev-to-qa',
        policy: expect.stringMatching(/^sha256:/),
        verdict: expect.stringMatching(/^sha256:/),
      },
    },
  ]);
  expect(judge.promoted).toHaveLength(1);
  expect(await states()).toEqual(['prod waiting RELEASE_MISSING', 'qa promoted -']);
  await office.build();
  expect(await office.released('qa')).toMatchObject({ number: 1 });
  await judge.round();
  // A link without a policy is judged for the status, and promoted by a person.
  expect(await states()).toEqual(['prod ready -', 'qa promoted -']);
  expect(await entries()).toHaveLength(1);
  expect(log.filter(([message]) => message === 'promoted')).toMatchObject([
    ['promoted', { from: 'dev', to: 'qa', number: 1, policy: 'dev-to-qa' }],
  ]);
});

test('a closed gate, a manual link and a paused link are not promoted; a resumed one is', async () => {
  await (await judgeOf(chainOf(automatic({ mode: 'manual' })))).round();
  expect(await states()).toContain('qa ready -');
  const soaking = automatic({ compliance: { percent: 100, of: 'enrolled', require: [] } });
  await (await judgeOf(chainOf(soaking))).round();
  expect(await states()).toContain('qa waiting compliance');
  await decision('pause', 'qa');
  const judge = await judgeOf(chainOf(automatic()));
  await judge.round();
  expect(await states()).toContain('qa paused -');
  expect((await entries()).map(({ kind }) => kind)).toEqual(['decision']);
  await decision('resume', 'qa');
  await judge.round();
  expect((await entries()).map(({ kind }) => kind)).toEqual(['decision', 'decision', 'promotion']);
});

test('a link names all conditions that are not met, so that an approver sees at once that an approval is needed', async () => {
  const asking = automatic({
    compliance: { percent: 100, of: 'enrolled', require: [] },
    soakSeconds: 3600,
    approvals: { required: 1, from: [], notAuthor: false },
  });
  const judge = await judgeOf(chainOf(asking));
  await judge.round();
  const [link] = await readLinkStates(store.db, 'dev');
  expect(link).toMatchObject({
    state: 'waiting',
    waitsFor: 'compliance',
    unmet: ['compliance', 'soak', 'approvals'],
    why: expect.stringMatching(/^compliance: .*; also not met: soak, approvals$/),
  });
  await decision('pause', 'qa');
  await judge.round();
  expect((await readLinkStates(store.db, 'dev'))[0]).toMatchObject({ state: 'paused', unmet: [] });
});

test('a candidate that was promoted before is not promoted again automatically, so a rollback lasts', async () => {
  const judge = await judgeOf(chainOf(automatic()));
  await judge.round();
  await office.build();
  office.config('base/level.yaml', 'base-1');
  await office.build();
  await judge.round();
  const promotions = async () =>
    (await entries()).flatMap((entry) => (entry.kind === 'promotion' ? [entry] : []));
  const [first, second] = await promotions();
  expect([first?.predicate.number, second?.predicate.number]).toEqual([1, 2]);
  // Back to the first one, as `rollback` does.
  await office.promote('dev', 'qa', { shared: first?.predicate.shared ?? 'sha256:' });
  await judge.round();
  expect(await promotions()).toHaveLength(3);
  expect((await readLinkStates(store.db, 'dev'))[0]).toMatchObject({
    state: 'ready',
    why: expect.stringContaining('promoted before'),
  });
});

test('a candidate that was replaced after it was judged is not promoted', async () => {
  const chain = chainOf(automatic());
  const [link] = linksOf(chain);
  const { digest } = await office.candidateOf('dev');
  office.config('base/level.yaml', 'base-1');
  await office.build();
  const candidate = { candidate: digest ?? 'sha256:', shared: digest ?? 'sha256:' } as const;
  const hub = { keys, store, layout: office.layout };
  const options = { readChain: async () => chain, clock: () => NOW, signal: NEVER };
  expect(link && (await promoteIfOpen(hub, { link, candidate }, options))).toBeUndefined();
  expect(await entries()).toEqual([]);
});

test.each([
  ['is manual now', chainOf(automatic({ mode: 'manual' }))],
  ['has no policy now', chainOf()],
  ['has a condition now that is not met', chainOf(automatic({ windows: ['0 3 1 1 * for 1m'] }))],
])('a link that %s in the newest policy is not promoted', async (_, newest) => {
  await (await judgeOf(chainOf(automatic()), newest)).round();
  expect(await entries()).toEqual([]);
});

test('no link is promoted while a build holds the layout, and the next round does it', async () => {
  const judge = await judgeOf(chainOf(automatic()));
  {
    using _held = await openReleases(office.layout, { command: 'build', now: NOW });
    await judge.round();
    expect(await states()).toContain('qa waiting BUSY');
  }
  await judge.round();
  expect(await states()).toContain('qa promoted -');
});

test('a round in which no link changed writes nothing', async () => {
  const judge = await judgeOf(chainOf(automatic({ soakSeconds: 3600 })));
  const writes = (): number => statements.filter((sql) => sql.startsWith('insert into "gate_link"')).length;
  await judge.round();
  expect(writes()).toBe(1);
  await judge.round();
  expect(writes()).toBe(1);
});

test('events are read again only after a new report', async () => {
  const closed = automatic({ compliance: { percent: 100, of: 'enrolled', require: [] } });
  const judge = await judgeOf(chainOf(closed));
  const reads = (): number => statements.filter((sql) => sql.includes('"event"')).length;
  await judge.round();
  const first = reads();
  expect(first).toBeGreaterThan(0);
  await judge.round();
  expect(reads()).toBe(first);
  const agent = {
    name: 'press-1',
    site: 's',
    folder: 'f',
    key: 'k',
    environment: 'dev',
    cluster_type: 'press',
  };
  const head = { life: 1, base_seq: 0, first_seq: 0, head_seq: 3, release_seq: 0, held_seq: 0 } as const;
  await store.db
    .insertInto('agent')
    .values({
      ...agent,
      ...head,
      id: 's/press-1',
      labels: '{}',
      base_hash: 'sha256:',
      head_hash: 'sha256:',
      enrolled_at: '2026-11-01T00:00:00Z',
    } as never)
    .execute();
  await judge.round();
  expect(reads()).toBeGreaterThan(first);
  expect(await states()).toContain('qa waiting compliance');
});
