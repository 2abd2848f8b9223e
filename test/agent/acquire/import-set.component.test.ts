import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealAge } from '#bundles/trust/age/seal-age';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestFromHex, hexOf } from '#bundles/digest';
import { formatError } from '#bundles/errors';
import { agentFolder, MEDIUM_FILE, parseMedium } from '#bundles/formats/medium/medium';
import { generateAgeIdentity, recipientOf } from '#bundles/trust/age/recipient';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import { ageFile, findAgeIdentity } from '../../../agent/hub/age-identity.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { collectGarbage } from '../../../agent/store/collect-garbage.ts';
import { readFloors } from '../../../agent/store/trust.ts';
import { packTestBundle, type TestBundle } from '../../harness/fleets/signed-medium.ts';
import { blobFile, makeTestSet } from '../../harness/fleets/test-set.ts';
import {
  expectDone,
  FOUR,
  four,
  LIVE,
  live,
  makeImages,
  makeSet,
  refusedWith,
  releaseOf,
  waiting,
} from '../set-world.ts';
import { createWorld, onePackage, storedBlobs, type World } from '../world.ts';

describe('a set of parts', () => {
  it.each([{ order: [[1, 2], [3], [4]] }, { order: [[4], [3], [1, 2]] }])(
    'is complete when its volumes come as $order',
    async ({ order }) => {
      await using world = await createWorld();
      const what = four(world);
      const { set, stick } = await makeSet(world, what);
      const away = new Set(set.numbers);
      for (const [at, numbers] of order.entries()) {
        for (const number of numbers) away.delete(number);
        const path = await stick(...numbers);
        if (at < order.length - 1) {
          const error = await refusedWith(importMedium(world.agent, path));
          expect(error).toMatchObject({ code: 'PARTS_MISSING', exitCode: 5 });
          expect(waiting(world)).toMatchObject({ set: set.set, count: 4, missing: [...away] });
          expect(readFloors(world.agent.state)).toMatchObject({ root: 0, site: 0, release: 0 });
          expect(live(world)).toEqual({});
          // The daemon looks around in between.
          await collectGarbage(world.agent.state);
        } else expect(await importMedium(world.agent, path)).toMatchObject({ news: 'newer' });
      }
      expect(live(world)).toEqual(LIVE);
      expect(world.events().map(({ type }) => type)).not.toContain('refused');
      await expectDone(world, what.release?.bundle as TestBundle);
    },
  );

  it('is read from several volumes at once', async () => {
    await using world = await createWorld();
    const { stick } = await makeSet(world, four(world));
    await importMedium(world.agent, [await stick(4, 1), await stick(3, 2)]);
    expect(live(world)).toEqual(LIVE);
    expect(waiting(world)).toBeUndefined();
  });

  it('reports the missing parts, in the error and in the status', async () => {
    await using world = await createWorld();
    const { set, stick } = await makeSet(world, four(world));
    const error = await refusedWith(importMedium(world.agent, await stick(1, 2)));
    expect(error.message).toBe('parts 3 and 4 of 4 are not here; what was on this stick is kept');
    expect(error.hint).toBe('Put in the next stick and import it');
    const more = await refusedWith(importMedium(world.agent, await stick(3)));
    expect(more.message).toBe('part 4 of 4 is not here; what was on this stick is kept');
    const status = readStatus(world.agent, { registry: '', hub: '', windows: [] });
    expect(status.parts).toMatchObject({ set: set.set, count: 4, missing: [4] });
  });

  it('does not require a part without content for this machine', async () => {
    await using world = await createWorld();
    const { set, stick } = await makeSet(world, four(world), 6);
    const empty = set.numbers.filter((number) => set.files(number).length === 0);
    expect(empty.length).toBeGreaterThan(0);
    await importMedium(world.agent, await stick(...set.numbers.filter((number) => !empty.includes(number))));
    expect(live(world)).toEqual(LIVE);
  });

  it('is assembled from pieces of blobs, in any order of the volumes', async () => {
    await using world = await createWorld();
    const what = four(world);
    const { stick } = await makeSet(world, what, 3, { cut: 500 });
    for (const [number, missing] of [
      [3, 'parts 1 and 2'],
      [1, 'part 2'],
    ] as const) {
      const error = await refusedWith(importMedium(world.agent, await stick(number)));
      expect(error).toMatchObject({
        code: 'PARTS_MISSING',
        message: expect.stringContaining(`${missing} of 3`),
      });
      await collectGarbage(world.agent.state);
    }
    await importMedium(world.agent, await stick(2));
    expect(live(world)).toEqual(LIVE);
    await expectDone(world, what.release?.bundle as TestBundle);
  });

  it('is dropped when another release is accepted', async () => {
    await using world = await createWorld();
    const { set, stick } = await makeSet(world, four(world));
    await refusedWith(importMedium(world.agent, await stick(1, 2)));
    const kept = await storedBlobs(world.agent.state);
    await world.release(2, [onePackage('other', 'x')]);
    expect(waiting(world)).toBeUndefined();
    const after = await storedBlobs(world.agent.state);
    const layers = set.files(1).map((path) => digestFromHex(path.slice(-64)));
    expect(layers.every((digest) => kept.has(digest))).toBe(true);
    expect(layers.some((digest) => after.has(digest))).toBe(false);
  });

  it('fails with DISK_FULL before copying anything', async () => {
    await using world = await createWorld();
    const { stick } = await makeSet(world, four(world));
    const agent: Agent = { ...world.agent, freeBytes: async () => 100 };
    const before = (await storedBlobs(world.agent.state)).size;
    expect((await refusedWith(importMedium(agent, await stick(1, 2)))).code).toBe('DISK_FULL');
    expect((await storedBlobs(world.agent.state)).size).toBe(before);
  });
});

