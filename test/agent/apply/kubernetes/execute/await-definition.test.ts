import { describe, expect, it } from 'vitest';
import type { KubernetesApi, LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { awaitDefinition } from '../../../../../agent/apply/kubernetes/execute/await-definition.ts';

const { signal } = new AbortController();

const NAMES = { plural: 'vises', kind: 'Vise' };
const TAKEN = {
  type: 'NamesAccepted',
  status: 'False',
  reason: 'KindConflict',
  message: '"Vise" is already in use',
};

const wait = (conditions: readonly object[], status: object = {}, timeoutMs = 0) => {
  const crd: LiveObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'vises.tools.example' },
    spec: { names: NAMES },
    status: { conditions, ...status },
  };
  const api = {
    read: async () => crd,
    forgetTypes: () => {},
    types: async () => [],
  } as Partial<KubernetesApi> as KubernetesApi;
  return awaitDefinition(api, crd, timeoutMs, signal);
};

describe('a definition that is not established', () => {
  it('after the timeout is something that the cluster lacks for now, so that the agent tries again', async () => {
    await expect(wait([])).rejects.toMatchObject({
      code: 'CLUSTER_LACKS',
      message: 'CustomResourceDefinition vises.tools.example is not established after 0 s',
    });
  });

  it('fails when another definition has its names, in the words of the server', async () => {
    await expect(wait([TAKEN])).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message: `CustomResourceDefinition vises.tools.example: ${TAKEN.message}`,
      hint: expect.stringContaining('fleet-agent retry') as string,
    });
  });

  it('is not judged by conditions about the names that it had before', async () => {
    const established = { type: 'Established', status: 'True' };
    expect(await wait([TAKEN, established], { acceptedNames: NAMES })).toMatchObject({
      kind: 'CustomResourceDefinition',
    });
    const other = { acceptedNames: { ...NAMES, shortNames: ['vs'] } };
    await expect(wait([established], other)).rejects.toMatchObject({ code: 'CLUSTER_LACKS' });
  });
});
