import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type SiteValuesEdit, planSiteValues } from '../../../scheduler/author/plan-site-values.ts';
import type { Layer } from '../../../scheduler/author/place/layer.ts';
import { config } from '../hub/sites/layers/layered-hub.ts';

const FILE = 'base/layers.yaml';

/** A platform whose Configs are in one file. */
const layerWith = (configs: Readonly<Record<string, string>>): Layer => ({
  name: 'base',
  environment: undefined,
  form: 'fleet',
  location: { kind: 'directory', directory: '/x', shown: 'x' },
  folder: 'base',
  prefix: 'x/',
  files: [
    {
      path: FILE,
      bytes: Buffer.from(
        Object.entries(configs)
          .map(([name, spec]) => config(name, spec))
          .join('---\n'),
      ),
    },
  ],
  objects: Object.keys(configs).map((name) => ({
    apiVersion: 'fleet-ferry/v1alpha1',
    kind: 'Config',
    name,
    file: FILE,
    at: { file: FILE },
  })),
});

const edit = (
  siteSelector: Readonly<Record<string, string>>,
  more: Partial<SiteValuesEdit>,
): SiteValuesEdit => ({
  environment: 'prod',
  siteSelector,
  set: {},
  unset: [],
  ...more,
});

const specsIn = (bytes: Buffer | undefined) =>
  parseAllDocuments(String(bytes)).map((one) => {
    const { metadata, spec } = one.toJS() as {
      readonly metadata: { readonly name: string };
      readonly spec: { readonly values: object };
    };
    return [metadata.name, spec.values];
  });

test('many changes of one file are one edit of it, in their order, and unrelated lines stay', () => {
  const layer = layerWith({
    all: 'siteSelector: {}\n  values: {gatewayHost: company}   # for all',
    north: 'siteSelector: {region: north}\n  values:\n    port: 80 # plain',
  });
  const { files, subject, outcome } = planSiteValues(
    [layer],
    [
      edit({ site: 'plant-1' }, { set: { port: 1, gatewayHost: 'g' } }),
      edit({ region: 'north' }, { set: { port: 81, line: 7 } }),
      edit({ site: 'plant-1' }, { set: { port: 2 }, unset: ['gatewayHost'] }),
      edit({ region: 'north' }, { unset: ['line'] }),
      edit({}, { set: { gatewayHost: 'company' } }),
    ],
  );
  expect([subject, outcome, files.map(({ path }) => path)]).toEqual([
    '2 Configs of sites',
    'configured',
    [FILE],
  ]);
  const [file] = files;
  expect(file?.was).toBe(layer.files[0]?.bytes);
  expect(String(file?.bytes)).toContain('{gatewayHost: company}   # for all');
  expect(String(file?.bytes)).toContain('port: 81 # plain');
  expect(specsIn(file?.bytes)).toEqual([
    ['all', { gatewayHost: 'company' }],
    ['north', { port: 81 }],
    ['site-plant-1', { port: 2 }],
  ]);
});

test('a value to remove that no Config gives is refused, also one that an edit before removed', () => {
  const layer = layerWith({ north: 'siteSelector: {region: north}\n  values: {port: 80}' });
  const remove = edit({ region: 'north' }, { unset: ['port'] });
  expect(() => planSiteValues([layer], [remove, remove])).toThrow(
    expect.objectContaining({
      code: 'USAGE',
      message: 'no Config for exactly these sites gives port',
    }) as Error,
  );
  expect(() => planSiteValues([layer], [edit({ site: 'a' }, { unset: ['port'] })])).toThrow('gives port');
});

test('a change that is there already is unchanged', () => {
  const layer = layerWith({ north: 'siteSelector: {region: north}\n  values: {port: 80}' });
  expect(planSiteValues([layer], [edit({ region: 'north' }, { set: { port: 80 } })])).toMatchObject({
    outcome: 'unchanged',
    files: [],
    subject: 'Config north',
  });
});

test('hundreds of sites in one file are changed and added in one reading of it', () => {
  const names = Array.from({ length: 400 }, (_, at) => `plant-${at}`);
  const layer = layerWith(
    Object.fromEntries(
      names.map((site) => [`site-${site}`, `siteSelector: {site: ${site}}\n  values: {port: 1}`]),
    ),
  );
  const more = Array.from({ length: 400 }, (_, at) => `yard-${at}`);
  const { files } = planSiteValues(
    [layer],
    [...names, ...more].map((site) => edit({ site }, { set: { port: 2 } })),
  );
  const specs = specsIn(files[0]?.bytes);
  expect(specs).toHaveLength(800);
  expect(new Set(specs.map(([, values]) => JSON.stringify(values)))).toEqual(new Set(['{"port":2}']));
});
