import { describe, expect, it } from 'vitest';
import type { Json } from '#bundles/json/canonical';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { judgeValues } from '#bundles/formats/author-schema/judge-values';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { packTestBundle, type TestPackage } from '../../harness/fleets/signed-medium.ts';
import { createWorld, SITE } from '../world.ts';

const deep = (depth: number): Json => (depth === 0 ? {} : { a: deep(depth - 1) });

const recursive = {
  minProperties: 1,
  anyOf: [1, 2].map(() => ({ properties: { a: { $ref: '#/properties/tree' } } })),
};

const part = (properties: Readonly<Record<string, Json>>) => ({
  type: 'object' as const,
  properties,
  required: Object.keys(properties),
});

const withInput = (
  id: string,
  input: string,
  schema: NonNullable<TestPackage['inputs']>[number]['schema'],
) => ({
  id,
  files: { [`/etc/${id}.env`]: 'A=1\n' },
  inputs: [{ input, file: `/etc/${id}.env`, pointer: '/LINE', ...(schema && { schema }) }],
});

describe('a site value whose schema is too expensive or broken', () => {
  it('is a fault of its own input, and the others are validated', () => {
    const schema = part({ line: { type: 'integer' }, tree: recursive });
    const tree = deep(30);
    const verdict = judgeValues(schema, { line: 1, tree });
    expect(verdict.wrong).toBeUndefined();
    expect(verdict.faults).toEqual(new Map([['tree', expect.objectContaining({ kind: 'unusable' })]]));
    expect(judgeValues(schema, { line: 'x', tree }).faults.get('line')).toEqual({
      kind: 'wrong',
      why: 'line must be integer',
    });
    expect(judgeValues(schema, { line: 1, tree: deep(3) }).faults.get('tree')).toMatchObject({
      kind: 'wrong',
    });
    expect(judgeValues(schema, { tree }, new Set(['line'])).faults).toEqual(
      new Map([['line', { kind: 'missing', why: 'line is missing' }]]),
    );
  });

  it('is validated by its own schema when two inputs share an $id', () => {
    const schema = part({
      line: { $id: 'https://example.com/input', type: 'integer' },
      name: { $id: 'https://example.com/input', type: 'string' },
    });
    const whyOf = (values: Readonly<Record<string, Json>>) =>
      [...judgeValues(schema, values).faults.values()].map(({ why }) => why);
    expect(whyOf({ line: 1, name: 'a' })).toEqual([]);
    expect(whyOf({ line: 1, name: 1 })).toEqual(['name must be string']);
    expect(whyOf({ line: 'a', name: 'a' })).toEqual(['line must be integer']);
    expect(whyOf({ line: 1 })).toEqual(['name is missing']);
  });

  it('is validated once for the same value', () => {
    const schema = part({ tree: recursive, other: {} });
    const values = { tree: deep(31), other: 1 };
    judgeValues(schema, values);
    const before = process.cpuUsage();
    for (let again = 0; again < 100; again++) expect(judgeValues(schema, values).faults.size).toBe(1);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  });

  it.each([
    ['a type that is none', { type: 'nonsense' }],
    ['a reference that leads nowhere', { $ref: 'https://example.com/x' }],
    ['a pattern with look-around', { pattern: '(?=a)' }],
    ['a list of types that is a map', { type: { a: 1 } }],
  ])('is a fault for a schema with %s', (_, broken) => {
    const { wrong, faults } = judgeValues(part({ line: { type: 'integer' }, broken }), {
      line: 1,
      broken: 'a',
    });
    expect(wrong).toBeUndefined();
    expect([...faults.keys()]).toEqual(['broken']);
  });

  it('N6: schema that explodes at the site, fails its own package and no other -> SITE_VALUES', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [
      withInput('app', 'line', undefined),
      withInput('bad', 'tree', recursive),
      { id: 'plain', files: { '/opt/plain': 'x' } },
    ]);
    const agents = [{ name: 'kiosk-1', key: world.agent.identity.key }];
    const values = { line: '4', tree: deep(25) };
    const site = { site: SITE, version: 1, agents, values };
    const start = performance.now();
    const { packages } = await importMedium(
      world.agent,
      await world.medium({ site, release: { version: 1, bundle } }),
    );
    expect(packages).toMatchObject([
      { assignment: 'app', outcome: 'created' },
      { assignment: 'bad', outcome: 'failed', code: 'SITE_VALUES' },
      { assignment: 'plain', outcome: 'created' },
    ]);
    const { state } = world.agent;
    expect(findPackage(state, 'bad')?.message).toMatch(
      /^bad: the value tree of site plant-7 cannot be judged/,
    );
    await lookAround(world.agent);
    expect(findPackage(state, 'app')?.drift).toBeUndefined();
    expect(performance.now() - start).toBeLessThan(45_000);
  });
});
