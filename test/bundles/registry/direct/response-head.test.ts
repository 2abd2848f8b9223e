import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseResponseHead } from '#bundles/registry/direct/response-head';

const head = (...lines: readonly string[]) => parseResponseHead(lines.join('\r\n'));
const of = (...fields: readonly string[]) => head('HTTP/1.1 200 OK', ...fields);

describe('a status line', () => {
  it.each([
    ['HTTP/1.1 200 OK', 200],
    ['HTTP/1.1 404 Not Found', 404],
    ['HTTP/1.1 206 ', 206],
    ['HTTP/1.1 500', 500],
    ['HTTP/1.0 200 \xe4\t!', 200],
  ])('may be %j', (line, status) => {
    expect(head(line).status).toBe(status);
  });

  it.each([
    '',
    'HTTP/1.1',
    'HTTP/1.1 20 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1 099 OK',
    'HTTP/1.1 600 OK',
    'HTTP/1.1  200 OK',
    ' HTTP/1.1 200 OK',
    'HTTP/1.1 200OK',
    'HTTP/1.1\t200 OK',
    'HTTP/1.1 +20 OK',
    'HTTP/2 200 OK',
    'HTTP/2.0 200 OK',
    'HTTP/1.2 200 OK',
    'HTTP/0.9 200 OK',
    'http/1.1 200 OK',
    'ICY 200 OK',
    'SSH-2.0-OpenSSH_9.9',
    'HTTP/1.1 200 OK\ncontent-length: 5',
    'HTTP/1.1 200 OK\rcontent-length: 5',
    'HTTP/1.1 200 \0',
    'content-length: 5',
  ])('may not be %j', (line) => {
    expect(() => head(line, 'content-length: 0')).toThrow(/^its answer is not HTTP\/1\.1/);
  });

  it('that changes to a protocol nobody asked for is refused', () => {
    expect(() => head('HTTP/1.1 101 Switching Protocols', 'upgrade: h2c')).toThrow('protocol');
  });
});

describe('a header', () => {
  it('has a name in any case, a value without the blanks around it, and may come more than once', () => {
    expect(of('X-A:1', 'x-a: \t 2\t', 'ETag:', 'x-b:: a : b', 'set-cookie: \xe4').headers).toEqual({
      'x-a': ['1', '2'],
      etag: '',
      'x-b': ': a : b',
      'set-cookie': '\xe4',
    });
  });

  it('of any name is only a header', () => {
    const { headers } = of('__proto__: x', 'constructor: y');
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype);
    expect(Object.keys(headers)).toEqual(['__proto__', 'constructor']);
  });

  it.each([
    'content-length : 5',
    'content-length\t: 5',
    ' content-length: 5',
    '\tfolded',
    ' folded: 1',
    ': 5',
    'none',
    '',
    'a b: 1',
    'a(b: 1',
    'a: 1\nb: 2',
    'a: 1\rb: 2',
    'a: 1\r',
    'a: 1\n',
    'a: \0',
    'a: \x01',
    'a: \x7f',
    'a\x80: 1',
  ])('may not be %j', (line) => {
    expect(() => of('x: 1', line, 'content-length: 0')).toThrow('a header that is none');
  });

  it('of many blanks costs no more than one of many letters', () => {
    expect(of(`a: ${' \t'.repeat(30_000)}x${' '.repeat(30_000)}`).headers['a']).toBe('x');
    const [value] = Object.values(of(...Array.from({ length: 20_000 }, () => 'a:')).headers);
    expect(value).toHaveLength(20_000);
  });
});

