import { generateSchemas } from './generate-schemas.ts';

const SEED = 16;
const SCHEMAS = 60;
const VALUES = 12;

const cases = generateSchemas(SEED, SCHEMAS, VALUES);

/** A definition as JSON: one kind whose every field has one of the schemas: a server takes it once. */
export const PROBE_DEFINITION = JSON.stringify({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'probes.press.example' },
  spec: {
    group: 'press.example',
    scope: 'Namespaced',
    names: { kind: 'Probe', plural: 'probes', singular: 'probe' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: Object.fromEntries(cases.map(({ schema }, at) => [`p${at}`, schema])),
              },
            },
          },
        },
      },
    ],
  },
});

/** Values of each of its schemas, as objects of that kind. */
export const PROBES = cases.flatMap(({ schema, values }, at) =>
  values.map((value, index) => ({
    schema,
    object: {
      apiVersion: 'press.example/v1',
      kind: 'Probe',
      metadata: { name: `probe-${at}-${index}`, namespace: 'default' },
      spec: { [`p${at}`]: value },
    },
  })),
);
