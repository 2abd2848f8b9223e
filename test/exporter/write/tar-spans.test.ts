import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeTar } from '#bundles/formats/archive/write-tar';
import { digestOf } from '#bundles/digest';
import type { PlannedEntry } from '../../../exporter/plan/plan-entries.ts';
import { tarSpans } from '../../../exporter/write/tar-spans.ts';
import { runs } from '../../harness/run/long.ts';

const contents = fc.array(fc.uint8Array({ maxLength: 2100 }), { maxLength: 6 });

type Entry = PlannedEntry & { readonly content: Uint8Array };

const entriesOf = (bytes: readonly Uint8Array[]): readonly Entry[] =>
  bytes.map((content, at) => {
    const digest = digestOf(content);
    const size = content.byteLength;
    const blob = { digest, size, repository: 'r', rank: 'layer', shared: false } as const;
    return { path: `blobs/sha256/${at}`, size, digest, content, ...(at % 2 === 0 && { blob }) };
  });

const tarOf = async (entries: readonly Entry[]): Promise<Buffer> =>
  Buffer.concat(
    (
      await Array.fromAsync(writeTar(entries.map(({ path, size, content }) => ({ path, size, content }))))
    ).map((chunk) => Buffer.from(chunk)),
  );

describe('tarSpans', () => {
  it('cover all bytes of a tar once, in order, with their digests', async () => {
    const property = fc.asyncProperty(contents, async (bytes) => {
      const entries = entriesOf(bytes);
      const tar = await tarOf(entries);
      let offset = 0;
      for (const span of tarSpans('a.tar', entries)) {
        expect(span).toMatchObject({ path: 'a.tar', offset, whole: false });
        offset += span.size;
        expect(span.digest, span.name).toBe(digestOf(tar.subarray(span.offset, offset)));
      }
      expect(offset).toBe(tar.byteLength);
    });
    await fc.assert(property, { numRuns: runs(60) });
  });

  it('find every changed byte in exactly one span', async () => {
    const entries = entriesOf([Buffer.alloc(700, 'a'), Buffer.alloc(0), Buffer.alloc(512, 'c')]);
    const tar = await tarOf(entries);
    const spans = tarSpans('a.tar', entries);
    const names = new Set<string>();
    for (let at = 0; at < tar.byteLength; at += 1) {
      tar[at] = (tar[at] ?? 0) ^ 1;
      const wrong = spans.filter(
        ({ offset, size, digest }) => digestOf(tar.subarray(offset, offset + size)) !== digest,
      );
      tar[at] = (tar[at] ?? 0) ^ 1;
      expect(wrong.length, `byte ${at}`).toBe(1);
      names.add(wrong[0]?.name ?? '');
      expect(wrong[0]?.blob).toBe(entries.find(({ path }) => path === wrong[0]?.name)?.blob);
    }
    expect([...names]).toEqual([
      'header of blobs/sha256/0',
      'blobs/sha256/0',
      'header of blobs/sha256/1',
      'header of blobs/sha256/2',
      'blobs/sha256/2',
      'end',
    ]);
  });
});
