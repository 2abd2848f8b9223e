import type { TestPackage } from '../../test/harness/fleets/signed-medium.ts';

/** A package of three small files. */
export const onePackage = (index: number): TestPackage => ({
  id: `app-${index}`,
  files: Object.fromEntries(
    ['settings', 'limits', 'names'].map((name) => [`/etc/app-${index}/${name}`, `${name} of ${index}\n`]),
  ),
});

/** Division of a thousand objects into packages. */
export type Shape = { readonly packages: number; readonly objects: number; readonly workloads: number };

/** Ten packages: in each a namespace, 20 Deployments without pods to run, 20 Services and the rest ConfigMaps. */
export const TEN: Shape = { packages: 10, objects: 100, workloads: 20 };
/** The same number of objects of each kind, except namespaces. */
export const FIFTY: Shape = { packages: 50, objects: 20, workloads: 4 };

/**
 * Manifests by package. No pods run, because their cost is that of the cluster, not of the agent.
 * @param prefix of the namespaces, so that one cluster can have several sets
 */
export const thousandObjects = (
  prefix = 'app',
  { packages, objects: count, workloads }: Shape = TEN,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from({ length: packages }, (_, index) => {
      const namespace = `${prefix}-${index}`;
      const objects: object[] = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }];
      for (let number = 0; number < workloads; number++)
        objects.push(deployment(namespace, number), service(namespace, number));
      while (objects.length < count) objects.push(configMap(namespace, objects.length));
      return [namespace, objects.map((object) => JSON.stringify(object)).join('\n---\n')];
    }),
  );

const deployment = (namespace: string, number: number): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: `web-${number}`, namespace, labels: { app: `web-${number}` } },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: `web-${number}` } },
    template: {
      metadata: { labels: { app: `web-${number}` } },
      spec: {
        containers: [
          {
            name: 'web',
            image: `registry.example/web@sha256:${'0'.repeat(64)}`,
            ports: [{ containerPort: 8080 }],
            resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } },
          },
        ],
      },
    },
  },
});

const service = (namespace: string, number: number): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: `web-${number}`, namespace },
  spec: { selector: { app: `web-${number}` }, ports: [{ port: 80, targetPort: 8080 }] },
});

const configMap = (namespace: string, number: number): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `settings-${number}`, namespace },
  data: { 'settings.conf': `number = ${number}\nof = ${namespace}\n`.repeat(8) },
});
