import { expect, test } from 'vitest';
import { verdict } from '../../../bundles/verdict.ts';
import { documentsOf, readDocuments, textOf } from '../../../../scheduler/import/read/edit-documents.ts';
import { parseText, parseTexts } from '../../../../scheduler/import/read/parse-text.ts';

test.each(['*correct-horse', '|correct-horse', '!x!correct-horse a', '"a\\qcorrect-horse"'])(
  'a mistake in YAML is named without the text: password: %s',
  async (password) => {
    const text = `password: ${password}\n`;
    expect(await verdict(() => parseText(text, { file: 'values.yaml' }))).toBe('CONFIG_INVALID');
    expect(() => parseText(text, { file: 'values.yaml' })).not.toThrow(/horse/);
    expect(() => parseText(text, { file: 'values.yaml' })).toThrow(/its YAML has a mistake: /);
    expect(readDocuments(Buffer.from(text), 'db.yaml').mistake?.message ?? '').not.toMatch(/horse/);
  },
);

test('numbers are those of Go, and are written back as their author wrote them', () => {
  const text = 'mode: 0644\nport: 1_000\nid: 9007199254740993\nratio: 1.50\n';
  const value = { mode: 420, port: 1000, id: 9007199254740992, ratio: 1.5 };
  expect(parseText(text, { file: 'values.yaml' })).toEqual(value);
  expect(parseTexts(text).map((one) => one.value)).toEqual([value]);
  expect(textOf(documentsOf(Buffer.from(text))).toString()).toBe(text);
});

test('yes is true to Helm, and text to Kustomize and so to Flux', () => {
  const text = 'a: yes\nb: "yes"\nc: Off\n';
  expect(parseText(text, { file: 'values.yaml' })).toEqual({ a: true, b: 'yes', c: false });
  expect(parseTexts(text).map(({ value }) => value)).toEqual([{ a: 'yes', b: 'yes', c: 'Off' }]);
});

test.each([
  ['an alias inside of what it repeats', 'a: &a {b: *a}\n', 'an alias is inside of what it repeats'],
  ['a merge key without a mapping', 'a: 1\n<<: text\n', 'a merge key has no mapping'],
  ['a merge key for a list with a text', 'a: 1\n<<: [{b: 1}, text]\n', 'a merge key has no mapping'],
])('%s is a mistake of the file', async (_, text, message) => {
  expect(await verdict(() => parseText(text, { file: 'values.yaml' }))).toBe('CONFIG_INVALID');
  expect(parseTexts(`kind: A\n---\n${text}`).map(({ value }) => value)).toEqual([{ kind: 'A' }]);
  expect(readDocuments(Buffer.from(text), 'db.yaml').mistake).toMatchObject({ message, at: { line: 1 } });
});
