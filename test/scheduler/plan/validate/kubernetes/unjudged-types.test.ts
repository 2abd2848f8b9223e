import { describe, expect, test } from 'vitest';
import type { ClusterType } from '../../../../../scheduler/model/model.ts';
import {
  checkRange,
  unjudgedTypes,
} from '../../../../../scheduler/plan/validate/kubernetes/unjudged-types.ts';

const clusterType = (
  kubernetes: string | undefined,
  target: ClusterType['target'] = 'kubernetes',
): ClusterType => ({
  name: 'edge',
  labels: {},
  reconciler: 'fleet',
  namespaceService: 'namespace',
  configType: 'configmap',
  target,
  platforms: [],
  offline: false,
  requirements: kubernetes === undefined ? {} : { kubernetes },
  at: { file: 'edge.yaml', line: 1, column: 1 },
});

describe('a range of Kubernetes versions', () => {
  test.for([
    ['>=1.31 <1.34', 0],
    ['1.20', 1],
    ['>=1.90', 1],
    [undefined, 0],
    ['no range', 0],
  ] as const)('%s of a cluster type is reported %i times', ([range, times]) => {
    expect(unjudgedTypes([clusterType(range)])).toHaveLength(times);
  });

  test('is reported with the known versions when it contains none of them', () => {
    expect(unjudgedTypes([clusterType('1.20')])[0]).toMatchObject({
      code: 'UNSUPPORTED',
      subject: 'ClusterType edge',
      message: 'what is rendered for Kubernetes 1.20 is not judged',
      hint: expect.stringMatching(/^Known types: 1\.29 to 1\.\d+$/) as string,
    });
    expect(unjudgedTypes([clusterType('1.20', 'host')])).toEqual([]);
  });

  test('on the command line must contain a known version', () => {
    expect(() => checkRange('1.20')).toThrow('--kubernetes 1.20 names no known version');
    expect(() => checkRange('words')).toThrow('is not a range of Kubernetes versions');
    expect(() => checkRange('>=1.31')).not.toThrow();
  });
});
