import { isMap, isScalar, type Node } from 'yaml';
import type { Labels } from '../model.ts';
import { BAD, type Field, fields, optional, record, required, type Shape, text } from '../yaml/shape.ts';

export type Metadata = {
  readonly name: string;
  readonly labels: Labels;
  /** Those of ours; what others' mean is not for us to judge. */
  readonly annotations: Labels;
};

/** A field that Kubernetes writes or that means nothing here: allowed, whatever it holds. */
export const ignored: Field<undefined> = { shape: () => undefined, absent: () => undefined };

const ownAnnotations: Shape<Labels> = (node, path, reading) => {
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
};

/** `metadata` of any object. */
export const metadata = (name: Shape<string>): Shape<Metadata> =>
  fields({
    name: required(name),
    labels: optional(record(text), {}),
    namespace: ignored,
    annotations: { shape: ownAnnotations, absent: () => ({}) },
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

/** A whole object: `apiVersion`, `kind` and `status` are known to be right or of no interest when this is used. */
export const objectShape = <S>(name: Shape<string>, spec: Shape<S>): Shape<{ metadata: Metadata; spec: S }> =>
  fields<{ metadata: Metadata; spec: S; apiVersion: undefined; kind: undefined; status: undefined }>({
    apiVersion: ignored,
    kind: ignored,
    metadata: required(metadata(name)),
    spec: required(spec),
    status: ignored,
  });
