import { describe, expect, it } from 'vitest';
import { canonicalBytes } from '#bundles/json/canonical';
import { digestOf, hexOf } from '#bundles/digest';
import { parseMedium } from '#bundles/formats/medium/medium';

const mediumWith = (path: string, form = 'plain', critical: readonly string[] = ['deltas']): Buffer =>
  canonicalBytes({
    format: 1,
    fleet: 'acme',
    createdAt: '2026-11-21T08:00:00Z',
    documents: [],
    bundles: [],
    chunks: [],
    deltas: [
      {
        digest: digestOf('new'),
        size: 3,
        base: digestOf('old'),
        form,
        patch: { path, size: 1, digest: digestOf('p') },
      },
    ],
    critical,
  });

describe('patches in a table of contents', () => {
  it('may be whole blobs listed in a part of a set, and no other blobs', () => {
    const blob = (of: string): string => `blobs/sha256/${hexOf(digestOf(of))}`;
    const parse = (path: string, files: readonly string[]) => {
      const medium = JSON.parse(mediumWith(path).toString()) as Record<string, unknown>;
      return parseMedium(Buffer.from(JSON.stringify({ ...medium, parts: [{ number: 1, files }] })));
    };
    expect(parse(blob('p'), [blob('p')]).deltas).toHaveLength(1);
    for (const [path, files] of [
      ['fleet/deltas/abc.zst', [blob('p')]],
      [blob('p'), []],
      [blob('other'), [blob('other')]],
    ] as const)
      expect(() => parse(path, files), path).toThrow(expect.objectContaining({ code: 'MEDIUM_INVALID' }));
    // Outside of a set nobody would look for one there.
    expect(() => parseMedium(mediumWith(blob('p')))).toThrow(expect.objectContaining({ code: 'BAD_NAME' }));
  });

  it('must lie below fleet/deltas', () => {
    expect(parseMedium(mediumWith('fleet/deltas/abc.zst')).deltas).toHaveLength(1);
    for (const path of ['fleet/deltas/../../etc/passwd', '/fleet/deltas/a', 'fleet/chunks/a', 'fleet/deltas'])
      expect(() => parseMedium(mediumWith(path)), path).toThrow(
        expect.objectContaining({ code: 'BAD_NAME' }),
      );
  });

  it('are refused with an unknown form or an unknown critical name', () => {
    expect(() => parseMedium(mediumWith('fleet/deltas/a', 'bsdiff'))).toThrow(
      expect.objectContaining({ code: 'SCHEMA' }),
    );
    expect(() => parseMedium(mediumWith('fleet/deltas/a', 'plain', ['deltas-2']))).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED' }),
    );
  });
});
