import { expect, test } from 'vitest';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { Json } from '#bundles/json/canonical';
import { editorOf } from '../../../../agent/acquire/offers/local-values.ts';

const bundle = (input: Json) =>
  ({ siteInputs: { schema: { properties: { port: input } } } }) as unknown as BundleConfig;

const site = bundle({ type: 'integer', 'x-editable-by': 'site' });
const network = bundle({ type: 'integer', 'x-editable-by': 'network' });
const none = bundle({ type: 'integer' });

test('a value is editable by the site only if all bundles that ask for it grant it', () => {
  expect(editorOf([site, site], 'port')).toBe('site');
  expect(editorOf([site, network], 'port')).toBe('network');
  expect(editorOf([site, none], 'port')).toBeUndefined();
  expect(editorOf([site], 'other')).toBeUndefined();
});
