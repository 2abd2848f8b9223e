import { expect, test } from 'vitest';
import { verdict } from '../../../bundles/verdict.ts';
import { readDocuments } from '../../../../scheduler/import/read/edit-documents.ts';
import { parseText } from '../../../../scheduler/import/read/parse-text.ts';

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
