import { expect, it } from 'vitest';
import { resolveInputs } from '../../../../bundles/formats/site-values/resolve-inputs.ts';
import type { BundleConfig } from '../../../../bundles/formats/bundle/config.ts';
import type { Json } from '../../../../bundles/json/canonical.ts';
import { verdict } from '../../../bundles/verdict.ts';

const field = (input: string) => ({ input, assignment: 'web', file: '/a.json', pointer: `/${input}` });
const config = {
  assignments: [{ id: 'web', bounds: { siteValues: ['line', 'unit'] } }],
  siteInputs: {
    schema: {
      type: 'object',
      properties: { line: { type: 'integer' }, unit: { type: 'string', default: 'kg' } },
      required: ['line'],
    },
    fields: [field('line'), field('unit')],
    configs: [{ assignment: 'web', file: 'platform-config.yaml', pointer: '/0/data' }],
  },
} as unknown as BundleConfig;

const resolve = async (values: Readonly<Record<string, Json>>, own: Readonly<Record<string, Json>> = {}) => {
  const document = { fleet: 'halden', site: 'plant-7', values, agents: { 'edge-1': own } };
  const found = await resolveInputs(config, document, 'edge-1', 'web');
  return found.map(({ pointer, value }) => [pointer, value]);
};

it("takes the agent's value, then the site's, then the default", async () => {
  expect(await resolve({ line: 7 })).toEqual([
    ['/line', 7],
    ['/unit', 'kg'],
    ['/0/data/line', 7],
  ]);
  expect(await resolve({ line: 7, unit: 'lb' }, { line: 8 })).toEqual([
    ['/line', 8],
    ['/unit', 'lb'],
    ['/0/data/line', 8],
    ['/0/data/unit', 'lb'],
  ]);
  expect(await verdict(() => resolve({ unit: 'lb' }))).toBe('SITE_VALUES');
});

it('completes a configuration with values that the package may read and whose names a ConfigMap takes', async () => {
  const found = await resolve({ line: 7, salary: 1, 'a/b': 2 });
  expect(found.filter(([pointer]) => typeof pointer === 'string' && pointer.startsWith('/0/'))).toEqual([
    ['/0/data/line', 7],
  ]);
});
