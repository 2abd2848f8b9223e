import { describe, expect, it } from 'vitest';
import { setEnv } from '../../../../../agent/apply/host/desired/env-file.ts';
import { refusal } from '../../../../bundles/refusal.ts';

const set = (text: string, key: string, value: string): string =>
  setEnv(Buffer.from(text), key, value, '/etc/x').toString();

describe('a value in an environment file', () => {
  it('replaces the assignment, and keeps every other byte', () => {
    const text = '# HOST=old\nHOST=old\r\n  PORT = 1\nexport X=2\nLAST=3';
    expect(set(text, 'HOST', 'new')).toBe(
      '# HOST=old\nHOST="new"\n  PORT = 1\nexport X=2\nLAST=3'.replace('"new"\n', '"new"\n'),
    );
    expect(set(text, 'LAST', 'é')).toBe(`${text.slice(0, -1)}"é"`);
  });

  it('replaces the last of several assignments, which systemd and shells use', () => {
    expect(set('A=1\nA=2\n', 'A', '3')).toBe('A=1\nA="3"\n');
  });

  it('is appended when the key is new, on a line of its own', () => {
    expect(set('A=1', 'B', '2')).toBe('A=1\nB="2"\n');
    expect(set('', 'B', '')).toBe('B=""\n');
  });

  it('escapes what a shell would expand', () => {
    expect(set('', 'A', 'a"b\\c$d`e\'f #g')).toBe('A="a\\"b\\\\c\\$d\\`e\'f #g"\n');
  });

  it('ignores assignments inside a quoted value or on a continued line', () => {
    const text = 'TEXT="one\nA=2\n"\nLONG=x\\\nA=3\nA=4\n';
    expect(set(text, 'A', '5')).toBe('TEXT="one\nA=2\n"\nLONG=x\\\nA=3\nA="5"\n');
  });

  it('keeps bytes that are no UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from([0x41, 0x3d, 0xff, 0xfe, 0x0a]), Buffer.from('B=1\n')]);
    expect(setEnv(bytes, 'B', '2', '').subarray(0, 5)).toEqual(bytes.subarray(0, 5));
  });

  it.each([
    ['line feed', 'a\nb'],
    ['NUL', 'a\0b'],
    ['carriage return', 'a\rb'],
    ['half a surrogate pair', 'a\ud800b'],
  ])('with a %s is refused, without being printed', (_, value) => {
    expect(refusal(() => set('', 'A', value))).toBe('SITE_VALUES');
    expect(() => set('', 'A', value)).not.toThrow(/a.b/s);
  });

  it.each(['', '1A', 'A B', 'A=B', 'A/B'])('cannot have the key %j', (key) => {
    expect(refusal(() => set('', key, 'x'))).toBe('SITE_VALUES');
  });

  it('is refused for a file with an open quote', () => {
    expect(refusal(() => set('A="x\n', 'B', '1'))).toBe('SITE_VALUES');
  });
});