describe('a length', () => {
  it.each([
    ['0', 0],
    ['5', 5],
    ['005', 5],
    ['999999999999999', 999_999_999_999_999],
  ])('may be %s', (text, length) => {
    expect(of(`Content-Length: ${text}`).length).toBe(length);
  });

  it.each([
    '',
    '+5',
    '-5',
    '5.0',
    '0x5',
    '5e3',
    '5 5',
    '5, 5',
    '5,5',
    '5;',
    '9999999999999999',
    '\xb2',
    'five',
  ])('may not be %j', (text) => {
    expect(() => of(`content-length: ${text}`)).toThrow('length');
  });

  it.each([
    ['5', '6'],
    ['5', '5'],
    ['', '5'],
  ])('is not said twice: %j and %j', (first, second) => {
    expect(() => of(`content-length: ${first}`, 'x: 1', `Content-Length: ${second}`)).toThrow('length');
  });

  it('is not known where there is none, and not believed beside chunks', () => {
    expect(of('x: 1').length).toBeUndefined();
    expect(of('transfer-encoding: chunked').length).toBeUndefined();
    expect(of('content-length: 5', 'Transfer-Encoding: chunked').length).toBeUndefined();
    expect(of('transfer-encoding: identity', 'content-length: 5').length).toBeUndefined();
    expect(head('HTTP/1.0 200 OK').length).toBeUndefined();
  });

  it.each([100, 103, 204, 304])('is none in an answer %d, whatever it says', (status) => {
    expect(head(`HTTP/1.1 ${status} x`, 'content-length: 5').length).toBe(0);
    expect(head(`HTTP/1.1 ${status} x`).length).toBe(0);
  });
});

describe('a connection', () => {
  it('can be used again unless the answer says no; of HTTP/1.0 if it says yes', () => {
    const ten = (...fields: readonly string[]) => head('HTTP/1.0 200 OK', ...fields).persists;
    expect(of().persists).toBe(true);
    expect(of('connection: x-close, Keep-Alive').persists).toBe(true);
    expect(of('connection: Close').persists).toBe(false);
    expect(of('connection: keep-alive', 'connection: x,\tclose').persists).toBe(false);
    expect(ten()).toBe(false);
    expect(ten('connection: Keep-Alive')).toBe(true);
    expect(ten('connection: no-keep-alive')).toBe(false);
    expect(ten('connection: keep-alive, close')).toBe(false);
  });
});

type Heard = { status: number; keepsAlive: boolean; body: number; isComplete: boolean };

/** Node's own reader, for whom it is nobody's to use but everybody's to be measured by. */
const { HTTPParser } = createRequire(import.meta.url)('node:_http_common') as {
  readonly HTTPParser: {
    new (): Record<number, unknown> & {
      initialize: (type: number, resource: object) => void;
      execute: (bytes: Buffer) => unknown;
    };
    readonly [name: string]: number;
  };
};

const BODY = 40;

/** What Node hears of a head and 40 bytes behind it; undefined where it refuses the head. */
const heardByNode = (text: string): Heard | undefined => {
  const parser = new HTTPParser();
  let heard: Heard | undefined;
  parser.initialize(HTTPParser['RESPONSE'] as number, {});
  parser[HTTPParser['kOnHeaders'] as number] = () => {};
  parser[HTTPParser['kOnHeadersComplete'] as number] = (
    ...[, , , , , status, , , keepsAlive]: readonly unknown[]
  ) => {
    heard ??= { status: status as number, keepsAlive: keepsAlive === true, body: 0, isComplete: false };
    return 0;
  };
  parser[HTTPParser['kOnBody'] as number] = (bytes: Uint8Array) => {
    if (heard && !heard.isComplete) heard.body += bytes.byteLength;
  };
  parser[HTTPParser['kOnMessageComplete'] as number] = () => {
    if (heard) heard.isComplete = true;
  };
  parser.execute(Buffer.from(`${text}\r\n\r\n${'x'.repeat(BODY)}`, 'latin1'));
  return heard;
};

const heardByUs = (text: string) => {
  // Where the first empty line is, the head ends.
  const [first = ''] = text.split('\r\n\r\n');
  if (first !== text) return undefined;
  try {
    return parseResponseHead(text);
  } catch {
    return undefined;
  }
};

