/**
 * Where the API server is stricter, or less strict, than its published definitions. In the notation of facts.jsonl, by type
 * and field; each was observed on a server (test/integration/kubernetes/kubernetes-validation.test.ts).
 */
export const ENFORCED_FACTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'apiextensions.v1.CustomResourceDefinitionSpec': { scope: "'Cluster'|'Namespaced' !" },
  'apiextensions.v1.CustomResourceDefinitionVersion': {
    schema: 'apiextensions.v1.CustomResourceValidation !',
    served: 'boolean',
    storage: 'boolean',
  },
  'apiextensions.v1.CustomResourceValidation': { openAPIV3Schema: 'apiextensions.v1.JSONSchemaProps !' },
  'apps.v1.DaemonSet': { spec: 'apps.v1.DaemonSetSpec !' },
  'apps.v1.Deployment': { spec: 'apps.v1.DeploymentSpec !' },
  'apps.v1.ReplicaSet': { spec: 'apps.v1.ReplicaSetSpec !' },
  'apps.v1.StatefulSet': { spec: 'apps.v1.StatefulSetSpec !' },
  'autoscaling.v1.CrossVersionObjectReference': { apiVersion: 'string !' },
  'autoscaling.v2.CrossVersionObjectReference': { apiVersion: 'string !' },
  'autoscaling.v2.HorizontalPodAutoscaler': { spec: 'autoscaling.v2.HorizontalPodAutoscalerSpec !' },
  'autoscaling.v2.MetricSpec': { type: "'ContainerResource'|'External'|'Object'|'Pods'|'Resource' !" },
  'autoscaling.v2.MetricTarget': { type: "'AverageValue'|'Utilization'|'Value' !" },
  'batch.v1.CronJob': { spec: 'batch.v1.CronJobSpec !' },
  'batch.v1.Job': { spec: 'batch.v1.JobSpec !' },
  'batch.v1.JobTemplateSpec': { spec: 'batch.v1.JobSpec !' },
  'core.v1.Container': { image: 'string !' },
  'core.v1.LimitRangeSpec': { limits: '[]core.v1.LimitRangeItem' },
  'core.v1.PersistentVolumeClaim': { spec: 'core.v1.PersistentVolumeClaimSpec !' },
  'core.v1.PersistentVolumeClaimSpec': {
    accessModes: "[]'ReadOnlyMany'|'ReadWriteMany'|'ReadWriteOnce'|'ReadWriteOncePod' !",
    resources: 'core.v1.VolumeResourceRequirements !',
  },
  'core.v1.Pod': { spec: 'core.v1.PodSpec !' },
  'core.v1.PodTemplateSpec': { spec: 'core.v1.PodSpec !' },
  'core.v1.Service': { spec: 'core.v1.ServiceSpec !' },
  'core.v1.VolumeResourceRequirements': { requests: '{}quantity !' },
  'networking.v1.Ingress': { spec: 'networking.v1.IngressSpec !' },
  'rbac.v1.RoleRef': { apiGroup: 'string', kind: "'ClusterRole'|'Role' !" },
  'rbac.v1.Subject': { kind: "'Group'|'ServiceAccount'|'User' !" },
  'scheduling.v1.PriorityClass': { value: 'int32' },
};
