import { describe, expect, it } from 'vitest';
import { float } from '../../../../../scheduler/model/go/number.ts';
import { errorOf, go } from '../../template-fixture.ts';

const each = (cases: readonly (readonly [expression: string, expected: string])[]): void => {
  it.each(cases)('{{ %s }} is %j', (expression, expected) => {
    expect(go(`{{ ${expression} }}`)).toBe(expected);
  });
};

describe("functions of Go's text/template", () => {
  each([
    ['eq 1 2 1', 'true'],
    ['ne "a" "b"', 'true'],
    ['lt 1.5 2.5', 'true'],
    ['len "ä"', '2'],
    ['len .Labels', '2'],
    ['slice "abcdef" 1 3', 'bc'],
    ['index .ConfigData.nested "b" "c"', 'deep'],
    ['print 1 2 "a" "b" 3 nil', '1 2ab3 <nil>'],
    ['html "<a href=\'x\'>"', '&lt;a href=&#39;x&#39;&gt;'],
    ['js "it\'s <b>"', "it\\'s \\u003Cb\\u003E"],
    ['urlquery "a b&c!"', 'a+b%26c%21'],
    [
      'printf "%05.1f|%-4s|%4d|%x|%q|%v|%T" 2.25 "a" 7 "hi" "q" (list 1 nil) 1',
      '002.2|a   |   7|6869|"q"|[1 <nil>]|int',
    ],
    ['printf "%d %s %" "x"', '%!d(string=x) %!s(MISSING) %!(NOVERB)'],
  ]);
});

describe('text functions', () => {
  each([
    ['indent 2 "a\\nb"', '  a\n  b'],
    ['nindent 2 "a"', '\n  a'],
    ['quote "a\\"b" 1 nil "ä"', '"a\\"b" "1" "ä"'],
    ['squote "a" 1', "'a' '1'"],
    ['trim " a "', 'a'],
    ['trimAll "-" "--a-"', 'a'],
    ['trimPrefix "v" "v1"', '1'],
    ['trimSuffix ".0" "1.0"', '1'],
    ['upper "aß"', 'Aß'],
    ['lower "AÉ"', 'aé'],
    ['title "hello wORLD"', 'Hello WORLD'],
    ['replace "." "$&" "a.b"', 'a$&b'],
    ['contains "b" "abc"', 'true'],
    ['hasPrefix "a" "abc"', 'true'],
    ['trunc 3 "abcdef"', 'abc'],
    ['trunc -2 "abcdef"', 'ef'],
    ['trunc 3 "aää"', 'aä'],
    ['trunc 2 "aää"', 'a'],
    ['repeat 2 "ab"', 'abab'],
    ['join "," (list "a" 1 nil)', 'a,1'],
    ['splitList "," "a,b"', '[a b]'],
    ['(split "/" "a/b")._1', 'b'],
    ['substr 1 3 "abcdef"', 'bc'],
    ['unquote " \\"q\\" "', 'q'],
    ['unquote "\'q\'"', 'q'],
    ['unquote 5', ''],
    ['toString 5.0', '5'],
  ]);
});

