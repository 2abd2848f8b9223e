import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hexOf } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { agentFolder } from '#bundles/formats/medium/medium';
import { addDays } from '#bundles/time';
import { parseDocument } from '#bundles/json/validate';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { heldBundles } from '../../../agent/store/bundles.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { isRevoked, readFloors, readTrustRow } from '../../../agent/store/trust.ts';
import {
  CHANNEL,
  createTestFleet,
  packTestBundle,
  rotateRoot,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { verdict } from '../../bundles/verdict.ts';
import { liveFiles } from '../folder-target.ts';
import { planQuietly } from '../plan-quietly.ts';
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
const types = (world: World) => world.events().map(({ type }) => type);

/** Everything that a refused import must leave as it was: all but the event that tells of it. */
const snapshot = (world: World): string => {
  const { db } = world.agent.state;
  const tables = ['identity', 'trust', 'root', 'statement', 'site_values', 'revoked', 'bundle', 'package'];
  const more = ['failed', 'owned', 'operation', 'result'];
  return JSON.stringify([
    live(world),
    [...tables, ...more].map((table) => db.prepare(`SELECT * FROM ${table}`).all()),
  ]);
};

/** The code an import is refused with, after checking that nothing changed but one event. */
const refusedWith = async (world: World, medium: string, agent = world.agent): Promise<string> => {
  const before = snapshot(world);
  const events = world.events().length;
  const planned = await verdict(() => planQuietly(agent, join(world.folder, 'machine'), [medium]));
  try {
    await importMedium(agent, medium);
  } catch (error) {
    if (!isFleetError(error)) throw error;
    // The plan of a medium that is refused says what the import says, and tells nobody.
    expect(planned).toBe(error.code);
    expect(snapshot(world)).toBe(before);
    expect(world.events().slice(events)).toMatchObject([{ type: 'refused', code: error.code }]);
    return error.code;
  }
  throw new Error('it was accepted');
};

describe('an import', () => {
  it('reports to the waiting caller how much is copied', async () => {
    let [total, done, ends] = [0, 0, 0];
    const progress = {
      begin: (phase: { readonly name: string; readonly total: number }) => {
        if (phase.name === 'copying') total = phase.total;
      },
      advance: (bytes: number) => {
        done += bytes;
      },
      wait: () => {},
      end: () => {
        ends += 1;
      },
    };
    await using world = await createWorld(undefined, { progress });
    await world.release(1, [onePackage('app', 'one')]);
    expect(total).toBeGreaterThan(0);
    expect([done, ends]).toEqual([total, 1]);
  });

  it('applies packages in the order of their dependencies and reports each once', async () => {
    await using world = await createWorld();
    const result = await world.release(1, [
      onePackage('app', 'two', { dependsOn: ['base'] }),
      onePackage('base', 'one'),
    ]);
    expect(result).toMatchObject({ release: { version: 1 }, news: 'newer', selected: true, siteVersion: 1 });
    expect(result.packages).toEqual([
      { assignment: 'base', outcome: 'created' },
      { assignment: 'app', outcome: 'created' },
    ]);
    expect(live(world)).toEqual({ '/opt/app': 'two', '/opt/base': 'one' });
    expect(types(world)).toEqual(['enrolled', 'imported', 'package', 'package']);
    expect(readFloors(world.agent.state)).toMatchObject({ root: 1, site: 1, release: 1 });
  });

  it('reads a tar like a directory', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const { key } = world.agent.identity;
    const site = { site: SITE, version: 1, agents: [{ name: 'kiosk-1', key }] };
    const tar = await writeTestMedium(join(world.folder, 'medium.tar'), world.fleet, {
      site,
      release: { version: 1, bundle },
    });
    expect((await importMedium(world.agent, tar)).packages).toHaveLength(1);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it('M1: of the same medium again does nothing and tells nothing', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const medium = await world.medium({ release: { version: 1, bundle } });
    await importMedium(world.agent, medium);
    const [before, events] = [snapshot(world), world.events().length];
    const again = await importMedium(world.agent, medium);
    expect(again).toMatchObject({ news: 'same', packages: [] });
    expect(snapshot(world)).toBe(before);
    expect(world.events()).toHaveLength(events);
  });

  it('names the followed channel when the medium has no release of it', async () => {
    await using world = await createWorld();
    const { key } = world.agent.identity;
    const follows = { environment: 'prod', clusterType: 'factory-hots' };
    const site = { site: SITE, version: 1, agents: [{ name: 'kiosk-1', key, channel: follows }] };
    const answer = await importMedium(world.agent, await world.medium({ site }));
    expect(answer.missing).toEqual({ channel: 'prod/factory-hots', offered: [] });
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const others = await importMedium(
      world.agent,
      await world.medium({ site, release: { version: 1, bundle } }),
    );
    expect(others).toMatchObject({
      packages: [],
      missing: { channel: 'prod/factory-hots', offered: ['prod/factory-host'] },
    });
    const agents = [{ name: 'kiosk-1', key, previousChannel: follows }];
    const right = await world.medium({
      site: { ...site, version: 2, agents },
      release: { version: 1, bundle },
    });
    expect(await importMedium(world.agent, right)).not.toHaveProperty('missing');
    expect(
      await importMedium(world.agent, await world.medium({ site: { ...site, version: 2, agents } })),
    ).not.toHaveProperty('missing');
  });

  it('changes only the packages that differ in the new release', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one'), onePackage('base', 'one')]);
    const result = await world.release(2, [onePackage('app', 'two'), onePackage('base', 'one')]);
    expect(result.packages).toEqual([{ assignment: 'app', outcome: 'configured' }]);
    expect(live(world)).toEqual({ '/opt/app': 'two', '/opt/base': 'one' });
    expect(findPackage(world.agent.state, 'base')?.current?.release.version).toBe(2);
  });

  it('M13: goes back when a newer release names the older bundle', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    await world.release(2, [onePackage('app', 'two')]);
    await world.release(3, [onePackage('app', 'one')]);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it("puts the site values where the bundle's inputs point, with those of the agent taking precedence", async () => {
    await using world = await createWorld();
    const input = (name: string) => ({
      input: name,
      file: '/etc/app.env',
      pointer: `/${name.toUpperCase()}`,
    });
    const bundle = packTestBundle(world.fleet, [
      { id: 'app', files: { '/etc/app.env': 'A=1\n' }, inputs: [input('line'), input('plant')] },
    ]);
    const site = {
      site: SITE,
      version: 1,
      agents: [{ name: 'kiosk-1', key: world.agent.identity.key }],
      values: { plant: 'oslo', line: 'none' },
      agentValues: { 'kiosk-1': { line: '4' }, 'kiosk-2': { line: '5' } },
    };
    await importMedium(world.agent, await world.medium({ site, release: { version: 1, bundle } }));
    expect(live(world)).toEqual({ '/etc/app.env': 'A=1\nLINE=4\nPLANT=oslo\n' });
    const moved = { ...site, version: 2, values: { plant: 'bergen' } };
    const result = await importMedium(world.agent, await world.medium({ site: moved }));
    expect(result.release).toBeUndefined();
    expect(live(world)).toEqual({ '/etc/app.env': 'A=1\nLINE=4\nPLANT=bergen\n' });
    const poor = { ...site, version: 3, values: {} };
    const { packages } = await importMedium(world.agent, await world.medium({ site: poor }));
    expect(packages).toMatchObject([{ assignment: 'app', outcome: 'failed', code: 'SITE_VALUES' }]);
    expect(live(world)).toEqual({ '/etc/app.env': 'A=1\nLINE=4\nPLANT=bergen\n' });
  });

  it('N71: whose site lacks a value that one package needs, applies all others -> SITE_VALUES', async () => {
    await using world = await createWorld();
    const inputs = [{ input: 'line', file: '/etc/app.env', pointer: '/LINE' }];
    const asking = onePackage('app', '', { files: { '/etc/app.env': 'A=1\n' }, inputs });
    await world.release(1, [
      onePackage('app', '', { files: { '/etc/app.env': 'A=0\n' } }),
      onePackage('other', 'one'),
    ]);
    const { packages } = await world.release(2, [asking, onePackage('other', 'two')]);
    expect(packages).toMatchObject([
      { assignment: 'app', outcome: 'failed', code: 'SITE_VALUES' },
      { assignment: 'other', outcome: 'configured' },
    ]);
    expect(live(world)).toEqual({ '/etc/app.env': 'A=0\n', '/opt/other': 'two' });
    const bundle = packTestBundle(world.fleet, [asking, onePackage('other', 'two')]);
    const site = {
      site: SITE,
      version: 2,
      agents: [{ name: 'kiosk-1', key: world.agent.identity.key }],
      values: { line: '4' },
    };
    await importMedium(world.agent, await world.medium({ site, release: { version: 3, bundle } }));
    expect(live(world)['/etc/app.env']).toBe('A=1\nLINE=4\n');
  });

  it('that the rollout does not select raises the floors and changes no package', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'two')]);
    const medium = await world.medium({ release: { version: 2, bundle, rollout: { percent: 0 } } });
    expect(await importMedium(world.agent, medium)).toMatchObject({ selected: false, packages: [] });
    expect(live(world)).toEqual({ '/opt/app': 'one' });
    expect(readFloors(world.agent.state).release).toBe(2);
    expect(readTrustRow(world.agent.state).desiredRelease?.version).toBe(1);
    const old = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const back = await world.medium({ release: { version: 1, bundle: old } });
    expect(await refusedWith(world, back)).toBe('ROLLBACK');
  });

  it('with a damaged or missing layer names the medium in the error', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const medium = await world.medium({ release: { version: 1, bundle } });
    const layer = bundle.layers.get('app');
    if (!layer) throw new Error('no layer');
    const file = join(medium, 'blobs/sha256', hexOf(layer.digest));
    await writeFile(file, Buffer.alloc(layer.size));
    await expect(importMedium(world.agent, medium)).rejects.toMatchObject({
      code: 'DIGEST_MISMATCH',
      message: expect.stringContaining(`in medium ${medium}`),
    });
    await rm(file);
    await expect(importMedium(world.agent, medium)).rejects.toMatchObject({
      code: 'MISSING_BLOB',
      hint: 'The copy is not complete; copy it again',
    });
  });

  it('from a medium that cannot be opened is recorded as refused, and from a missing path is not', async () => {
    await using world = await createWorld();
    const medium = join(world.folder, 'cut.tar');
    await writeFile(medium, 'no tar');
    expect(await refusedWith(world, medium)).toBe('MEDIUM_INVALID');
    await expect(importMedium(world.agent, join(world.folder, 'nowhere'))).rejects.toMatchObject({
      code: 'MEDIUM_MISSING',
    });
    expect(types(world)).toEqual(['enrolled', 'refused']);
  });

  it('after an interruption returns the packages that it finished', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const medium = await world.medium({ release: { version: 1, bundle } });
    const onJournal = (point: string) => {
      if (point.startsWith('apply app: step')) throw new FleetError('ABORTED', 'the test stops here');
    };
    await expect(importMedium({ ...world.agent, onJournal }, medium)).rejects.toThrow('the test stops here');
    expect((await importMedium(world.agent, medium)).packages).toEqual([
      { assignment: 'app', outcome: 'created' },
    ]);
  });

  it('stopped by a signal leaves no event, and is no refusal', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const medium = await world.medium({ release: { version: 1, bundle } });
    const agent = { ...world.agent, signal: AbortSignal.abort() };
    await expect(importMedium(agent, medium)).rejects.toMatchObject({ code: 'ABORTED' });
    expect(types(world)).toEqual(['enrolled']);
  });
});

