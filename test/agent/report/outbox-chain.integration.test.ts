import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { encodeEvent, GENESIS, hashLine } from '#bundles/formats/events/event';
import { parseDocument } from '#bundles/json/validate';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { retryPackages } from '../../../agent/apply/operator/retry-packages.ts';
import { rollBackPackage } from '../../../agent/apply/operator/roll-back-package.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { readOutbox } from '../../../agent/store/outbox/outbox.ts';
import { createWorld, onePackage, type World } from '../world.ts';
import { runs } from '../../harness/run/long.ts';

const checks = [{ type: 'exec', name: 'x', argv: ['false'], timeoutSeconds: 1 }] as const;

/** What can happen to an agent, in any order. Refusals are part of life. */
const OPERATIONS: Readonly<Record<string, (world: World, n: number) => Promise<unknown>>> = {
  release: (world, n) => world.release(n + 1, [onePackage('app', `v${n}`), onePackage('base', 'one')]),
  failing: (world, n) => world.release(n + 1, [onePackage('app', `bad${n}`, { checks })]),
  fewer: (world, n) => world.release(n + 1, [onePackage('app', `v${n}`)]),
  older: (world) => world.release(1, [onePackage('app', 'replayed')]),
  lost: (world) => importMedium(world.agent, join(world.folder, 'request')),
  edit: async (world) => writeFileSync(join(world.folder, 'machine/live/opt/app'), 'edited'),
  delete: async (world) => rmSync(join(world.folder, 'machine/live/opt/app'), { force: true }),
  look: (world) => lookAround(world.agent),
  rollback: (world) => rollBackPackage(world.agent, 'app', 'a test'),
  retry: (world) => retryPackages(world.agent, []),
};

const chainOf = (world: World): void => {
  let prev = GENESIS;
  for (const [index, { seq, hash, line }] of readOutbox(world.agent.state).entries()) {
    const event = parseDocument('event', JSON.parse(line), `event ${seq}`);
    expect(event.seq).toBe(index + 1);
    expect(seq).toBe(index + 1);
    expect(event.prev).toBe(prev);
    expect(encodeEvent(event)).toBe(line);
    expect(hashLine(line)).toBe(hash);
    prev = hash;
  }
};

test('the outbox is one chain without a gap after any order of operations', async () => {
  const names = fc.constantFrom(...Object.keys(OPERATIONS));
  await fc.assert(
    fc.asyncProperty(fc.array(names, { minLength: 1, maxLength: 12 }), async (steps) => {
      await using world = await createWorld();
      await world.release(1, [onePackage('app', 'one'), onePackage('base', 'one')]);
      for (const [index, step] of steps.entries()) {
        const length = readOutbox(world.agent.state).length;
        try {
          await OPERATIONS[step]?.(world, index + 1);
        } catch (error) {
          if (!isFleetError(error)) throw error;
        }
        expect(readOutbox(world.agent.state).length).toBeGreaterThanOrEqual(length);
      }
      chainOf(world);
    }),
    { numRuns: runs(25) },
  );
});
