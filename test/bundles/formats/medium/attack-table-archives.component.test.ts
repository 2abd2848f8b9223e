import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { acceptChannel } from '#bundles/trust/accept/accept-channel';
import { readChannelDocuments } from '#bundles/trust/accept/documents';
import { readTar } from '#bundles/formats/archive/read-tar';
import { unpackLayer } from '#bundles/formats/archive/unpack-layer';
import { ownBlobs, readBundle } from '#bundles/formats/bundle/read-bundle';
import { readBlob } from '#bundles/formats/layout/verified';
import { MAX_MEDIUM_BYTES, MEDIUM_FILE } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { type RawEntry, rawTar } from '../archive/raw-tar.ts';
import { collect, streamOf } from '../archive/streams.ts';
import { file, POLICY, PRESS } from '../../golden-corpus.ts';
import { verdict } from '../../verdict.ts';

/**
 * The rows T of the attack table: a good medium in one tar, changed by somebody who has it in his hands, and offered to
 * an agent that then reads every blob of what it accepted. What is expected stands in the title, and only there.
 */
const CLOCK = { now: new Date('2026-11-22T08:00:00Z'), trusted: true };

type File = RawEntry & { readonly name: string; readonly content: Buffer };

const FILES: readonly File[] = await Array.fromAsync(
  (async function* () {
    for await (const item of readTar(streamOf(file('media/full.tar')), { maxEntries: 100 })) {
      const content = await collect(item.content);
      if (!item.directory) yield { name: item.path, content };
    }
  })(),
);

const isBlob = ({ name }: File): boolean => name.startsWith('blobs/');
/** A layer of the bundle that this agent is to run. */
const isLayer = ({ content }: File): boolean => content.equals(file('host/layers/printer.tar.gz'));
const without = (gone: (it: File) => boolean): readonly File[] => FILES.filter((it) => !gone(it));
const edited = (which: (it: File) => boolean, change: (it: File) => RawEntry): readonly RawEntry[] =>
  FILES.map((it) => (which(it) ? change(it) : it));

/** Everything of a medium that an agent would run. */
const bringAll = async (tar: Uint8Array): Promise<void> => {
  await using folder = await temporaryDirectory('attack');
  const path = join(folder.path, 'medium.tar');
  await writeFile(path, tar);
  await using open = await openMedium(path);
  const documents = await readChannelDocuments(open.blobs, open.medium?.documents ?? [], PRESS.site);
  const { release } = await acceptChannel(PRESS, documents, CLOCK, POLICY);
  for (const { digest } of release?.bundles ?? []) {
    for (const blob of ownBlobs(await readBundle(open.blobs, digest))) {
      await readBlob(open.blobs, blob.digest, blob.size);
    }
  }
};

const judged = (title: string, run: () => unknown): void => {
  it(title, async () => {
    expect(await verdict(run)).toBe(title.split(' -> ')[1]);
  });
};
const offered = (title: string, entries: readonly RawEntry[], end?: Uint8Array): void =>
  judged(title, () => bringAll(rawTar(entries, end)));
/** The good medium with one more entry. */
const added = (title: string, entry: RawEntry): void => offered(title, [...FILES, entry]);

describe('an archive from an untrusted source', () => {
  offered('T1: good archive -> ACCEPT', FILES);
  offered(
    'T2: names with ./ in front -> ACCEPT',
    FILES.map((it) => ({ ...it, name: `./${it.name}` })),
  );
  added('T3: ../ in a name -> BAD_NAME', { name: '../etc/cron.d/x' });
  added('T4: absolute name -> BAD_NAME', { name: '/etc/cron.d/x' });
  added('T5: ustar prefix ../.. -> BAD_NAME', { name: 'x', prefix: '../..' });
  added('T6: backslash -> BAD_NAME', { name: '..\\..\\x' });
  added('T7: NUL in a name -> BAD_NAME', { name: 'index.json\0.exe' });
  added('T8: symbolic link -> ENTRY_TYPE', { name: 'x', type: '2', linkName: '/etc/passwd' });
  added('T9: hard link -> ENTRY_TYPE', { name: 'x', type: '1', linkName: 'index.json' });
  added('T10: device -> ENTRY_TYPE', { name: 'x', type: '3' });
  added('T11: pax path override -> ENTRY_TYPE', { name: 'x', type: 'x', content: '17 path=../evil\n' });
  added('T12: GNU long name -> ENTRY_TYPE', { name: '././@LongLink', type: 'L', content: '../evil\0' });
  added('T13: sparse file -> ENTRY_TYPE', { name: 'x', type: 'S', magic: 'ustar  \0' });
  added('T14: the same blob twice -> DUPLICATE', FILES.find(isBlob) ?? { name: '' });
  added('T15: a second ./index.json -> DUPLICATE', { name: './index.json', content: '{}' });
  offered('T17: a layer before its manifest, but behind the table of contents -> ACCEPT', [
    ...without(isBlob),
    ...FILES.filter(isBlob).toSorted((a, b) => Number(isLayer(b)) - Number(isLayer(a))),
  ]);
  offered(
    'T18: other bytes in a blob -> DIGEST_MISMATCH',
    edited(isLayer, (it) => ({ ...it, content: Buffer.from(it.content).fill(0, 40, 44) })),
  );
  added('T19: lying size -> TRUNCATED', { name: 'x', size: '00077777777\0', content: 'abc' });
  judged('T20: cut file -> TRUNCATED', () => bringAll(rawTar(FILES).subarray(0, 20_000)));
  added('T21: negative size -> TAR_SIZE', { name: 'x', size: '-0000000001\0' });
  added('T21: negative size in base 256 -> TAR_SIZE', { name: 'x', size: Buffer.alloc(12, 0xff) });
  added('T22: damaged header -> TAR_CHECKSUM', { name: 'x', checksum: '000000\0 ' });
  offered('T23: the table of contents behind the blobs -> ORDER', [
    ...without((it) => it.name === MEDIUM_FILE),
    ...FILES.filter((it) => it.name === MEDIUM_FILE),
  ]);
  offered('T24: blobs and nothing that says whose they are -> ORDER', FILES.filter(isBlob));
  offered(
    'T25: a table of contents over its limit -> META_TOO_LARGE',
    edited(
      (it) => it.name === MEDIUM_FILE,
      (it) => ({ ...it, size: `${(MAX_MEDIUM_BYTES + 1).toString(8).padStart(11, '0')}\0` }),
    ),
  );
  offered(
    'T26: data behind the end -> TRAILING',
    FILES,
    Buffer.concat([Buffer.alloc(1024), Buffer.from('evil')]),
  );
  offered('T27: a blob is missing -> MISSING_BLOB', without(isLayer));
});

describe('a layer from a publisher that breaks the limits', () => {
  const limits = { maxBytes: 1 << 20, maxEntries: 10 };
  judged('T28: gzip bomb -> BOMB', () => unpackLayer(gzipSync(Buffer.alloc(8 << 20)), limits));
  judged('T29: zstd bomb, which no layer of ours is -> BAD_GZIP', () =>
    unpackLayer(zstdCompressSync(Buffer.alloc(8 << 20)), limits),
  );
  judged('T30: more entries than are looked at -> TOO_MANY', () =>
    unpackLayer(gzipSync(rawTar(Array.from({ length: 11 }, (_, index) => ({ name: `f${index}` })))), limits),
  );
});
