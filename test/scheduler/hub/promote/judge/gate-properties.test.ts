import { array, assert, boolean, constantFrom, integer, nat, option, property, record } from 'fast-check';
import { expect, it } from 'vitest';
import type { AgentFacts } from '../../../../../scheduler/hub/promote/facts/facts.ts';
import { agent, ago, complies, compliance, facts, judge, policy } from '../gate/gate-cases.ts';

const HOUR = 3600;

const anyPolicy = record({
  percent: option(integer({ min: 1, max: 100 }), { nil: undefined }),
  atLeast: option(integer({ min: 1, max: 4 }), { nil: undefined }),
  of: constantFrom('reported' as const, 'enrolled' as const),
  require: boolean(),
  soakHours: nat(5),
  freshHours: option(integer({ min: 1, max: 6 }), { nil: undefined }),
  absent: option(constantFrom('exclude' as const, 'block' as const), { nil: undefined }),
}).map(({ percent, atLeast, of, require, soakHours, freshHours, absent }) =>
  policy({
    compliance: compliance({
      of,
      require: require ? [{ matchLabels: { tier: 'reference' } }] : [],
      ...(percent !== undefined && { percent }),
      ...(atLeast !== undefined && { atLeast }),
    }),
    soakSeconds: soakHours * HOUR,
    ...(freshHours !== undefined && { freshnessSeconds: freshHours * HOUR }),
    // oxlint-disable-next-line unicorn/no-thenable -- a field of the policy
    ...(absent && { absent: { afterSeconds: 8 * HOUR, then: absent } }),
  }),
);

const anyAgent = record({
  known: option(integer({ min: 0, max: 10 }), { nil: undefined }),
  since: integer({ min: 0, max: 20 }),
  online: boolean(),
  reference: boolean(),
  // Most comply, so that many gates are open.
  kind: constantFrom(
    ...Array.from({ length: 12 }, () => 'complies'),
    'recovered',
    'failed',
    'drifted',
    'waiting',
  ),
});

const anyAgents = array(anyAgent, { maxLength: 6 }).map((all) =>
  all.map(
    ({ known, since, online, reference, kind }, at): AgentFacts =>
      agent(`s${at}/a`, {
        knownAt: known === undefined ? null : ago(known),
        online,
        labels: reference ? { tier: 'reference' } : {},
        state:
          kind === 'complies' || kind === 'recovered'
            ? complies(Math.max(since, known ?? 0), kind === 'recovered')
            : { kind: kind as 'failed', why: 'x' },
      }),
  ),
);

const isOpen = (wanted: ReturnType<typeof policy>, agents: readonly AgentFacts[]): boolean =>
  judge(wanted, facts({ agents })).state === 'ready';

it('a failure, drift or older report of one agent never opens a gate', () => {
  let opened = 0;
  assert(
    property(
      anyPolicy,
      anyAgents,
      nat(5),
      constantFrom('failed', 'drifted', 'waiting', 'older'),
      (wanted, all, at, worse) => {
        const before = isOpen(wanted, all);
        const target = all[at];
        if (!target || target.knownAt === null) return;
        // Waiting is worse than complying, but better than a fault, which it ends.
        const isFine = target.state.kind === 'complies' && !target.state.faulted;
        if (worse === 'waiting' && !isFine) return;
        const changed: AgentFacts =
          worse === 'older'
            ? { ...target, knownAt: ago(7) }
            : { ...target, state: { kind: worse as 'failed', why: 'y' } };
        // An older word is one that is younger before; it stays below the time after which an agent is absent.
        if (worse === 'older' && target.knownAt < ago(7)) return;
        const after = isOpen(wanted, all.with(at, changed));
        if (before) opened += 1;
        expect(after && !before).toBe(false);
      },
    ),
    { numRuns: 2000 },
  );
  expect(opened).toBeGreaterThan(20);
});

it('an additional failing agent closes every gate that counts it', () => {
  assert(
    property(anyPolicy, anyAgents, (wanted, all) => {
      const failing = agent('z/9', { state: { kind: 'failed', why: 'y' } });
      expect(isOpen(wanted, [...all, failing])).toBe(false);
    }),
  );
});

it('the order of agents does not change the verdict', () => {
  assert(
    property(anyPolicy, anyAgents, (wanted, all) => {
      expect(isOpen(wanted, all.toReversed())).toBe(isOpen(wanted, all));
    }),
  );
});
