import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { anyCharacter } from '../../../../harness/fleets/any-character.ts';
import { unsafeYaml } from '../../../../../agent/apply/host/runner/perform-playbook.ts';

const unsafe = { tag: '!unsafe', resolve: (text: string) => `unsafe ${text}` };

test('every text is tagged, at any depth, and numbers and booleans are not', () => {
  expect(parse(unsafeYaml({ a: ['{{ x }}', 1, true, null, { b: '' }] }), { customTags: [unsafe] })).toEqual({
    a: ['unsafe {{ x }}', 1, true, null, { b: 'unsafe ' }],
  });
});

test('a text is the same after YAML reads it', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      expect(parse(unsafeYaml({ text }), { customTags: [unsafe] })).toEqual({ text: `unsafe ${text}` });
    }),
  );
});

test('characters that PyYAML refuses are escaped', () => {
  expect(unsafeYaml('\u007f\u2028ü')).toBe('!unsafe "\\u007f\\u2028ü"');
});
