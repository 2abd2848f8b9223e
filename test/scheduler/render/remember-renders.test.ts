import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileTemplate } from '../../../scheduler/render/compile-template.ts';
import { fill, rememberRenders } from '../../../scheduler/render/remember-renders.ts';
import type { TemplateContext } from '../../../scheduler/model/template-context.ts';
import { runs } from '../../harness/run/long.ts';

const at = { file: 't.yaml', line: 1, column: 1 };

/** Few different values of each, and odd ones, so that contexts agree in part. */
const LABELS = [{ tier: 'a' }, { tier: 'b' }];
const CONFIGS: readonly TemplateContext['configData'][] = [
  { size: '1', list: ['x'] },
  { size: '2', on: true },
];
const text = fc.constantFrom('a', 'b-1', 'prod-edge-shop', '', 'two\nlines', '- x');
const context: fc.Arbitrary<TemplateContext> = fc.record({
  deploymentTargetName: text,
  namespace: text,
  environment: text,
  workspace: text,
  workload: text,
  labels: fc.constantFrom(...LABELS),
  manifests: fc.constantFrom(...LABELS),
  clusterType: text,
  clusterTypeLabels: fc.constantFrom(...LABELS),
  configData: fc.constantFrom<TemplateContext['configData']>(...CONFIGS),
});

const GO = [
  'text',
  '',
  '\n',
  '{{ .Namespace }}',
  '{{ $.ClusterType }}\n',
  '{{ .Workspace | quote }}',
  '{{ if eq .ClusterType "a" }}{{ .Namespace }}{{ else }}{{ .Workload }}{{ end }}',
  '{{ range $k, $v := .ConfigData }}{{ $k }}={{ $v }} {{ $.Namespace }}\n{{ end }}',
  '{{ with .Labels }}{{ .tier }}{{ end }}',
  '{{ .Namespace | trunc 3 }}',
  '{{ toJson . }}',
  '{{ define "x" }}<{{ .Namespace }}>{{ end }}{{ template "x" . }}',
];
const HANDLEBARS = [
  'text',
  '',
  '{{namespace}}',
  '{{quote workspace}}',
  '{{#if (eq clusterType "a")}}{{namespace}}{{else}}{{workload}}{{/if}}',
  '{{#each configData}}{{@key}} {{../namespace}}\n{{/each}}',
  '{{#*inline "x"}}<{{namespace}}>\n{{/inline}}\n  {{> x}}',
  '{{#with labels}}{{tier}}{{/with}}{{this.clusterType}}',
  '{{toJson this}}',
];

test.each([
  ['go', GO],
  ['handlebars', HANDLEBARS],
] as const)(
  'a remembered render of a %s template equals a new render, for random contexts',
  (engine, texts) => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.constantFrom(...texts), { minLength: 1, maxLength: 4 }).chain((parts) =>
          fc.tuple(
            // Some as one manifest, some as several.
            fc.constantFrom([parts.join('')], parts),
            fc.array(context, { minLength: 2, maxLength: 12 }),
          ),
        ),
        ([manifests, contexts]) => {
          const compile = () => manifests.map((one) => compileTemplate({ engine, name: 't', text: one, at }));
          const render = rememberRenders(compile());
          for (const one of contexts) {
            const alone = rememberRenders(compile())(one);
            const rendered = render(one);
            expect([fill(rendered, one), rendered.isEmpty]).toEqual([
              fill(alone, one),
              fill(alone, one) === '',
            ]);
            if (manifests.length === 1) expect(fill(rendered, one)).toBe(compile()[0]?.(one));
          }
        },
      ),
      { numRuns: runs(150) },
    );
  },
);

test('a template that prints only names is rendered once for all packages', () => {
  let renders = 0;
  const compiled = compileTemplate({ engine: 'go', name: 't', text: 'ns: {{ .Namespace }}\n', at });
  const render = rememberRenders([
    (one, watch) => {
      renders += 1;
      return compiled(one, watch);
    },
  ]);
  const [base] = fc.sample(context, { numRuns: 1, seed: 1 }) as [TemplateContext];
  const texts = ['dev-a', 'dev-b', 'dev-c'].map((namespace) => {
    const one = { ...base, namespace };
    return fill(render(one), one);
  });
  expect(texts).toEqual(['ns: dev-a\n', 'ns: dev-b\n', 'ns: dev-c\n']);
  expect(renders).toBe(1);
});
