import { LABEL } from '#bundles/names';
import { freeRecord, freeValue } from '../../model/yaml/free-value.ts';
import { has, implies, keeping, oneRule } from '../../model/yaml/field-rules.ts';
import { fields, flag, optional, required, text, textLike } from '../../model/yaml/shape.ts';
import type { KubernetesInput } from '../../model/site-input.ts';

const role = textLike(LABEL, 'is not a role', 'Write a DNS label, like site');

const inputName = textLike(
  /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/,
  'is not a name of a site value',
  'Names begin with a letter and have letters, digits, dots, - and _',
);

/** Fields about the value of a site input, alike for clusters and hosts. */
export const SITE_INPUT_ABOUT = {
  title: optional(text, undefined, 'Short name of the value, for people.'),
  description: optional(text, undefined, 'Meaning of the value, and where to find it.'),
  default: optional(
    freeValue,
    undefined,
    'Value where the site has none. Without it each site needs a value.',
  ),
  example: optional(freeValue, undefined, 'A value as a site might have it.'),
  unit: optional(text, undefined, 'Unit of the value, like `mm`.'),
  editableBy: optional(
    role,
    undefined,
    'Role that may change the value. Without it the platform team alone.',
  ),
};

const configMap = fields({
  name: required(text, 'Name of the ConfigMap, as it is rendered.'),
  key: required(text, 'Key of its `data`, which it has already.'),
});

const object = fields({
  kind: required(text, 'Kind of the object.'),
  name: required(text, 'Name of the object, as it is rendered.'),
  apiVersion: optional(text, undefined, 'API version, where two objects have the same kind and name.'),
});

const pointer = textLike(/^\//, 'is not a JSON pointer', 'Write it like /spec/replicas');

const TOGETHER = (_input: unknown, path: string): readonly [string, string] => [
  `${path}: object and pointer belong together`,
  'Name both',
];

/** A site input of a deployment target on a cluster. */
export const kubernetesInput = keeping(
  fields({
    name: required(inputName, 'Name of the value in the site values.'),
    schema: required(freeRecord, 'JSON Schema of the value.'),
    ...SITE_INPUT_ABOUT,
    configMap: optional(configMap, undefined, 'ConfigMap and key that the value goes to, as text.'),
    object: optional(
      object,
      undefined,
      'Object of the application that the value goes to. Together with `pointer`.',
    ),
    pointer: optional(pointer, undefined, 'JSON pointer to a field that the object has.'),
    restart: optional(
      flag,
      true,
      'For `configMap`: pods that read the ConfigMap restart when its content changes.',
    ),
  }),
  [
    oneRule(has('configMap'), has('object')),
    ({ name }, path) => [
      `${path}: either configMap or object says where the value of ${name} goes`,
      'Write configMap: {name, key}, or object: {kind, name} with a pointer',
    ],
  ],
  [implies(has('object'), has('pointer')), TOGETHER],
  [implies(has('pointer'), has('object')), TOGETHER],
);

/** The input with one place that it goes to. */
export const toKubernetesInput = ({
  configMap: map,
  object: one,
  pointer: to = '',
  ...about
}: Exclude<ReturnType<typeof kubernetesInput>, symbol>): Omit<KubernetesInput, 'at'> => {
  const { restart, ...rest } = about;
  if (map) return { ...rest, to: { kind: 'ConfigMap', name: map.name, key: map.key, restart } };
  return {
    ...rest,
    to: { kind: one?.kind ?? '', name: one?.name ?? '', apiVersion: one?.apiVersion, pointer: to },
  };
};
