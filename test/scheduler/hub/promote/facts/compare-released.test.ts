import { expect, test } from 'vitest';
import type { BundleAssignment, BundleConfig } from '#bundles/formats/bundle/config';
import { compareReleased } from '../../../../../scheduler/hub/promote/facts/compare-released.ts';

const digest = (character: string) => `sha256:${character.repeat(64)}` as const;

const assignment = (
  id: string,
  workspace?: string,
  more: Partial<BundleAssignment> = {},
): BundleAssignment => ({
  id,
  package: digest('a'),
  path: id,
  layer: digest('1'),
  dependsOn: [],
  critical: false,
  ...(workspace !== undefined && { workspace }),
  ...more,
});

const config = (
  assignments: readonly BundleAssignment[],
  more: Partial<BundleConfig> = {},
): BundleConfig => ({
  fleet: 'acme',
  environment: 'prod',
  clusterType: 'till',
  kind: 'host',
  assignments,
  siteInputs: { schema: {}, fields: [] },
  requirements: { diskBytes: 1 },
  closure: [],
  critical: [],
  ...more,
});

const input = (
  name: string,
  schema: object,
  required: readonly string[] = [],
): BundleConfig['siteInputs'] => ({
  schema: { type: 'object', properties: { [name]: schema as never }, required },
  fields: [{ input: name, assignment: 'oven', file: '/etc/oven.env', pointer: '/NAME' }],
});

const oven = assignment('oven', 'bakery');
const milk = assignment('milk', 'dairy');

test.each<[string, BundleConfig | undefined, BundleConfig, readonly string[], readonly string[]]>([
  ['nothing', config([oven, milk]), config([oven, milk]), [], []],
  [
    'another layer and more disk, which follow from others',
    config([oven]),
    config([{ ...oven, layer: digest('2') }], { requirements: { diskBytes: 2 } }),
    [],
    [],
  ],
  [
    'another package',
    config([oven, milk]),
    config([{ ...oven, package: digest('b') }, milk]),
    ['bakery'],
    [],
  ],
  ['one that is added', config([oven]), config([oven, milk]), ['dairy'], []],
  ['one that is removed', config([oven, milk]), config([oven]), ['dairy'], []],
  ['everything of a new channel', undefined, config([oven, milk]), ['bakery', 'dairy'], []],
  [
    'one that moves to another workspace',
    config([oven]),
    config([assignment('oven', 'dairy')]),
    ['bakery', 'dairy'],
    [],
  ],
  ['one that becomes critical', config([oven]), config([{ ...oven, critical: true }]), ['bakery'], []],
  ['one without a workspace', config([oven]), config([oven, assignment('agent')]), [], ['prod/till: agent']],
  [
    'a new site input',
    config([oven, milk]),
    config([oven, milk], { siteInputs: input('name', {}) }),
    ['bakery'],
    ['prod/till: settings of the bundle'],
  ],
  [
    'another site input',
    config([oven, milk], { siteInputs: input('name', {}) }),
    config([oven, milk], { siteInputs: input('name', { type: 'string' }) }),
    ['bakery'],
    [],
  ],
  [
    'a site input that is required now',
    config([oven, milk], { siteInputs: input('name', {}) }),
    config([oven, milk], { siteInputs: input('name', {}, ['name']) }),
    ['bakery'],
    [],
  ],
  [
    'another agent that is needed',
    config([oven]),
    config([oven], { requirements: { agent: '2.0.0' } }),
    [],
    ['prod/till: settings of the bundle'],
  ],
])('compareReleased reports that a candidate changes %s', (_, before, after, workspaces, others) => {
  const channel = { channel: 'prod/till', before: before ? [before] : [], after, held: [] };
  expect(compareReleased([channel])).toMatchObject({ workspaces, others });
});

test('compareReleased names the assignments that differ by channel', () => {
  const till = {
    channel: 'prod/till',
    before: [config([oven, milk])],
    after: config([{ ...oven, package: digest('b') }, assignment('scale', 'bakery')]),
    held: [],
  };
  const press = { channel: 'prod/press', before: [config([oven])], after: config([oven]), held: [] };
  expect(compareReleased([till, press]).changed).toEqual(
    new Map([
      ['prod/till', new Set(['oven', 'milk', 'scale'])],
      ['prod/press', new Set()],
    ]),
  );
});

test('what cannot be built now counts as changed, because a later build may change it', () => {
  const channel = { channel: 'prod/till', before: [config([oven])], after: config([oven]) };
  expect(compareReleased([{ ...channel, held: ['dairy', undefined] }])).toEqual({
    workspaces: ['dairy'],
    others: ['prod/till: what is held'],
    changed: new Map([['prod/till', new Set()]]),
  });
});
