import { expect, test } from 'vitest';
import { shown } from '../../../harness/run/shown.ts';
import { explainPlatform } from '../../../../scheduler/views/explain/explain-platform.ts';
import { formatPair } from '../../../../scheduler/views/explain/format-explanation.ts';
import { isWriteOnly } from '../../../../scheduler/plan/compose/is-write-only.ts';
import { clusterType, layer, platform, policy, schema, target } from '../../model-objects.ts';

const selector = (matchLabels = {}, matchExpressions: readonly object[] = []) =>
  ({ matchLabels, matchExpressions }) as never;

const world = platform({
  clusterTypes: [
    clusterType('edge', { labels: { region: 'eu' } }),
    clusterType('far', { labels: { region: 'us' } }),
  ],
  targets: [target('shop/web', { labels: { workspace: 'team', runs: 'web' } })],
  policies: [
    policy('europe', {
      workspace: 'team',
      targets: selector({ runs: 'web' }),
      clusterTypes: selector({}, [{ key: 'region', operator: 'In', values: ['eu', 'ch'] }]),
    }),
    policy('rest', { targets: selector({ runs: 'job' }), clusterTypes: selector({ region: 'us' }) }),
  ],
  configs: [
    layer('base', { values: { url: 'a', list: [{ name: 'x', v: 1 }], key: 's3cret' } }),
    layer('eu', { values: { url: 'b', list: [{ name: 'x', v: 2 }, 'more'] }, selector: { region: 'eu' } }),
    layer('web', { values: { url: 'c' }, selector: { workload: 'shop' }, from: 'environment' }),
  ],
  schemas: [schema('secrets', { properties: { key: { writeOnly: true } } })],
});

test('an assignment is explained with its policy, its files and templates, and each value with those it overrode', () => {
  const [pair, ...more] = explainPlatform(world, {});
  expect(more).toEqual([]);
  expect(shown(formatPair(pair as never))).toEqual([
    'edge/shop-web',
    '  cluster type       platform/edge.yaml:1:1',
    '  deployment target  apps/shop/web.yaml:1:1',
    '  policy europe  platform/europe.yaml:1:1',
    '     deployment target  workspace=team',
    '     deployment target  runs=web',
    '     cluster type       region In (eu, ch)',
    '  namespace.yaml        Template ns   platform/x.yaml:1:1',
    '  platform-config.yaml  Template cfg  platform/x.yaml:1:1',
    '  reconciler.yaml       Template rec  platform/x.yaml:1:1',
    '  key = *** (writeOnly)',
    '    from  base.yaml:12:3  base (base)  everywhere',
    '  list.0.name = "x"',
    '    from  eu.yaml:11:3    eu (base)    region=eu (cluster type)',
    '    over  base.yaml:11:3  base (base)  everywhere                was "x"',
    '  list.0.v = 2',
    '    from  eu.yaml:11:3    eu (base)    region=eu (cluster type)',
    '    over  base.yaml:11:3  base (base)  everywhere                was 1',
    '  list.1 = "more"',
    '    from  eu.yaml:11:3  eu (base)  region=eu (cluster type)',
    '  url = "c"',
    '    from  web.yaml:10:3   web (environment)  workload=shop (deployment target)',
    '    over  eu.yaml:10:3    eu (base)          region=eu (cluster type)           was "b"',
    '    over  base.yaml:10:3  base (base)        everywhere                         was "a"',
  ]);
});

test('a pair without an assignment is explained with every policy and the terms that failed', () => {
  const [pair] = explainPlatform(world, { clusterType: 'far', deploymentTarget: 'shop-web' });
  expect(shown(formatPair(pair as never)).slice(3)).toEqual([
    '  not assigned: no policy selects the two together',
    '  policy europe  platform/europe.yaml:1:1',
    '    yes  deployment target  workspace=team',
    '    yes  deployment target  runs=web',
    '    NO   cluster type       region In (eu, ch)  is us',
    '  policy rest  platform/rest.yaml:1:1',
    '    NO   deployment target  runs=job   is web',
    '    yes  cluster type       region=us',
  ]);
});

test('one key can be selected; an unknown cluster type is refused with a suggestion', () => {
  const [pair] = explainPlatform(world, { key: 'list.0' });
  expect(pair?.values.map(({ path }) => path.join('.'))).toEqual(['list.0.name', 'list.0.v']);
  expect(() => explainPlatform(world, { clusterType: 'egde' })).toThrow(
    expect.objectContaining({
      message: 'there is no cluster type "egde"',
      hint: expect.stringMatching(/^Did you mean edge\? There is /) as string,
    }),
  );
});

test('the JSON has the same content, without hidden values', () => {
  const text = JSON.stringify(explainPlatform(world, {}));
  expect(text).not.toContain('s3cret');
  expect(JSON.parse(text)).toMatchObject([
    {
      clusterType: 'edge',
      deploymentTarget: 'shop-web',
      policy: 'europe',
      files: [{ template: 'ns' }, {}, {}],
    },
  ]);
});

test('writeOnly is found behind references, in lists and below an object', () => {
  const secret = {
    $defs: { pass: { writeOnly: true } },
    properties: {
      db: { allOf: [{ properties: { password: { $ref: '#/$defs/pass' } } }] },
      users: { items: { properties: { token: { writeOnly: true } } } },
      vault: { writeOnly: true },
      loop: { $ref: '#/properties/loop' },
    },
  };
  expect(isWriteOnly(secret, ['db', 'password'])).toBe(true);
  expect(isWriteOnly(secret, ['db', 'host'])).toBe(false);
  expect(isWriteOnly(secret, ['users', '3', 'token'])).toBe(true);
  expect(isWriteOnly(secret, ['vault', 'a', 'b'])).toBe(true);
  expect(isWriteOnly(secret, ['loop', 'x'])).toBe(false);
  // A schema that is too large to follow hides its values.
  expect(isWriteOnly({ allOf: Array.from({ length: 10_001 }, () => ({})) }, ['x'])).toBe(true);
});
