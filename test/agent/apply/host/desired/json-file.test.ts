import { describe, expect, it } from 'vitest';
import { setJson } from '../../../../../agent/apply/host/desired/json-file.ts';
import type { Json } from '../../../../../bundles/json/canonical.ts';
import { refusal } from '../../../../bundles/refusal.ts';

const set = (text: string, pointer: string, value: Json): string =>
  setJson(Buffer.from(text), pointer, value, '/etc/x').toString();

describe('a value in a JSON file', () => {
  it('is written to its field with its type', () => {
    expect(JSON.parse(set('{"a":{"b":[1,2]},"c":true}', '/a/b/1', 'x'))).toEqual({
      a: { b: [1, 'x'] },
      c: true,
    });
    expect(JSON.parse(set('{"a":{}}', '/a/new', 7))).toEqual({ a: { new: 7 } });
  });

  it('follows RFC 6901: ~1 is a slash, ~0 a tilde', () => {
    expect(JSON.parse(set('{"a/b":{"~1":0}}', '/a~1b/~01', 1))).toEqual({ 'a/b': { '~1': 1 } });
  });

  it('keeps the digits of other numbers', () => {
    expect(set('{"v":1.0,"n":123456789012345678901,"x":0}', '/x', 1)).toBe(
      '{\n  "v": 1.0,\n  "n": 123456789012345678901,\n  "x": 1\n}\n',
    );
  });

  it('treats __proto__ as an ordinary key', () => {
    expect(set('{}', '/__proto__', 'x')).toBe('{\n  "__proto__": "x"\n}\n');
    expect(refusal(() => set('{}', '/__proto__/polluted', 'x'))).toBe('SITE_VALUES');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it.each(['', 'a', '/a/b', '/list/2', '/list/-', '/list/01', '/n/x', '/toString/x'])(
    'is refused without a field %j',
    (pointer) => {
      expect(refusal(() => set('{"list":[1,2],"n":1.0}', pointer, 'x'))).toBe('SITE_VALUES');
    },
  );

  it('is refused in a file that is not JSON, or in JSON with ambiguous keys', () => {
    expect(refusal(() => set('{', '/a', 'x'))).toBe('BAD_JSON');
    expect(refusal(() => set('{"a":1,"a":2}', '/a', 'x'))).toBe('BAD_JSON');
  });
});
