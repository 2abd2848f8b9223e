import { describe, expect, it } from 'vitest';
import { splitChartOutput } from '../../../../scheduler/load/applications/split-chart-output.ts';
import { told } from '../../told.ts';

const OUT = `---
# Source: web/crds/all.yaml
kind: CustomResourceDefinition
metadata: {name: a}
---
kind: CustomResourceDefinition
metadata: {name: b}
---
# Source: web/templates/two.yaml
kind: ConfigMap
metadata: {name: one}
data:
  text: |
    a
    --- not an end
---
# Source: web/charts/db/templates/x.tpl
kind: Service
---
# Source: web/templates/two.yaml
kind: Deployment
---
# Source: web/templates/kustomization.yaml
kind: Secret
`;
const split = (text: string, hooks: 'refuse' | 'keep' | 'drop' = 'refuse') =>
  Object.fromEntries(
    [...splitChartOutput(Buffer.from(text), hooks, (path) => `chart/${path}`).files].map(([path, bytes]) => [
      path,
      bytes.toString(),
    ]),
  );

describe('the output of helm template', () => {
  it('is split by the template of each object, sorted', () => {
    expect(split(OUT)).toEqual({
      'charts/db/templates/x.tpl.yaml': 'kind: Service\n',
      'crds/all.yaml':
        'kind: CustomResourceDefinition\nmetadata: {name: a}\n---\nkind: CustomResourceDefinition\nmetadata: {name: b}\n',
      'templates/kustomization.objects.yaml': 'kind: Secret\n',
      'templates/two.yaml':
        'kind: ConfigMap\nmetadata: {name: one}\ndata:\n  text: |\n    a\n    --- not an end\n---\nkind: Deployment\n',
    });
    expect(Object.keys(split(OUT))).toEqual(Object.keys(split(OUT)).toSorted());
  });

  it('with hooks is refused, kept or without them, as configured; a Helm 2 CRD hook is not a hook', () => {
    const hook = (word: string): string =>
      `---\n# Source: web/templates/a.yaml\nkind: Job\nmetadata:\n  name: a\n  annotations:\n    "helm.sh/hook": ${word}\n`;
    expect(told(() => split(hook('pre-install,pre-upgrade')))).toContain(
      'Job a is a Helm hook (pre-install,pre-upgrade)',
    );
    expect(Object.keys(split(hook('post-install'), 'keep'))).toEqual(['templates/a.yaml']);
    expect(split(hook('post-install'), 'drop')).toEqual({});
    expect(Object.keys(split(hook('crd-install')))).toEqual(['templates/a.yaml']);
    const mention = '---\n# Source: web/templates/a.yaml\nkind: ConfigMap\ndata: {a: helm.sh/hook}\n';
    expect(Object.keys(split(mention))).toEqual(['templates/a.yaml']);
  });
});