describe('a delta', () => {
  const both = [onePackage('app', 'two'), onePackage('base', 'one')];

  it('is completed with layers of the store', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one'), onePackage('base', 'one')]);
    const bundle = packTestBundle(world.fleet, both);
    const base = bundle.layers.get('base');
    const assumed = base ? [base.digest] : [];
    const medium = await world.medium({ release: { version: 2, bundle }, assumed });
    await importMedium(world.agent, medium);
    expect(live(world)).toEqual({ '/opt/app': 'two', '/opt/base': 'one' });
    expect(await heldBundles(world.agent.state)).toContain(bundle.digest);
  });

  it('without its base is refused as MISSING_BASE and writes what it needs to the medium', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const bundle = packTestBundle(world.fleet, both);
    const base = bundle.layers.get('base');
    const assumed = base ? [base.digest] : [];
    const medium = await world.medium({ release: { version: 2, bundle }, assumed });
    expect(await refusedWith(world, medium)).toBe('MISSING_BASE');
    const file = join(medium, 'fleet/requests', `${agentFolder(`${SITE}/kiosk-1`)}-needs.json`);
    const needs = parseDocument('needs', JSON.parse(await readFile(file, 'utf8')), 'needs');
    expect(needs).toMatchObject({ agent: `${SITE}/kiosk-1`, missing: assumed });
    expect(needs.holds).toEqual(await heldBundles(world.agent.state));
  });

  it('an agent that got its missing blobs removes its own note from the medium, and no others', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const bundle = packTestBundle(world.fleet, both);
    const base = bundle.layers.get('base');
    const assumed = base ? [base.digest] : [];
    const medium = await world.medium({ release: { version: 2, bundle }, assumed });
    expect(await refusedWith(world, medium)).toBe('MISSING_BASE');
    const requests = join(medium, 'fleet/requests');
    await writeFile(join(requests, 'other-needs.json'), '{}');
    for (const digest of assumed) {
      await writeFile(join(medium, 'blobs/sha256', hexOf(digest)), bundle.blobs.get(digest) ?? '');
    }
    await importMedium(world.agent, medium);
    expect(await readdir(requests)).toEqual(['other-needs.json']);
  });

  it('is refused when its base is damaged in the store, and a medium with whole blobs repairs it', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one'), onePackage('base', 'one')]);
    const bundle = packTestBundle(world.fleet, both);
    const base = bundle.layers.get('base');
    if (!base) throw new Error('no base');
    const { blobs } = world.agent.state;
    await writeFile(blobs.path(base.digest), Buffer.alloc(base.size));
    const release = { version: 2, bundle };
    const delta = await world.medium({ release, assumed: [base.digest] });
    expect(await refusedWith(world, delta)).toBe('MISSING_BASE');
    await importMedium(world.agent, await world.medium({ release }));
    expect(live(world)).toEqual({ '/opt/app': 'two', '/opt/base': 'one' });
  });
});

