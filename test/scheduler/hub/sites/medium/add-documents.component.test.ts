import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { digestOf, hexOf } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { MEDIUM_FILE, type OpenMedium, parseMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { signReceipt } from '#bundles/trust/reports/receipt';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { parseRoot } from '#bundles/trust/root/root';
import { addDocuments, mergeDocuments } from '../../../../../scheduler/hub/sites/medium/add-documents.ts';
import { type NewDocument, toDocument } from '../../../../../scheduler/load/releases/artifact.ts';
import { newFleet, newSigningKey } from '../../../../harness/fleets/signed-fleet.ts';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

const document = (role: string, text: string, more: Partial<NewDocument> = {}): NewDocument => ({
  role,
  mediaType: 'text/plain',
  bytes: Buffer.from(text),
  ...more,
});

const receipt = (agent: string, text: string) => document('receipt', text, { site: 'plant-7', agent });

const trusted = async () => {
  const { keys, roots } = await newFleet('acme');
  return { keys, roots: roots.map((bytes) => parseRoot(bytes)) };
};

/** What the hub says to plant-7/a. */
const receiptBy = async (key: SigningKey, to: number): Promise<NewDocument> => {
  const told = {
    fleet: 'acme',
    agent: 'plant-7/a',
    from: 1,
    to,
    head: digestOf('head'),
    time: formatTime(NOW),
  };
  const bytes = await signReceipt(digestOf(`report ${to}`), told, key);
  return { role: 'receipt', mediaType: 'text/plain', site: 'plant-7', agent: 'plant-7/a', bytes };
};

const EMPTY_TABLE = {
  format: 1,
  fleet: 'acme',
  createdAt: formatTime(NOW),
  bundles: [],
  chunks: [],
  critical: [],
};

describe('addDocuments', () => {
  it('turns an empty folder into a medium that readers open', async () => {
    await using folder = await temporaryDirectory('medium');
    const { roots } = await trusted();
    await using medium = await openMedium(folder.path);
    expect(await addDocuments(medium, roots, [receipt('plant-7/a', 'one')], NOW)).toEqual({ written: true });
    expect((await openLayout(folder.path)).manifests).toEqual([]);
    await using again = await openMedium(folder.path);
    expect(again.medium).toMatchObject({ fleet: 'acme', createdAt: '2026-11-21T08:00:00Z' });
    expect(await again.blobs.size(toDocument(receipt('plant-7/a', 'one')).digest)).toBe(3);
  });

  it('replaces older documents of the same subject, and keeps others and each version of the root', () => {
    const old = [
      receipt('plant-7/a', 'old'),
      receipt('plant-7/b', 'kept'),
      document('root', 'r1', { version: 1 }),
    ];
    const added = [
      receipt('plant-7/a', 'new'),
      document('root', 'r2', { version: 2 }),
      document('root', 'r1', { version: 1 }),
    ];
    const merged = mergeDocuments(old.map(toDocument), added.map(toDocument));
    expect(merged.map(({ role, agent, version }) => `${role} ${agent ?? version}`)).toEqual([
      'receipt plant-7/a',
      'receipt plant-7/b',
      'root 1',
      'root 2',
    ]);
    expect(merged[0]?.digest).toBe(toDocument(receipt('plant-7/a', 'new')).digest);
    expect(mergeDocuments(merged, added.toReversed().map(toDocument))).toEqual(merged);
  });

  it('removes our receipts that nothing refers to any more, and no others', async () => {
    await using folder = await temporaryDirectory('medium');
    const { roots, keys } = await trusted();
    for (const to of [1, 2, 3]) {
      await using medium = await openMedium(folder.path);
      const documents = [await receiptBy(keys.receipt, to), receipt('plant-7/b', 'same')];
      await addDocuments(medium, roots, documents, NOW);
    }
    const { documents } = parseMedium(await readFile(join(folder.path, MEDIUM_FILE)));
    expect(documents.length).toBe(2);
    expect((await readdir(join(folder.path, 'blobs/sha256'))).length).toBe(2);
  });

  it('skips documents without a signature of the fleet, for another fleet, or with a wrong digest', async () => {
    await using folder = await temporaryDirectory('medium');
    const { roots, keys } = await trusted();
    const old = [
      receipt('plant-7/a', 'no statement'),
      await receiptBy(newSigningKey(), 1),
      { ...(await receiptBy(keys.receipt, 1)), agent: 'plant-7/b' },
      { ...(await receiptBy(keys.receipt, 2)), role: 'lease' },
    ];
    await using first = await openMedium(folder.path);
    await addDocuments(first, roots, old, NOW);
    const damaged = await receiptBy(keys.receipt, 3);
    const blob = join(folder.path, 'blobs/sha256', hexOf(toDocument(damaged).digest));
    await writeFile(blob, Buffer.concat([damaged.bytes, Buffer.from(' ')]));
    const listed = [...old, damaged].map(toDocument) as unknown as Json[];
    await writeFile(join(folder.path, MEDIUM_FILE), canonicalBytes({ ...EMPTY_TABLE, documents: listed }));
    const before = await readdir(join(folder.path, 'blobs/sha256'));
    await using medium = await openMedium(folder.path);
    const added = ['plant-7/a', 'plant-7/b'].map((agent) => receipt(agent, `new for ${agent}`));
    const lease = document('lease', 'new', { site: 'plant-7', agent: 'plant-7/a' });
    await addDocuments(medium, roots, [...added, lease], NOW);
    const after = await readdir(join(folder.path, 'blobs/sha256'));
    expect([before.length, after.length]).toEqual([5, 8]);
    expect(after).toEqual(expect.arrayContaining(before));
  });

  it('rewrites a blob whose bytes do not match its name', async () => {
    await using folder = await temporaryDirectory('medium');
    const { roots } = await trusted();
    const one = receipt('plant-7/a', 'one');
    const file = join(folder.path, 'blobs/sha256', hexOf(toDocument(one).digest));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, 'two');
    await using medium = await openMedium(folder.path);
    await addDocuments(medium, roots, [one], NOW);
    expect(await readFile(file, 'utf8')).toBe('one');
  });

  it('reports a read-only medium to every caller', async () => {
    const { roots } = await trusted();
    // The kernel lets nobody make folders here.
    const medium = { path: '/sys', form: 'directory', medium: undefined } as OpenMedium;
    expect(await addDocuments(medium, roots, [receipt('plant-7/a', 'one')], NOW)).toEqual({
      written: false,
      why: 'it cannot be written to',
    });
  });
});