describe('a damaged part of a set', () => {
  it('is reported, and a good copy completes the set', async () => {
    const bad = 2;
    await using world = await createWorld();
    const what = four(world);
    const { set, stick } = await makeSet(world, what);
    const spoil = (number: number, bytes: Buffer): Buffer => {
      if (number !== bad) return bytes;
      const copy = Buffer.from(bytes);
      const [path = ''] = set.files(bad);
      // Behind the header of the one blob that it alone has; the table of contents names it before.
      const at = copy.lastIndexOf(path) + 512 + 20;
      copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
      return copy;
    };
    const path = await set.stick(join(world.folder, 'bad'), set.numbers, spoil);
    const error = await refusedWith(importMedium(world.agent, path));
    expect(error.code).toBe('DIGEST_MISMATCH');
    expect(error.message).toContain(`part ${bad} (${path}`);
    expect(error.message).toContain('what else was on this stick is kept');
    expect(error.hint).toBe('Have this one part sent again and import it');
    expect(waiting(world)).toMatchObject({ missing: [bad] });
    await collectGarbage(world.agent.state);
    await importMedium(world.agent, await stick(bad));
    expect(live(world)).toEqual(LIVE);
    await expectDone(world, what.release?.bundle as TestBundle);
  });

  it('that is truncated is reported, too', async () => {
    await using world = await createWorld();
    const { set, stick } = await makeSet(world, four(world));
    const path = await set.stick(join(world.folder, 'bad'), [1, 2, 3], (number, bytes) =>
      number === 2 ? bytes.subarray(0, bytes.byteLength - 700) : bytes,
    );
    const error = await refusedWith(importMedium(world.agent, path));
    expect(error.code).toBe('PARTS_MISSING');
    expect(error.message).toMatch(/^part 2 \(.*-0002\.tar\): .*; part 4 of 4 is not here; what else was/);
    expect(error.hint).toBe('Have this one part sent again and import it, and the next stick');
    expect(waiting(world)).toMatchObject({ missing: [2, 4] });
    expect((await refusedWith(importMedium(world.agent, await stick(4)))).message).toContain(
      'part 2 of 4 is',
    );
    await importMedium(world.agent, await stick(2));
    expect(live(world)).toEqual(LIVE);
  });

  it('that was damaged in the store is replaced by a good copy', async () => {
    await using world = await createWorld();
    const { set, stick } = await makeSet(world, four(world));
    await refusedWith(importMedium(world.agent, await stick(1, 2, 3)));
    const rotten = digestFromHex(set.files(2)[0]?.slice(-64) ?? '');
    const file = world.agent.state.blobs.path(rotten);
    const bytes = await readFile(file);
    bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9);
    await writeFile(file, bytes);
    const error = await refusedWith(importMedium(world.agent, await stick(4)));
    expect(error.message).toContain('part 2 of 4 is not here');
    await importMedium(world.agent, await stick(2));
    expect(live(world)).toEqual(LIVE);
  });
});

