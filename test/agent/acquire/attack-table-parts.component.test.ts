import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealAge } from '#bundles/trust/age/seal-age';
import { readTar } from '#bundles/formats/archive/read-tar';
import { writeTar } from '#bundles/formats/archive/write-tar';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import { MEDIUM_FILE, type Medium, PART_FILE } from '#bundles/formats/medium/medium';
import { type PartLabel, partName } from '#bundles/formats/medium/parts/part';
import { generateAgeIdentity, recipientOf } from '#bundles/trust/age/recipient';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { findAgeIdentity } from '../../../agent/hub/age-identity.ts';
import { readFloors } from '../../../agent/store/trust.ts';
import { collect, streamOf } from '../../bundles/formats/archive/streams.ts';
import { verdict } from '../../bundles/verdict.ts';
import { packTestBundle, type TestBundle, writeTestMedium } from '../../harness/fleets/signed-medium.ts';
import { makeTestSet, type TestSet, type TestSetOptions } from '../../harness/fleets/test-set.ts';
import { FOUR, LIVE, live } from '../set-world.ts';
import { createWorld, onePackage, storedBlobs, type World } from '../world.ts';

/**
 * The rows P of the attack table: sets of parts in the hands of somebody else, offered to an agent as the files that they are.
 * What is expected stands in the title, and only there.
 */
type File = { readonly path: string; readonly bytes: Buffer };

const unpack = async (tar: Uint8Array): Promise<readonly File[]> => {
  const files: File[] = [];
  for await (const { path, content } of readTar(streamOf(tar), { maxEntries: 1000 }))
    files.push({ path, bytes: await collect(content) });
  return files;
};

const pack = async (files: readonly File[]): Promise<Buffer> =>
  Buffer.concat(
    await Array.fromAsync(
      writeTar(files.map(({ path, bytes }) => ({ path, size: bytes.byteLength, content: bytes }))),
    ),
  );

const asJson = (value: object): Buffer => canonicalBytes(value as Json);
const tableIn = (bytes: Buffer | undefined): Medium => JSON.parse(String(bytes)) as Medium;

/** Somebody's own version of one file of a part. */
const replaced =
  <T extends object>(which: string, change: (content: T) => object) =>
  (files: readonly File[]): readonly File[] =>
    files.map((it) =>
      it.path === which ? { ...it, bytes: asJson(change(JSON.parse(it.bytes.toString()) as T)) } : it,
    );

type Part = { readonly name: string; readonly bytes: Buffer };

const partsOf = (set: TestSet): readonly Part[] =>
  set.numbers.map((number) => ({ name: partName(set.set, number, false), bytes: set.part(number) }));

/** The set with one part changed, under the name that it had. */
const withPart = async (
  set: TestSet,
  number: number,
  change: (files: readonly File[]) => readonly File[],
): Promise<readonly Part[]> => {
  const bytes = await pack(change(await unpack(set.part(number))));
  return partsOf(set).map((part, at) => (at === number - 1 ? { ...part, bytes } : part));
};

/** The set made again around another table of contents: who changes that gives it another name. */
const withTable = async (
  set: TestSet,
  change: (table: Medium) => object,
  more: (files: readonly File[]) => readonly File[] = (files) => files,
): Promise<readonly Part[]> =>
  Promise.all(
    set.numbers.map(async (number) => {
      const files = more(replaced<Medium>(MEDIUM_FILE, change)(await unpack(set.part(number))));
      const name = digestOf(files.find(({ path }) => path === MEDIUM_FILE)?.bytes ?? '');
      const labelled = replaced<PartLabel>(PART_FILE, (label) => ({ ...label, set: name }))(files);
      return { name: partName(name, number, false), bytes: await pack(labelled) };
    }),
  );

const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
  return copy;
};

/** As they lie in a folder that somebody copied them into. */
const folderOf = async (world: World, parts: readonly Part[]): Promise<string> => {
  const folder = join(world.folder, 'copies');
  await mkdir(folder);
  for (const { name, bytes } of parts) await writeFile(join(folder, name), bytes);
  return folder;
};

type Made = { readonly world: World; readonly set: TestSet; readonly bundle: TestBundle };

const made = async (world: World, options: TestSetOptions = {}): Promise<Made> => {
  const bundle = packTestBundle(world.fleet, FOUR);
  const set = await makeTestSet(await world.medium({ release: { version: 1, bundle } }), 4, options);
  return { world, set, bundle };
};

