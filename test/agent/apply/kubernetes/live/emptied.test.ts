import { describe, expect, it } from 'vitest';
import type { LiveObject, ManagedFields } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { emptied } from '../../../../../agent/apply/kubernetes/live/emptied.ts';

const OURS = { manager: 'fleet-agent', operation: 'Apply' } as const;
const live = (spec: object, ...managedFields: readonly ManagedFields[]): LiveObject => ({
  apiVersion: 'lids.example/v1',
  kind: 'Lid',
  metadata: { name: 'one', managedFields },
  spec,
});
const wanted = (spec: object): LiveObject => live(spec);
const all = () => true;

describe('maps and lists that the package empties', () => {
  it('clears removed fields in the object and in the managed fields, including defaults of the server', () => {
    const fieldsV1 = { 'f:spec': { 'f:items': { 'k:{"name":"a"}': { '.': {}, 'f:name': {} } } } };
    const before = live({ items: [{ name: 'a', port: 80 }] }, { manager: 'x' }, { ...OURS, fieldsV1 });
    expect(emptied(before, wanted({}), all)).toEqual([
      { op: 'replace', path: '/spec', value: {} },
      { op: 'replace', path: '/metadata/managedFields/1/fieldsV1/f:spec', value: {} },
    ]);
    expect(emptied(before, wanted({ items: [] }), all)).toEqual([
      { op: 'replace', path: '/spec/items', value: [] },
      { op: 'replace', path: '/metadata/managedFields/1/fieldsV1/f:spec/f:items', value: {} },
    ]);
  });

  it('stay when another manager owns a member or the server names another path', () => {
    const ours = { ...OURS, fieldsV1: { 'f:spec': { 'f:a': {} } } };
    const theirs = { manager: 'kubectl-edit', fieldsV1: { 'f:spec': { 'f:b': {} } } };
    expect(emptied(live({ a: 1, b: 2 }, ours, theirs), wanted({}), all)).toEqual([]);
    expect(emptied(live({ a: 1 }, ours), wanted({}), (path) => path === 'spec.a')).toEqual([]);
    expect(emptied(live({ a: 1 }, ours), wanted({}), (path) => path === 'spec')).toHaveLength(2);
  });

  it('are asked for by a path without the index of the item', () => {
    const fieldsV1 = { 'f:spec': { 'f:items': { 'k:{"name":"a"}': { 'f:set': { 'f:x': {} } } } } };
    const before = live({ items: [{ name: 'a', set: { x: 1 } }] }, { ...OURS, fieldsV1 });
    const seen: string[] = [];
    emptied(before, wanted({ items: [{ name: 'a', set: {} }] }), (path) => seen.push(path) > 0);
    expect(seen).toEqual(['spec.items.set']);
  });

  it('stay when the agent owns none of their fields', () => {
    expect(emptied(live({ a: 1 }), wanted({}), all)).toEqual([]);
    expect(emptied(live({}, { ...OURS, fieldsV1: { 'f:spec': {} } }), wanted({}), all)).toEqual([]);
  });
});
