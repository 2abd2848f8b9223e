import { expect, test } from 'vitest';
import type { LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { additionsOf } from '../../../../../agent/apply/kubernetes/live/additions.ts';
import { findConflicts } from '../../../../../agent/apply/kubernetes/live/find-conflicts.ts';

const object = (spec: object, fieldsV1: Record<string, unknown> = {}): LiveObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: {
    name: 'x',
    managedFields: [
      { manager: 'fleet-agent', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:ours': {} } } },
      {
        manager: 'controller',
        operation: 'Update',
        subresource: 'status',
        fieldsV1: { 'f:spec': { 'f:n': {} } },
      },
      { manager: 'kubectl-patch', operation: 'Update', fieldsV1 },
    ],
  },
  spec,
});

const PORTS = (port: number): Record<string, unknown> => ({
  'f:ports': { [`k:{"port":${port},"protocol":"TCP"}`]: { '.': {}, 'f:port': {}, 'f:name': {} } },
});

test('findConflicts replaces the list whose item has an edited key, at the path that the server names', () => {
  const live = object(
    { ours: 1, ports: [{ name: 'http', port: 81, protocol: 'TCP' }] },
    { 'f:spec': PORTS(81) },
  );
  const wanted = object({ ours: 1, ports: [{ name: 'http', port: 80 }] });
  const [way] = findConflicts(
    live,
    wanted,
    'Service "x" is invalid: [spec.ports[0].name: Required value, spec.a[1].b: x]',
  );
  expect(way?.named).toEqual(['spec.ports[port=81,protocol=TCP] of kubectl-patch']);
  expect(way?.operations).toEqual([
    { op: 'replace', path: '/spec/ports', value: [{ name: 'http', port: 80 }] },
  ]);
  for (const elsewhere of ['spec.selector: Required value', 'spec.portsByName: x', 'x.spec.ports: x', 'no'])
    expect(findConflicts(live, wanted, elsewhere), elsewhere).toEqual([]);
});

test('an item of the package whose key has a default is no addition', () => {
  const live = object({ ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }, { 'f:spec': PORTS(80) });
  expect(additionsOf(live, object({ ports: [{ name: 'http', port: 80 }] }))).toEqual([]);
});

test('additionsOf names the outermost place of nested additions, and never a whole spec', () => {
  const fields = {
    'f:spec': {
      'f:host': {},
      'f:a': { 'f:list': { 'k:{"name":"app"}': { 'f:env': { 'v:"x"': {} } }, 'k:{"name":"side~/"}': {} } },
    },
  };
  const live = object(
    { host: true, a: { list: [{ name: 'side~/' }, { name: 'app', env: ['x', 'y'] }] } },
    fields,
  );
  const wanted = object({ a: { list: [{ name: 'app', env: ['y'] }] } });
  expect(additionsOf(live, wanted).map(({ path, holder }) => `${path} ${holder}`)).toEqual([
    'spec.host /spec',
    'spec.a.list[name=app].env["x"] /spec/a/list/1/env',
    'spec.a.list[name=side~/] /spec/a/list',
  ]);
  const said = 'spec.host: no, spec.a.list[0].name: no, spec.a.list[1].env[0]: no';
  expect(findConflicts(live, wanted, said)[0]?.operations).toEqual([
    { op: 'replace', path: '/spec/a/list', value: [{ name: 'app', env: ['y'] }] },
  ]);
});