/** Offered to an agent that has nothing: what it is refused with, and that it then has nothing but signed content. */
const row = (
  title: string,
  attack: (made: Made) => Promise<readonly Part[] | string>,
  options: TestSetOptions = {},
): void => {
  it(title, async () => {
    await using world = await createWorld();
    const it = await made(world, options);
    const offered = await attack(it);
    const before = await storedBlobs(world.agent.state);
    const path = typeof offered === 'string' ? offered : await folderOf(world, offered);
    const answer = await verdict(() => importMedium(world.agent, path));
    expect(answer).toBe(title.split(' -> ')[1]);
    if (answer === 'ACCEPT') return;
    expect(readFloors(world.agent.state)).toMatchObject({ root: 0, site: 0, release: 0 });
    expect(live(world)).toEqual({});
    const pieces = tableIn((await unpack(it.set.part(1)))[3]?.bytes).chunks.flatMap(({ files }) =>
      files.map(({ digest }) => digest),
    );
    for (const digest of await storedBlobs(world.agent.state))
      expect(before.has(digest) || it.bundle.blobs.has(digest) || pieces.includes(digest), digest).toBe(true);
  });
};

describe('a set of parts in the hands of somebody else', () => {
  it('P1: a set, its sticks in any order -> ACCEPT', async () => {
    for (const order of [
      [2, 3, 1],
      [3, 1, 2],
    ]) {
      await using world = await createWorld();
      const set = await makeTestSet(
        await world.medium({ release: { version: 1, bundle: packTestBundle(world.fleet, FOUR) } }),
        3,
      );
      const answers: string[] = [];
      for (const number of order) {
        const stick = await set.stick(join(world.folder, `stick-${number}`), [number]);
        answers.push(await verdict(() => importMedium(world.agent, stick)));
      }
      expect(answers).toEqual(['PARTS_MISSING', 'PARTS_MISSING', 'ACCEPT']);
      expect(live(world)).toEqual(LIVE);
    }
  });
  row('P1: a set that was copied by hand -> ACCEPT', async ({ set }) => partsOf(set));
  row('P1: a set whose blobs are cut over its parts -> ACCEPT', async ({ set }) => partsOf(set), {
    cut: 500,
  });

  row('P2: a part of another set under the right name -> MEDIUM_INVALID', async ({ world, set }) => {
    const other = packTestBundle(world.fleet, [onePackage('evil', 'evil')]);
    const foreign = await makeTestSet(await world.medium({ release: { version: 9, bundle: other } }), 4);
    return partsOf(set).map((part, at) => (at === 1 ? { ...part, bytes: foreign.part(2) } : part));
  });
  row('P3: a part with another number -> PARTS_MISSING', ({ set }) =>
    withPart(
      set,
      2,
      replaced<PartLabel>(PART_FILE, (label) => ({ ...label, number: 3 })),
    ),
  );
  row('P3: a part that counts fewer -> PARTS_MISSING', ({ set }) =>
    withPart(
      set,
      2,
      replaced<PartLabel>(PART_FILE, (label) => ({ ...label, count: 3 })),
    ),
  );
  row('P3: a set of 2^31 parts -> SCHEMA', ({ set }) =>
    withTable(
      set,
      (table) => table,
      replaced<PartLabel>(PART_FILE, (label) => ({ ...label, count: 2 ** 31 })),
    ),
  );
  row('P4: a part with another table of contents than its set -> PARTS_MISSING', ({ set }) =>
    withPart(
      set,
      2,
      replaced<Medium>(MEDIUM_FILE, (table) => ({ ...table, fleet: 'evil' })),
    ),
  );
  row('P4: one part alone, with another table of contents -> DIGEST_MISMATCH', async ({ set }) =>
    (
      await withPart(
        set,
        2,
        replaced<Medium>(MEDIUM_FILE, (table) => ({ ...table, fleet: 'evil' })),
      )
    ).slice(1, 2),
  );
  row('P5: a part twice, once with other content -> DIGEST_MISMATCH', async ({ set }) => {
    const part = set.part(2);
    const bytes = flipped(part, part.lastIndexOf(set.files(2)[0] ?? '') + 512 + 20);
    const [first] = partsOf(set).slice(1, 2);
    return [...partsOf(set), { name: (first?.name ?? '').replace('.tar', ' (1).tar'), bytes }];
  });
  row('P6: one part alone, and cut -> TRUNCATED', async ({ set }) =>
    partsOf(set)
      .slice(1, 2)
      .map(({ name, bytes }) => ({ name, bytes: bytes.subarray(0, bytes.length - 5000) })),
  );
  row('P7: a file in two parts -> MEDIUM_INVALID', ({ set }) =>
    withTable(set, (table) => ({
      ...table,
      parts: table.parts?.map((part) => ({ ...part, files: table.parts?.[0]?.files })),
    })),
  );
  row(
    'P7: a blob that is cut twice -> MEDIUM_INVALID',
    ({ set }) => withTable(set, (table) => ({ ...table, chunks: [...table.chunks, ...table.chunks] })),
    { cut: 500 },
  );
  row(
    'P8: pieces that are more than their blob -> SIZE_MISMATCH',
    async ({ set }) =>
      (
        await withTable(set, (table) => ({
          ...table,
          chunks: table.chunks.map((chunk) => ({
            ...chunk,
            files: chunk.files.map((piece) =>
              table.parts?.[0]?.files.includes(piece.path) ? { ...piece, size: 2 ** 40 } : piece,
            ),
          })),
        }))
      ).slice(1),
    { cut: 500 },
  );
  row(
    'P8: pieces with other bytes -> DIGEST_MISMATCH',
    async ({ set }) => {
      const part = set.part(2);
      const bytes = flipped(part, part.lastIndexOf(set.files(2)[0] ?? '') + 512 + 20);
      return partsOf(set).map((one, at) => (at === 1 ? { ...one, bytes } : one));
    },
    { cut: 500 },
  );
  it('P8: pieces with other bytes, listed as what they are, are gone with the next good set -> DIGEST_MISMATCH', async () => {
    await using world = await createWorld();
    const { set, bundle } = await made(world, { cut: 500 });
    const path = set.files(2)[0] ?? '';
    const evil = Buffer.alloc(500, 'evil');
    const parts = await withTable(
      set,
      (table) => ({
        ...table,
        chunks: table.chunks.map((chunk) => ({
          ...chunk,
          files: chunk.files.map((piece) =>
            piece.path === path ? { ...piece, digest: digestOf(evil), size: evil.length } : piece,
          ),
        })),
      }),
      (files) => files.map((it) => (it.path === path ? { path, bytes: evil } : it)),
    );
    // Stick by stick, so that the pieces wait in the store; the last one completes a blob with the wrong digest.
    const answers: string[] = [];
    for (const part of parts) {
      const folder = join(world.folder, part.name);
      await mkdir(folder);
      await writeFile(join(folder, part.name), part.bytes);
      answers.push(await verdict(() => importMedium(world.agent, folder)));
    }
    expect(answers.at(-1)).toBe('DIGEST_MISMATCH');
    expect(readFloors(world.agent.state)).toMatchObject({ root: 0, site: 0, release: 0 });
    expect(live(world)).toEqual({});
    const good = await folderOf(world, partsOf(set));
    expect(await verdict(() => importMedium(world.agent, good))).toBe('ACCEPT');
    for (const digest of await storedBlobs(world.agent.state)) expect(bundle.blobs.has(digest)).toBe(true);
  });

  row('P9: a list of parts that leaves its folder -> SCHEMA', async ({ world, set }) => {
    const stick = await set.stick(join(world.folder, 'stick'), [1]);
    const parts = [{ number: 1, path: 'fleet/parts/../../../etc/passwd', size: 1, digest: set.set }];
    await writeFile(
      join(stick, 'fleet/parts.json'),
      asJson({ format: 1, set: set.set, count: 4, sealed: false, parts }),
    );
    return stick;
  });
  row('P9: a table of contents that says it carries nothing -> ACCEPT', ({ set }) =>
    withTable(set, (table) => ({ ...table, carries: { blobs: 0, bytes: 0 } })),
  );
});

