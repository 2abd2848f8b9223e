import { describe, expect, it } from 'vitest';
import { float } from '../../../../scheduler/model/go/number.ts';
import { errorOf, go } from '../template-fixture.ts';

describe('Go templates: white space', () => {
  it.each([
    ['a {{ "b" }} c', 'a b c'],
    ['a \n {{- "b" -}} \n c', 'abc'],
    ['a {{- "b" }} c', 'ab c'],
    ['{{-3}}', '-3'],
    ['{{- 3}}', '3'],
    ['x {{/* note */}} y', 'x  y'],
    ['x {{- /* note\non two lines */ -}} y', 'xy'],
    ['{{ print\n  "a"\n  1 }}', 'a1'],
  ])('%j renders %j', (text, expected) => {
    expect(go(text)).toBe(expected);
  });
});

describe('Go templates: values', () => {
  it.each([
    [
      '{{ .ConfigData }}',
      'map[big:9007199254740993 float:1e+06 list:[a <nil> [1.5 true]] map:map[a:1 b:<nil>]]',
    ],
    ['{{ .Labels }}', 'map[purpose:web use-case:vote]'],
    [
      '{{ .ConfigData.nope }} {{ .ConfigData.nope.deeper }} {{ .Manifests.nope }}',
      '<no value> <no value> <no value>',
    ],
    ['{{ index .Labels "nope" }}|{{ index .ConfigData "nope" }}', '|<no value>'],
    ['{{ .ConfigData.map.b }} {{ print .ConfigData.map.b }}', '<no value> <nil>'],
    [
      "{{ 1.0 }} {{ 1e6 }} {{ 0x1F }} {{ 017 }} {{ 1_000 }} {{ 'a' }} {{ 2.5e-7 }}",
      '1 1e+06 31 15 1000 97 2.5e-07',
    ],
    ['{{ "a\\tb\\u00e9\\x41" }}{{ `raw \\n` }}', 'a\tbéAraw \\n'],
    ['{{ (index .ConfigData.list 0) }}{{ (dict "a" 1).a }}{{ $.Workload }}', 'a1shop'],
  ])('%j prints %j', (text, expected) => {
    const values = {
      list: ['a', null, [1.5, true]],
      map: { b: null, a: 1 },
      float: float(1e6),
      big: 9007199254740993n,
    };
    expect(go(text, values)).toBe(expected);
  });

  it('read a map with keys of any type', () => {
    const typed = new Map<string | number | boolean, string>([
      ['k', 'text'],
      [2, 'two'],
      [true, 'yes'],
    ]);
    expect(go('{{ .ConfigData.m }} {{ .ConfigData.m.k }} {{ index .ConfigData.m 2 }}', { m: typed })).toBe(
      'map[true:yes 2:two k:text] text two',
    );
  });

  it('do not see Object.prototype, and treat __proto__ as an ordinary key', () => {
    const values = JSON.parse('{"__proto__": "own", "a": {}}') as { a: Record<string, never> };
    expect(
      go('{{ .ConfigData.__proto__ }} {{ .ConfigData.a.constructor }} {{ .ConfigData.a.toString }}', values),
    ).toBe('own <no value> <no value>');
    expect(go('{{ $d := dict "__proto__" 1 }}{{ $d.x }} {{ keys $d }} {{ hasKey $d "constructor" }}')).toBe(
      '<no value> [__proto__] false',
    );
  });
});

