import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { MEDIUM_FILE, type Medium } from '#bundles/formats/medium/medium';
import type { Channel } from '#bundles/names';
import { addDays, formatTime } from '#bundles/time';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import { readFloors, readRoot } from '../../../agent/store/trust.ts';
import { verdict } from '../../bundles/verdict.ts';
import {
  CHANNEL,
  createTestFleet,
  packTestBundle,
  rotateRoot,
  type TestFleet,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { liveFiles } from '../folder-target.ts';
import {
  createWorld,
  NOW,
  onePackage,
  SITE,
  storedBlobs,
  testAgent,
  testEdge,
  type World,
} from '../world.ts';

const live = (world: World) => liveFiles(join(world.folder, 'machine'));

/** An agent whose clock stands at a moment, and that knows whether it was set. */
const withClock = (world: World, now: Date, clockTrusted: boolean, more: Partial<Agent> = {}): Agent =>
  testAgent(world.agent.state, world.folder, { edge: { ...testEdge(now), clockTrusted }, ...more });

const mediumOf = async (world: World, fleet: TestFleet, version: number, issuedAt: Date): Promise<string> => {
  const { key } = world.agent.identity;
  return writeTestMedium(join(world.folder, `years-${version}-${fleet.roots.length}`), fleet, {
    site: { site: SITE, version, agents: [{ name: 'kiosk-1', key }], issuedAt },
    release: { version, bundle: packTestBundle(fleet, [onePackage('app', `${version}`)]), issuedAt },
  });
};

describe('a machine with a wrong clock', () => {
  it.each([
    ['300 days behind', addDays(NOW, -300)],
    ['in 1970', new Date(0)],
  ])('%s accepts releases, and moves its time forward by signed statements only', async (_, clock) => {
    await using world = await createWorld();
    const dead = withClock(world, clock, false);
    expect(
      (await importMedium(dead, await mediumOf(world, world.fleet, 1, addDays(NOW, -1)))).packages,
    ).toHaveLength(1);
    expect(readFloors(dead.state).time).toBe(formatTime(addDays(NOW, -1)));
    await importMedium(dead, await mediumOf(world, world.fleet, 2, addDays(NOW, 200)));
    expect(readFloors(dead.state).time).toBe(formatTime(addDays(NOW, 200)));
    // What had ended by then stays ended, whatever the clock says now.
    const { key } = world.agent.identity;
    const ended = await world.medium({
      site: { site: SITE, version: 3, agents: [{ name: 'kiosk-1', key }], issuedAt: addDays(NOW, 1) },
      release: {
        version: 3,
        bundle: packTestBundle(world.fleet, [onePackage('app', 'late')]),
        issuedAt: addDays(NOW, 1),
        expires: addDays(NOW, 199),
      },
    });
    expect(await verdict(() => importMedium(dead, ended))).toBe('EXPIRED');
    expect(live(world)).toEqual({ '/opt/app': '2' });
  });

  it('refuses a release from the future only when it knows that its clock is right', async () => {
    await using world = await createWorld();
    const medium = await mediumOf(world, world.fleet, 1, NOW);
    const behind = addDays(NOW, -300);
    expect(await verdict(() => importMedium(withClock(world, behind, true), medium))).toBe('FROM_FUTURE');
    expect(await verdict(() => importMedium(withClock(world, behind, false), medium))).toBe('ACCEPT');
  });
});

describe('a site that was offline for a year', () => {
  it.each([
    ['a clock that is right', addDays(NOW, 365), true],
    ['a clock that died', new Date(0), false],
  ])('accepts a medium with three rotations of the release key, with %s', async (_, clock, trusted) => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    let fleet = world.fleet;
    const stolen: TestFleet[] = [];
    for (const name of ['two', 'three', 'four']) {
      stolen.push(fleet);
      fleet = await rotateRoot(fleet, { release: (await createTestFleet(name)).keys.release });
    }
    expect(fleet.roots).toHaveLength(4);
    const back = withClock(world, clock, trusted);
    const result = await importMedium(back, await mediumOf(world, fleet, 9, addDays(NOW, 364)));
    expect(result).toMatchObject({
      rootVersion: 4,
      siteVersion: 9,
      news: 'newer',
      packages: [{ outcome: 'configured' }],
    });
    expect(readFloors(back.state)).toMatchObject({
      root: 4,
      site: 9,
      release: 9,
      time: formatTime(addDays(NOW, 364)),
    });
    for (const old of stolen) {
      const medium = await mediumOf(world, old, 99, addDays(NOW, 365));
      expect(await verdict(() => importMedium(back, medium))).toBe('UNKNOWN_KEY');
    }
    expect(readRoot(back.state)?.version).toBe(4);
    expect(live(world)).toEqual({ '/opt/app': '9' });
  });

  it('is refused when a root between is missing on the medium: ROOT_VERSION', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const second = await rotateRoot(world.fleet, {});
    const third = await rotateRoot(second, {});
    const gap = { ...third, roots: [third.roots[0], third.roots[2]] as readonly Buffer[] };
    const medium = await mediumOf(world, gap, 2, NOW);
    expect(await verdict(() => importMedium(world.agent, medium))).toBe('ROOT_VERSION');
  });
});

