import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { judgeOffer } from '../../../agent/acquire/offers/judge-offer.ts';
import { readOffer } from '../../../agent/acquire/offers/read-offer.ts';
import { storeAccepted } from '../../../agent/acquire/offers/store-accepted.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import type { Target } from '../../../agent/model/target.ts';
import { lastOperations, openOperation } from '../../../agent/store/journal/operations.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { readOwned } from '../../../agent/store/applied/inventory.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { packTestBundle, type TestPackage } from '../../harness/fleets/signed-medium.ts';
import { folderTarget, liveFiles } from '../folder-target.ts';
import { createWorld, NOW, onePackage, testEdge, type World } from '../world.ts';

/** Accepts a release without applying it, as the daemon does between two packages. */
const accept = async (world: World, version: number, packages: readonly TestPackage[]): Promise<void> => {
  const bundle = packTestBundle(world.fleet, packages);
  await using medium = await openMedium(await world.medium({ release: { version, bundle } }));
  storeAccepted(world.agent, await judgeOffer(world.agent, await readOffer(world.agent, medium)));
};

/** Packages whose content begins with 'slow' are waited for until the signal. */
const patientTarget = (world: World, waiting: () => void): Target => {
  const target = folderTarget(join(world.folder, 'machine'));
  return {
    ...target,
    settle: async (desired, signal) => {
      const slow = [...desired.files.values()].some((bytes) => bytes.toString().startsWith('slow'));
      if (!slow) return target.settle(desired, signal);
      waiting();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return [{ name: 'answers', outcome: 'failed', message: 'not yet' }];
    },
  };
};

const world = async (): Promise<World & { readonly look: (news?: boolean) => Promise<unknown> }> => {
  const made = await createWorld();
  await made.release(1, [onePackage('app', 'one'), onePackage('other', 'one')]);
  const look = async (cut = false): Promise<unknown> => {
    const news = new AbortController();
    const waiting = (): void => {
      if (cut) setImmediate(() => news.abort());
    };
    const agent: Agent = { ...made.agent, targets: [patientTarget(made, waiting)], news: news.signal };
    return lookAround(agent).catch((error: { code: string }) => error.code);
  };
  return { ...made, look };
};

const live = ({ folder }: World) => liveFiles(join(folder, 'machine'));
const slow = [
  onePackage('app', 'slow two', { files: { '/opt/app': 'slow two', '/opt/extra': 'x' } }),
  onePackage('other', 'two'),
];