describe('Go templates: control structures', () => {
  it.each([
    [
      '{{ if .ConfigData.nope }}a{{ else if .ConfigData.empty }}b{{ else if .ConfigData.five }}c{{ else }}d{{ end }}',
      'c',
    ],
    ['{{ with .ConfigData.nested.b }}{{ .c }} {{ $.Workload }}{{ end }}', 'deep shop'],
    ['{{ with .ConfigData.nope }}a{{ else with .ConfigData.five }}{{ . }}{{ end }}', '5'],
    ['{{ range .ConfigData.list }}{{ . }},{{ end }}', 'a,b,'],
    ['{{ range $i, $v := .ConfigData.list }}{{ $i }}{{ $v }}{{ end }}', '0a1b'],
    ['{{ range $k, $v := .Labels }}{{ $k }}={{ $v }};{{ end }}', 'purpose=web;use-case=vote;'],
    ['{{ range .ConfigData.nope }}a{{ else }}none{{ end }}', 'none'],
    ['{{ range 3 }}{{ . }}{{ end }}', '012'],
    [
      '{{ range until 5 }}{{ if eq . 3 }}{{ break }}{{ end }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}',
      '02',
    ],
    ['{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $y := 3 }}{{ $x := 4 }}{{ end }}{{ $x }}', '2'],
    [
      '{{ define "t" }}<{{ . }}>{{ end }}{{ template "t" .Workload }}{{ template "t" }}',
      '<shop><<no value>>',
    ],
    ['{{ block "t" 1 }}[{{ . }}]{{ end }}{{ template "t" 2 }}', '[1][2]'],
    ['{{ and 1 0 (fail "lazy") }}{{ or "" "x" (fail "lazy") }}{{ 0 | and 1 }}', '0x0'],
    ['{{ "b" | printf "%s-%s" "a" | upper | quote }}', '"A-B"'],
  ])('%j renders %j', (text, expected) => {
    expect(go(text)).toBe(expected);
  });
});

describe('Go templates: errors', () => {
  it.each([
    ['{{ .Nope }}', 'TEMPLATE_FAILED', /no field \.Nope/],
    ['{{ .ConfigData.list.x }}', 'TEMPLATE_FAILED', /\.x cannot be read from a list/],
    ['{{ .ConfigData.nothing.x }}', 'TEMPLATE_FAILED', /from null/],
    ['{{ index .ConfigData.list 2 }}', 'TEMPLATE_FAILED', /out of range/],
    ['{{ upper .ConfigData.nope }}', 'TEMPLATE_FAILED', /upper needs a string as argument 1, not nothing/],
    ['{{ eq 1 "1" }}', 'TEMPLATE_FAILED', /cannot compare the integer 1 with a string/],
    ['{{ range .Workload }}{{ end }}', 'TEMPLATE_FAILED', /range cannot go through a string/],
    ['{{ fail "because" }}', 'TEMPLATE_FAILED', /^because$/],
    ['{{ .Labels.use-case }}', 'TEMPLATE_SYNTAX', /unexpected "-" in a name/],
    ['{{ if true }}', 'TEMPLATE_SYNTAX', /if has no \{\{ end \}\}/],
    ['{{ end }}', 'TEMPLATE_SYNTAX', /unexpected \{\{ end \}\}/],
    ['{{ nofunction }}', 'TEMPLATE_SYNTAX', /no function nofunction/],
    ['{{ template "t" }}', 'TEMPLATE_SYNTAX', /no template "t"/],
    ['{{ $x }}', 'TEMPLATE_SYNTAX', /\$x is not declared/],
    ['{{ upper "a" "b" }}', 'TEMPLATE_SYNTAX', /upper takes 1 argument, not 2/],
    ['{{ "open }}', 'TEMPLATE_SYNTAX', /never closed/],
    ['{{ .Workload "x" }}', 'TEMPLATE_SYNTAX', /only a function takes arguments/],
    ['{{ break }}', 'TEMPLATE_SYNTAX', /outside range/],
    ['{{ print "a""b" }}', 'TEMPLATE_SYNTAX', /behind a value/],
    ['{{ 9223372036854775808 }}', 'TEMPLATE_SYNTAX', /not a number/],
    ['{{ define "a" }}x{{ end }}{{ define "a" }}y{{ end }}', 'TEMPLATE_SYNTAX', /defined twice/],
    ['{{ if true }}{{ define "a" }}{{ end }}{{ end }}', 'TEMPLATE_SYNTAX', /inside another block/],
  ])('%j is %s', (text, code, message) => {
    const error = errorOf(() => go(text));
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
    expect(error.subject).toBe('Template default');
  });

  it.each([
    ['env', 'the environment'],
    ['expandenv', 'the environment'],
    ['now', 'the clock'],
    ['ago', 'the clock'],
    ['randAlphaNum', 'random numbers or keys'],
    ['uuidv4', 'random numbers or keys'],
    ['genPrivateKey', 'random numbers or keys'],
    ['getHostByName', 'the network'],
  ])('%s is refused, because templates cannot read %s', (name, what) => {
    const error = errorOf(() => go(`{{ ${name} "x" }}`));
    expect([error.code, error.message]).toEqual([
      'TEMPLATE_FAILED',
      expect.stringContaining(`templates cannot read ${what}`),
    ]);
  });
});
