import { ours } from '../../fleet-platform.ts';
import { VALUED, valuedClusters, type ValuedClusters } from './valued-clusters.ts';

/**
 * Clusters of one type with this reconciler, that follow a tree: plant-7/edge and plant-8/edge. The application monitor takes lineNumber and,
 * where its objects are in the bundle, puts it into them.
 */
export const reconcilerClusters = async (
  reconciler: string,
  { manifests = {}, settings = {} }: { readonly manifests?: object; readonly settings?: object },
): Promise<ValuedClusters & AsyncDisposable> => {
  const isBundled = /-oci$|^zarf$/.test(reconciler);
  const inputs = [
    '{name: lineNumber, schema: {type: integer, minimum: 1}, configMap: {name: platform-config, key: LINE}}',
    '{name: motto, schema: {type: string}, configMap: {name: platform-config, key: LEVEL}}',
    ...(isBundled
      ? [
          '{name: speed, schema: {type: integer}, configMap: {name: web, key: speed}}',
          '{name: replicas, schema: {type: integer}, object: {kind: Line, name: web}, pointer: /spec/belts/0/speed}',
        ]
      : []),
  ];
  const world = await valuedClusters({
    ...VALUED,
    'base/press.yaml': ours(
      'ClusterType',
      'press',
      `spec: {reconciler: ${reconciler}, configType: configmap, namespaceService: none}\n`,
    ),
    'base/level.yaml': ours(
      'Config',
      'level',
      `spec:\n  values: ${JSON.stringify({ LEVEL: 'base', LINE: '0', reconciler: settings })}\n`,
    ),
    'base/all.yaml': ours(
      'SchedulingPolicy',
      'all',
      'spec:\n  deploymentTargetSelector: {labelSelector: {matchLabels: {app: probe}}}\n  clusterTypeSelector: {}\n',
    ),
    'base/monitor.yaml': ours(
      'Workload',
      'monitor',
      `spec:\n  deploymentTargets:\n    - name: probe\n      labels: {app: probe}\n      environment: dev\n      manifests: ${JSON.stringify({ ...(isBundled ? { repo: 'https://git.example/probe', branch: 'main', path: 'apps/probe' } : {}), ...manifests })}\n      siteInputs:\n${inputs.map((one) => `        - ${one}\n`).join('')}`,
    ),
    'base/layers.yaml': ours(
      'Config',
      'all',
      'spec: {siteSelector: {}, values: {lineNumber: 1, motto: "it\'s {{ here }}", speed: 30, replicas: 2}}\n',
    ),
    'apps/probe/web.yaml': WEB,
  });
  await world.office.build();
  await world.follow('plant-7/edge');
  await world.follow('plant-8/edge');
  await world.compose();
  await world.set('plant-8', { lineNumber: 8 });
  return world;
};

/** What monitor brings where its objects are in the bundle. */
export const WEB = `apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {speed: "12"}
---
apiVersion: lines.example/v1
kind: Line
metadata: {name: web}
spec: {replicas: 1, belts: [{speed: 1}]}
`;