describe('a site that moves to another cluster type by medium', () => {
  const panel: Channel = { environment: 'prod', clusterType: 'panel' };
  const order = (world: World, version: number, channel: Channel, previousChannel?: Channel) => ({
    site: SITE,
    version,
    agents: [
      {
        name: 'kiosk-1',
        key: world.agent.identity.key,
        channel,
        ...(previousChannel ? { previousChannel } : {}),
      },
    ],
  });
  const release = (world: World, version: number, channel: Channel, ...ids: readonly string[]) => ({
    version,
    bundle: packTestBundle(
      world.fleet,
      ids.map((id) => onePackage(id, `${channel.clusterType} ${version}`)),
      channel,
    ),
  });

  it('is refused without its previous channel, and keeps the version floors of both channels', async () => {
    await using world = await createWorld();
    await importMedium(world.agent, await world.medium({ release: release(world, 5, CHANNEL, 'app') }));
    const first = release(world, 1, panel, 'app');
    const refused = await world.medium({ site: order(world, 2, panel), release: first });
    expect(await verdict(() => importMedium(world.agent, refused))).toBe('WRONG_CHANNEL');
    await importMedium(
      world.agent,
      await world.medium({ site: order(world, 2, panel, CHANNEL), release: first }),
    );
    expect(readFloors(world.agent.state)).toMatchObject({ site: 2, release: 1 });
    expect(live(world)).toEqual({ '/opt/app': 'panel 1' });
    const home = { site: order(world, 3, CHANNEL, panel) };
    const replay = await world.medium({ ...home, release: release(world, 4, CHANNEL, 'app') });
    expect(await verdict(() => importMedium(world.agent, replay))).toBe('ROLLBACK');
  });

  it('keeps the lease floors of both channels', async () => {
    await using world = await createWorld();
    const lease = (version: number, about: ReturnType<typeof release>) => ({
      version,
      release: about,
      issuedAt: NOW,
      expires: addDays(NOW, 14),
    });
    const [here, there] = [release(world, 5, CHANNEL, 'app'), release(world, 1, panel, 'app')];
    await importMedium(world.agent, await world.medium({ release: here, lease: lease(7, here) }));
    const away = { site: order(world, 2, panel, CHANNEL), release: there, lease: lease(1, there) };
    await importMedium(world.agent, await world.medium(away));
    expect(readFloors(world.agent.state)).toMatchObject({ release: 1, lease: 1 });
    const home = { site: order(world, 3, CHANNEL, panel), release: here };
    const old = await world.medium({ ...home, lease: lease(6, here) });
    expect(await verdict(() => importMedium(world.agent, old))).toBe('ROLLBACK');
    await importMedium(world.agent, await world.medium({ ...home, lease: lease(7, here) }));
    expect(readFloors(world.agent.state)).toMatchObject({ release: 5, lease: 7 });
  });

  it('removes the packages of the old type within the prune budget, and waits for a confirmation beyond it', async () => {
    await using world = await createWorld();
    await importMedium(
      world.agent,
      await world.medium({ release: release(world, 1, CHANNEL, 'app', 'one', 'two') }),
    );
    const move = { site: order(world, 2, panel, CHANNEL), release: release(world, 1, panel, 'app') };
    const medium = await world.medium(move);
    const held = await importMedium(world.agent, medium);
    expect(held.packages.map(({ outcome, code }) => code ?? outcome)).toEqual([
      'configured',
      'PRUNE_BUDGET',
      'PRUNE_BUDGET',
    ]);
    await importMedium(world.agent, medium, { prune: true });
    expect(live(world)).toEqual({ '/opt/app': 'panel 1' });
    await using roomy = await createWorld();
    const agent = { ...roomy.agent, policy: { ...roomy.agent.policy, pruneBudget: 2 } };
    await importMedium(
      agent,
      await roomy.medium({ release: release(roomy, 1, CHANNEL, 'app', 'one', 'two') }),
    );
    const moved = { site: order(roomy, 2, panel, CHANNEL), release: release(roomy, 1, panel, 'app') };
    await importMedium(agent, await roomy.medium(moved));
    expect(live(roomy)).toEqual({ '/opt/app': 'panel 1' });
  });
});

