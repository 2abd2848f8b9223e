import { fleetFacts } from './fleet-facts.ts';
import type { FleetSize } from './fleet-size.ts';
import type { FleetText } from './kalypso-form.ts';

const object = (kind: string, name: string, rest: object): string =>
  `apiVersion: fleet-ferry/v1alpha1\nkind: ${kind}\nmetadata:\n  name: ${name}\nspec: ${JSON.stringify(rest, undefined, 2)}\n`;

const labelled = (kind: string, name: string, labels: object, rest: object): string =>
  `apiVersion: fleet-ferry/v1alpha1\nkind: ${kind}\nmetadata:\n  name: ${name}\n  labels: ${JSON.stringify(labels)}\nspec: ${JSON.stringify(rest, undefined, 2)}\n`;

const IMAGE_DIGEST = `sha256:${'5a'.repeat(32)}`;

/** Our form: our agent applies, so each application's own Deployment and Service are in its packages. */
export const fleetFiles = (size: FleetSize): FleetText => {
  const facts = fleetFacts(size);
  const files: Record<string, string> = {
    'platform/fleet.yaml': object('Fleet', 'bench', { environments: [{ name: 'prod' }] }),
    'platform/images.lock.yaml': object('ImagesLock', 'images', {
      images: Object.fromEntries(
        facts.workloads.map(({ name }) => [
          `registry.example.com/${name}:1.4.2`,
          `registry.example.com/${name}@${IMAGE_DIGEST}`,
        ]),
      ),
    }),
    'platform/base/schema.yaml': object('ConfigSchema', 'common', {
      schema: {
        type: 'object',
        required: ['LOG_LEVEL', 'TIMEZONE'],
        properties: { LOG_LEVEL: { enum: ['debug', 'info', 'warning'] }, TIMEZONE: { type: 'string' } },
      },
    }),
  };
  for (const { name, labels } of facts.clusterTypes) {
    files[`platform/base/cluster-types/${name}.yaml`] = labelled('ClusterType', name, labels, {
      target: 'kubernetes',
      namespaceService: 'namespace',
      configType: 'configmap',
      reconciler: 'fleet',
    });
  }
  for (const { name, ring } of facts.policies) {
    files[`platform/base/policies/${name}.yaml`] = object('SchedulingPolicy', name, {
      deploymentTargetSelector: { labelSelector: { matchLabels: { ring } } },
      clusterTypeSelector: { labelSelector: { matchLabels: { ring } } },
    });
  }
  const configText = ({ name, selector, values, structured }: (typeof facts.configs)[number]): string =>
    object('Config', name, { selector, values: { ...values, ...structured } });
  for (const config of facts.configs)
    files[`platform/environments/prod/configs/${config.name}.yaml`] = configText(config);
  for (const { name, workspace, labels } of facts.workloads) {
    files[`platform/base/workloads/${name}.yaml`] = object('WorkloadRegistration', name, {
      workspace,
      workload: { repo: `../apps/${name}`, path: 'workload' },
    });
    files[`apps/${name}/workload/workload.yaml`] = object('Workload', name, {
      deploymentTargets: [{ name: 'web', environment: 'prod', labels, manifests: { path: 'manifests' } }],
    });
    files[`apps/${name}/manifests/deployment.yaml`] = deployment(name);
    files[`apps/${name}/manifests/service.yaml`] = service(name);
  }
  return {
    files,
    platform: 'platform',
    maps: [],
    configs: 'platform/environments/prod/configs',
  };
};

const deployment = (name: string): string => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  labels:
    app: ${name}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: ${name}
  template:
    metadata:
      labels:
        app: ${name}
    spec:
      securityContext:
        runAsNonRoot: true
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: web
          image: registry.example.com/${name}:1.4.2
          imagePullPolicy: IfNotPresent
          envFrom:
            - configMapRef:
                name: platform-config
          ports:
            - containerPort: 8080
          readinessProbe:
            httpGet:
              path: /healthz
              port: 8080
          resources:
            requests:
              cpu: 100m
              memory: 64Mi
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
`;

const service = (name: string): string => `apiVersion: v1
kind: Service
metadata:
  name: ${name}
spec:
  selector:
    app: ${name}
  ports:
    - port: 80
      targetPort: 8080
`;
