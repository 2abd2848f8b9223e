import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import type { LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import type { Right } from '../../../../../agent/apply/kubernetes/examine/account-rights.ts';
import { examineKubernetes } from '../../../../../agent/apply/kubernetes/examine/examine-kubernetes.ts';

const SERVER = 'https://10.0.0.1:6443';

/** A server that allows what `mayDo` says. */
const server = (mayDo: (right: Right) => boolean) => ({
  server: SERVER,
  version: async () => '1.35.0',
  create: async (object: LiveObject) => {
    const { resourceAttributes } = object['spec'] as { readonly resourceAttributes: Right };
    return { ...object, status: { allowed: mayDo(resourceAttributes) } };
  },
});

const examined = (mayDo: (right: Right) => boolean) =>
  examineKubernetes(async () => server(mayDo), 'fleet-agent', new AbortController().signal);

describe('examineKubernetes', () => {
  it('finds address, version and full rights good', async () => {
    expect(await examined(() => true)).toEqual([
      { name: 'cluster', verdict: 'good', message: `${SERVER} answers, Kubernetes 1.35.0` },
      { name: 'rights', verdict: 'good', message: "the agent's account may do everything" },
    ]);
  });

  it('warns with the verbs that the account lacks on a resource', async () => {
    const [, rights] = await examined(
      ({ resource, verb }) => resource !== '*' && (resource !== 'secrets' || verb === 'list'),
    );
    expect(rights).toMatchObject({
      verdict: 'warning',
      message: expect.stringContaining('may not get, watch, create, patch, delete secrets everywhere'),
    });
  });

  it('warns when one verb is missing on one kind of workload', async () => {
    const [, rights] = await examined(
      ({ resource, verb }) => resource !== '*' && !(resource === 'statefulsets' && verb === 'patch'),
    );
    expect(rights).toMatchObject({
      verdict: 'warning',
      message: expect.stringContaining('may not patch statefulsets.apps everywhere'),
    });
  });

  it('passes without full rights when the common operations are allowed', async () => {
    const [, rights] = await examined(({ resource }) => resource !== '*');
    expect(rights).toMatchObject({ verdict: 'good', message: expect.stringContaining('not everything') });
  });

  it('finds the rights bad when the account may not hold the lease', async () => {
    const [, rights] = await examined(({ verb, namespace }) => namespace === 'fleet-agent' && verb === 'get');
    expect(rights).toMatchObject({
      verdict: 'bad',
      message: expect.stringContaining('create, update leases.coordination.k8s.io in namespace fleet-agent'),
    });
  });

  it('finds an unreachable cluster bad, with the reason and the hint', async () => {
    const away = new FleetError('API_UNREACHABLE', `${SERVER} does not answer`, { hint: 'Wait' });
    const found = await examineKubernetes(
      () => Promise.reject(away),
      undefined,
      new AbortController().signal,
    );
    expect(found).toEqual([
      { name: 'cluster', verdict: 'bad', message: `API_UNREACHABLE: ${SERVER} does not answer (Wait)` },
    ]);
  });
});
