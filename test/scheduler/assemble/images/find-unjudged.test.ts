import { describe, expect, it } from 'vitest';
import { formatError } from '#bundles/errors';
import { findUnjudged } from '../../../../scheduler/assemble/images/find-unjudged.ts';
import { readKubernetesObjects } from '../../../../scheduler/model/kubernetes/kubernetes-object.ts';

const adviceOn = (apiVersion: string, kind: string, spec: string): readonly string[] => {
  const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: web}\nspec:\n${spec}`;
  const objects = readKubernetesObjects('app.yaml', text, []);
  return objects.flatMap(findUnjudged).map(formatError);
};

const RELEASE = `  chartRef: {kind: OCIRepository, name: web}
  values: {image: {repository: edge.example/web}}
  valuesFrom:
    - {kind: ConfigMap, name: web-values, valuesKey: prod.yaml}
    - kind: Secret
      name: web-keys
      targetPath: image.repository
`;

describe('what a controller of the cluster fetches', () => {
  it('is named with its place, its object and the source of its values', () => {
    expect(adviceOn('helm.toolkit.fluxcd.io/v2', 'HelmRelease', RELEASE)).toEqual([
      expect.stringMatching(
        /^app\.yaml:5:13: CONTENT_UNJUDGED: HelmRelease web: spec\.chartRef is fetched by a controller of the cluster: .*not carried along\. Let the build read it/,
      ),
      expect.stringMatching(
        /^app\.yaml:8:7: CONTENT_UNJUDGED: HelmRelease web: spec\.valuesFrom\[0\] takes values from ConfigMap web-values, which the build does not read/,
      ),
      expect.stringMatching(/^app\.yaml:9:7: .*spec\.valuesFrom\[1\] takes values from Secret web-keys, /),
    ]);
  });

  it.each([
    [
      'kustomize.toolkit.fluxcd.io/v1',
      'Kustomization',
      '  postBuild: {substituteFrom: [{kind: Secret, name: a}]}',
      'spec.postBuild.substituteFrom[0] takes values from Secret a,',
    ],
    [
      'kustomize.toolkit.fluxcd.io/v1',
      'Kustomization',
      '  sourceRef: {kind: GitRepository, name: a}',
      'spec.sourceRef is fetched',
    ],
    [
      'fluxcd.controlplane.io/v1',
      'ResourceSet',
      '  inputsFrom: [{kind: ResourceSetInputProvider, name: a}]',
      'from ResourceSetInputProvider a,',
    ],
    [
      'argoproj.io/v1alpha1',
      'Application',
      '  source: {repoURL: "https://u:p4ss@git.example/a", helm: {valueFiles: [a.yaml]}}',
      'spec.source is fetched',
    ],
    [
      'argoproj.io/v1alpha1',
      'Application',
      '  sources: [{repoURL: a, ref: values}]',
      'spec.sources[0] is fetched',
    ],
    [
      'argoproj.io/v1alpha1',
      'ApplicationSet',
      '  generators: [{matrix: {generators: [{list: {elements: []}}, {plugin: {configMapRef: {name: a}}}]}}]',
      'spec.generators[0].matrix.generators[1].plugin takes values from outside of the manifest',
    ],
    [
      'fleet.cattle.io/v1alpha1',
      'Bundle',
      '  helm: {valuesFrom: [{secretKeyRef: {name: a}}]}',
      'from Secret a,',
    ],
    ['fleet.cattle.io/v1alpha1', 'GitRepo', '  repo: https://git.example/a', 'spec.repo is fetched'],
    ['helm.cattle.io/v1', 'HelmChart', '  valuesSecrets: [{name: a, keys: [b]}]', 'from Secret a,'],
  ])('is found in %s %s with %s', (apiVersion, kind, spec, said) => {
    const advice = adviceOn(apiVersion, kind, spec);
    expect(advice).toEqual([expect.stringContaining(said)]);
    expect(advice.join()).not.toContain('p4ss');
  });

  it.each([
    ['helm.toolkit.fluxcd.io/v2', 'HelmRelease', '  valuesFrom: []\n  values: {a: 1}'],
    ['helm.toolkit.fluxcd.io/v2', 'HelmRelease', '  valuesFrom:\n  chartRef: null'],
    ['argoproj.io/v1alpha1', 'ApplicationSet', '  generators: [{list: {elements: [{a: b}]}}]'],
    ['shop.example/v1', 'HelmRelease', '  valuesFrom: [{kind: Secret, name: a}]'],
    ['kustomize.toolkit.fluxcd.io/v1', 'Kustomization', '  postBuild: {substitute: {a: b}}'],
  ])('is not reported for %s %s with %j', (apiVersion, kind, spec) => {
    expect(adviceOn(apiVersion, kind, spec)).toEqual([]);
  });

  it('is found through an anchor', () => {
    const spec = '  x: &from [{kind: Secret, name: a}]\n  valuesFrom: *from';
    expect(adviceOn('helm.toolkit.fluxcd.io/v2', 'HelmRelease', spec)).toEqual([
      expect.stringContaining('from Secret a,'),
    ]);
  });
});