describe('list and map functions', () => {
  each([
    ['list 1 "a" nil', '[1 a <nil>]'],
    ['first (list 1 2)', '1'],
    ['last (list 1 2)', '2'],
    ['append (list 1) 2', '[1 2]'],
    ['uniq (list 1 1 "1")', '[1 1]'],
    ['without (list 1 2 3) 2', '[1 3]'],
    ['has 2 (list 1 2)', 'true'],
    ['sortAlpha (list "b" "a")', '[a b]'],
    ['until 3', '[0 1 2]'],
    ['dict "b" 2 "a" 1', 'map[a:1 b:2]'],
    ['get (dict "a" 1) "a"', '1'],
    ['keys (dict "b" 1 "a" 2)', '[a b]'],
    ['values (dict "b" 1 "a" 2)', '[2 1]'],
    ['pick .ConfigData "five" "nope"', 'map[five:5]'],
    ['omit (dict "a" 1 "b" 2) "a"', 'map[b:2]'],
    ['pluck "a" (dict "a" 1) (dict "b" 2)', '[1]'],
    ['merge (dict "a" 1) (dict "a" 2 "b" 3)', 'map[a:1 b:3]'],
    ['mergeOverwrite (dict "m" (dict "x" 1)) (dict "m" (dict "y" 2))', 'map[m:map[x:1 y:2]]'],
    ['dig "b" "c" "none" .ConfigData.nested', 'deep'],
    ['hasKey .Labels "purpose"', 'true'],
  ]);

  it('set changes a map that the template made', () => {
    expect(go('{{ $d := dict "a" 1 }}{{ $_ := set $d "b" 2 }}{{ $_ := unset $d "a" }}{{ $d }}')).toBe(
      'map[b:2]',
    );
    expect(
      go(
        '{{ $d := deepCopy .ConfigData.nested }}{{ $_ := set $d "a" 2 }}{{ $d.a }}{{ .ConfigData.nested.a }}',
      ),
    ).toBe('21');
  });

  it('set and merge never change the context, which other renders share', () => {
    const values = { nested: { a: 1 } };
    expect(errorOf(() => go('{{ set .ConfigData.nested "a" 2 }}', values)).message).toMatch(
      /only a map this template made/,
    );
    expect(go('{{ merge .ConfigData.nested (dict "b" 2) }}', values)).toBe('map[a:1 b:2]');
    expect(
      go(
        '{{ $m := merge (dict) .ConfigData }}{{ $_ := mergeOverwrite $m (dict "nested" (dict "a" 9)) }}{{ $m }}',
        values,
      ),
    ).toBe('map[nested:map[a:9]]');
    expect(values).toEqual({ nested: { a: 1 } });
  });
});

describe('number functions', () => {
  each([
    ['int "42"', '42'],
    ['int "3.7"', '0'],
    ['int64 "0042"', '42'],
    ['toDecimal "0777"', '511'],
    ['float64 "1.5"', '1.5'],
    ['add 1 2 "3"', '6'],
    ['sub 1 2', '-1'],
    ['mul 2 3 4', '24'],
    ['div -7 2', '-3'],
    ['mod -7 3', '-1'],
    ['max 1 5 3', '5'],
    ['min 4 2 8', '2'],
    ['add 9223372036854775807 1', '-9223372036854775808'],
    ['round 3.14159 2', '3.14'],
    ['ceil 1.2', '2'],
  ]);

  it('div refuses to divide by zero', () => {
    expect(errorOf(() => go('{{ div 1 0 }}')).code).toBe('TEMPLATE_FAILED');
  });
});

describe('default, encoding and regular expression functions', () => {
  each([
    ['default "d" ""', 'd'],
    ['.ConfigData.nope | default "d"', 'd'],
    ['default "d" 1', '1'],
    ['coalesce "" 0 "x"', 'x'],
    ['ternary "a" "b" true', 'a'],
    ['empty (list)', 'true'],
    ['kindOf 1.0', 'float64'],
    ['kindOf .', 'struct'],
    ['b64enc "hällo"', 'aMOkbGxv'],
    ['b64dec "aMOkbGxv"', 'hällo'],
    ['b32dec (b32enc "hello")', 'hello'],
    ['sha256sum "x" | trunc 8', '2d711642'],
    ['toJson (dict "b" 1.0 "a" "<&>")', '{"a":"\\u003c\\u0026\\u003e","b":1}'],
    ['toRawJson "<"', '"<"'],
    ['(fromJson "{\\"a\\":[1000000]}").a', '[1e+06]'],
    ['toPrettyJson (list 1)', '[\n  1\n]'],
    ['regexMatch "^a+$" "aaa"', 'true'],
    ['regexReplaceAll "[^a-z]" "a_B" "-"', 'a--'],
    ['regexReplaceAll "(a)(b)" "ab" "${2}$1"', 'ba'],
    ['base "a/b.txt"', 'b.txt'],
    ['clean "a//b/../c/"', 'a/c'],
  ]);

  it('b64dec refuses invalid base64, and content that is not UTF-8', () => {
    expect(errorOf(() => go('{{ b64dec "a" }}')).message).toMatch(/not base64/);
    expect(errorOf(() => go('{{ b64dec "/w==" }}')).message).toMatch(/not UTF-8/);
  });
});

