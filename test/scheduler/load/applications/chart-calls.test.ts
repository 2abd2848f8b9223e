import { describe, expect, it } from 'vitest';
import { chartCalls } from '../../../../scheduler/load/applications/chart-calls.ts';

const calls = (text: string, path = 'templates/a.yaml'): readonly string[] =>
  chartCalls(new Map([[path, Buffer.from(text)]]), 'chart/').map(
    ({ name, at }) => `${at.file}:${at.line}:${at.column} ${name}`,
  );

describe('calls in a chart whose result varies', () => {
  it.each([
    ['{{ lookup "v1" "Secret" "a" "b" }}', '1:4 lookup'],
    ['a: b\nc: {{- (lookup "v1" "Secret" "a" "b").data }}', '2:9 lookup'],
    ['{{ $x := lookup "v1" "Secret" "a" "b" }}', '1:10 lookup'],
    ['{{ "a" | b64enc | default (randAlphaNum 8) }}', '1:28 randAlphaNum'],
    ['{{\n  genCA "a" 1\n}}', '2:3 genCA'],
    ['{{ now|date "2006" }}', '1:4 now'],
  ])('are found: %s', (text, found) => {
    expect(calls(text)).toEqual([`chart/templates/a.yaml:${found}`]);
  });

  it.each([
    '{{ .Values.lookup }}',
    '{{ $.lookup }}',
    '{{ "lookup now" }}',
    '{{ `now` }}',
    '{{/* lookup "v1" */}}',
    'lookup now',
    '{{ lookups }} {{ known }}',
  ])('are not found in %s', (text) => {
    expect(calls(text)).toEqual([]);
  });

  it('are searched in templates only, including those of subcharts', () => {
    expect(calls('{{ now }}', 'values.yaml')).toEqual([]);
    expect(calls('{{ now }}', 'charts/db/templates/_x.tpl')).toEqual([
      'chart/charts/db/templates/_x.tpl:1:4 now',
    ]);
  });
});
