import { expect, test } from 'vitest';
import type { LiveObject, ManagedFields } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { differences, fieldsTakenOver } from '../../../../../agent/apply/kubernetes/live/differences.ts';
import { extractFields, pathsOf, unite } from '../../../../../agent/apply/kubernetes/live/field-set.ts';
import { fingerprint } from '../../../../../agent/apply/kubernetes/live/fingerprint.ts';
import { migration, toMigrate } from '../../../../../agent/apply/kubernetes/live/foreign-managers.ts';

const OURS = {
  'f:spec': {
    'f:replicas': {},
    'f:containers': { 'k:{"name":"app"}': { '.': {}, 'f:name': {}, 'f:image': {} } },
    'f:finalizers': { 'v:"keep"': {} },
  },
};

const entry = (
  manager: string,
  fieldsV1: object,
  operation: 'Apply' | 'Update' = 'Update',
): ManagedFields => ({
  manager,
  operation,
  apiVersion: 'v1',
  fieldsV1: fieldsV1 as Record<string, unknown>,
});

const live = (
  spec: object,
  managedFields: readonly ManagedFields[] = [entry('fleet-agent', OURS, 'Apply')],
): LiveObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: 'x', resourceVersion: '1', managedFields },
  spec,
});

const SPEC = {
  replicas: 1,
  containers: [
    { name: 'side', image: 'other' },
    { name: 'app', image: 'one', ports: [] },
  ],
  finalizers: ['theirs', 'keep'],
};

test('extractFields finds list items by their key, at any position in the list', () => {
  expect(pathsOf(OURS)).toEqual([
    'spec.replicas',
    'spec.containers[name=app].name',
    'spec.containers[name=app].image',
    'spec.finalizers["keep"]',
  ]);
  const turned = { ...SPEC, containers: SPEC.containers.toReversed(), finalizers: ['keep'] };
  expect(extractFields(OURS, { spec: turned })).toEqual(extractFields(OURS, { spec: SPEC }));
});

test("a fingerprint changes with the agent's fields, and not with fields that others add", () => {
  const before = fingerprint(live(SPEC));
  expect(fingerprint(live({ ...SPEC, added: true }))).toBe(before);
  expect(fingerprint({ ...live(SPEC), status: { ready: 1 } })).toBe(before);
  expect(fingerprint(live({ ...SPEC, replicas: 2 }))).not.toBe(before);
  expect(fingerprint(live({ ...SPEC, containers: [] }))).not.toBe(before);
  expect(fingerprint(live({ ...SPEC, finalizers: ['theirs'] }))).not.toBe(before);
  const lost = entry('fleet-agent', { 'f:spec': { 'f:replicas': {} } }, 'Apply');
  expect(fingerprint(live(SPEC, [lost, entry('kubectl-edit', OURS)]))).not.toBe(before);
});

test('toMigrate takes over fields of kubectl\'s client-side apply, and with "strict" those of other people too', () => {
  const object = live(SPEC, [
    entry('fleet-agent', { 'f:spec': { 'f:replicas': {} } }, 'Apply'),
    entry('kubectl-client-side-apply', { 'f:spec': { 'f:old': {} } }),
    entry('kubectl-edit', { 'f:spec': { 'f:edited': {} } }),
    { ...entry('kubectl-patch', { 'f:status': {} }), subresource: 'status' },
    entry('kube-controller-manager', { 'f:status': {} }),
  ]);
  expect(toMigrate(object, 'merge')).toEqual(['kubectl-client-side-apply']);
  expect(toMigrate(object, 'strict')).toEqual(['kubectl-client-side-apply', 'kubectl-edit']);
  const [, replace] = migration(object, 'merge') ?? [];
  expect(replace).toMatchObject({
    op: 'replace',
    path: '/metadata/managedFields',
    value: [
      {
        manager: 'fleet-agent',
        operation: 'Apply',
        fieldsV1: { 'f:spec': { 'f:replicas': {}, 'f:old': {} } },
      },
      { manager: 'kubectl-edit' },
      { manager: 'kubectl-patch' },
      { manager: 'kube-controller-manager' },
    ],
  });
  expect(migration(live(SPEC), 'strict')).toBeUndefined();
});

test('unite returns the fields of both field sets', () => {
  const other = { 'f:spec': { 'f:containers': { 'k:{"name":"app"}': { 'f:ports': {} } } }, 'f:data': {} };
  expect(new Set(pathsOf(unite(OURS, other)))).toEqual(
    new Set([...pathsOf(OURS), 'spec.containers[name=app].ports', 'data']),
  );
});

test('differences are paths without values, tell absent from null from empty, and ignore status and versions', () => {
  const dry = live({ ...SPEC, replicas: 3, empty: {}, none: null });
  expect(differences(live(SPEC), dry)).toEqual(['spec.empty', 'spec.none', 'spec.replicas']);
  expect(
    differences(live(SPEC), { ...live(SPEC), status: {}, metadata: { name: 'x', resourceVersion: '9' } }),
  ).toEqual([]);
  const labelled = { ...live(SPEC), metadata: { name: 'x', labels: { a: 'b' } } };
  expect(differences(live(SPEC), labelled)).toEqual(['metadata.labels.a']);
});

test('fields that an apply takes from others are reported with their manager', () => {
  const theirs = entry('kubectl-scale', { 'f:spec': { 'f:replicas': {}, 'f:more': {} } });
  const after = entry('kubectl-scale', { 'f:spec': { 'f:more': {} } });
  expect(fieldsTakenOver(live(SPEC, [theirs]), live(SPEC, [after]))).toEqual([
    'spec.replicas from kubectl-scale',
  ]);
  expect(fieldsTakenOver(live(SPEC, [theirs]), live(SPEC, [theirs]))).toEqual([]);
});
