import type { ImageFields, KindFields } from '../../model/images/image-fields.ts';
import { type JsonPath, parseJsonPath } from '../../model/json-path.ts';

const path = (text: string): JsonPath => parseJsonPath(text) as JsonPath;

const of = (group: string, kinds: readonly string[], ...paths: readonly string[]): readonly KindFields[] =>
  kinds.map((kind) => ({ group, kind, paths: paths.map(path), parts: [] }));

const TASK = ['steps[*].image', 'sidecars[*].image', 'stepTemplate.image'];
const PIPELINE = ['tasks', 'finally'].flatMap((list) => TASK.map((one) => `${list}[*].taskSpec.${one}`));
const under = (prefix: string, paths: readonly string[]): readonly string[] =>
  paths.map((one) => `${prefix}.${one}`);

/** An Argo template runs one of these; its `initContainers` and `containerSet` are found like the containers of a pod. */
const ARGO = ['container.image', 'script.image', 'sidecars[*].image'].flatMap((one) => [
  `templates[*].${one}`,
  `templateDefaults.${one}`,
]);

/**
 * Image fields in the kinds of operators, from their definitions. Kinds with `containers` (Knative services, Argo Rollouts,
 * every kind with a pod template) need no entry.
 */
export const KNOWN_FIELDS: ImageFields = {
  fields: [
    ...of('monitoring.coreos.com', ['Prometheus'], '$.spec.image', '$.spec.thanos.image'),
    ...of('monitoring.coreos.com', ['Alertmanager', 'PrometheusAgent', 'ThanosRuler'], '$.spec.image'),
    ...of('opentelemetry.io', ['OpenTelemetryCollector'], '$.spec.image'),
    ...of('postgresql.cnpg.io', ['Cluster'], '$.spec.imageName'),
    ...of('postgresql.cnpg.io', ['ImageCatalog', 'ClusterImageCatalog'], '$.spec.images[*].image'),
    ...of(
      'kafka.strimzi.io',
      ['Kafka'],
      '$.spec.kafka.image',
      '$.spec.zookeeper.image',
      '$.spec.entityOperator.topicOperator.image',
      '$.spec.entityOperator.userOperator.image',
      '$.spec.cruiseControl.image',
      '$.spec.kafkaExporter.image',
    ),
    ...of(
      'kafka.strimzi.io',
      ['KafkaBridge', 'KafkaConnect', 'KafkaMirrorMaker', 'KafkaMirrorMaker2'],
      '$.spec.image',
    ),
    ...of('elasticsearch.k8s.elastic.co', ['Elasticsearch'], '$.spec.image'),
    ...of('kibana.k8s.elastic.co', ['Kibana'], '$.spec.image'),
    ...of('operators.coreos.com', ['CatalogSource'], '$.spec.image'),
    ...of('operators.coreos.com', ['ClusterServiceVersion'], '$.spec.relatedImages[*].image'),
    ...of(
      'argoproj.io',
      ['Workflow', 'WorkflowTemplate', 'ClusterWorkflowTemplate'],
      ...under('$.spec', ARGO),
    ),
    ...of('argoproj.io', ['CronWorkflow'], ...under('$.spec.workflowSpec', ARGO)),
    ...of('tekton.dev', ['Task', 'ClusterTask'], ...under('$.spec', TASK)),
    ...of('tekton.dev', ['StepAction'], '$.spec.image'),
    ...of('tekton.dev', ['TaskRun'], ...under('$.spec.taskSpec', TASK)),
    ...of('tekton.dev', ['Pipeline'], ...under('$.spec', PIPELINE)),
    ...of('tekton.dev', ['PipelineRun'], ...under('$.spec.pipelineSpec', PIPELINE)),
  ],
  env: ['RELATED_IMAGE_*'],
  args: [],
  annotations: [],
  notImages: { fields: [], env: [], charts: [] },
};
