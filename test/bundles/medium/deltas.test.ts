import { describe, expect, it } from 'vitest';
import { canonicalBytes } from '#bundles/canonical';
import { digestOf } from '#bundles/digest';
import { parseMedium } from '#bundles/medium/medium';

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
  it('are no part of a set: nobody would find them there', () => {
    const medium = JSON.parse(mediumWith('fleet/deltas/abc.zst').toString()) as Record<string, unknown>;
    const set = { ...medium, parts: [{ number: 1, files: [] }] };
    expect(() => parseMedium(Buffer.from(JSON.stringify(set)))).toThrow(
      expect.objectContaining({ code: 'MEDIUM_INVALID' }),
    );
  });

  it('lie below fleet/deltas and nowhere else', () => {
    expect(parseMedium(mediumWith('fleet/deltas/abc.zst')).deltas).toHaveLength(1);
    for (const path of ['fleet/deltas/../../etc/passwd', '/fleet/deltas/a', 'fleet/chunks/a', 'fleet/deltas'])
      expect(() => parseMedium(mediumWith(path)), path).toThrow(
        expect.objectContaining({ code: 'BAD_NAME' }),
      );
  });

  it('are refused in a form that is not known, and by a name that is not', () => {
    expect(() => parseMedium(mediumWith('fleet/deltas/a', 'bsdiff'))).toThrow(
      expect.objectContaining({ code: 'SCHEMA' }),
    );
    expect(() => parseMedium(mediumWith('fleet/deltas/a', 'plain', ['deltas-2']))).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED' }),
    );
  });
});
