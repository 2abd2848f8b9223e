import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { generateValidators } from '../../../../bundles/json/schema/generate-validators.ts';

it('matches the published schemas', () => {
  const file = new URL('../../../../bundles/json/schema/validators.js', import.meta.url);
  const isCurrent = readFileSync(file, 'utf8') === generateValidators();
  expect(isCurrent, 'run node bundles/json/schema/generate-validators.ts').toBe(true);
});