describe('what is signed, in parts', () => {
  const without = (role: string) => (table: Medium) => ({
    ...table,
    documents: table.documents.filter((it) => it.role !== role),
  });

  row('P10: without its bundle statement -> BUNDLE_UNSIGNED', ({ set }) => withTable(set, without('bundle')));
  row('P10: of another site -> WRONG_SITE', async ({ world }) => {
    const medium = await writeTestMedium(join(world.folder, 'foreign'), world.fleet, {
      site: { site: 'plant-8', version: 1, agents: [{ name: 'kiosk-1', key: world.agent.identity.key }] },
      release: { version: 1, bundle: packTestBundle(world.fleet, FOUR) },
    });
    return partsOf(await makeTestSet(medium, 4));
  });

  it('P10: with an old release listed beside the new one, which alone counts -> ACCEPT', async () => {
    await using world = await createWorld();
    await world.release(1, FOUR);
    const bundle = packTestBundle(world.fleet, [onePackage('new', 'new')]);
    const [old, next] = await Promise.all([
      world.medium({ release: { version: 1, bundle: packTestBundle(world.fleet, FOUR) } }),
      world.medium({ release: { version: 2, bundle } }),
    ]);
    const file = join(next, MEDIUM_FILE);
    const documents = await Promise.all(
      [next, old].map(async (path) => tableIn(await readFile(join(path, MEDIUM_FILE))).documents),
    );
    await cp(join(old, 'blobs'), join(next, 'blobs'), { recursive: true });
    await writeFile(file, asJson({ ...tableIn(await readFile(file)), documents: documents.flat() }));
    const set = await makeTestSet(next, 3);
    const path = await folderOf(world, partsOf(set));
    expect(await verdict(() => importMedium(world.agent, path))).toBe('ACCEPT');
    expect(readFloors(world.agent.state)).toMatchObject({ release: 2 });
    expect(live(world)).toMatchObject({ '/opt/new': 'new' });
  });

  it('P10: of an older release -> ROLLBACK', async () => {
    await using world = await createWorld();
    const { set } = await made(world);
    await world.release(2, FOUR);
    const path = await folderOf(world, partsOf(set));
    expect(await verdict(() => importMedium(world.agent, path))).toBe('ROLLBACK');
    expect(readFloors(world.agent.state)).toMatchObject({ release: 2 });
  });

  it('P10: of an older release, one stick of several -> ROLLBACK', async () => {
    await using world = await createWorld();
    const { set } = await made(world);
    await world.release(2, FOUR);
    const stored = await storedBlobs(world.agent.state);
    const path = await set.stick(join(world.folder, 'stick'), [2]);
    expect(await verdict(() => importMedium(world.agent, path))).toBe('ROLLBACK');
    expect(await storedBlobs(world.agent.state)).toEqual(stored);
  });
});

