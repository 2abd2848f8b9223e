import * as fc from 'fast-check';

/** Values as people put them into a ConfigMap, YAML and nearly YAML, and those with a few characters changed. */

export const YAML_SEEDS: readonly string[] = [
  '[INFO] server',
  '{site}/{line}/telemetry',
  ' a: 1\nb: 2',
  'a: "\\z"',
  '%YAML 1.2\n---\na: 1',
  '%YAML 1.1\n---\na: 1',
  'x: &b {a: 1}\ny: {<<: *b, a: 2}',
  'a: 2\n<<: {a: 1}',
  '<<: [{a: 1}, {a: 2, b: 2}]\nc: 3',
  'a: -',
  '- -',
  'a:\n  - b\n c: d',
  '[section]\nkey=value\n',
  'a: b: c',
  'a:\tb\n\tc: d',
  "a: 'it''s'\nb: 'x",
  '? a\n: b\n? c',
  '? - a\n: {b: c}',
  '[a, b]: c',
  '- a: |\n    x\n     y\n\n  b: >-\n    x\n    y\n\n    z\n',
  'a: |2\n   x\n  y\nb: |+\n\n\nc: >+\n x\n\n',
  '- - a\n  - b\n- c:\n  - d',
  '[a: b, {c, d: e}, ? f : g, "h": i]',
  '{a: 1, "b": 2, c, ? d : e, }',
  '# c\na: b #c\n# d\nb:\n  # e\n  c: d#e',
  'a: *x\nb: &x [*x]',
  '&a a: &b 1\nc: *b',
  '!x {a: !!str 1, b: !!int "2", c: !!float 3, d: !!null "", e: !!bool yes}',
  '%TAG !e! tag:e.example,2000:\n---\n- !e!x 5\n- !<tag:yaml.org,2002:int> 5\n- ! 5',
  'a: !!binary aGk=\nb: !!timestamp 2001-01-01',
  'a: "x\\\n  y\n\n z\\x41\\u263a\\U0001F600"\nb: "\\N\\_\\L\\P\\e"',
  'a: \'b\n\n c\'\n"d": e',
  'a: b\r\nc: d\re: f\n',
  'a: b\u2028c: d\u0085e: f',
  '- 0x1F\n- 0b11\n- -0b11\n- 0o17\n- 010\n- 08\n- 1_0\n- .5_0\n- 0b-1\n- 1e3\n- 5.\n- +1',
  '- 9223372036854775807\n- 9223372036854775808\n- 18446744073709551615\n- +9223372036854775808\n- 18446744073709551616',
  '- ~\n- y\n- No\n- ON\n- .inf\n- -.Inf\n- .NaN\n- 1:30\n- 2001-01-01\n- 12:30:45',
  '{{ .X }}/y\n',
  'a: {{ .X }}',
  '[[a]] x',
  'http://x.example:1/?a=b',
  '[http://x.example, {http://y: 1}]',
  '--- a\n...\nb',
  '---\n- a\n---\n- b',
  'a:\n- b\n-c\n',
  'postgres://u:p@h:5432/d?x=[1]',
  'level=info, targets=[a, b]',
  'a, b, c',
  'key: value with: colon',
  '{"a": {"b": [1, 2.5, true, null, "x\\/y"]}}',
  '{"a":1,"b":[{"c":"d"}]}',
  '@every 5m',
  '`x`: y',
  '"quoted": [\n  a,\n# c\n  b\n]\n',
  'a: {\n b: c\n}\nd: e',
];

const BITS = Array.from(
  ' \n\t:-?,[]{}#&*!|>\'"%@`\\/~<.=0179abyxneouN_+\r\u0085\u2028\ufeffé😀\u0007',
).concat([
  '\n  ',
  ': ',
  '- ',
  '\n- ',
  ' #',
  '<<: ',
  '*b',
  '&b ',
  '---\n',
  '...\n',
  '!!str ',
  '|\n  ',
  '>\n ',
  '\\x4',
  "''",
  'a: ',
  '[a]',
  '{b: c}',
]);

const edited = fc
  .record({
    seed: fc.constantFrom(...YAML_SEEDS),
    edits: fc.array(fc.record({ at: fc.nat(200), cut: fc.nat(2), put: fc.constantFrom('', ...BITS) }), {
      maxLength: 3,
    }),
  })
  .map(({ seed, edits }) =>
    edits.reduce((text, { at, cut, put }) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + put + text.slice(place + cut);
    }, seed),
  );

const soup = fc.array(fc.constantFrom(...BITS), { maxLength: 12 }).map((bits) => bits.join(''));

const joined = fc
  .tuple(
    fc.constantFrom(...YAML_SEEDS),
    fc.constantFrom('\n', '\n\n', ' ', '\n---\n', '\n  ', ', '),
    fc.constantFrom(...YAML_SEEDS),
  )
  .map((parts) => parts.join(''));

export const yamlText: fc.Arbitrary<string> = fc
  .oneof({ weight: 4, arbitrary: edited }, { weight: 1, arbitrary: soup }, { weight: 1, arbitrary: joined })
  .filter((text) => text.isWellFormed());
