import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  declareValidators,
  generateValidators,
} from '../../../../bundles/json/schema/generate-validators.ts';

it.each([
  ['validators.js', generateValidators],
  ['validators.d.ts', declareValidators],
])('%s matches the published schemas', (name, generate) => {
  const file = new URL(`../../../../bundles/json/schema/${name}`, import.meta.url);
  const isCurrent = readFileSync(file, 'utf8') === generate();
  expect(isCurrent, 'run node bundles/json/schema/generate-validators.ts').toBe(true);
});
