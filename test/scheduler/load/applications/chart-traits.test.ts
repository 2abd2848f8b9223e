import { describe, expect, it } from 'vitest';
import type { HelmSource } from '../../../../scheduler/load/applications/application-source.ts';
import { chartTraits, textTraits } from '../../../../scheduler/load/applications/chart-traits.ts';

const source = (files: Readonly<Record<string, string>>): HelmSource => ({
  kind: 'helm',
  chart: {
    from: 'repository',
    shown: 'chart/',
    files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
  },
  values: [],
  configUnder: undefined,
  releaseName: 'a',
  hooks: 'refuse',
});

describe("the traits of a chart's text", () => {
  it.each([
    ['{{ .Values.replicas }} {{ include "x" . }} {{ $.Release.Name }}', 'no', false],
    ['{{ .Release.Namespace }}', 'no', true],
    ['{{ include "name" (dict "r" .Release) }}', 'no', true],
    ['{{ index .Release "Namespace" }}', 'no', true],
    ['{{ randAlphaNum 10 }}', 'by chance', false],
    ['{{ genSelfSignedCert "a" nil nil 1 }}', 'by chance', false],
    ['{{ keys .Values | join "," }}', 'by chance', false],
    ['{{ uuidv4 }} {{ now | date "2006" }}', 'with the clock', false],
    ['{{ .Values.knowing }} {{ .Values.random }}', 'no', false],
  ] as const)('%s: varies %s, uses the namespace %s', (text, varies, usesNamespace) => {
    expect(textTraits(text)).toEqual({ varies, usesNamespace, usesVersions: false });
  });

  it.each([
    ['{{ if .Capabilities.APIVersions.Has "a/v1" }}', true],
    ['{{ $.Capabilities.APIVersions }}', true],
    ['{{ include "x" .Capabilities }}', true],
    ['{{ .Capabilities.KubeVersion.Minor }}', false],
  ])('%s: depends on the kinds of its bundle: %s', (text, usesVersions) => {
    expect(textTraits(text).usesVersions).toBe(usesVersions);
  });

  it('include values files, and assume everything for a packed subchart', () => {
    const plain = source({ 'Chart.yaml': 'name: a', 'templates/a.yaml': '{{ .Release.Name }}' });
    expect(chartTraits(plain)).toEqual({ varies: 'no', usesNamespace: false, usesVersions: false });
    const values = [{ shown: 'v.yaml', bytes: Buffer.from('text: "{{ now }}"') }];
    expect(chartTraits({ ...plain, values }).varies).toBe('with the clock');
    const both = source({ a: '{{ uuidv4 }}', b: '{{ .Release.Namespace }}' });
    expect(chartTraits(both)).toEqual({
      varies: 'by chance',
      usesNamespace: true,
      usesVersions: false,
    });
    const unknown = { varies: 'with the clock', usesNamespace: true, usesVersions: true };
    expect(chartTraits(source({ 'charts/db-1.0.0.tgz': '' }))).toEqual(unknown);
    const reference = { chart: 'oci://host/a', version: '1.0.0' };
    expect(chartTraits({ ...plain, chart: { from: 'elsewhere', reference } })).toEqual(unknown);
  });
});
