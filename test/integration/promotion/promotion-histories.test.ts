import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { pauseOrResume, rejectFor } from '../../../scheduler/hub/promote/decide/decide-about.ts';
import { promoteTo } from '../../../scheduler/hub/promote/decide/promote-to.ts';
import { rollBackTo } from '../../../scheduler/hub/promote/decide/roll-back-to.ts';
import { readPromotion } from '../../../scheduler/hub/promote/facts/link.ts';
import { importReports } from '../../../scheduler/hub/ingest/reports/import-reports.ts';
import { readAuditLog } from '../../../scheduler/load/releases/audit-log.ts';
import { LONG } from '../../harness/run/long.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import {
  bringHome,
  currentOf,
  enrolAgent,
  hubOf,
  type OfficeAgent,
  runRelease,
} from '../../scheduler/hub/office-agents.ts';
import { FILES, NOW, openChainOffice } from '../../scheduler/release/chain/chain-office.ts';

/**
 * Histories of a fleet with gates: a commit to what all environments share is broken, agents report it, late, twice or never, people
 * decide, and builds are killed. Nothing broken is ever in qa or prod, and nothing in prod was not promoted.
 */

const ENVIRONMENTS = ['dev', 'qa', 'prod'] as const;
type Environment = (typeof ENVIRONMENTS)[number];
const BEFORE = { qa: 'dev', prod: 'qa' } as const;
type Chained = keyof typeof BEFORE;

const BROKEN = 'broken';
const gate = (from: string, to: string): string =>
  ours(
    'PromotionPolicy',
    `${from}-${to}`,
    `spec: {from: ${from}, to: ${to}, compliance: {percent: 100, atLeast: 1, of: enrolled}}\n`,
  );
const GATED = {
  ...FILES,
  'promotion/qa.yaml': gate('dev', 'qa'),
  'promotion/prod.yaml': gate('qa', 'prod'),
};

const environment = fc.constantFrom(...ENVIRONMENTS);
const chained = fc.constantFrom<Chained>('qa', 'prod');
const single = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('commit' as const), value: fc.constantFrom('1', '2', BROKEN) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('own layer' as const), environment, value: fc.nat(3) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('build' as const),
      killedAfter: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
    }),
  },
  // What it says comes home with a later report, or never.
  { weight: 2, arbitrary: fc.record({ do: fc.constant('run' as const), environment }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('report' as const), environment }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replay' as const), environment, at: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('promote' as const), to: chained }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('pause' as const, 'resume' as const, 'reject' as const, 'rollback' as const),
      to: chained,
    }),
  },
);
type Step = typeof single extends fc.Arbitrary<infer T> ? T : never;

/** One step, or what an office does on a good day. */
const steps = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: single.map((one): readonly Step[] => [one]) },
      {
        weight: 2,
        arbitrary: chained.map((to): readonly Step[] => [
          { do: 'build', killedAfter: undefined },
          { do: 'run', environment: BEFORE[to] },
          { do: 'report', environment: BEFORE[to] },
          { do: 'promote', to },
          { do: 'build', killedAfter: undefined },
        ]),
      },
    ),
    { minLength: 6, maxLength: 14 },
  )
  .map((all) => all.flat());

/** Refusals that people meet in a history. */
const EXPECTED = ['GATE_CLOSED', 'RELEASE_MISSING', 'NOT_PROMOTED', 'REVOKED', 'USAGE'];
const { signal } = new AbortController();

const openHistory = async () => {
  const office = await openChainOffice(GATED);
  const hub = await hubOf(office);
  let minutes = 0;
  const agents = new Map<Environment, OfficeAgent>();
  for (const name of ENVIRONMENTS)
    agents.set(
      name,
      await enrolAgent(office, hub, `${name}/press`, {
        channel: { environment: name, clusterType: 'press' },
      }),
    );
  const now = (): Date => new Date(NOW.getTime() + minutes * 60_000);
  return { office, hub, agents, now, tick: () => void (minutes += 10) };
};
type History = Awaited<ReturnType<typeof openHistory>>;

