import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { generateTypes } from '../../../../bundles/json/schema/generate-types.ts';

const FOLDER = new URL('../../../../bundles/schemas/', import.meta.url);

it('types of documents are those of the published schemas', async () => {
  const generated = await generateTypes();
  const files = ['documents.ts', ...readdirSync(new URL('types/', FOLDER)).map((file) => `types/${file}`)];
  const others = [...new Set([...files, ...generated.keys()])].filter(
    (file) => !files.includes(file) || readFileSync(new URL(file, FOLDER), 'utf8') !== generated.get(file),
  );
  expect(others, 'run node bundles/json/schema/generate-types.ts').toEqual([]);
});
