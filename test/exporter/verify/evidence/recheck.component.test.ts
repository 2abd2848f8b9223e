import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { digestOf, hexOf } from '#bundles/digest';
import { VERIFICATION_PREDICATE } from '#bundles/media-types';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { addDays } from '#bundles/time';
import { fingerprint } from '#bundles/trust/keys/key';
import type { CheckLine } from '../../../../exporter/verify/evidence/evidence.ts';
import { NOW, newSigningKey } from '../../../harness/fleets/signed-fleet.ts';
import { filesOf } from '../../files-of.ts';
import { refused } from '../../refused.ts';
import { type EvidenceWorld, makeEvidenceWorld } from './evidence-world.ts';

const codes = async (world: EvidenceWorld, more: Parameters<EvidenceWorld['recheck']>[0] = {}) =>
  (await world.recheck(more)).checks.flatMap(({ code }) => code ?? []);

const linesOf = async (world: EvidenceWorld): Promise<CheckLine[]> =>
  (await readFile(world.path('evidence/checks.ndjson'), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as CheckLine);

/** What a dishonest auditor does: other lines, and a good signature over them. */
const signAgain = async (world: EvidenceWorld, lines: readonly CheckLine[]): Promise<void> => {
  const file = world.path('evidence/verification.sigstore.json');
  const { payload } = parseEnvelope(await readFile(file), 'it');
  const { predicate } = JSON.parse(payload.toString()) as { predicate: Json };
  const text = Buffer.from(lines.map((line) => `${canonicalJson(line)}\n`).join(''));
  const medium = digestOf(await readFile(world.path('evidence/medium.json')));
  const subjects = [
    { name: 'checks', digest: digestOf(text) },
    { name: 'medium', digest: medium },
  ];
  await writeFile(world.path('evidence/checks.ndjson'), text);
  await writeFile(
    file,
    await signPayload(encodeStatement(subjects, VERIFICATION_PREDICATE, predicate), world.auditor),
  );
};

describe('the evidence of a verification', () => {
  it('has statement, key, result and time of each check', async () => {
    await using world = await makeEvidenceWorld();
    await world.audit('medium');
    const lines = await linesOf(world);
    const release = lines.find(({ what }) => what === 'release prod/kiosk');
    expect(release).toEqual({
      at: '2026-11-21T08:00:00Z',
      what: 'release prod/kiosk',
      result: 'passed',
      digests: [expect.stringMatching(/^sha256:/)],
      keys: [fingerprint(world.fleet.keys.release.public)],
      message: expect.stringContaining('version 1'),
    });
    const keysOf = (what: string) => lines.find((line) => line.what === what)?.keys;
    expect(keysOf('trust root')).toEqual([fingerprint(world.fleet.keys.root.public)]);
    expect(keysOf('kubernetes bundle prod/kiosk')).toEqual([fingerprint(world.fleet.keys.bundle.public)]);
    expect(keysOf('receipts plant-7/line-1')).toEqual([fingerprint(world.fleet.keys.receipt.public)]);
    const blobs = [...filesOf(world.path('medium/blobs')).values()];
    expect(lines.filter(({ what }) => what === 'blob')).toHaveLength(blobs.length);
  });

  it('is valid years later without the medium', async () => {
    await using world = await makeEvidenceWorld();
    await world.audit('medium');
    await rm(world.path('medium'), { recursive: true });
    const { ok, result, signedBy, checks } = await world.recheck({ now: addDays(NOW, 4000) });
    expect([ok, result, signedBy]).toEqual([true, 'passed', fingerprint(world.auditor.public)]);
    expect(checks.map(({ what }) => what)).toEqual(['signature', 'checks']);
  });

  it('contains no layers of the medium', async () => {
    await using world = await makeEvidenceWorld();
    await world.audit('medium');
    const layer = hexOf(digestOf(Buffer.alloc(50_000, 'base')));
    const kept = [...filesOf(world.path('evidence')).keys()];
    expect(kept).toContain('verification.sigstore.json');
    expect(kept.some((path) => path.endsWith(layer))).toBe(false);
  });

  it('is compared with a medium, which passes only while it is unchanged', async () => {
    await using world = await makeEvidenceWorld();
    await world.audit('medium');
    {
      await using open = await openMedium(world.path('medium'));
      expect(await codes(world, { medium: { paths: ['medium'], open } })).toEqual([]);
    }
    const layer = hexOf(digestOf(Buffer.alloc(50_000, 'base')));
    await writeFile(world.path('medium/blobs/sha256', layer), Buffer.alloc(50_000, 'evil'));
    {
      await using open = await openMedium(world.path('medium'));
      expect(await codes(world, { medium: { paths: ['medium'], open } })).toEqual(['DIGEST_MISMATCH']);
    }
    await world.export('other', {});
    await using open = await openMedium(world.path('other'));
    expect(await codes(world, { medium: { paths: ['other'], open } })).toEqual(['EVIDENCE_INVALID']);
  });

  it('P15: is refused when anything in the folder was changed -> EVIDENCE_INVALID', async () => {
    await using world = await makeEvidenceWorld();
    await world.audit('medium');
    await cp(world.path('evidence'), world.path('good'), { recursive: true });
    const changes: readonly (readonly [string, string, string])[] = [
      ['checks.ndjson', '"passed"', '"refused"'],
      ['checks.ndjson', 'release prod/kiosk', 'release prod/kiosX'],
      ['medium.json', '"createdAt":"2026', '"createdAt":"2025'],
    ];
    for (const [file, from, to] of changes) {
      world.alter(file, from, to);
      expect(await codes(world)).toEqual(['EVIDENCE_INVALID']);
      await rm(world.path('evidence'), { recursive: true });
      await cp(world.path('good'), world.path('evidence'), { recursive: true });
    }
    for (const path of filesOf(world.path('evidence/blobs')).keys()) {
      const file = world.path('evidence/blobs', path);
      const bytes = await readFile(file);
      await writeFile(file, Buffer.concat([bytes.subarray(1), Buffer.from(' ')]));
      expect(await codes(world)).toEqual(['EVIDENCE_INVALID']);
      await writeFile(file, bytes);
    }
    expect(await codes(world)).toEqual([]);
  });

  it('P15: is refused when a check was invented, left out or rests on another key -> EVIDENCE_INVALID', async () => {
    await using world = await makeEvidenceWorld();
    await world.audit('medium');
    const lines = await linesOf(world);
    const edits: readonly ((line: CheckLine) => readonly CheckLine[])[] = [
      (line) => (line.what === 'site plant-7' ? [] : [line]),
      (line) => (line.what === 'fleet' ? [{ ...line, what: 'fire drill' }] : [line]),
      (line) =>
        line.what === 'release prod/kiosk'
          ? [{ ...line, keys: [fingerprint(world.auditor.public)] }]
          : [line],
      (line) => (line.what === 'blob' && line.size === 50_000 ? [{ ...line, size: 1 }] : [line]),
    ];
    for (const edit of edits) {
      await signAgain(world, lines.flatMap(edit));
      expect(await codes(world)).toEqual(['EVIDENCE_INVALID']);
    }
    await signAgain(world, lines);
    expect(await codes(world)).toEqual([]);
  });

  it('P15: is refused under another key, another root, and without any reason to believe a key -> UNKNOWN_KEY', async () => {
    await using world = await makeEvidenceWorld();
    await world.audit('medium');
    expect(await codes(world, { keys: [newSigningKey().public] })).toEqual(['UNKNOWN_KEY']);
    expect(await codes(world, { pinned: digestOf('another root') })).toEqual(['EVIDENCE_INVALID']);
    expect(await refused(world.recheck({ keys: undefined, pinned: undefined }))).toBe('USAGE');
    // The office may audit by a key of the root, which an outsider has not.
    expect(await codes(world, { keys: undefined })).toEqual(['UNKNOWN_KEY']);
  });

  it('of a refused medium is valid, with the refused checks', async () => {
    await using world = await makeEvidenceWorld();
    const layer = hexOf(digestOf(Buffer.alloc(50_000, 'base')));
    await writeFile(world.path('medium/blobs/sha256', layer), Buffer.alloc(50_000, 'evil'));
    expect((await world.audit('medium')).ok).toBe(false);
    const { ok, result, refused: lines } = await world.recheck();
    expect([ok, result]).toEqual([true, 'refused']);
    expect(lines.map(({ what, code }) => [what, code])).toEqual([
      ['blobs', 'DIGEST_MISMATCH'],
      ['blob', 'DIGEST_MISMATCH'],
    ]);
    await world.audit('medium', 'expired', addDays(NOW, 500));
    expect((await world.recheck({ folder: world.path('expired') })).result).toBe('refused');
  });

  it('is refused as missing before it is signed, and in a folder without evidence', async () => {
    await using world = await makeEvidenceWorld();
    await world.audit('medium');
    await rm(world.path('evidence/verification.sigstore.json'));
    expect(await refused(world.recheck())).toBe('MEDIUM_MISSING');
    expect(await refused(world.recheck({ folder: world.path('nowhere') }))).toBe('MEDIUM_MISSING');
  });
});