describe('hash', () => {
  // Numbers that Kalypso's own function gives for these values.
  it.each([
    [{ a: 1, b: [true, null, 1.5] }, '7977212110429353869'],
    [[1, 'two'], '15800517152419625099'],
    ['abc', '15626587013303479755'],
    [true, '12638153115695167454'],
    [5, '14856124470027295614'],
    [{ k: 'v1', r: 'eu' }, '18221710507430290428'],
    [{ k: 'v2' }, '10491881678142118979'],
    [
      {
        workspace: 'team-one',
        workload: 'shop',
        purpose: 'web',
        'kustomize.toolkit.fluxcd.io/name': 'dev-shop-reg',
        'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
      },
      '1291469611503028354',
    ],
  ])('of %j is %s', (value, expected) => {
    expect(go('{{ hash .ConfigData.x }}', { x: value })).toBe(expected);
  });

  it('distinguishes 5, 5.0 and "5"', () => {
    const hashes = [5, float(5), '5'].map((x) => go('{{ hash .ConfigData.x }}', { x }));
    expect(new Set(hashes).size).toBe(3);
  });
});

describe('stringify', () => {
  it('converts lists and maps to text, so that a ConfigMap can contain them', () => {
    const values = { list: ['a', { b: 1 }], map: { c: 2 }, text: 'x', flag: true };
    expect(go('{{ stringify .ConfigData }}', values)).toBe(
      'flag: true\nlist: |\n    - a\n    - b: 1\nmap: |\n    c: 2\ntext: x',
    );
  });
});

describe('date functions with given dates', () => {
  each([
    ['date "2006-01-02 15:04:05" 86399', '1970-01-01 23:59:59'],
    ['toDate "02.01.2006" "29.02.2024" | date "Monday, _2 Jan 06"', 'Thursday, 29 Feb 24'],
    ['dateInZone "2006-01-02T15:04:05Z07:00" 1782900000 "Europe/Berlin"', '2026-07-01T12:00:00+02:00'],
    ['toDate "2006-01-02" "2026-12-31" | dateModify "24h" | htmlDate', '2027-01-01'],
    ['toDate "2006-01-02" "1970-01-02" | unixEpoch', '86400'],
    ['duration "3661"', '1h1m1s'],
    ['durationRound "50h"', '2d'],
  ]);

  it('refuse to read the current time', () => {
    expect(errorOf(() => go('{{ date "2006" "x" }}')).message).toContain('cannot read the clock');
  });
});

describe('version, URL and word functions', () => {
  each([
    ['semverCompare ">=1.2, <2" "v1.10.0"', 'true'],
    ['semverCompare "^1.2" "1.3.0-beta.1"', 'false'],
    ['(semver "1.2.3-rc.1+b").Minor', '2'],
    ['(urlParse "https://u:p@h.example:8443/a%20b?q=1#f").path', '/a b'],
    ['urlJoin (dict "scheme" "https" "host" "h" "path" "/a b" "query" "q=1")', 'https://h/a%20b?q=1'],
    ['snakecase "HTTPServer2x"', 'http_server_2x'],
    ['camelcase "some_words"', 'SomeWords'],
    ['wrap 5 "one two three"', 'one\ntwo\nthree'],
    ['addf 0.1 0.2', '0.3'],
    ['divf 1 3', '0.3333333333333333'],
    ['typeOf (add 1 2)', 'int64'],
    ['typeOf (splitList "," "a")', '[]string'],
    ['(fromYaml "a: [yes, 010]").a', '[true 8]'],
  ]);
});
