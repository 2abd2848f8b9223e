import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { judgeOffer } from '../../../agent/acquire/offers/judge-offer.ts';
import { readOffer } from '../../../agent/acquire/offers/read-offer.ts';
import { storeAccepted } from '../../../agent/acquire/offers/store-accepted.ts';
import { readTrustRow } from '../../../agent/store/trust.ts';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { createWorld, onePackage, type World } from '../world.ts';

const CONTENT = { 1: 'first', 2: 'second' } as const;

/** Two genuine media of one site: releases 1 and 2. */
const media = async (world: World) => {
  const make = (version: 1 | 2): Promise<string> =>
    world.medium({
      release: {
        version,
        bundle: packTestBundle(world.fleet, [
          onePackage('app', CONTENT[version], { files: { '/opt/app': CONTENT[version] } }),
        ]),
      },
    });
  return [await make(1), await make(2)] as const;
};

type Face = (genuine: Buffer, other: () => Promise<Buffer | undefined>) => Promise<Buffer>;

const flipped: Face = async (genuine) => {
  const bytes = Buffer.from(genuine);
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes;
};
const swapped: Face = async (genuine, other) => (await other()) ?? genuine;

const collect = async (stream: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
};

/** The document in the same place of the other medium's table of contents; or the blob itself if its document is not in that table. */
const counterpart = ({ medium }: OpenMedium, other: OpenMedium, digest: Digest): Digest => {
  const place = medium?.documents.findIndex((document) => document.digest === digest) ?? -1;
  return other.medium?.documents[place]?.digest ?? digest;
};

/** A medium whose controller answers with another face in some of its reads. */
const twoFaced = (medium: OpenMedium, other: OpenMedium, faceOf: (read: number) => Face | undefined) => {
  let reads = 0;
  const answer = async (genuine: Buffer, fromOther: () => Promise<Buffer>): Promise<Buffer> => {
    const face = faceOf((reads += 1));
    return face ? face(genuine, () => fromOther().catch(() => undefined)) : genuine;
  };
  const faced: OpenMedium = {
    ...medium,
    [Symbol.asyncDispose]: () => medium[Symbol.asyncDispose](),
    readFile: async (path, max) => answer(await medium.readFile(path, max), () => other.readFile(path, max)),
    blobs: {
      name: medium.blobs.name,
      size: medium.blobs.size,
      open: async (digest, signal) => {
        const genuine = await collect(await medium.blobs.open(digest, signal));
        const bytes = await answer(genuine, async () =>
          collect(await other.blobs.open(counterpart(medium, other, digest), signal)),
        );
        return (async function* () {
          yield bytes;
        })();
      },
    },
  };
  return { faced, reads: () => reads };
};

/** Imports as importMedium does, from a medium that is open already. @returns the code of a refusal, or ACCEPT */
const importFrom = async (world: World, faceOf: (read: number) => Face | undefined) => {
  const [path, otherPath] = await media(world);
  await using medium = await openMedium(path);
  await using other = await openMedium(otherPath);
  const { faced, reads } = twoFaced(medium, other, faceOf);
  const { agent } = world;
  try {
    storeAccepted(agent, await judgeOffer(agent, await readOffer(agent, faced)), { prune: false });
    await lookAround(agent, { leavesFailed: true });
    return { answer: 'ACCEPT', reads: reads() };
  } catch (error) {
    return { answer: toFleetError(error).code, reads: reads() };
  }
};

/** What is stored has its name's digest, and what runs is what the accepted release says. */
const check = async (world: World, answer: string): Promise<void> => {
  const { directory } = world.agent.state;
  const folder = join(directory, 'blobs/sha256');
  for (const name of await readdir(folder).catch(() => []))
    if (/^[0-9a-f]{64}$/.test(name)) expect(hexOf(digestOf(await readFile(join(folder, name))))).toBe(name);
  const version = readTrustRow(world.agent.state).desiredRelease?.version;
  const live = (() => {
    try {
      return readFileSync(join(world.folder, 'machine/live/opt/app'), 'utf8');
    } catch {
      return undefined;
    }
  })();
  expect([version, live]).toEqual(answer === 'ACCEPT' ? [1, CONTENT[1]] : [undefined, undefined]);
};

describe('a medium that answers differently at each read', () => {
  const count = async (): Promise<number> => {
    await using world = await createWorld();
    const { answer, reads } = await importFrom(world, () => undefined);
    expect(answer).toBe('ACCEPT');
    await check(world, answer);
    return reads;
  };

  it.each([
    ['one changed byte in one read', flipped, (read: number, at: number) => read === at],
    ['one changed byte in all later reads', flipped, (read: number, at: number) => read >= at],
    ['the content of a newer medium in one read', swapped, (read: number, at: number) => read === at],
    ['the content of a newer medium in all later reads', swapped, (read: number, at: number) => read >= at],
  ] as const)(
    'M46: %s: what was verified is what is stored and applied -> DIGEST_MISMATCH',
    async (_, face, isAt) => {
      const reads = await count();
      expect(reads).toBeGreaterThan(5);
      const answers: string[] = [];
      for (let at = 1; at <= reads; at += 1) {
        await using world = await createWorld();
        const { answer } = await importFrom(world, (read) => (isAt(read, at) ? face : undefined));
        await check(world, answer);
        answers.push(answer);
      }
      // IO: "gave different bytes when read again". Of the other medium, ACCEPT: both media have these bytes; SIZE_MISMATCH: its document is
      // longer or shorter, as signatures differ in length.
      const alsoRight = face === swapped ? ['IO', 'ACCEPT', 'SIZE_MISMATCH'] : ['IO'];
      const others = answers.filter((answer) => !alsoRight.includes(answer));
      expect([...new Set(others)]).toEqual(['DIGEST_MISMATCH']);
    },
  );
});