const take = async (history: History, one: Step): Promise<void> => {
  const { office, hub, now } = history;
  const decide = async (
    to: Chained,
    verb: 'promote' | 'pause' | 'resume' | 'reject' | 'rollback',
  ): Promise<unknown> => {
    const promotion = await readPromotion({ ...office.platform, signal }, office.platform.sources);
    const wish = {
      environment: to,
      candidate: undefined,
      person: 'ann',
      reason: 'a history',
      now: now(),
      signal,
    };
    switch (verb) {
      case 'promote':
        return promoteTo({ hub, promotion }, wish);
      case 'pause':
      case 'resume':
        return pauseOrResume({ hub, promotion }, verb, wish);
      case 'reject':
        return rejectFor({ hub, promotion }, wish);
      case 'rollback':
        return rollBackTo({ hub, promotion }, wish);
    }
  };
  switch (one.do) {
    case 'commit':
      return office.config('base/level.yaml', one.value);
    case 'own layer':
      return office.commit({
        [`environments/${one.environment}/own.yaml`]: ours(
          'Config',
          'own',
          `spec:\n  values: {OWN: "${one.value}"}\n`,
        ),
      });
    case 'build': {
      const stop = new AbortController();
      let left = one.killedAfter ?? 99;
      await office
        .build({
          now: now(),
          signal: stop.signal,
          onEnvironment: () => {
            left -= 1;
            if (left === 0) stop.abort();
          },
        })
        .catch((error: unknown) => {
          if (!stop.signal.aborted) throw error;
        });
      return;
    }
    case 'run': {
      const agent = history.agents.get(one.environment);
      return agent && runRelease(hub, agent, now(), BROKEN);
    }
    case 'report': {
      const agent = history.agents.get(one.environment);
      return agent && bringHome(office, hub, agent, now());
    }
    case 'replay': {
      const stick = history.agents.get(one.environment)?.media[one.at];
      if (stick === undefined) return;
      await using medium = await openMedium(stick);
      await importReports(hub, medium, now());
      return;
    }
    case 'promote':
    case 'pause':
    case 'resume':
    case 'reject':
    case 'rollback':
      await decide(one.to, one.do).catch((error: unknown) => {
        if (!isFleetError(error) || !EXPECTED.includes(error.code)) throw error;
      });
  }
};

test(
  'no random history of reports, kills and decisions lets a broken commit leave dev, or anything unpromoted reach prod',
  async () => {
    const seen = { brokenInDev: 0, prod: 0 };
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const history = await openHistory();
        const { office } = history;
        await using hub = history.hub;
        const inside: Record<string, Set<string>> = { dev: new Set(), qa: new Set(), prod: new Set() };
        for (const one of all) {
          history.tick();
          const before = structuredClone(inside);
          await take(history, one);
          const { entries } = await readAuditLog(await openOrStartLayout(office.layout), office.keys.roots);
          for (const name of ENVIRONMENTS) {
            const found = await currentOf(hub, { environment: name, clusterType: 'press' });
            if (!found) continue;
            if (name === 'dev') seen.brokenInDev += Number(found.has(BROKEN));
            else expect(found.has(BROKEN), `${name} after ${JSON.stringify(one)}`).toBe(false);
            if (name === 'prod') seen.prod += 1;
            const said = await office.released(name);
            if (said?.shared !== undefined) inside[name]?.add(said.shared);
            if (name === 'dev') continue;
            // It was promoted by a signed decision, and was in the environment before by then.
            const promotion = entries.find(
              ({ kind, predicate }) =>
                kind === 'promotion' && predicate.to === name && predicate.shared === said?.promoted,
            );
            expect(promotion, `${name} has what was promoted`).toBeDefined();
            expect([...(before[BEFORE[name]] ?? [])]).toContain(said?.promoted);
          }
        }
      }),
      { numRuns: LONG ? 100 : 5 },
    );
    // The histories do break dev, and do reach prod.
    expect(seen.brokenInDev).toBeGreaterThan(0);
    expect(seen.prod).toBeGreaterThan(0);
  },
  LONG ? 7_200_000 : 600_000,
);