const blank = fc.constantFrom('', '', '', '', '', ' ', '\t', '  ');
const length = fc.oneof(
  fc.nat({ max: 60 }).map(String),
  fc.constantFrom('', '+5', '5, 5', '0x5', '5 6', '5\r', '-1', '00', '07', '99999999999999999999'),
);
const lengthField = fc.tuple(
  fc.constantFrom('Content-Length', 'content-length'),
  blank,
  fc.constant(':'),
  blank,
  length,
  blank,
);
const connectionField = fc.tuple(
  fc.constantFrom('Connection', 'connection'),
  fc.constant(':'),
  blank,
  fc.constantFrom('close', 'keep-alive', 'Close', 'x, close', 'keep-alive,x', 'closed', 'upgrade', ''),
);
const field = fc.oneof(
  { weight: 4, arbitrary: lengthField },
  { weight: 6, arbitrary: connectionField },
  { weight: 4, arbitrary: fc.constantFrom(['X: \xe4'], ['x:\ty '], ['ETag: "a: b"']) },
  fc.tuple(fc.constantFrom('Transfer-Encoding'), fc.constantFrom(': chunked', ': gzip', ': identity', ':')),
  fc.tuple(
    fc.string({ unit: 'binary-ascii', maxLength: 8 }),
    fc.constantFrom(':', ''),
    fc.string({ maxLength: 8 }),
  ),
  fc.constantFrom([' folded'], ['\tfolded'], ['X-\xe4: 1'], ['X: \x01'], ['X: \x7f'], ['X: \0']),
);
const statusLine = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.1 206', 'HTTP/1.0 200 OK', 'HTTP/1.1 404 x'),
  },
  fc.constantFrom('HTTP/1.1 204 x', 'HTTP/1.1 304 x', 'HTTP/1.1 100 x', 'HTTP/1.1 103 x', 'HTTP/1.1 101 x'),
  fc.constantFrom(
    'HTTP/1.1 200 \xe4',
    'HTTP/1.1 99 x',
    'HTTP/1.1 999 x',
    'HTTP/1.2 200 x',
    'HTTP/2.0 200 x',
    'x',
  ),
);
const join = fc.oneof(
  { weight: 40, arbitrary: fc.constant('\r\n') },
  fc.constantFrom('\n', '\r', '\r\r\n', '\r\n '),
);
const anyHead = fc
  .tuple(
    statusLine,
    fc.array(
      fc.tuple(
        join,
        field.map((parts) => parts.join('')),
      ),
      { maxLength: 5 },
    ),
  )
  .map(([first, fields]) => first + fields.map((parts) => parts.join('')).join(''));

describe('of any head that is given a length here, Node', () => {
  it('hears the same status and the same body, and no connection is kept that it would close', () => {
    let compared = 0;
    fc.assert(
      fc.property(anyHead, (text) => {
        const ours = heardByUs(text);
        if (ours?.length === undefined) return;
        compared++;
        const node = heardByNode(text);
        expect(node?.status).toBe(ours.status);
        expect(node?.body).toBe(Math.min(ours.length, BODY));
        expect(node?.isComplete).toBe(ours.length <= BODY);
        if (ours.persists) expect(node?.keepsAlive).toBe(true);
      }),
      { numRuns: 5000 },
    );
    expect(compared).toBeGreaterThan(300);
  });

  it('hears the same with any one character changed', () => {
    const good = fc.constantFrom(
      'HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: keep-alive',
      'HTTP/1.0 206 Partial\r\nx: y\r\ncontent-length: 3',
    );
    fc.assert(
      fc.property(good, fc.nat(), fc.integer({ min: 0, max: 255 }), (text, place, code) => {
        const at = place % text.length;
        const changed = `${text.slice(0, at)}${String.fromCharCode(code)}${text.slice(at + 1)}`;
        const ours = heardByUs(changed);
        if (ours?.length === undefined) return;
        expect(heardByNode(changed)).toMatchObject({
          status: ours.status,
          body: Math.min(ours.length, BODY),
        });
      }),
      { numRuns: 5000 },
    );
  });
});
