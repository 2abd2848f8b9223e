import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../../../harness/fleets/any-character.ts';
import { unsafeJson } from '../../../../../agent/apply/host/runner/perform-playbook.ts';

const unsafe = (text: string) => ({ __ansible_unsafe: text });

test('every text is marked, at any depth, and numbers and booleans are not', () => {
  expect(JSON.parse(unsafeJson({ a: ['{{ x }}', 1, true, null, { b: '' }] }))).toEqual({
    a: [unsafe('{{ x }}'), 1, true, null, { b: unsafe('') }],
  });
});

test('a text is the same after JSON reads it', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      expect(JSON.parse(unsafeJson({ text }))).toEqual({ text: unsafe(text) });
    }),
  );
});

test('a key that Ansible takes for a type is refused', () => {
  expect(() => unsafeJson({ a: [{ __ansible_vault: 'x' }] })).toThrow('the key __ansible_vault');
});
