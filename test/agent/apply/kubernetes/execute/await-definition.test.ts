import { describe, expect, it } from 'vitest';
import type { KubernetesApi, LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { awaitDefinition } from '../../../../../agent/apply/kubernetes/execute/await-definition.ts';

const { signal } = new AbortController();

const wait = (...conditions: readonly object[]) => {
  const crd: LiveObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'vises.tools.example' },
    status: { conditions },
  };
  const api = { read: async () => crd } as Partial<KubernetesApi> as KubernetesApi;
  return awaitDefinition(api, crd, 0, signal);
};

describe('a definition that is not established', () => {
  it('after the timeout is something that the cluster lacks for now, so that the agent tries again', async () => {
    await expect(wait()).rejects.toMatchObject({
      code: 'CLUSTER_LACKS',
      message: 'CustomResourceDefinition vises.tools.example is not established after 0 s',
    });
  });

  it('fails at once when another definition has its names, in the words of the server', async () => {
    const message = '"Vise" is already in use';
    await expect(
      wait({ type: 'NamesAccepted', status: 'False', reason: 'KindConflict', message }),
    ).rejects.toMatchObject({
      code: 'APPLY_FAILED',
      message: `CustomResourceDefinition vises.tools.example: ${message}`,
      hint: expect.stringContaining('fleet-agent retry') as string,
    });
  });
});
