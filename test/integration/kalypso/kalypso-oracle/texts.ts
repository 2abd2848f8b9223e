import * as fc from 'fast-check';

/** Texts for each format that gojsonschema knows: right ones, and right ones with a few characters changed. */

const SEEDS: Readonly<Record<string, readonly string[]>> = {
  date: [
    '2024-02-29',
    '2023-02-29',
    '2024-13-01',
    '24-1-1',
    '2024-02-29T00:00:00Z',
    ' 2024-01-01',
    '0000-01-01',
  ],
  time: [
    '10:20:30',
    '99:99',
    '9:05:05',
    '10:20:30Z',
    '10:20:30.123',
    '10:20:30,5',
    '10:20:30+02:00',
    '23:59:60Z',
  ],
  'date-time': [
    '2024-02-29T10:20:30Z',
    '2024-02-29T25:00:00Z',
    '2024-02-29t10:20:30z',
    '2024-02-29T10:20:30.123456789-07:00',
    '2024-02-29 10:20:30Z',
    '2024-02-29T9:20:30Z',
    '2024-02-29T10:20:30+24:00',
    '2024-02-29T10:20:30+00:60',
    '2024-02-29',
    '10:20:30',
  ],
  hostname: [
    'a',
    'a.example',
    '-a',
    'a-.b',
    'a_b',
    'a..b',
    `${'a'.repeat(63)}.b`,
    `${'a'.repeat(64)}.b`,
    '1.2.3.4',
    'a.b.',
  ],
  email: [
    'a@b.example',
    'Name <a@b.example>',
    '"a b"@c.example',
    'a@[10.0.0.1]',
    'a@[::1]',
    'a@b (comment)',
    'postgres://u:p@db.example/x',
    'g: a@b, "c" <d@e>;',
    'g: a@b;',
    'a b c <d@e>',
    '=?utf-8?q?a=20b?= <c@d>',
    '=?utf-8?B?YQ==?= =?x-y?q?b?= <c@d>',
    '=?x-y?q?b?= <c@d>',
    'a@b (=?x-y?q?b?=)',
    '(c) a@b',
    'é@ü.example',
    '<a@b>',
    'a..b@c',
    '.a@b',
    'a.@b',
    '"" <a@b>',
    '""@b',
    'x (y(z)) <a@b>',
    'x "y \\" z" <a@b>',
    ' a@b ',
    'a@b,c@d',
  ],
  ipv4: ['10.0.0.1', '10.0.0.256', '10.0.0.01', '10.0.1', '::ffff:1.2.3.4', '1.2.3.4.', '0.0.0.0'],
  ipv6: [
    '::1',
    'fe80::1%eth0',
    '1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7::',
    '::1.2.3.4',
    '1::2::3',
    '12345::',
    '::',
    '1.2.3.4',
  ],
  uri: [
    'https://a.example/b?c=d#e',
    'a:b',
    '//a/b',
    '/a',
    'http://[::1]:80/',
    'http://[::1/',
    'http://a b/',
    'http://a/%zz',
    'http://a/%20',
    'http://%41/',
    'urn:x:y',
    'http://u:p@h:80/',
    'http://h:p/',
    'postgres://a:1,b:2/x',
    'a\\b:c',
    ':a',
    '1a:b',
    'http://ä.example',
    'a b',
    'mailto:a@b',
    'http://a/#%zz',
    'http://[fe80::1%25en0]/',
  ],
  'uri-template': [
    '/a/{b}',
    '/a/{b',
    '/a/b}',
    '{a}{b}{c',
    '{{a}}',
    'http://a/{b}',
    '/{a}/{',
    'http://{a}/b',
    '}{',
  ],
  uuid: [
    '01234567-89ab-cdef-0123-456789abcdef',
    '01234567-89AB-cdef-0123-456789abcdef',
    '0123456789abcdef0123456789abcdef',
  ],
  regex: [
    '',
    'a',
    '(',
    'a{01}',
    '\\x4',
    '\\x41',
    '(?=a)',
    '(?i)a',
    '\\Z',
    '\\z',
    'a{1001}',
    '[b-a]',
    '\\pL',
    '(?P<a>b)',
    '\\Q(\\E',
    'a**',
    '\\8',
  ],
  'json-pointer': ['', '/a/b', 'a/b', '/a~0b', '/a~2', '/a~', '#/a', '/é', '//'],
  'relative-json-pointer': ['0', '01', '1#', '1/a', '#', '-1', '0#/a', '10/a~1b'],
};
/** Formats that are judged as another one is. */
const SAME: Readonly<Record<string, string>> = {
  'idn-email': 'email',
  'uri-reference': 'uri',
  iri: 'uri',
  'iri-reference': 'uri',
};

export const FORMATS: readonly string[] = [...Object.keys(SEEDS), ...Object.keys(SAME)];

const MARKS = Array.from(' \t\n\\"()<>[]{}:;@,./?#%=+-_~0159aAzZé\u00a0\u2028😀|$^*');

export const textFor = (format: string): fc.Arbitrary<string> => {
  const seeds = SEEDS[SAME[format] ?? format] ?? [''];
  const edit = fc.record({ at: fc.nat(40), cut: fc.nat(2), put: fc.constantFrom('', '', ...MARKS) });
  return fc
    .record({ seed: fc.constantFrom(...seeds), edits: fc.array(edit, { maxLength: 3 }) })
    .map(({ seed, edits }) =>
      edits.reduce((text, { at, cut, put }) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + put + text.slice(place + cut);
      }, seed),
    )
    .filter((text) => text.isWellFormed());
};