describe('a newer release while a package settles', () => {
  it('stops the wait, starts no other package, and is applied over the current one', async () => {
    await using it = await world();
    await accept(it, 2, slow);
    expect(await it.look(true)).toBe('ABORTED');
    expect(live(it)).toEqual({ '/opt/app': 'slow two', '/opt/extra': 'x', '/opt/other': 'one' });
    expect(openOperation(it.agent.state)).toMatchObject({ assignment: 'app', phase: 'settle' });
    await accept(it, 3, [onePackage('app', 'three'), onePackage('other', 'three')]);
    expect(await it.look()).toMatchObject({
      packages: [
        { assignment: 'app', outcome: 'configured' },
        { assignment: 'other', outcome: 'configured' },
      ],
    });
    expect(live(it)).toEqual({ '/opt/app': 'three', '/opt/other': 'three' });
    expect(readOwned(it.agent.state, 'app').map(({ key }) => key)).toEqual(['file:/opt/app']);
    expect(findPackage(it.agent.state, 'app')).toMatchObject({
      status: 'healthy',
      current: { release: { version: 3 } },
      previous: { release: { version: 1 } },
    });
    expect(lastOperations(it.agent.state, 9).map(({ outcome }) => outcome)).toContain('superseded');
    const skipped = it.events().filter(({ outcome }) => outcome === 'skipped');
    expect(skipped).toMatchObject([{ type: 'package', assignment: 'app', release: { version: 2 } }]);
  });

  it('a failed package rolls back to the last good version, not to one that was never healthy', async () => {
    await using it = await world();
    await accept(it, 2, slow);
    await it.look(true);
    const checks = [{ type: 'exec', name: 'answers', argv: ['false'], timeoutSeconds: 1 }] as const;
    await accept(it, 3, [onePackage('app', 'bad', { checks }), onePackage('other', 'three')]);
    expect(await it.look()).toMatchObject({ packages: [{ outcome: 'failed', rolledBack: true }, {}] });
    expect(live(it)).toEqual({ '/opt/app': 'one', '/opt/other': 'three' });
  });

  it('stops the wait for a rolled-back package, too', async () => {
    await using it = await world();
    await accept(it, 2, [onePackage('app', 'slow one'), onePackage('other', 'one')]);
    await it.look(true);
    // What is waited for now is last good: its successor fails, and on the way back nobody knows when it is healthy.
    it.agent.state.db.exec(`UPDATE operation SET outcome = 'kept', phase = 'done', ended_at = started_at`);
    it.agent.state.db.exec(`UPDATE package SET current = desired, status = 'healthy'`);
    const checks = [{ type: 'exec', name: 'answers', argv: ['false'], timeoutSeconds: 1 }] as const;
    await accept(it, 3, [onePackage('app', 'bad', { checks }), onePackage('other', 'one')]);
    expect(await it.look(true)).toBe('ABORTED');
    expect(openOperation(it.agent.state)).toMatchObject({ phase: 'settle', rollingBack: true });
    await accept(it, 4, [onePackage('app', 'four'), onePackage('other', 'one')]);
    expect(await it.look()).toMatchObject({ packages: [{ assignment: 'app', outcome: 'configured' }] });
    expect(live(it)).toEqual({ '/opt/app': 'four', '/opt/other': 'one' });
    expect(findPackage(it.agent.state, 'app')).toMatchObject({ status: 'healthy' });
  });

  it('with the same package waits for it again', async () => {
    await using it = await world();
    await accept(it, 2, slow);
    await it.look(true);
    await accept(it, 3, [slow[0] as TestPackage, onePackage('other', 'three')]);
    expect(await it.look(true)).toBe('ABORTED');
    expect(openOperation(it.agent.state)).toMatchObject({ assignment: 'app', phase: 'settle' });
    expect(it.events().filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  });
});

describe('a look outside of the maintenance windows', () => {
  it('applies nothing new, and corrects drift', async () => {
    await using it = await world();
    await accept(it, 2, [onePackage('app', 'two'), onePackage('other', 'two')]);
    expect(await lookAround(it.agent, { mayBegin: false })).toMatchObject({ packages: [] });
    expect(live(it)).toEqual({ '/opt/app': 'one', '/opt/other': 'one' });
    const windows = { registry: '', hub: '', windows: ['0 3 29 2 * for 1h'] };
    expect(readStatus(it.agent, windows).window).toMatch(/^2028-02-2[89]T\d\d:\d\d:00Z$/);
    await lookAround(it.agent);
    expect(live(it)).toEqual({ '/opt/app': 'two', '/opt/other': 'two' });
    expect(readStatus(it.agent, windows).window).toBeNull();
  });
});

describe('a package whose check fails while the disk is full', () => {
  it('is rolled back, and tried again when space is free', async () => {
    await using made = await createWorld();
    let free = 1 << 30;
    let minutes = 0;
    const look = () => {
      const edge = testEdge(new Date(NOW.getTime() + (minutes += 11) * 60_000));
      return lookAround({ ...made.agent, edge, freeBytes: async () => free });
    };
    await made.release(1, [onePackage('app', 'one')]);
    const checks = [{ type: 'exec', name: 'up', argv: ['mended'], timeoutSeconds: 5 }] as const;
    await accept(made, 2, [onePackage('app', 'two', { checks })]);
    free = 0;
    const [package_] = (await look()).packages;
    expect(package_).toMatchObject({
      outcome: 'failed',
      code: 'DISK_FULL',
      rolledBack: true,
      message: `the disk of ${made.agent.state.directory} is full: up: not fine (Free some space; the agent tries again)`,
    });
    expect(live(made)).toEqual({ '/opt/app': 'one' });
    free = 1 << 30;
    writeFileSync(join(made.folder, 'machine/mended'), '');
    expect((await look()).packages).toMatchObject([{ outcome: 'configured' }]);
    expect(live(made)).toEqual({ '/opt/app': 'two' });
  });
});
