import { describe, expect, it } from 'vitest';
import { requestHead } from '#bundles/registry/direct/request-head';

const ORIGIN = 'https://registry.example:5000';
const REFUSED = { code: 'UND_ERR_INVALID_ARG' };

describe('the head of a request', () => {
  it('names the host with its port, and has one line for each header', () => {
    expect(requestHead(ORIGIN, '/v2/a?x=1', { range: 'bytes=5-', 'x-a': '\xe4' })).toBe(
      'GET /v2/a?x=1 HTTP/1.1\r\nhost: registry.example:5000\r\nrange: bytes=5-\r\nx-a: \xe4\r\n\r\n',
    );
    expect(requestHead('http://[::1]', '/', {})).toBe('GET / HTTP/1.1\r\nhost: [::1]\r\n\r\n');
  });

  // The last two are what latin1 makes a carriage return and a line feed of.
  it.each(['\r\nx: y', '\n', '\r', '\0', '\x7f', '\u010d\u010a', '\u560a', '€'])(
    'is not written with %j in it',
    (text) => {
      expect(() => requestHead(ORIGIN, '/', { authorization: `Bearer a${text}b` })).toThrow(
        expect.objectContaining(REFUSED),
      );
      expect(() => requestHead(ORIGIN, `/v2/a${text}`, {})).toThrow(expect.objectContaining(REFUSED));
    },
  );

  it.each(['', 'v2/', '/a b', '/a\tb', '*'])('is not written for the path %j', (path) => {
    expect(() => requestHead(ORIGIN, path, {})).toThrow(expect.objectContaining(REFUSED));
  });
});