describe('images in a set of parts', () => {
  it('stay in the store until they are complete, and are removed from it afterwards', async () => {
    await using world = await createWorld();
    const { blobs, images, bundle, provider, agent } = await makeImages(world);
    const { stick } = await makeSet(world, releaseOf(bundle), 4, { cut: 1_500 });
    for (const number of [3, 2, 4]) {
      await refusedWith(importMedium(agent, await stick(number)));
      await collectGarbage(agent.state);
      expect(provider.images.size).toBe(0);
    }
    const result = await importMedium(agent, await stick(1));
    expect(result.images).toEqual({ brought: 2, left: 0 });
    expect([...provider.images.keys()].toSorted()).toEqual(images.map(({ digest }) => digest).toSorted());
    expect(provider.blobs.size).toBe(blobs.size);
    const stored = await storedBlobs(agent.state);
    expect([...blobs.keys()].filter((digest) => stored.has(digest))).toEqual([]);
    await expectDone(world, bundle);
  });

  it('are passed directly to the provider when all volumes are present', async () => {
    await using world = await createWorld();
    const { blobs, bundle, provider, agent } = await makeImages(world);
    const { stick } = await makeSet(world, releaseOf(bundle), 3);
    const kept: string[] = [];
    await importMedium({ ...agent, onJournal: (point) => kept.push(point) }, [
      await stick(1, 3),
      await stick(2),
    ]);
    expect(provider.images.size).toBe(2);
    const copied = kept.filter((point) => /^(acquire|keep) sha256:/.test(point));
    expect([...blobs.keys()].filter((digest) => copied.some((point) => point.endsWith(digest)))).toEqual([]);
  });

  it('are not required without a provider', async () => {
    await using world = await createWorld();
    const { bundle, agent } = await makeImages(world);
    const { set, stick } = await makeSet(world, releaseOf(bundle), 4);
    const layer = [...bundle.layers.values()][0]?.digest ?? '';
    const own = set.numbers.filter((number) =>
      set.files(number).some((path) => path.endsWith(layer.slice(7))),
    );
    const result = await importMedium({ ...agent, images: [] }, await stick(...own));
    expect(result.images).toEqual({ brought: 0, left: 2 });
  });
});

describe('a delta in parts', () => {
  it('reports a missing base, and no blobs of parts that are present', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, FOUR);
    const assumed = [...bundle.layers.values()].slice(0, 1).map(({ digest }) => digest);
    const { stick } = await makeSet(world, { ...releaseOf(bundle), assumed }, 3);
    const path = await stick(1);
    const error = await refusedWith(importMedium(world.agent, path));
    expect(error.code).toBe('MISSING_BASE');
    expect(error.message).toContain('leaves out 1 blobs');
    const file = join(path, 'fleet/requests', `${agentFolder('plant-7/kiosk-1')}-needs.json`);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ missing: assumed });

    // Where the note cannot lie, the words say so.
    await rm(file);
    await mkdir(file);
    const again = await refusedWith(importMedium(world.agent, path));
    expect(again.hint).toContain('Nothing can be written onto it: ask for a full medium');
  });
});

