import { isScalar } from 'yaml';
import { defined } from '#bundles/defined';
import { FleetError, type Place } from '#bundles/errors';
import { ignored } from '../objects/metadata.ts';
import type { ObjectChange } from '../sources/read-files.ts';
import { parseDocuments, placeOf } from '../../model/yaml/parse-documents.ts';
import {
  BAD,
  childOf,
  fields,
  list,
  optional,
  placed,
  type Reading,
  record,
  text,
} from '../../model/yaml/shape.ts';

/** The parts of a kustomization that apply to platform objects. */
export type Listing = {
  readonly at: Place;
  readonly entries: readonly { readonly path: string; readonly at: Place }[];
  readonly change: ObjectChange | undefined;
  /** Why it cannot be followed; reported only if it is needed. */
  readonly fault?: FleetError;
};

const kustomization = fields({
  apiVersion: ignored,
  kind: ignored,
  metadata: ignored,
  // Ignored: everything goes into the environment's namespace.
  namespace: ignored,
  sortOptions: ignored,
  buildMetadata: ignored,
  resources: optional(list(placed(text)), []),
  bases: optional(list(placed(text)), []),
  namePrefix: optional(text, ''),
  nameSuffix: optional(text, ''),
  commonLabels: optional(record(text), {}),
  commonAnnotations: optional(record(text), {}),
  labels: optional(
    list(
      fields({
        pairs: optional(record(text), {}),
        includeSelectors: ignored,
        includeTemplates: ignored,
        fields: ignored,
      }),
    ),
    [],
  ),
});

/** @param shown name of the file in messages */
export const readListing = (shown: string, bytes: Buffer): Listing => {
  const problems: FleetError[] = [];
  const [parsed] = parseDocuments(shown, bytes, problems);
  const at = parsed ? placeOf(parsed.text, parsed.root) : { file: shown };
  const reading: Reading | undefined = parsed && { parsed, subject: 'Kustomization', problems };
  const read = reading ? kustomization(reading.parsed.root, '', reading) : BAD;
  if (read === BAD) return { at, entries: [], change: undefined, fault: unfollowed(problems, at) };
  const labels = Object.assign(
    {},
    read.commonLabels,
    ...read.labels.map(({ pairs }) => pairs),
  ) as ObjectChange['labels'];
  const change = {
    namePrefix: read.namePrefix,
    nameSuffix: read.nameSuffix,
    labels,
    annotations: read.commonAnnotations,
  };
  const changes =
    change.namePrefix !== '' ||
    change.nameSuffix !== '' ||
    Object.keys(labels).length + Object.keys(change.annotations).length > 0;
  const kind = parsed ? childOf(parsed.root, 'kind') : null;
  return {
    at,
    entries: [...read.resources, ...read.bases].map(({ value, at: place }) => ({ path: value, at: place })),
    change: changes ? change : undefined,
    ...defined({ fault: isScalar(kind) && kind.value === 'Component' ? component(at) : undefined }),
  };
};

const component = (at: Place): FleetError =>
  new FleetError('FIELD_INVALID', 'a Component of Kustomize is not supported here', { at, hint: INSTEAD });

const INSTEAD = 'Commit the output of kustomize build; resources, names and labels are taken';

const unfollowed = (problems: readonly FleetError[], at: Place): FleetError => {
  const [first] = problems;
  if (!first) return new FleetError('OBJECT_INVALID', 'this is not a kustomization', { at });
  if (first.code !== 'UNKNOWN_FIELD') return first;
  const said = first.message.replace('the object has no field', 'a kustomization’s');
  return new FleetError('FIELD_INVALID', `${said} is not supported for objects of a platform`, {
    subject: 'Kustomization',
    at: first.at ?? at,
    hint: INSTEAD,
  });
};
