import { chown, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { type Digest, digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { SigningKey } from '#bundles/trust/keys/key';
import { folderProvider } from '../../../../agent/images/folder/folder-provider.ts';
import {
  answerFile,
  askFile,
  isProtected,
  offerFile,
  openImageFolder,
  readAnswers,
  readOffers,
} from '../../../../agent/images/folder/image-folder.ts';
import { keepLoading, loadRound } from '../../../../agent/images/folder/load-images.ts';
import type { ImageEvidence } from '../../../../agent/model/image-provider.ts';
import { newFleet, newSigningKey, rotate, type SignedFleet } from '../../../harness/fleets/signed-fleet.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { type Blobs, closureEntry, putImage, putLayer, sourceOf } from '../image-fixture.ts';
import { kubernetesBundle } from '../kubernetes-bundle.ts';
import { type MemoryProvider, memoryProvider } from '../memory-provider.ts';
import { type Signers, signedEvidence } from './signed-evidence.ts';

const never = new AbortController().signal;
const WAITS = { any: 2000, others: 1500, silence: 20_000, poll: 20 };
const quiet = { info: () => {}, warn: () => {}, error: () => {} };

let directory: TemporaryDirectory;
let fleet: SignedFleet;
let stop: AbortController;
let running: Promise<unknown>[];
let blobs: Blobs;
beforeEach(async () => {
  directory = await temporaryDirectory('image-folder');
  fleet = await newFleet('halden');
  stop = new AbortController();
  running = [];
  blobs = new Map();
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  await directory[Symbol.asyncDispose]();
});

const folder = () => openImageFolder(directory.path);
const provider = () => folderProvider(directory.path, WAITS);
const pinned = (): Digest => digestOf(fleet.roots[0] ?? '');
const loaderOf = (node: string, into: MemoryProvider) => ({
  folder: folder(),
  provider: into,
  node,
  pinnedRoot: pinned(),
  log: quiet,
  signal: stop.signal,
});
/** A loader that runs, on a node with an empty containerd. */
const startLoader = (node: string): MemoryProvider => {
  const containerd = memoryProvider();
  running.push(keepLoading(loaderOf(node, containerd), () => {}));
  return containerd;
};
const imageOf = async (app: string): Promise<ClosureEntry> =>
  closureEntry(putImage(blobs, { layers: [await putLayer(blobs, { app })] }), `edge.example/${app}`);

const evidenceOf = (images: readonly ClosureEntry[], signers: Signers = {}): Promise<ImageEvidence> =>
  signedEvidence(fleet, blobs, images, signers);
const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (isFleetError(error) ? `${error.code}: ${error.message}` : String(error)),
  );

describe('images that an agent hands to the loaders of its nodes', () => {
  it('are loaded on every node, kept for a node that comes later, and let go with their release', async () => {
    const [first, second] = [startLoader('node-1'), startLoader('node-2')];
    const [web, old] = [await imageOf('web'), await imageOf('old')];
    await provider().prove?.(await evidenceOf([web, old]), never);
    for (const image of [web, old])
      expect(await provider().bring(image, sourceOf(blobs), never)).toBe('brought');
    for (const node of [first, second]) expect([...node.images.keys()]).toEqual([web.digest, old.digest]);
    expect(await provider().keeps([web, old], never)).toEqual(new Set([web.digest, old.digest]));
    const third = memoryProvider();
    await loadRound(loaderOf('node-3', third), '');
    expect([...third.images.keys()].length).toBe(2);
    await provider().prove?.(await evidenceOf([web]), never);
    await provider().bring(web, sourceOf(blobs), never);
    expect(await provider().letGo([web], never)).toEqual(old.names);
    expect(await folder().blobs.size(old.digest)).toBe(undefined);
    expect(await folder().blobs.size(web.digest)).toBe(web.size);
    await loadRound(loaderOf('node-3', third), '');
    expect([...third.images.keys()]).toEqual([web.digest]);
  });

  it('may leave out blobs that the folder has, as a delta does', async () => {
    const containerd = startLoader('node-1');
    const base = await putLayer(blobs, { base: 'base' });
    const one = closureEntry(putImage(blobs, { layers: [base] }), 'edge.example/one');
    await provider().prove?.(await evidenceOf([one]), never);
    await provider().bring(one, sourceOf(blobs), never);
    const two = closureEntry(
      putImage(blobs, { layers: [base, await putLayer(blobs, { b: 'b' })] }),
      'edge.example/two',
    );
    const evidence = await evidenceOf([one, two]);
    blobs.delete(base.digest);
    expect(await provider().has([base.digest], [two], never)).toEqual(new Set([base.digest]));
    await provider().prove?.(evidence, never);
    await provider().bring(two, sourceOf(blobs), never);
    expect(containerd.images.has(two.digest)).toBe(true);
  });

  it.each<[string, (other: SigningKey) => Signers, string, RegExp]>([
    [
      'that another key built',
      (bundle) => ({ bundle }),
      'UNKNOWN_KEY',
      /UNKNOWN_KEY: the statement of the bundle/,
    ],
    ['that another key released', (release) => ({ release }), 'UNKNOWN_KEY', /UNKNOWN_KEY: the release/],
    ['of another fleet', () => ({ of: 'other' }), 'WRONG_FLEET', /WRONG_FLEET/],
  ])('L20: are refused from a bundle %s, and nothing is loaded', async (_, signers, code, reason) => {
    const containerd = startLoader('node-1');
    const web = await imageOf('web');
    const agent = provider();
    await agent.prove?.(await evidenceOf([web], signers(newSigningKey())), never);
    expect(await messageOf(agent.bring(web, sourceOf(blobs), never))).toMatch(
      new RegExp(
        `^IMAGE_REFUSED: the image loader of node node-1 did not load edge.example/web.*${reason.source}`,
      ),
    );
    expect((await readAnswers(folder())).map(({ refused }) => refused[0]?.code)).toEqual([code]);
    expect(containerd.asked).toEqual([]);
  });

  it('L20: are refused from a bundle that no release names, with the documents of another', async () => {
    const [web, evil] = [await imageOf('web'), await imageOf('evil')];
    const evidence = await evidenceOf([web]);
    const { digest } = await kubernetesBundle(blobs, [evil]);
    const bundles = evidence.bundles.map((bundle) => ({ ...bundle, digest }));
    await provider().prove?.({ ...evidence, bundles }, never);
    await messageOf(
      folderProvider(directory.path, { ...WAITS, any: 50 }).bring(evil, sourceOf(blobs), never),
    );
    const containerd = memoryProvider();
    const { refused } = await loadRound(loaderOf('node-1', containerd), 'a');
    expect(refused.map(({ code }) => code)).toEqual(['EXTRA_BUNDLE']);
    expect(containerd.asked).toEqual([]);
  });

  it('of a loader that hangs are named with its node, and those of one that is slow are waited for', async () => {
    const web = await imageOf('web');
    const hanging = memoryProvider();
    const hung = Promise.withResolvers<'brought'>();
    const loader = { ...loaderOf('node-1', { ...hanging, bring: () => hung.promise }), beatMs: 20 };
    running.push(keepLoading(loader, () => {}));
    const agent = folderProvider(directory.path, { ...WAITS, silence: 400 });
    await agent.prove?.(await evidenceOf([web]), never);
    expect(await messageOf(agent.bring(web, sourceOf(blobs), never))).toMatch(
      /^CONTAINERD_UNREACHABLE: the image loader of node node-1 has done nothing for \d+ minutes while edge\.example\/web.* was to be loaded/,
    );
    stop.abort();
    hung.resolve('brought');
    await Promise.all(running);
    stop = new AbortController();
    const slow: MemoryProvider = {
      ...hanging,
      bring: async (image, source, signal) => {
        for (let parts = 0; parts < 12; parts += 1) {
          for await (const _ of await source.open(image.digest, signal));
          await new Promise((resolve) => setTimeout(resolve, 500));
        }
        return hanging.bring(image, source, signal);
      },
    };
    running.push(keepLoading({ ...loaderOf('node-1', slow), beatMs: 20 }, () => {}));
    const patient = folderProvider(directory.path, { ...WAITS, silence: 4000 });
    expect(await messageOf(patient.bring(web, sourceOf(blobs), never))).toBe('done');
  });

  it('are loaded after many changes of the root', async () => {
    for (let version = 1; version < 70; version += 1) fleet = await rotate(fleet, 'audit');
    const web = await imageOf('web');
    await provider().prove?.(await evidenceOf([web]), never);
    await messageOf(folderProvider(directory.path, { ...WAITS, any: 50 }).bring(web, sourceOf(blobs), never));
    expect(await loadRound(loaderOf('node-1', memoryProvider()), 'a')).toMatchObject({
      root: 70,
      refused: [],
    });
  });

  it.skipIf(process.getuid?.() !== 0)(
    'are asked for in a folder where another user than the loader must not write answers',
    async () => {
      await mkdir(join(directory.path, 'nodes'));
      expect(await isProtected(folder())).toBe(true);
      await chown(directory.path, 65_532, 65_532);
      expect(await isProtected(folder())).toBe(false);
      await chown(directory.path, 0, 65_532);
      await chown(join(directory.path, 'nodes'), 65_532, 65_532);
      expect(await isProtected(folder())).toBe(false);
    },
  );

  it('are refused when no signed bundle names them', async () => {
    const containerd = startLoader('node-1');
    const [web, other] = [await imageOf('web'), await imageOf('other')];
    await provider().prove?.(await evidenceOf([web]), never);
    expect(await messageOf(provider().bring(other, sourceOf(blobs), never))).toMatch(
      /did not load edge\.example\/other.*no signed bundle that it accepts names the image/,
    );
    expect(containerd.images.has(other.digest)).toBe(false);
  });

  it('L20: are refused from a root that is not the one given to the loader, and from an older one than it accepted', async () => {
    const web = await imageOf('web');
    const first = fleet;
    fleet = await rotate(fleet, 'bundle');
    await provider().prove?.(await evidenceOf([web]), never);
    const containerd = memoryProvider();
    await messageOf(folderProvider(directory.path, { ...WAITS, any: 50 }).bring(web, sourceOf(blobs), never));
    expect(await loadRound(loaderOf('node-1', containerd), 'a')).toMatchObject({ root: 2, refused: [] });
    // A thief in the agent's pod, with a key that the new root does not name, puts the old documents back.
    const after = fleet;
    fleet = first;
    const evil = await imageOf('evil');
    await provider().prove?.(await evidenceOf([evil]), never);
    await rm(offerFile(folder(), (await kubernetesBundle(blobs, [web])).digest));
    const back = await loadRound(loaderOf('node-1', containerd), 'b');
    expect(back.root).toBe(2);
    expect(back.refused.map(({ code }) => code)).toEqual(['ROOT_VERSION']);
    fleet = await newFleet('halden');
    expect(await loadRound(loaderOf('node-2', containerd), 'b')).toMatchObject({
      refused: [{ code: 'ROOT_UNKNOWN' }],
    });
    fleet = after;
    expect([...containerd.images.keys()]).toEqual([web.digest]);
  });

  it('L20: are not loaded from blobs that were changed in the folder', async () => {
    const web = await imageOf('web');
    await provider().prove?.(await evidenceOf([web]), never);
    const containerd = memoryProvider();
    await messageOf(folderProvider(directory.path, { ...WAITS, any: 50 }).bring(web, sourceOf(blobs), never));
    const path = folder().blobs.path(web.digest);
    const bytes = await readFile(path);
    bytes[10] = (bytes[10] ?? 0) ^ 1;
    await writeFile(path, bytes);
    const answer = await loadRound(loaderOf('node-1', containerd), 'a');
    expect(answer.images).toEqual([]);
    expect(answer.refused.map(({ code }) => code)).toEqual(['DIGEST_MISMATCH']);
    expect(containerd.images.size).toBe(0);
  });

  it('are copied again in the place of blobs that were damaged in the folder', async () => {
    const containerd = startLoader('node-1');
    const web = await imageOf('web');
    await provider().prove?.(await evidenceOf([web]), never);
    await provider().bring(web, sourceOf(blobs), never);
    const path = folder().blobs.path(web.digest);
    const bytes = await readFile(path);
    const damaged = Buffer.from(bytes);
    damaged[10] = (damaged[10] ?? 0) ^ 1;
    await writeFile(path, damaged);
    expect(await provider().keeps([web], never)).toEqual(new Set());
    containerd.images.clear();
    expect(await messageOf(provider().bring(web, sourceOf(blobs), never))).toBe('done');
    expect(await readFile(path)).toEqual(bytes);
    expect([...containerd.images.keys()]).toEqual([web.digest]);
  });

  it('of an earlier release stay proven after a new root', async () => {
    const [web, old] = [await imageOf('web'), await imageOf('old')];
    const short = () => folderProvider(directory.path, { ...WAITS, any: 50 });
    await short().prove?.(await evidenceOf([old]), never);
    await messageOf(short().bring(old, sourceOf(blobs), never));
    fleet = await rotate(fleet, 'audit');
    await short().prove?.(await evidenceOf([web]), never);
    await messageOf(short().bring(web, sourceOf(blobs), never));
    const loader = loaderOf('node-1', memoryProvider());
    await loadRound(loader, 'a');
    // From now on the loader goes back to no older root.
    const answer = await loadRound(loader, 'b');
    expect(answer).toMatchObject({ root: 2, refused: [] });
    expect(new Set(answer.images)).toEqual(new Set([web.digest, old.digest]));
  });

  it('have the proof of the newest release, and no other one, when releases share them', async () => {
    const [web, old] = [await imageOf('web'), await imageOf('old')];
    const agent = folderProvider(directory.path, { ...WAITS, any: 50 });
    const release = async (...images: ClosureEntry[]): Promise<void> => {
      await agent.prove?.(await evidenceOf(images), never);
      for (const image of images) await messageOf(agent.bring(image, sourceOf(blobs), never));
    };
    await release(web, old);
    await release(old);
    // The new root names another key for bundles: no documents from before it count.
    fleet = await rotate(fleet, 'bundle');
    await release(web, old, await imageOf('new'));
    const wanted = [web, old, await imageOf('new')];
    await agent.letGo(wanted, never);
    expect(await readOffers(folder())).toHaveLength(1);
    const containerd = memoryProvider();
    const answer = await loadRound(loaderOf('node-1', containerd), 'a');
    expect(answer).toMatchObject({ root: 2, refused: [] });
    expect(new Set(answer.images)).toEqual(new Set(wanted.map(({ digest }) => digest)));
    // Another process of the agent knows no more than the folder has.
    await folderProvider(directory.path).letGo(wanted, never);
    expect(await readOffers(folder())).toHaveLength(1);
  });

  it('follow no link and wait for no pipe in the place of a document', async () => {
    const web = await imageOf('web');
    const evidence = await evidenceOf([web]);
    await provider().prove?.(evidence, never);
    const [{ digest } = { digest: web.digest }] = evidence.bundles;
    await rm(offerFile(folder(), digest));
    await symlink('/etc/hostname', offerFile(folder(), digest));
    await symlink('/dev/zero', askFile(folder()));
    expect(await loadRound(loaderOf('node-1', memoryProvider()), '')).toMatchObject({
      images: [],
      refused: [],
    });
  });

  it('wait for a loader that answers, and fail with CONTAINERD_UNREACHABLE when none does', async () => {
    const web = await imageOf('web');
    await provider().prove?.(await evidenceOf([web]), never);
    expect(await messageOf(provider().bring(web, sourceOf(blobs), never))).toMatch(
      /^CONTAINERD_UNREACHABLE: no image loader takes the images in /,
    );
    // A node that is off does not hold back the others.
    await mkdir(join(directory.path, 'nodes'), { recursive: true });
    await loadRound(loaderOf('node-off', memoryProvider()), 'earlier');
    const containerd = startLoader('node-1');
    const agent = provider();
    expect(await agent.bring(web, sourceOf(blobs), never)).toBe('brought');
    expect(containerd.images.has(web.digest)).toBe(true);
    const examined = await agent.examine?.(never);
    expect(examined?.map(({ name, verdict }) => `${name}: ${verdict}`)).toEqual([
      'image loader of node node-1: good',
      'image loader of node node-off: warning',
    ]);
  });

  it('are loaded again when a node lost them, and an answer without news is not written', async () => {
    const containerd = memoryProvider();
    const web = await imageOf('web');
    await provider().prove?.(await evidenceOf([web]), never);
    const waiting = provider().bring(web, sourceOf(blobs), never);
    running.push(keepLoading(loaderOf('node-1', containerd), () => {}));
    await waiting;
    const [before] = await readAnswers(folder());
    containerd.images.clear();
    await loadRound(loaderOf('node-1', containerd), before?.id ?? '');
    expect(containerd.images.has(web.digest)).toBe(true);
    const [after] = await readAnswers(folder());
    await loadRound(loaderOf('node-1', containerd), before?.id ?? '');
    expect(await readAnswers(folder())).toEqual([after]);
    expect(answerFile(folder(), 'node-1')).toMatch(/nodes\/node-1\.json$/);
  });
});
