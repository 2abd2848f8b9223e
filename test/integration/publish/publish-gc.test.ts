import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readOne } from '#bundles/transport/collect/read-artifacts';
import { type Digest, digestOf } from '#bundles/digest';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { readFleetChain } from '#bundles/transport/publish/read-fleet-chain';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { addDays, formatTime } from '#bundles/time';
import { newAgentRow } from '../../../scheduler/hub/sites/agent-record.ts';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import { collectGarbage, type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { NOW, newSigningKey, writeReport } from '../../harness/fleets/signed-layout.ts';
import { KIOSK, makePublishedWorld, type PublishedWorld } from './published-world.ts';
import { succeed } from '../../harness/run/run-command.ts';

/** Each version has an image of its own, in an index as those for several platforms are. */
const bundleOf = (text: string) =>
  ({
    kind: 'kubernetes',
    packages: { web: { 'app.yaml': `text: ${text}\n` } },
    images: [
      { name: 'web', index: true, layers: [Buffer.alloc(50_000, 'base'), Buffer.alloc(90_000, text)] },
    ],
  }) as const;

describeOnVersions('dockerRegistry', [], 'gc of docker-registry', ({ dockerRegistry }, version) => {
  let registry: Registry;
  let prefix = 0;
  beforeAll(async () => {
    registry = await startRegistry(dockerRegistry);
  });
  afterAll(() => registry?.[Symbol.asyncDispose]());

  /** Releases 2 to `last` of prod/kiosk, one every twenty days, the last today; each published. */
  const publishHistory = async (world: PublishedWorld, to: string, last = 4): Promise<readonly Digest[]> => {
    const bundles: Digest[] = [];
    for (let version = 2; version <= last; version++) {
      const layout = await openLayout(world.path('layout'));
      const artifact = findReference(layout, 'prod/kiosk:release');
      const chain = await readFleetChain(layout);
      const before = await readOne('prod/kiosk', layout.blobs, artifact?.digest as Digest, chain);
      const [bundle] = await world.layout.release({
        channel: KIOSK,
        version,
        bundles: [bundleOf(`v${version}`)],
        issuedAt: addDays(NOW, -20 * (last - version)),
        ...(before.version.identity && { previous: before.version.identity }),
      });
      bundles.push(bundle as Digest);
      expect(await world.publish(to, 'layout', { channels: [KIOSK] })).toEqual({
        'prod/kiosk:release': 'sent',
      });
    }
    return bundles;
  };

  const tagsAt = async (to: string): Promise<readonly string[]> => {
    await using opened = openRegistry(parseRegistryAddress(to), { plainHttp: [], env: {} });
    return await opened.repository('prod/kiosk').tags();
  };
  const count = (tags: readonly string[], letter: string): number =>
    tags.filter((tag) => tag.startsWith(`${letter}-`)).length;

  /** What docker-registry has on its disk. */
  const blobsOnDisk = async (): Promise<ReadonlySet<string>> => {
    const folder = join(registry.storage, 'docker/registry/v2/blobs/sha256');
    const groups = await readdir(folder);
    const names = await Promise.all(groups.map((group) => readdir(join(folder, group))));
    return new Set(names.flat().map((hex) => `sha256:${hex}`));
  };

  it('lists what can be removed, removes it with --yes, and the registry then frees exactly that', async () => {
    await using world = await makePublishedWorld();
    const to = `oci://${registry.host}/gc${prefix++}`;
    await world.publish(to);
    await publishHistory(world, to, 8);
    const before = await tagsAt(to);
    // Release 1 had a plain image; each later one an index and the image in it.
    expect([count(before, 'r'), count(before, 'b'), count(before, 'i'), count(before, 's')]).toEqual([
      8, 8, 15, 8,
    ]);

    const words = ['gc', to, '--keep', '2', '--older-than', '30d'];
    const dry = await world.scheduler(words);
    expect([dry.code, dry.stdout]).toEqual([
      0,
      expect.stringContaining('could be removed; --yes removes them') as string,
    ]);
    expect(await tagsAt(to)).toEqual(before);

    const { code, stdout } = await world.scheduler([...words, '--yes', '--json']);
    expect(code).toBe(0);
    const after = await tagsAt(to);
    // 8, and 7 and 6 before it; 7 is also young enough.
    expect([count(after, 'r'), count(after, 'b'), count(after, 'i'), count(after, 's')]).toEqual([
      3, 3, 6, 3,
    ]);
    const kiosk = (
      JSON.parse(stdout) as {
        readonly repositories: readonly { readonly repository: string; readonly tags: readonly string[] }[];
      }
    ).repositories.find(({ repository }) => repository === 'prod/kiosk');
    expect(new Set([...after, ...(kiosk?.tags ?? [])])).toEqual(new Set(before));

    const full = await blobsOnDisk();
    await collectGarbage(dockerRegistry, registry, { untagged: true });
    const left = await blobsOnDisk();
    expect(full.size - left.size).toBeGreaterThan(5 * 5);
    await world.export(to, 'after.tar', { sites: ['plant-7'] });
    await world.export(to, 'kiosk.tar', { channels: [KIOSK] });
    await using opened = openRegistry(parseRegistryAddress(to), { plainHttp: [], env: {} });
    const { blobs } = opened.repository('prod/kiosk');
    for (const tag of after.filter((one) => /^[rbis]-/.test(one)))
      expect([tag, await blobs.size(`sha256:${tag.slice(2)}`)]).toEqual([tag, expect.any(Number) as number]);
    // Again: nothing to do, and a publisher finds everything.
    expect((await world.scheduler([...words, '--yes'])).stdout).toContain('0 tags removed');
    expect(await world.publish(to, 'layout', {})).toMatchObject({ 'prod/kiosk:release': 'unchanged' });
  }, 120_000);

  it('removes expired leases except the newest, and does not count them as releases', async () => {
    await using world = await makePublishedWorld();
    const to = `oci://${registry.host}/gc${prefix++}`;
    await world.publish(to);
    await publishHistory(world, to);
    for (const [version, days] of [
      [40, -300],
      [41, -200],
      [42, -100],
    ] as const) {
      const issuedAt = addDays(NOW, days);
      await world.layout.lease({ channel: KIOSK, version, issuedAt, expires: addDays(issuedAt, 130) });
      expect(await world.publish(to, 'layout', { channels: [KIOSK] })).toMatchObject({
        'prod/kiosk:lease': 'sent',
      });
    }
    const before = await tagsAt(to);
    const { code } = await world.scheduler(['gc', to, '--keep', '2', '--older-than', '30d', '--yes']);
    const after = await tagsAt(to);
    // Of releases 4, 3 and 2, of leases the one that the pointer names.
    expect([code, count(before, 'r'), count(after, 'r')]).toEqual([0, 4 + 3, 3 + 1]);
    expect(after).toContain('lease');
    const { leases } = await world.export(to, 'leased.tar', { channels: [KIOSK] });
    expect(leases).toMatchObject([{ version: 42, release: 4 }]);
  });

  it('keeps the bundles that sites hold by their last report', async () => {
    await using world = await makePublishedWorld();
    const to = `oci://${registry.host}/gc${prefix++}`;
    await world.publish(to);
    const bundles = await publishHistory(world, to);
    const held = bundles[0] as Digest;
    await reportHolding(world, held);
    const { code } = await world.scheduler(['gc', to, '--keep', '0', '--yes', '--db', world.path('hub.db')]);
    expect(code).toBe(0);
    const after = await tagsAt(to);
    expect(after).toContain(`b-${held.slice(7)}`);
    // Two young ones, and the held one with its image, index and statement.
    expect([count(after, 'r'), count(after, 'b'), count(after, 'i'), count(after, 's')]).toEqual([
      2, 3, 6, 3,
    ]);
  }, 120_000);

  it('removes old site statements and receipts, except those with a pointer', async () => {
    await using world = await makePublishedWorld();
    const to = `oci://${registry.host}/gc${prefix++}`;
    await world.publish(to);
    await world.layout.site({ site: 'plant-7', version: 2, agents: [] });
    await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 9 }]);
    await world.publish(to);
    await using opened = openRegistry(parseRegistryAddress(to), { plainHttp: [], env: {} });
    const site = opened.repository('sites/plant-7');
    expect(count(await site.tags(), 'r')).toBe(4);
    const { code, stdout } = await world.scheduler([
      'gc',
      to,
      '--site',
      'plant-7',
      '--older-than',
      '0d',
      '--yes',
    ]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('removed: 2 releases; 2 stay') as string]);
    const pointers = await Promise.all(['site', 'receipts'].map((tag) => site.resolve(tag)));
    expect((await site.tags()).filter((tag) => tag.startsWith('r-'))).toEqual(
      pointers.map((pointer) => `r-${pointer?.digest.slice(7)}`).toSorted(),
    );
  });

  it('fails with REGISTRY_REFUSED when the registry allows no removal of tags', async () => {
    await using strict = await startRegistry(dockerRegistry, { deletes: false });
    await using world = await makePublishedWorld();
    const to = `oci://${strict.host}/fleet`;
    await world.publish(to);
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    await world.publish(to);
    const { code, stdout, stderr } = await world.scheduler(['gc', to, '--keep', '0', '--yes']);
    // Version 3 removes tags also where the removal of content is switched off.
    if (version === 'distribution3')
      return expect([code, stdout]).toEqual([0, expect.stringContaining('removed: ')]);
    expect(code).toBe(5);
    expect(stderr).toContain('REGISTRY_REFUSED: the registry does not let tags be removed');
    expect(stderr).toContain('storage.delete.enabled');
  });

  it('keeps content of another fleet, and everything that publish did not write', async () => {
    await using world = await makePublishedWorld();
    await using stranger = await makePublishedWorld();
    const to = `oci://${registry.host}/gc${prefix++}`;
    await publishHistory(world, to);
    await using opened = openRegistry(parseRegistryAddress(to), { plainHttp: [], env: {} });
    const repository = opened.repository('prod/kiosk');
    const [any] = (await tagsAt(to)).filter((tag) => tag.startsWith('b-'));
    const found = await repository.fetchManifest(any as string);
    const { mediaType } = found?.descriptor ?? {};
    await repository.pushManifest('mine', {
      mediaType: mediaType ?? '',
      bytes: found?.bytes ?? Buffer.alloc(0),
    });
    const before = await tagsAt(to);
    const all = ['gc', to, '--older-than', '0d', '--keep', '0', '--channel', 'prod/kiosk', '--yes'];
    const { code, stderr } = await stranger.scheduler(all);
    expect(code).toBe(4);
    expect(stderr).toMatch(/prod\/kiosk +[A-Z_]+: /);
    expect(await tagsAt(to)).toEqual(before);
    succeed(await world.scheduler(all));
    const after = await tagsAt(to);
    expect([count(after, 'r'), count(after, 'b'), after.includes('mine')]).toEqual([1, 1, true]);
  }, 120_000);
});

/** The hub's memory of two reports of an agent: it held something else before. */
const reportHolding = async (world: PublishedWorld, held: Digest): Promise<void> => {
  const key = newSigningKey();
  await using store = await openStore(world.path('hub.db'), world.fleet.fleet);
  const who = { site: 'plant-7', agent: 'line-1' };
  const agent = newAgentRow(who, key.public.pem, KIOSK, {}, NOW);
  await store.db.insertInto('agent').values(agent).execute();
  for (const [seq, holds] of [
    [4, [digestOf('something else')]],
    [9, [held]],
  ] as const) {
    const { statement } = await writeReport(world.fleet.fleet, agent.id, key, holds);
    const row = {
      agent: agent.id,
      life: agent.life,
      digest: digestOf(`report ${seq}`),
      first_seq: seq,
      last_seq: seq,
      source: 'stick',
      received_at: formatTime(NOW),
      written_at: formatTime(NOW),
      clock_trusted: 1,
      channel: null,
      floor_root: 1,
      floor_site: 1,
      floor_release: 1,
      floor_lease: 0,
      floor_time: formatTime(NOW),
      statement: statement.toString('utf8'),
      apart: 0,
      number: seq,
    };
    await store.db.insertInto('report').values(row).execute();
  }
};