describe('a medium is refused, and nothing changes, when', () => {
  const bundleOf = (world: World, content: string) =>
    packTestBundle(world.fleet, [onePackage('app', content)]);

  it('M12: its release is older than the last', async () => {
    await using world = await createWorld();
    await world.release(2, [onePackage('app', 'two')]);
    const medium = await world.medium({ release: { version: 1, bundle: bundleOf(world, 'one') } });
    expect(await refusedWith(world, medium)).toBe('ROLLBACK');
  });

  it('M14: its release says something else under the same number', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const medium = await world.medium({ release: { version: 1, bundle: bundleOf(world, 'two') } });
    expect(await refusedWith(world, medium)).toBe('EQUIVOCATION');
  });

  it('M15, M16: its release has expired, also by a clock that was set back', async () => {
    await using world = await createWorld();
    const bundle = bundleOf(world, 'one');
    const expires = addDays(world.fleet.epoch, 10);
    const medium = await world.medium({ release: { version: 1, bundle, expires } });
    expect(await refusedWith(world, medium)).toBe('EXPIRED');
    const issuedAt = addDays(world.fleet.epoch, 19);
    await importMedium(world.agent, await world.medium({ release: { version: 1, bundle, issuedAt } }));
    const long = addDays(world.fleet.epoch, -300);
    const slow = testAgent(world.agent.state, world.folder, {
      edge: { ...testEdge(long), clockTrusted: false },
    });
    const old = await world.medium({ release: { version: 2, bundle, expires } });
    expect(await refusedWith(world, old, slow)).toBe('EXPIRED');
  });

  it('M19: its release comes from the future, and the clock is known to be right', async () => {
    await using world = await createWorld();
    const release = { version: 1, bundle: bundleOf(world, 'one'), issuedAt: addDays(NOW, 30) };
    expect(await refusedWith(world, await world.medium({ release }))).toBe('FROM_FUTURE');
  });

  it('M20: it is for another site', async () => {
    await using world = await createWorld();
    const { key } = world.agent.identity;
    const site = { site: 'plant-8', version: 1, agents: [{ name: 'kiosk-1', key }] };
    const medium = await world.medium({ site, release: { version: 1, bundle: bundleOf(world, 'one') } });
    expect(await refusedWith(world, medium)).toBe('WRONG_SITE');
  });

  it('M24: it carries a bundle of the channel that the release does not name -> EXTRA_BUNDLE', async () => {
    await using world = await createWorld();
    const extra = [bundleOf(world, 'smuggled')];
    const medium = await world.medium({ release: { version: 1, bundle: bundleOf(world, 'one') }, extra });
    expect(await refusedWith(world, medium)).toBe('EXTRA_BUNDLE');
  });

  it.each([
    [
      'M26: a layer has other bytes',
      'DIGEST_MISMATCH',
      (bytes: Buffer) => Buffer.from(bytes).fill(1, 20, 24),
    ],
    ['M27: a layer is longer', 'SIZE_MISMATCH', (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(1)])],
    ['M27: a layer is gone', 'MISSING_BLOB', () => undefined],
  ] as const)('%s', async (_, code, change) => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const bundle = bundleOf(world, 'two');
    const layer = bundle.layers.get('app')?.digest;
    const medium = await world.medium({
      release: { version: 2, bundle },
      tamper: (digest, bytes) => (digest === layer ? change(bytes) : bytes),
    });
    expect(await refusedWith(world, medium)).toBe(code);
    expect(await storedBlobs(world.agent.state)).not.toContain(layer);
    // M37: the next good one goes through.
    await importMedium(world.agent, await world.medium({ release: { version: 2, bundle } }));
    expect(live(world)).toEqual({ '/opt/app': 'two' });
  });

  it('M28: its bundle was revoked, also by an earlier list that the later one forgot', async () => {
    await using world = await createWorld();
    const bad = bundleOf(world, 'bad');
    const good = bundleOf(world, 'one');
    const revoked = [bad.digest];
    await importMedium(world.agent, await world.medium({ release: { version: 1, bundle: good, revoked } }));
    expect(isRevoked(world.agent.state, bad.digest)).toBe(true);
    const listed = await world.medium({ release: { version: 2, bundle: bad, revoked } });
    expect(await refusedWith(world, listed)).toBe('REVOKED');
    const forgotten = await world.medium({ release: { version: 2, bundle: bad } });
    expect(await refusedWith(world, forgotten)).toBe('REVOKED');
  });

  it('it is of another fleet, or its root is not the one given by hand', async () => {
    await using world = await createWorld();
    const foreign = await createTestFleet(world.fleet.name);
    const { key } = world.agent.identity;
    const medium = await writeTestMedium(join(world.folder, 'foreign'), foreign, {
      site: { site: SITE, version: 1, agents: [{ name: 'kiosk-1', key }] },
      release: { version: 1, bundle: packTestBundle(foreign, [onePackage('app', 'one')]) },
    });
    expect(await refusedWith(world, medium)).toBe('ROOT_UNKNOWN');
  });

  it('its packages wait for each other, or for one that is not there', async () => {
    await using world = await createWorld();
    const circle = [onePackage('a', '1', { dependsOn: ['b'] }), onePackage('b', '1', { dependsOn: ['a'] })];
    const round = await world.medium({
      release: { version: 1, bundle: packTestBundle(world.fleet, circle) },
    });
    expect(await refusedWith(world, round)).toBe('DEPENDENCY_CYCLE');
    const open = [onePackage('a', '1', { dependsOn: ['b'] })];
    const gap = await world.medium({ release: { version: 1, bundle: packTestBundle(world.fleet, open) } });
    expect(await refusedWith(world, gap)).toBe('DEPENDENCY_MISSING');
  });

  it('the disk has no room for it, before a byte is copied, with the numbers', async () => {
    await using world = await createWorld();
    const bundle = bundleOf(world, 'one');
    const medium = await world.medium({ release: { version: 1, bundle } });
    const having = (free: number) => ({ ...world.agent, freeBytes: async () => free });
    expect(await refusedWith(world, medium, having(10))).toBe('DISK_FULL');
    const blocks = [...bundle.blobs.values()].reduce(
      (sum, { byteLength }) => sum + Math.ceil(byteLength / 4096),
      0,
    );
    const needed = blocks * 4096 + (512 << 10);
    expect(world.events().at(-1)?.message).toContain(`needs ${needed} bytes`);
    expect(world.events().at(-1)?.message).toContain('10 are free');
    expect(await refusedWith(world, medium, having(needed - 1))).toBe('DISK_FULL');
    expect(await storedBlobs(world.agent.state)).toEqual(new Set());
  });

  it('a new machine has less room than the release asks for; a later release asks for its own bytes', async () => {
    await using world = await createWorld();
    const demanding = (version: number) =>
      world.medium({
        release: {
          version,
          bundle: packTestBundle(world.fleet, [onePackage('app', `${version}`)], CHANNEL, undefined, {
            diskBytes: 1e9,
          }),
        },
      });
    const having = (free: number) => ({ ...world.agent, freeBytes: async () => free });
    const first = await demanding(1);
    expect(await refusedWith(world, first, having(1e9))).toBe('DISK_FULL');
    expect(world.events().at(-1)?.message).toContain(
      'as the release asks for 1000000000 free bytes at first',
    );
    await importMedium(having(2e9), first);
    const { packages } = await importMedium(having(1e8), await demanding(2));
    expect(packages).toMatchObject([{ assignment: 'app', outcome: 'configured' }]);
  });

  it('it contains no release', async () => {
    await using world = await createWorld();
    expect(await refusedWith(world, join(world.folder, 'request'))).toBe('MEDIUM_EMPTY');
  });
});

