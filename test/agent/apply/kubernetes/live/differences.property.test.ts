import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { stableHash } from '../../../../../bundles/json/stable-hash.ts';
import { differences } from '../../../../../agent/apply/kubernetes/live/differences.ts';
import { anyCharacter } from '../../../../harness/fleets/any-character.ts';

const objectOf = (spec: unknown): LiveObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: 'x' },
  spec,
});

const turned = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, turned(item)]),
  );
};

test('differences of an object with itself are empty and stableHash is equal, in any order of keys', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (spec) => {
      expect(differences(objectOf(spec), objectOf(turned(spec)))).toEqual([]);
      expect(stableHash(turned(spec))).toBe(stableHash(spec));
    }),
  );
});

test('differences always find a changed leaf by its path, without its value', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 5 }), (path) => {
      const at = (leaf: string): unknown =>
        path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), leaf);
      expect(differences(objectOf(at('SECRET-1')), objectOf(at('SECRET-2')))).toEqual([
        `spec.${path.join('.')}`,
      ]);
    }),
  );
});
