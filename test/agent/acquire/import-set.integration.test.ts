import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { collectGarbage } from '../../../agent/store/collect-garbage.ts';
import { LONG } from '../../harness/run/long.ts';
import type { TestBundle } from '../../harness/fleets/signed-medium.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import {
  expectDone,
  four,
  LIVE,
  live,
  makeImages,
  makeSet,
  permutations,
  refusedWith,
  releaseOf,
} from '../set-world.ts';
import { createWorld, openFast, testAgent, type World } from '../world.ts';
import { readCondition } from '../../../agent/store/conditions.ts';
import { liveFiles } from '../folder-target.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';

/**
 * All orders in a long run, otherwise four: each part comes first, second, third and last once. What the agent keeps between two sticks
 * depends on which parts it has, and not on their order.
 */
const ORDERS = (
  LONG
    ? permutations([1, 2, 3, 4])
    : [
        [1, 2, 3, 4],
        [2, 4, 1, 3],
        [3, 1, 4, 2],
        [4, 3, 2, 1],
      ]
).map((order) => ({ order }));

describe('a set of parts on four volumes', () => {
  it.each(ORDERS)('is complete in the order $order, with whole and with split blobs', async ({ order }) => {
    for (const cut of [Number.MAX_SAFE_INTEGER, 700]) {
      await using world = await createWorld();
      const what = four(world);
      const { stick } = await makeSet(world, what, 4, { cut });
      for (const number of order.slice(0, -1)) {
        const error = await refusedWith(importMedium(world.agent, await stick(number)));
        expect(error.code).toBe('PARTS_MISSING');
        await collectGarbage(world.agent.state);
      }
      await importMedium(world.agent, await stick(...order.slice(-1)));
      expect(live(world)).toEqual(LIVE);
      await expectDone(world, what.release?.bundle as TestBundle);
    }
  });

  it.each(ORDERS)('transfers complete images in the order $order', async ({ order }) => {
    await using world = await createWorld();
    const { blobs, bundle, provider, agent } = await makeImages(world);
    const { stick } = await makeSet(world, releaseOf(bundle), 4, { cut: 1_500 });
    for (const number of order.slice(0, -1)) {
      await refusedWith(importMedium(agent, await stick(number)));
      expect(provider.images.size).toBe(0);
    }
    await importMedium(agent, await stick(...order.slice(-1)));
    expect(provider.blobs.size).toBe(blobs.size);
    await expectDone(world, bundle);
  });
});

const PROGRAM = testProgramFile('test/agent/crash-import.ts');

/** In a process of its own that kills itself at the n-th boundary. @returns the signal that ended it */
const importKilled = async (folder: string, stick: string, n: number): Promise<string | null> => {
  const child = spawn(process.execPath, [PROGRAM, folder, stick, String(n)], { stdio: 'ignore' });
  const [, signal] = (await once(child, 'close')) as [number | null, string | null];
  return signal;
};

/** Undisturbed. @returns how many boundaries it had */
const importHere = async (folder: string, stick: string): Promise<number> => {
  using state = openFast(join(folder, 'state'));
  let points = 0;
  const agent = testAgent(state, folder, { onJournal: () => void (points += 1) });
  await importMedium(agent, stick).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'PARTS_MISSING' });
  });
  return points;
};

describe('kill -9 between and during the volumes of a set', () => {
  it('loses nothing at any boundary: importing the same volumes again ends in the same state', async () => {
    await using world: World = await createWorld();
    const { stick } = await makeSet(world, four(world), 3, { cut: 700 });
    const sticks = [await stick(2), await stick(1), await stick(3)];
    await using copies = await temporaryDirectory('killed');
    const copyWorld = async (name: string): Promise<string> => {
      const to = join(copies.path, name);
      await cp(world.folder, to, { recursive: true });
      return to;
    };
    const calm = await copyWorld('calm');
    const boundaries: number[] = [];
    for (const path of sticks) boundaries.push(await importHere(calm, path));
    expect(liveFiles(join(calm, 'machine'))).toEqual(LIVE);
    expect(Math.min(...boundaries)).toBeGreaterThan(2);

    for (const [victim, count] of boundaries.entries()) {
      for (let n = 1; n <= count; n += LONG ? 1 : 5) {
        const folder = await copyWorld(`${victim}-${n}`);
        for (const path of sticks.slice(0, victim)) await importHere(folder, path);
        expect(await importKilled(folder, sticks[victim] ?? '', n)).toBe('SIGKILL');
        {
          // The daemon starts again and looks around before the person is back.
          using state = openFast(join(folder, 'state'));
          await collectGarbage(state);
        }
        for (const path of sticks.slice(victim)) await importHere(folder, path);
        expect(liveFiles(join(folder, 'machine')), `stick ${victim + 1}, boundary ${n}`).toEqual(LIVE);
        using state = openFast(join(folder, 'state'));
        expect(readCondition(state, 'parts')).toBeUndefined();
        expect(testAgent(state, folder).identity.site).toBe('plant-7');
      }
    }
  }, 600_000);
});