describe('a channel', () => {
  it('has its own floor, which is kept while the agent follows another channel', async () => {
    await using world = await createWorld();
    const { key } = world.agent.identity;
    const other = { environment: 'dev', clusterType: 'factory-host' };
    const site = (version: number, channel = CHANNEL, previousChannel = other) => ({
      site: SITE,
      version,
      agents: [{ name: 'kiosk-1', key, channel, previousChannel }],
    });
    const release = (version: number, channel = CHANNEL) => ({
      version,
      bundle: packTestBundle(world.fleet, [onePackage('app', `${channel.environment} ${version}`)], channel),
    });
    await importMedium(world.agent, await world.medium({ site: site(1), release: release(5) }));
    const away = { site: site(2, other, CHANNEL), release: release(1, other) };
    await importMedium(world.agent, await world.medium(away));
    expect(live(world)).toEqual({ '/opt/app': 'dev 1' });
    const replay = await world.medium({ site: site(3), release: release(4) });
    expect(await refusedWith(world, replay)).toBe('ROLLBACK');
    await importMedium(world.agent, await world.medium({ site: site(3), release: release(6) }));
    expect(live(world)).toEqual({ '/opt/app': 'prod 6' });
  });
});

describe('a new root', () => {
  it('M29, M34: comes with its release, and the old release key counts no more', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const stolen = world.fleet;
    const rotated = await rotateRoot(world.fleet, {
      release: (await createTestFleet('other')).keys.release,
    });
    const { key } = world.agent.identity;
    const site = { site: SITE, version: 2, agents: [{ name: 'kiosk-1', key }] };
    const write = (name: string, fleet: typeof stolen, version: number) =>
      writeTestMedium(join(world.folder, name), fleet, {
        site,
        release: { version, bundle: packTestBundle(fleet, [onePackage('app', name)]) },
      });
    const good = await importMedium(world.agent, await write('rotated', rotated, 2));
    expect(good.rootVersion).toBe(2);
    expect(live(world)).toEqual({ '/opt/app': 'rotated' });
    expect(await refusedWith(world, await write('stolen', stolen, 99))).toBe('UNKNOWN_KEY');
  });
});

