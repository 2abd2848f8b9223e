import { expect, it } from 'vitest';
import { policyOf } from '../../../../../agent/apply/kubernetes/desired/marks.ts';
import type { WantedObject } from '../../../../../agent/apply/kubernetes/desired/wanted-object.ts';
import { asIgnored } from '../../../../../agent/apply/kubernetes/live/ignored.ts';

it.each(['/metadata/annotations', '/metadata/name', '/metadata/annotations/fleet-ferry~1fleet'])(
  'keeps name and owner marks of an object that leaves %s to others',
  (pointer) => {
    const marks = { 'fleet-ferry/fleet': 'halden', 'fleet-ferry/assignment': 'app' };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm', annotations: marks } };
    const wanted = { object, policy: policyOf({ 'fleet-ferry/ignore': pointer }) } as unknown as WantedObject;
    const managedFields = [
      { manager: 'house', operation: 'Apply', fieldsV1: { 'f:metadata': { 'f:annotations': {} } } },
    ] as const;
    const metadata = { name: 'm', annotations: { theirs: 'x', 'fleet-ferry/fleet': 'other' }, managedFields };
    const { metadata: applied } = asIgnored(wanted, { ...object, metadata }).object;
    expect(applied).toMatchObject({ name: 'm', annotations: marks });
  },
);
