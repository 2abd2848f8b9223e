import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLayout } from '#bundles/layout/layout';
import { MEDIUM_FILE, type OpenMedium, parseMedium } from '#bundles/medium/medium';
import { openMedium } from '#bundles/medium/open-medium';
import { addDocuments, mergeDocuments } from '../../../../scheduler/hub/medium/add-documents.ts';
import { type NewDocument, toDocument } from '../../../../scheduler/publish/artifact.ts';
import { temporaryDirectory } from '../../../harness/temporary-directory.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

const document = (role: string, text: string, more: Partial<NewDocument> = {}): NewDocument => ({
  role,
  mediaType: 'text/plain',
  bytes: Buffer.from(text),
  ...more,
});

const receipt = (agent: string, text: string) => document('receipt', text, { site: 'plant-7', agent });

describe('putting documents onto a medium', () => {
  it('makes an empty folder a medium that any reader opens', async () => {
    await using folder = await temporaryDirectory('medium');
    await using medium = await openMedium(folder.path);
    expect(await addDocuments(medium, 'acme', [receipt('plant-7/a', 'one')], NOW)).toEqual({ written: true });
    expect((await openLayout(folder.path)).manifests).toEqual([]);
    await using again = await openMedium(folder.path);
    expect(again.medium).toMatchObject({ fleet: 'acme', createdAt: '2026-11-21T08:00:00Z' });
    expect(await again.blobs.size(toDocument(receipt('plant-7/a', 'one')).digest)).toBe(3);
  });

  it('replaces what is older about the same and keeps everything else, roots one by one', () => {
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

  it('takes away the blobs that nothing names any more, and no others', async () => {
    await using folder = await temporaryDirectory('medium');
    for (const text of ['one', 'two', 'same']) {
      await using medium = await openMedium(folder.path);
      await addDocuments(medium, 'acme', [receipt('plant-7/a', text), receipt('plant-7/b', 'same')], NOW);
    }
    const { documents } = parseMedium(await readFile(join(folder.path, MEDIUM_FILE)));
    expect(documents.length).toBe(2);
    expect((await readdir(join(folder.path, 'blobs/sha256'))).length).toBe(1);
  });

  it('says that a medium cannot be written to, whoever asks', async () => {
    // The kernel lets nobody make folders here.
    const medium = { path: '/sys', form: 'directory', medium: undefined } as OpenMedium;
    expect(await addDocuments(medium, 'acme', [receipt('plant-7/a', 'one')], NOW)).toEqual({
      written: false,
      why: 'it cannot be written to',
    });
  });
});
