import { describe, expect, it } from 'vitest';
import { manifestSettings } from '../../../../scheduler/load/charts/manifest-settings.ts';
import type { DeploymentTarget } from '../../../../scheduler/model/model.ts';
import { told } from '../../told.ts';

const target = (manifests: DeploymentTarget['manifests']): DeploymentTarget => ({
  name: 'shop-web',
  shortName: 'web',
  workload: 'shop',
  workspace: 'sales',
  environment: 'prod',
  labels: {},
  manifests,
  configSchemas: [],
  dependsOn: [],
  critical: false,
  at: { file: 'shop.yaml', line: 7, column: 1 },
});
const read = (manifests: DeploymentTarget['manifests']) => manifestSettings(target(manifests));

describe('the manifests settings of a target', () => {
  it('have defaults: the files determine the type, and the release is named after the target', () => {
    expect(read({ path: './web', branch: 'main', storage: 'git' })).toEqual({
      type: undefined,
      chart: undefined,
      values: [],
      configUnder: undefined,
      releaseName: 'shop-web',
      hooks: 'refuse',
    });
  });

  it("are equal as text, in Kalypso's form, and as lists", () => {
    const texts = read({
      type: 'helm',
      values: 'a.yaml, b.yaml',
      valuesFrom: 'config',
      valuesKey: 'site.all',
    });
    expect(texts.values).toEqual(['a.yaml', 'b.yaml']);
    expect(texts.configUnder).toEqual(['site', 'all']);
    expect(read({ values: ['a.yaml', 'b.yaml'], valuesFrom: 'config' })).toMatchObject({
      values: ['a.yaml', 'b.yaml'],
      configUnder: [],
    });
  });

  it('may name a chart in a registry, with an exact version', () => {
    const chart = 'oci://registry.example:5000/charts/web';
    expect(read({ chart, version: '1.2.3-rc.1+build' }).chart).toEqual({
      chart,
      version: '1.2.3-rc.1+build',
    });
    for (const version of ['', '1.2', '^1.2.3', 'latest'])
      expect(told(() => read({ chart, version }))).toMatch(/FIELD_INVALID: .*the chart oci:/);
    for (const wrong of [
      'bitnami/web',
      'oci://host',
      'git://host/web',
      'oci://u:p@host/web',
      'oci://host/we b',
    ])
      expect(told(() => read({ chart: wrong, version: '1.2.3' }))).toContain('is not the address of a chart');
  });

  it('are refused with an unknown word, listing the known ones', () => {
    expect(told(() => read({ type: 'jsonnet' }))).toContain('type is "jsonnet"');
    expect(told(() => read({ hooks: 'maybe' }))).toContain('hooks is "maybe"');
    expect(told(() => read({ valuesFrom: 'secret' }))).toContain('valuesFrom is "secret"');
    expect(told(() => read({ values: { a: 1 } }))).toContain('values is not a list of files');
  });
});
