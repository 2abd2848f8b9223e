import { describe, expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import type { Event } from '#bundles/formats/events/event';
import type { ReportPredicate } from '#bundles/formats/statements/predicates';
import { HOUR_MS } from '#bundles/time';
import { deriveAlarms } from '../../../../scheduler/hub/alarms/derive-alarms.ts';
import { keepAlarms } from '../../../../scheduler/hub/alarms/keep-alarms.ts';
import { readAlarmFacts } from '../../../../scheduler/hub/alarms/read-alarm-facts.ts';
import { sampleCompliance } from '../../../../scheduler/hub/upkeep/sample-compliance.ts';
import { isTried } from '../../../harness/run/long.ts';
import { hand, join, type TestServer, testServer } from '../serve/test-server.ts';
import { packageIn } from '../questions/history/shop-hub.ts';
import { chain, digest, type Happening, HOSTS, NOW, reportOf, testAgent } from '../test-hub.ts';

/** Every question of the API that reads what agents reported. */
const QUESTIONS = [
  '/v1/status',
  '/v1/sites',
  '/v1/overview',
  '/v1/events',
  '/v1/history',
  '/v1/history?at=2026-11-21T07:00:00Z',
  '/v1/where',
  '/v1/workloads',
  '/v1/media',
  '/v1/alarms',
  '/v1/search?q=press',
  '/v1/compare?left=prod&right=qa&show=all',
  '/v1/package?agent=plant-7/press-1&assignment=web',
  '/v1/package?agent=plant-7/press-2&assignment=web',
  '/v1/package?agent=plant-8/press-1&assignment=web',
  '/metrics',
] as const;

/** Of times, digests, names, versions and numbers: what only looks like one, and the ends of what is one. */
const TIMES = [
  '2026-02-30T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-00-10T00:00:00Z',
  '2026-11-31T00:00:00Z',
  '2026-11-21T24:00:00Z',
  '2026-11-21T23:60:00Z',
  '2026-11-21T23:59:60Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '٢٠٢٦-11-21T00:00:00Z',
];
const NUMBERS = [-1, 0, 2 ** 53 - 1];
const TEXTS = [
  '\u0000',
  'a\u0000b',
  '\ud800',
  '__proto__',
  'constructor',
  '',
  'x'.repeat(5000),
  'CHECK_FAILED',
];
const DIGESTS = [
  'sha256:',
  `sha256:${'A'.repeat(64)}`,
  `sha512:${'a'.repeat(64)}`,
  `sha256:${'a'.repeat(64)}`,
];

const STEP: Happening = { type: 'package', assignment: 'web', outcome: 'configured' };

const AT_A_TIME: readonly Partial<Record<keyof Event, unknown>>[] = [
  {},
  { outcome: 'failed', code: 'CHECK_FAILED' },
  { type: 'rolled-back', outcome: 'failed' },
  { type: 'drift', outcome: undefined, code: 'DRIFT' },
  { type: 'imported', assignment: undefined, release: { ...HOSTS, version: 1 } },
  { type: 'held', assignment: undefined, detail: { operator: 'a' } },
];

const EVENTS: Readonly<Record<string, readonly Partial<Record<keyof Event, unknown>>[]>> = {
  // Each time, and each kind of event; every pair of them in a long run.
  at: TIMES.flatMap((at, row) =>
    AT_A_TIME.filter((_, column) => isTried(row + column)).map((it) => ({ at, ...it })),
  ),
  until: TIMES.map((until) => ({ type: 'held', detail: { until, operator: 'a' } })),
  monotonicMs: NUMBERS.map((monotonicMs) => ({ monotonicMs })),
  'release.version': NUMBERS.map((version) => ({ type: 'imported', release: { ...HOSTS, version } })),
  package: DIGESTS.map((of) => ({ package: of })),
  siteValues: DIGESTS.map((of) => ({ siteValues: of })),
  ...Object.fromEntries(
    ['type', 'code', 'message', 'assignment', 'bootId'].map((field) => [
      field,
      TEXTS.map((text) => ({ [field]: text })),
    ]),
  ),
  held: TEXTS.map((text) => ({ type: 'held', message: text, detail: { operator: text, until: text } })),
  detail: [
    null,
    [],
    'x',
    { checks: 'x' },
    { checks: [null, { outcome: 'failed' }] },
    { drift: [null, 7] },
  ].map((detail) => ({ code: 'CHECK_FAILED', outcome: 'failed', detail })),
  compacted: [
    null,
    [],
    'x',
    {},
    { to: -1 },
    { to: 2, lastHash: digest('b'), counts: [null, 7, { events: 'x' }] },
  ].map((detail) => ({ type: 'compacted', detail })),
};

const FLOORS = { root: 1, site: 1, release: 1, lease: 0, time: '2026-11-20T08:00:00Z' };

const STATEMENTS: Readonly<Record<string, readonly object[]>> = {
  time: TIMES.map((time) => ({ time })),
  lookedAt: TIMES.map((lookedAt) => ({ lookedAt })),
  'floors.time': TIMES.map((time) => ({ floors: { ...FLOORS, time } })),
  'floors.release': NUMBERS.map((release) => ({ floors: { ...FLOORS, release } })),
  holds: DIGESTS.map((of) => ({ holds: [of] })),
};

/** A hub with an agent that runs the newest release of prod. Attackers join it, each with a key of its own. */
const attacked = async (): Promise<TestServer> => {
  const made = await testServer();
  const packages = { web: { 'app.yaml': 'kind: ConfigMap\nmetadata: {name: web}\n' } };
  const channels = [{ ...HOSTS, environment: 'qa' }, HOSTS];
  let bundle: Digest | undefined;
  for (const channel of channels) {
    const bundles = [{ kind: 'kubernetes' as const, packages }];
    [bundle] = await made.hub.layoutWriter.release({ channel, version: 1, bundles });
    await made.hub.layoutWriter.keep(channel);
  }
  const step = {
    ...STEP,
    package: await packageIn(made.hub, bundle, 'web'),
    release: { ...HOSTS, version: 1 },
  };
  const honest = testAgent('plant-8/press-1');
  const certificate = await join(made, honest);
  await hand(made, await reportOf(honest, chain(honest, [step])), certificate);
  return made;
};

/** Hands over what the attacker of this name signs, after a report of the same that only has an ordinary step. @returns status and code */
const attack = async (
  made: TestServer,
  name: string,
  field: Partial<Record<keyof Event, unknown>>,
  changes: Partial<ReportPredicate> = {},
): Promise<readonly [number, string | undefined]> => {
  const attacker = testAgent(name);
  const certificate = await join(made, attacker);
  const lines = chain(attacker, [{ ...STEP, package: digest('a') }, { ...STEP, ...field } as Happening]);
  await hand(made, await reportOf(attacker, lines, 1, 1), certificate);
  const { status, body } = await hand(made, await reportOf(attacker, lines, 2, 2, changes), certificate);
  return [status, (body as { code?: string } | undefined)?.code];
};

const answers = async (made: TestServer, authorization: string) => {
  const found: { url: string; status: number; said: string }[] = [];
  for (const url of QUESTIONS) {
    const { status, text } = await made.get(url, { authorization, accept: 'application/json' });
    found.push({ url, status, said: status === 200 ? '' : text });
  }
  // The leader's duties read the same facts.
  const now = made.context.clock();
  const facts = await readAlarmFacts(made.hub.store.db, [], now);
  const alarms = deriveAlarms({
    ...facts,
    now,
    desired: new Map(),
    ends: [],
    trouble: undefined,
    auditFault: undefined,
  });
  await keepAlarms(made.hub.store, alarms, { now });
  await sampleCompliance(made.hub, now);
  return found;
};

const ANSWERED = QUESTIONS.map((url) => ({ url, status: 200, said: '' }));

describe('a report that only needs the key of its agent', { timeout: 300_000 }, () => {
  it.each(Object.entries(EVENTS))('H56: stops no question by the field %s', async (_, fields) => {
    await using made = await attacked();
    const authorization = `Bearer ${await made.reader()}`;
    for (const [at, field] of fields.entries()) {
      const [status] = await attack(made, `plant-7/press-${at + 1}`, field);
      expect(status, JSON.stringify(field)).toBeOneOf([200, 400, 409]);
    }
    expect(await answers(made, authorization)).toEqual(ANSWERED);
    made.setNow(new Date(NOW.getTime() + 20 * HOUR_MS));
    expect(await answers(made, authorization)).toEqual(ANSWERED);
  });

  it.each(Object.entries(STATEMENTS))(
    'H56: stops no question by %s of its statement',
    async (_, statements) => {
      await using made = await attacked();
      const authorization = `Bearer ${await made.reader()}`;
      for (const [at, changes] of statements.entries()) {
        const [status] = await attack(made, `plant-7/press-${at + 1}`, {}, changes);
        expect(status, JSON.stringify(changes)).toBeOneOf([200, 400]);
      }
      expect(await answers(made, authorization)).toEqual(ANSWERED);
      made.setNow(new Date(NOW.getTime() + 20 * HOUR_MS));
      expect(await answers(made, authorization)).toEqual(ANSWERED);
    },
  );

  it('H56: is refused with a time that no clock shows', async () => {
    await using made = await attacked();
    let agents = 0;
    for (const at of TIMES) {
      const floors = { ...FLOORS, time: at };
      for (const [field, changes] of [
        [{ at }, {}],
        [{}, { time: at }],
        [{}, { lookedAt: at }],
        [{}, { floors }],
      ] as const)
        expect([at, ...(await attack(made, `plant-7/press-${(agents += 1)}`, field, changes))]).toEqual([
          at,
          400,
          'SCHEMA',
        ]);
    }
  });
});
