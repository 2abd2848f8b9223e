import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { digestOf } from '#bundles/digest';
import {
  completeLayout,
  encodeIndex,
  findReference,
  layoutReference,
  openLayout,
  openOrStartLayout,
  referenceOf,
  withReference,
  writeLayoutIndex,
} from '#bundles/formats/layout/layout';
import { OCI_MANIFEST, REF_NAME } from '#bundles/media-types';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { verdict } from '../../verdict.ts';

const entry = (content: string): Descriptor => ({
  mediaType: OCI_MANIFEST,
  digest: digestOf(content),
  size: content.length,
});
const named = (reference: string, content: string) =>
  withReference([], reference, entry(content))[0] as Descriptor;

describe('an OCI layout', () => {
  it('is written, and opened with the same manifests', async () => {
    await using folder = await temporaryDirectory();
    const empty = await openOrStartLayout(join(folder.path, 'layout'));
    expect(empty.manifests).toEqual([]);
    const release = layoutReference('prod/kiosk', 'release');
    await writeLayoutIndex(empty, [named(release, 'a'), entry('b')]);
    const layout = await openLayout(join(folder.path, 'layout'));
    expect(findReference(layout, release)).toEqual(named(release, 'a'));
    expect(findReference(layout, 'prod/kiosk:bundle')).toBeUndefined();
    expect(layout.manifests).toHaveLength(2);
    expect(await readFile(join(layout.directory, 'oci-layout'), 'utf8')).toBe(
      '{"imageLayoutVersion":"1.0.0"}',
    );
    expect((await readdir(layout.directory)).toSorted()).toEqual(['index.json', 'oci-layout']);
  });

  it('has the same index bytes for any order of the entries', () => {
    const entries = [
      entry('x'),
      entry('y'),
      named('prod/kiosk:release', 'a'),
      named('dev/kiosk:release', 'a'),
      named('Prod/kiosk:release', 'c'),
    ];
    const expected = encodeIndex(entries);
    fc.assert(
      fc.property(fc.shuffledSubarray(entries, { minLength: entries.length }), (shuffled) => {
        expect(encodeIndex(shuffled).equals(expected)).toBe(true);
      }),
    );
    const written = JSON.parse(expected.toString()).manifests as Descriptor[];
    expect(written.map(referenceOf).slice(2)).toEqual([
      'Prod/kiosk:release',
      'dev/kiosk:release',
      'prod/kiosk:release',
    ]);
  });

  it('is read after many changes as its file has it, and as it was changed by somebody else in between', async () => {
    await using folder = await temporaryDirectory();
    let layout = await openOrStartLayout(folder.path);
    for (let change = 0; change < 20; change++) {
      layout = await writeLayoutIndex(
        layout,
        withReference(
          layout.manifests,
          layoutReference(`sites/p${change % 7}`, 'statement'),
          entry(`${change}`),
        ),
      );
      const read = await openLayout(folder.path);
      const file = await readFile(join(folder.path, 'index.json'));
      expect(JSON.parse(file.toString()).manifests).toEqual(read.manifests);
      expect(file).toEqual(encodeIndex(JSON.parse(file.toString()).manifests));
    }
    await writeFile(join(folder.path, 'index.json'), encodeIndex([named('sites/other:statement', 'x')]));
    expect((await openLayout(folder.path)).manifests).toEqual([named('sites/other:statement', 'x')]);
  });

  it('has one manifest per reference: a new one replaces the old one', () => {
    const before = [named('prod/kiosk:release', 'old'), named('dev/kiosk:release', 'dev')];
    const next = withReference(before, 'prod/kiosk:release', {
      ...entry('new'),
      annotations: { kept: 'yes' },
    });
    expect(next.map(({ digest }) => digest)).toEqual([digestOf('dev'), digestOf('new')]);
    expect(next[1]?.annotations).toEqual({ kept: 'yes', [REF_NAME]: 'prod/kiosk:release' });
    expect(before).toHaveLength(2);
  });

  const written = async (folder: string, marker: string | undefined, index: string | undefined) => {
    if (marker !== undefined) await writeFile(join(folder, 'oci-layout'), marker);
    if (index !== undefined) await writeFile(join(folder, 'index.json'), index);
    return verdict(() => openLayout(folder));
  };
  const MARKER = '{"imageLayoutVersion":"1.0.0"}';
  const bad = JSON.stringify({ ...entry('a'), annotations: { [REF_NAME]: 7 } });
  it.each([
    ['MEDIUM_MISSING', undefined, undefined],
    ['MEDIUM_MISSING', MARKER, undefined],
    ['MEDIUM_MISSING', undefined, '{"manifests":[]}'],
    ['LAYOUT_INVALID', '{"imageLayoutVersion":"2.0.0"}', '{"manifests":[]}'],
    ['LAYOUT_INVALID', 'null', '{"manifests":[]}'],
    ['BAD_JSON', '', '{"manifests":[]}'],
    ['BAD_JSON', MARKER, '{"manifests":[],"manifests":[]}'],
    ['LAYOUT_INVALID', MARKER, '[]'],
    ['LAYOUT_INVALID', MARKER, 'null'],
    ['LAYOUT_INVALID', MARKER, '{"manifests":null}'],
    ['LAYOUT_INVALID', MARKER, '{"manifests":null,"config":{},"layers":[]}'],
    ['LAYOUT_INVALID', MARKER, '{"manifests":{"length":0}}'],
    ['LAYOUT_INVALID', MARKER, '{"manifests":[{"mediaType":"a","digest":"sha256:../..","size":1}]}'],
    ['LAYOUT_INVALID', MARKER, `{"manifests":[${bad}]}`],
    ['LAYOUT_INVALID', MARKER, `{"config":${JSON.stringify(entry('a'))},"layers":[]}`],
    ['ACCEPT', MARKER, '{"manifests":[]}'],
  ])('opens with %s for oci-layout %s and index.json %s', async (code, marker, index) => {
    await using folder = await temporaryDirectory();
    expect(await written(folder.path, marker, index)).toBe(code);
  });

  it('is not initialised again when index.json is damaged', async () => {
    await using folder = await temporaryDirectory();
    await written(folder.path, MARKER, '{');
    await expect(openOrStartLayout(folder.path)).rejects.toMatchObject({
      code: 'BAD_JSON',
      hint: 'It is damaged; restore the last copy of it',
    });
  });

  it('is not initialised again without index.json, because release numbers would restart at 1', async () => {
    await using folder = await temporaryDirectory();
    await written(folder.path, MARKER, undefined);
    expect(await verdict(() => openOrStartLayout(folder.path))).toBe('LAYOUT_INVALID');
  });

  it('without oci-layout but with an index is opened, and the missing marker is written', async () => {
    await using folder = await temporaryDirectory();
    await writeFile(join(folder.path, 'index.json'), encodeIndex([entry('a')]));
    const { manifests } = await openOrStartLayout(folder.path);
    expect(manifests.map(({ digest }) => digest)).toEqual([digestOf('a')]);
    await completeLayout(folder.path);
    expect((await openLayout(folder.path)).manifests).toEqual(manifests);
  });

  it('is not completed with a marker when the folder has no index', async () => {
    await using folder = await temporaryDirectory();
    await completeLayout(folder.path);
    expect(await verdict(() => openLayout(folder.path))).toBe('MEDIUM_MISSING');
  });

  it('may have more references than fit into a manifest', async () => {
    await using folder = await temporaryDirectory();
    const empty = await openOrStartLayout(folder.path);
    const many = Array.from({ length: 30_000 }, (_, at) => named(`prod/kiosk:b-${at}`, `bundle ${at}`));
    await writeLayoutIndex(empty, many);
    expect((await openLayout(folder.path)).manifests).toHaveLength(30_000);
  });
});
