import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { patchesOf } from '../../../../scheduler/deliver/tree/object-patches.ts';
import { field, filesOf, LINE } from './line-fields.ts';

const TARGET = { group: 'lines.example', version: 'v1', kind: 'Line', name: 'web', namespace: 'shop' };

const patchOf = (text: string, ...fields: Parameters<typeof patchesOf>[1]) =>
  patchesOf(filesOf(text), fields).map(({ target, patch }) => ({
    target,
    patch: parse(patch, { intAsBigInt: true }) as unknown,
  }));

test('an object gets a JSON patch of the fields that differ, and none for a value that it has', () => {
  const text = LINE.replaceAll(/\d{16,}/g, '7');
  expect(patchOf(text, field('/spec/belts/1/speed', 3), field('/metadata/annotations/note', 'old'))).toEqual([
    { target: TARGET, patch: [{ op: 'replace', path: '/spec/belts/1/speed', value: 3n }] },
  ]);
});

describe('an object with a whole number beyond 2^53', () => {
  it('gets a merge of the fields that differ, with whole lists', () => {
    const fields = [field('/spec/belts/1/speed', 3), field('/metadata/annotations/note', 'new')];
    expect(patchOf(LINE, ...fields)).toEqual([
      {
        target: TARGET,
        patch: {
          apiVersion: 'lines.example/v1',
          kind: 'Line',
          metadata: { name: 'web', namespace: 'shop', annotations: { note: 'new' } },
          spec: {
            belts: [
              { speed: 1n, mask: 9223372036854775807n },
              { speed: 3n, mask: 2n },
            ],
          },
        },
      },
    ]);
  });

  it('gets none for a value that it has', () => {
    expect(patchOf(LINE, field('/metadata/annotations/note', 'old'))).toEqual([]);
  });

  it.each([
    ['a null, which a merge takes for the removal of the field', field('/spec/limit', null)],
    ['a key that a merge takes for a directive', field('/spec/limit', { $patch: 'delete' })],
  ])('is refused with its number for %s', (_, given) => {
    expect(() => patchesOf(filesOf(LINE), [given])).toThrow(
      expect.objectContaining({
        code: 'FIELD_INVALID',
        subject: 'Line web',
        at: { file: 'line.yaml' },
        message: expect.stringContaining('would round the number 9007199254740993'),
      }),
    );
  });

  it("is refused with its number for a list of Kubernetes' own kind, whose items Kustomize merges", () => {
    const text =
      'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  activeDeadlineSeconds: 9007199254740993\n  containers: [{name: a, image: b}]\n';
    expect(() =>
      patchesOf(filesOf(text), [field('/spec/containers/0/terminationMessagePath', '/c')]),
    ).toThrow(expect.objectContaining({ code: 'FIELD_INVALID', subject: 'Pod web' }));
    expect(patchOf(text, field('/spec/hostname', 'c'))).toMatchObject([
      { patch: { spec: { hostname: 'c' } } },
    ]);
  });
});
