/** Objects of the tests that compare, remove and own. */

type Fields = Record<string, unknown>;

export const yaml = (...objects: readonly object[]): string =>
  objects.map((object) => `${JSON.stringify(object)}\n`).join('---\n');

/** As `yaml`, with a whole number beyond 2^53 for each text LONG. */
export const exactYaml = (...objects: readonly object[]): string =>
  yaml(...objects).replaceAll('"LONG"', '9007199254740993');

export const UNWATCHED = { 'fleet-ferry/wait': 'disabled' };

export const definition = (plural: string, kind: string, more: object = {}, schema: object = {}): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${plural}.example` },
  spec: {
    group: `${plural}.example`,
    scope: 'Namespaced',
    names: { plural, singular: kind.toLowerCase(), kind },
    ...more,
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...schema },
        },
      },
    ],
  },
});

export const deployment = (
  ns: string,
  spec: Fields = {},
  container: Fields = {},
  pod: Fields = {},
): Fields => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: ns, annotations: UNWATCHED },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    ...spec,
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'a', image: 'a', ...container }], ...pod },
    },
  },
});

export const autoscaler = (ns: string, minReplicas: number): object => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'web', namespace: ns, annotations: UNWATCHED },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    minReplicas,
    maxReplicas: 9,
    metrics: [
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
      },
    ],
  },
});

export const map = (ns: string, name: string, data: object, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: ns, ...metadata },
  data,
});
