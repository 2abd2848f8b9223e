import { isMap, isScalar, type Node } from 'yaml';
import type { Labels } from '../../model/model.ts';
import {
  BAD,
  type Field,
  fields,
  optional,
  record,
  required,
  type Shape,
  shape,
  text,
} from '../../model/yaml/shape.ts';

export type Metadata = {
  readonly name: string;
  readonly labels: Labels;
  /** Only those with the prefix `fleet-ferry/`; others are not checked. */
  readonly annotations: Labels;
};

/** A field that Kubernetes writes or that has no meaning here: any value is accepted. */
export const ignored: Field<undefined> = optional(
  shape({}, () => undefined),
  undefined,
  'Not read.',
);

const OWN_ANNOTATIONS = { patternProperties: { '^fleet-ferry/': text.schema } };

const ownAnnotations: Shape<Labels> = shape(OWN_ANNOTATIONS, (node, path, reading) => {
  if (!isMap(node)) return {};
  const found: Record<string, string> = {};
  for (const { key, value } of node.items) {
    const name = isScalar(key) ? String(key.value) : '';
    if (!name.startsWith('fleet-ferry/')) continue;
    const read = text(value as Node | null, `${path}.${name}`, reading);
    if (read === BAD) return BAD;
    found[name] = read;
  }
  return found;
});

/** `metadata` of any object. */
export const metadata = (name: Shape<string>): Shape<Metadata> =>
  fields({
    name: required(name, 'Name of the object, once for each kind.'),
    labels: optional(record(text), {}, 'Labels that selectors and configuration see.'),
    namespace: ignored,
    annotations: optional(ownAnnotations, {}, 'Only those that begin with `fleet-ferry/` are read.'),
    generateName: ignored,
    finalizers: ignored,
    ownerReferences: ignored,
    uid: ignored,
    resourceVersion: ignored,
    generation: ignored,
    creationTimestamp: ignored,
    managedFields: ignored,
    selfLink: ignored,
  });

/** A whole object. `apiVersion` and `kind` have been checked before; `status` is ignored. */
export const objectShape = <S>(name: Shape<string>, spec: Shape<S>): Shape<{ metadata: Metadata; spec: S }> =>
  fields<{ metadata: Metadata; spec: S; apiVersion: undefined; kind: undefined; status: undefined }>({
    apiVersion: ignored,
    kind: ignored,
    metadata: required(metadata(name), 'Name and labels.'),
    spec: required(spec, 'The fields of this kind.'),
    status: ignored,
  });