describe('content that no signature covers', () => {
  it('is not stored: blobs, statements and documents of others on the medium', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const medium = await world.medium({ release: { version: 1, bundle } });
    const other = await createTestFleet('other');
    const marks = ['smuggled-blob-1f0c', 'smuggled-paper-77aa', 'smuggled-lease-0b2e'];
    const contents = JSON.parse(await readFile(join(medium, MEDIUM_FILE), 'utf8')) as Medium;
    const documents = [...contents.documents];
    const put = async (text: string, claims: object, role?: string): Promise<void> => {
      const bytes = Buffer.from(text);
      const digest = digestOf(bytes);
      await writeFile(join(medium, 'blobs/sha256', hexOf(digest)), bytes);
      if (role) documents.push({ role, digest, size: bytes.byteLength, mediaType: 'text/plain', ...claims });
    };
    const elsewhere = { environment: 'prod', clusterType: 'elsewhere', version: 1 };
    await put(marks[0] ?? '', {});
    await put(marks[1] ?? '', elsewhere, 'release');
    await put(marks[1] ?? '', { site: 'plant-8', version: 1 }, 'site');
    await put(marks[1] ?? '', {}, 'a role that nobody knows');
    await put(marks[2] ?? '', elsewhere, 'lease');
    await put(other.roots[0]?.toString() ?? '', {}, 'candidate');
    await writeFile(join(medium, MEDIUM_FILE), JSON.stringify({ ...contents, documents }));
    await importMedium(world.agent, medium);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
    expect(await storedBlobs(world.agent.state)).toEqual(new Set(bundle.blobs.keys()));
    world.agent.state.db.pragma('wal_checkpoint(TRUNCATE)');
    const { directory } = world.agent.state;
    const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((it) =>
      it.isFile(),
    );
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) {
      const bytes = await readFile(join(file.parentPath, file.name));
      for (const mark of [...marks, Buffer.from(marks[1] ?? '').toString('base64')]) {
        expect(bytes.includes(mark), `${file.name} has ${mark}`).toBe(false);
      }
    }
  });

  it('is not stored when the medium is refused, even a valid statement beside an invalid one', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const layer = bundle.layers.get('app')?.digest;
    const medium = await world.medium({
      release: { version: 1, bundle },
      tamper: (digest, bytes) => (digest === layer ? Buffer.from(bytes).fill(1, 20, 24) : bytes),
    });
    expect(await verdict(() => importMedium(world.agent, medium))).toBe('DIGEST_MISMATCH');
    expect(readFloors(world.agent.state)).toMatchObject({ root: 0, site: 0, release: 0, lease: 0 });
    expect(world.agent.state.db.prepare('SELECT count(*) AS n FROM statement').get()).toEqual({ n: 0 });
    expect(await storedBlobs(world.agent.state)).not.toContain(layer);
  });
});