describe('a sealed set in the hands of somebody else', () => {
  const recipients = async ({ agent }: World): Promise<readonly string[]> => [
    await recipientOf((await findAgeIdentity(agent.state.directory)) ?? ''),
  ];
  const sealedParts = async (
    { set }: Made,
    to: readonly string[],
    change = (bytes: Buffer): Buffer => bytes,
  ): Promise<readonly Part[]> => {
    const { seal } = await sealAge(to);
    return Promise.all(
      set.numbers.map(async (number) => ({
        name: partName(set.set, number, true),
        bytes: change(Buffer.concat(await Array.fromAsync(seal(streamOf(set.part(number)))))),
      })),
    );
  };

  row('P11: sealed to this machine -> ACCEPT', async (it) => sealedParts(it, await recipients(it.world)));
  row('P11: sealed to others -> NOT_A_RECIPIENT', async (it) =>
    sealedParts(it, [(await generateAgeIdentity()).recipient]),
  );
  row('P12: a sealed byte is changed -> DIGEST_MISMATCH', async (it) =>
    sealedParts(it, await recipients(it.world), (bytes) => flipped(bytes, bytes.length - 40)),
  );
  row('P12: the header is changed -> DIGEST_MISMATCH', async (it) =>
    sealedParts(it, await recipients(it.world), (bytes) =>
      Buffer.concat([bytes.subarray(0, 22), Buffer.from('-> grease x\nAAAA\n'), bytes.subarray(22)]),
    ),
  );
  row('P12: cut within the last piece -> DIGEST_MISMATCH', async (it) =>
    sealedParts(it, await recipients(it.world), (bytes) => bytes.subarray(0, bytes.length - 100)),
  );
  row('P13: unsigned content, sealed by anyone who knows the recipient -> BUNDLE_UNSIGNED', async (it) => {
    const { seal } = await sealAge(await recipients(it.world));
    const plain = await withTable(it.set, (table) => ({
      ...table,
      documents: table.documents.filter(({ role }) => role !== 'bundle'),
    }));
    return Promise.all(
      plain.map(async ({ name, bytes }) => ({
        name: `${name}.age`,
        bytes: Buffer.concat(await Array.fromAsync(seal(streamOf(bytes)))),
      })),
    );
  });
});