describe('the store', () => {
  it('keeps the layers of the current and the previous release, and every manifest', async () => {
    await using world = await createWorld();
    const bundles = ['one', 'two', 'three'].map((text) =>
      packTestBundle(world.fleet, [onePackage('app', text)]),
    );
    for (const [index, bundle] of bundles.entries()) {
      await importMedium(world.agent, await world.medium({ release: { version: index + 1, bundle } }));
    }
    const stored = await storedBlobs(world.agent.state);
    const layers = bundles.map((bundle) => stored.has(bundle.layers.get('app')?.digest ?? bundle.digest));
    expect(layers).toEqual([false, true, true]);
    for (const bundle of bundles) expect(stored).toContain(bundle.digest);
    expect(await heldBundles(world.agent.state)).toEqual(
      bundles
        .slice(1)
        .map(({ digest }) => digest)
        .toSorted(),
    );
  });

  it('contains no blob that the signed bundle does not name', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const medium = await world.medium({ release: { version: 1, bundle } });
    const stray = packTestBundle(world.fleet, [onePackage('other', 'x')]);
    for (const [digest, bytes] of stray.blobs) {
      await writeFile(join(medium, 'blobs/sha256', hexOf(digest)), bytes);
    }
    await importMedium(world.agent, medium);
    expect(await storedBlobs(world.agent.state)).toEqual(new Set(bundle.blobs.keys()));
  });
});
