import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFleetError } from '../../../bundles/errors.ts';
import { type ChainOffice, openChainOffice } from '../../scheduler/release/chain/chain-office.ts';
import { runs } from '../../harness/run/long.ts';
import { ours } from '../../scheduler/fleet-platform.ts';

/** Histories of a platform with the chain dev, qa, prod: what is in an environment was in the one before, earlier. */

type Step =
  | { readonly do: 'commit'; readonly where: 'base' | 'dev' | 'qa' | 'prod'; readonly value: number }
  | { readonly do: 'build' }
  /** The process ends after this many environments. */
  | { readonly do: 'killed build'; readonly after: number }
  | { readonly do: 'promote'; readonly to: 'qa' | 'prod' }
  | { readonly do: 'rollback'; readonly environment: 'dev' | 'qa' | 'prod'; readonly to: number };

const value = fc.integer({ min: 1, max: 4 });
const commit = fc.record({
  do: fc.constant('commit' as const),
  where: fc.constantFrom('base', 'base', 'dev', 'qa', 'prod'),
  value,
});
const build = fc.constant<Step>({ do: 'build' });
const promote = fc.record({ do: fc.constant('promote' as const), to: fc.constantFrom('qa', 'prod') });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: commit },
  { weight: 4, arbitrary: build },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('killed build' as const), after: fc.integer({ min: 1, max: 2 }) }),
  },
  { weight: 4, arbitrary: promote },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('rollback' as const),
      environment: fc.constantFrom('dev', 'qa', 'prod'),
      to: fc.integer({ min: 1, max: 3 }),
    }),
  },
);

const BEFORE = { qa: 'dev', prod: 'qa' } as const;
/** Refusals that an office may meet in a history: nothing to promote or to go back to, and a build that was stopped. */
const EXPECTED = ['USAGE', 'RELEASE_MISSING', 'CHANNEL_MISSING', 'ABORTED'];

const take = async (office: ChainOffice, one: Step): Promise<void> => {
  switch (one.do) {
    case 'commit':
      if (one.where === 'base') return office.config('base/level.yaml', `base-${one.value}`);
      return office.commit({
        [`environments/${one.where}/own.yaml`]: ours(
          'Config',
          'own',
          `spec:\n  values: {OWN: "${one.value}"}\n`,
        ),
      });
    case 'build':
      await office.build();
      return;
    case 'killed build': {
      const stop = new AbortController();
      let left = one.after;
      const onEnvironment = (): void => {
        left -= 1;
        if (left === 0) stop.abort();
      };
      await office.build({ signal: stop.signal, onEnvironment }).catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
      return;
    }
    case 'promote':
      if (await office.released(BEFORE[one.to])) await office.promote(BEFORE[one.to], one.to);
      return;
    case 'rollback':
      await office.rollback(one.environment, one.to).catch((error: unknown) => {
        if (!(isFleetError(error) && EXPECTED.includes(error.code))) throw error;
      });
  }
};

/** Trees of what an environment shares, as its current release's candidate lists them. */
const sharedTrees = async (office: ChainOffice, environment: string): Promise<string> => {
  const { document } = await office.candidateOf(environment);
  return document.sources
    .filter(({ role }) => !role.startsWith('environment/'))
    .map(({ role, path, tree }) => `${role} ${path} ${tree}`)
    .join('\n');
};

test('no random history of commits, builds, promotions, kills and rollbacks releases in prod what was not in qa', async () => {
  let inProd = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      const office = await openChainOffice();
      const seen: Record<string, { readonly shared: Set<string>; readonly trees: Set<string> }> = {};
      for (const one of [{ do: 'build' } as Step, ...steps]) {
        const before = structuredClone(seen);
        await take(office, one);
        for (const environment of ['dev', 'qa', 'prod'] as const) {
          const released = await office.released(environment);
          if (!released) continue;
          const trees = await sharedTrees(office, environment);
          if (environment !== 'dev') {
            const source = before[BEFORE[environment]];
            expect([...(source?.shared ?? [])]).toContain(released.promoted);
            expect([...(source?.trees ?? [])]).toContain(trees);
          }
          if (environment === 'prod') inProd += 1;
          const mine = (seen[environment] ??= { shared: new Set(), trees: new Set() });
          if (released.shared) mine.shared.add(released.shared);
          mine.trees.add(trees);
        }
      }
    }),
    { numRuns: runs(100, 5) },
  );
  // The histories do reach prod.
  expect(inProd).toBeGreaterThan(4);
}, 600_000);
