import { readFile } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { describe, expect, it } from 'vitest';
import { openAge } from '#bundles/age/open-age';
import { digestOf, hexOf } from '#bundles/digest';
import { openMedium } from '#bundles/medium/open-medium';
import { prepare } from '../../../exporter/prepare.ts';
import type { Source } from '../../../exporter/source/source.ts';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { exportMedium } from '../../../exporter/write/export-medium.ts';
import { NOW } from '../../harness/signed-fleet.ts';
import { bundleOf, KIOSK, makeWorld, type World } from '../world.ts';
import { meddle } from './meddle.ts';
import { poisonedChunks } from './poisoned-chunks.ts';

/** No two pages of it are the same. */
const layerOf = (size: number): Buffer => {
  const layer = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) layer.writeUInt32LE(at ^ size, at);
  return layer;
};

const LAYERS = [layerOf(1_200_000), layerOf(600_003), layerOf(65_536), layerOf(900)];

const CHUNKS: Readonly<Record<string, readonly number[]>> = {
  'large ones': [512 << 10],
  'small ones': [7000, 1, 16_000],
  'large and small ones': [64 << 10, 1, 100_000, 30_000, 500, 64 << 10, 64 << 10, 3],
};

const identity = await generateIdentity();
const recipient = await identityToRecipient(identity);

/** Whose memory it is. */
const MEMORIES = ['the source', 'the reader'] as const;
type Memory = (typeof MEMORIES)[number];

const FORMS = ['tar', 'folder', 'folder in pieces', 'set', 'sealed set'] as const;

/** As this world's source, but what it gave is no more once it need not be. */
const poisoned = (source: Source, sizes: readonly number[], memory: Memory): Source => ({
  ...source,
  stream: async function* (repository, digest, signal, buffers) {
    const chunks = await Array.fromAsync(source.stream(repository, digest, signal), (chunk) =>
      Buffer.from(chunk),
    );
    yield* poisonedChunks(Buffer.concat(chunks), sizes, memory === 'the reader' ? buffers : undefined);
  },
});

const fill = async (
  world: World,
  form: (typeof FORMS)[number],
  sizes: readonly number[],
  memory: Memory,
): Promise<string> => {
  const to = world.path(form === 'tar' ? 'medium.tar' : 'medium');
  await using prepared = await prepare({
    from: world.path('layout'),
    to,
    channels: [KIOSK],
    sites: [],
    bases: [],
    now: NOW,
    ...(form === 'sealed set' ? { sealTo: [recipient] } : {}),
  });
  const source = poisoned(prepared.source, sizes, memory);
  const options = {
    readBack: true,
    onBytes: () => {},
    seal: prepared.seal,
    ...(form === 'folder in pieces' ? { maxFileSize: 100_001 } : {}),
  };
  const set = form.endsWith('set') ? { partSize: 1 << 20, stickSizes: [] } : undefined;
  await exportMedium({ ...prepared, source }, options, set);
  return to;
};

describe('a medium from a source that uses its memory again as soon as it may, onto a slow disk', () => {
  const CASES = FORMS.flatMap((form) =>
    Object.keys(CHUNKS).flatMap((chunks) =>
      // Only files are written from where they were read into.
      MEMORIES.filter((memory) => memory === 'the source' || form.startsWith('folder')).map((memory) => ({
        form,
        chunks,
        memory,
      })),
    ),
  );
  it.each(CASES)(
    'holds what the source gave: $form, in $chunks, in memory of $memory',
    async ({ form, chunks, memory }) => {
      await using world = await makeWorld();
      const bundle = { ...bundleOf('one'), images: [{ name: 'web', layers: LAYERS }] };
      await world.layout.release({ channel: KIOSK, version: 1, bundles: [bundle] });
      const write = async (): Promise<void> => {
        for (let turns = 0; turns < 5; turns += 1) await turn();
      };
      const to = await meddle({ write }, () => fill(world, form, CHUNKS[chunks] ?? [], memory));
      await using open = await openMedium(to, { unseal: (bytes) => openAge(bytes, [identity]) });
      const { checks, ok } = await verifyMedium(open, undefined, NOW);
      expect(checks.filter((check) => !check.ok)).toEqual([]);
      expect(ok).toBe(true);
      for (const layer of form === 'folder' ? LAYERS : [])
        expect((await readFile(`${to}/blobs/sha256/${hexOf(digestOf(layer))}`)).equals(layer)).toBe(true);
    },
  );
});
