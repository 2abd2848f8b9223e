import type { ImageParts, KindFields } from '../../images/image-fields.ts';
import { type JsonPath, parseJsonPath } from '../../images/json-path.ts';
import { BAD, fields, optional, refuse, required, type Shape, shortList, text } from '../yaml/shape.ts';

const MAX_TEXT = 255;
/** More would make a pattern slow to match. */
const MAX_STARS = 4;

const jsonPath: Shape<JsonPath> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD) return BAD;
  const parsed = value.length > MAX_TEXT ? `has more than ${MAX_TEXT} characters` : parseJsonPath(value);
  if (typeof parsed !== 'string') return parsed;
  return refuse(
    reading,
    node,
    `${path} ${JSON.stringify(value.slice(0, MAX_TEXT))} ${parsed}`,
    "Write a path like $.spec.image, $.spec.components[*].image or $.metadata.annotations['example.com/image']",
  );
};

const word =
  (allowed: RegExp, what: string, hint: string): Shape<string> =>
  (node, path, reading) => {
    const value = text(node, path, reading);
    if (value === BAD) return BAD;
    const good = allowed.test(value) && value.length <= MAX_TEXT && value.split('*').length <= MAX_STARS + 1;
    return good
      ? value
      : refuse(reading, node, `${path} ${JSON.stringify(value.slice(0, MAX_TEXT))} is no ${what}`, hint);
  };

const pattern = word(
  /^[^\s*]+[^\s]*$|^\*[^\s*][^\s]*$/,
  'pattern of names',
  'Write a name; * stands for any run of characters, and at least one other character must be there',
);
const option = word(
  /^--?[A-Za-z0-9][\w.*-]*$/,
  'option of a program',
  'Write it as it is typed: --reloader-image',
);
const group = word(
  /^[a-z0-9][a-z0-9.-]*$/,
  "group of Kubernetes' API",
  'Write what stands before the slash of apiVersion, and leave it out where there is no slash',
);
const kind = word(/^[A-Z][A-Za-z0-9]*$/, 'kind', 'Write it as objects do: Prometheus');
const field = word(/^[^\s*.[\]$]+$/, 'name of a field', 'Write the name alone; `in` says where it stands');

const parts: Shape<ImageParts> = fields({
  in: required(jsonPath),
  registry: optional(field, undefined),
  repository: required(field),
  tag: optional(field, undefined),
  digest: optional(field, undefined),
});

const kindFields = fields({
  group: optional(group, ''),
  kind: required(kind),
  paths: optional(shortList(jsonPath), []),
  parts: optional(shortList(parts), []),
});

/** Fields of a kind without one would say nothing, and nobody would know. */
const describedFields: Shape<KindFields> = (node, path, reading) => {
  const read = kindFields(node, path, reading);
  if (read === BAD || read.paths.length + read.parts.length > 0) return read;
  return refuse(reading, node, `${path} names no field of kind ${read.kind}`, 'Give it paths or parts');
};

/** An ImageFields' spec: where images stand that no pod template names. */
export const imageFieldsFields = fields({
  fields: optional(shortList(describedFields), []),
  env: optional(shortList(pattern), []),
  args: optional(shortList(option), []),
  annotations: optional(shortList(pattern), []),
  notImages: optional(
    fields({
      fields: optional(
        shortList(
          fields({ group: optional(group, ''), kind: required(kind), paths: required(shortList(jsonPath)) }),
        ),
        [],
      ),
      env: optional(shortList(pattern), []),
      charts: optional(shortList(pattern), []),
    }),
    { fields: [], env: [], charts: [] },
  ),
});