describe('a set with a patch for a blob that it also contains whole', () => {
  it('requires the part with the blob, and accepts nothing without it', async () => {
    await using world = await createWorld();
    const what = four(world);
    const medium = await world.medium(what);
    const lying = async (digest: Digest, patch: Digest): Promise<void> => {
      const file = join(medium, MEDIUM_FILE);
      const contents = parseMedium(await readFile(file));
      const path = `blobs/sha256/${hexOf(patch)}`;
      const delta = { digest, size: 1, base: patch, form: 'plain', patch: { path, digest: patch, size: 1 } };
      await writeFile(file, canonicalBytes({ ...contents, deltas: [delta], critical: ['deltas'] }));
    };
    const [one, other] = [...(what.release?.bundle.layers.values() ?? [])].map(({ digest }) => digest);
    await lying(one as Digest, other as Digest);
    const set = await makeTestSet(medium, 4);
    const last = set.numbers.find((number) => set.files(number).includes(blobFile(one as Digest))) ?? 0;
    const rest = set.numbers.filter((number) => number !== last);
    const error = await refusedWith(
      importMedium(world.agent, await set.stick(join(world.folder, 'a'), rest)),
    );
    expect(error.message).toBe(`part ${last} of 4 is not here; what was on this stick is kept`);
    expect(readFloors(world.agent.state)).toMatchObject({ release: 0 });
    await importMedium(world.agent, await set.stick(join(world.folder, 'b'), [last]));
    expect(live(world)).toEqual(LIVE);
  });
});

describe('a sealed set', () => {
  const sealer = async (...recipients: readonly string[]) => (await sealAge(recipients)).seal;
  const ownRecipient = async ({ agent }: World): Promise<string> =>
    recipientOf((await findAgeIdentity(agent.state.directory)) ?? '');

  it("is opened with the agent's identity, volume by volume", async () => {
    await using world = await createWorld();
    const seal = await sealer((await generateAgeIdentity()).recipient, await ownRecipient(world));
    const { set, stick } = await makeSet(world, four(world), 3, { seal });
    expect(set.part(1).includes('factory-host')).toBe(false);
    expect((await refusedWith(importMedium(world.agent, await stick(2)))).code).toBe('PARTS_MISSING');
    await importMedium(world.agent, await stick(1, 3));
    expect(live(world)).toEqual(LIVE);
  });

  it('for another site is refused, reported, and leaves nothing in the store', async () => {
    await using world = await createWorld();
    const { stick } = await makeSet(world, four(world), 3, {
      seal: await sealer((await generateAgeIdentity()).recipient),
    });
    const before = await storedBlobs(world.agent.state);
    const error = await refusedWith(importMedium(world.agent, await stick(1, 2, 3)));
    expect(error.code).toBe('NOT_A_RECIPIENT');
    expect(formatError(error)).toContain('sealed to other machines than this one');
    expect(await storedBlobs(world.agent.state)).toEqual(before);
    expect(waiting(world)).toBeUndefined();
    expect(world.events().at(-1)).toMatchObject({ type: 'refused', code: 'NOT_A_RECIPIENT' });
  });

  it('is refused by an agent without an age identity, with a hint to enrol', async () => {
    await using world = await createWorld();
    const { stick } = await makeSet(world, four(world), 2, { seal: await sealer(await ownRecipient(world)) });
    await rm(ageFile(world.agent.state.directory));
    const error = await refusedWith(importMedium(world.agent, await stick(1, 2)));
    expect(error.code).toBe('NOT_A_RECIPIENT');
    expect(formatError(error)).toMatch(/this agent has no age identity.*fleet-agent enroll/s);
  });

  it('with a changed byte reports its part, and keeps the others', async () => {
    await using world = await createWorld();
    const seal = await sealer(await ownRecipient(world));
    const { set, stick } = await makeSet(world, four(world), 3, { seal });
    const path = await set.stick(join(world.folder, 'bad'), [1, 2, 3], (number, bytes) => {
      if (number !== 2) return bytes;
      const copy = Buffer.from(bytes);
      copy.writeUInt8(copy.readUInt8(copy.byteLength - 100) ^ 1, copy.byteLength - 100);
      return copy;
    });
    const error = await refusedWith(importMedium(world.agent, path));
    expect(error.message).toContain('part 2 (');
    expect(waiting(world)).toMatchObject({ missing: [2] });
    await importMedium(world.agent, await stick(2));
    expect(live(world)).toEqual(LIVE);
  });
});
