import type { ImageParts, KindFields } from '../../model/images/image-fields.ts';
import { type JsonPath, parseJsonPath } from '../../model/json-path.ts';
import { hasEntries, keeping, someRule } from '../../model/yaml/field-rules.ts';
import {
  BAD,
  fields,
  optional,
  refuse,
  required,
  type Shape,
  shape,
  shortList,
  text,
  textLike,
} from '../../model/yaml/shape.ts';

const MAX_TEXT = 255;

/** Approximates parseJsonPath for the schema: $, then names, indexes and wildcards. */
const NAME_PATTERN = '[A-Za-z_\\u0080-\\uFFFF][A-Za-z0-9_\\u0080-\\uFFFF]*';
const BRACKET_PATTERN = `\\[\\s*(?:\\*|-?[0-9]+|'.*'|".*")\\s*\\]`;
const PATH_PATTERN = `^\\$(?:\\.{1,2}(?:\\*|${NAME_PATTERN})|(?:\\.\\.)?${BRACKET_PATTERN})+$`;

const jsonPath: Shape<JsonPath> = shape(
  { ...text.schema, pattern: PATH_PATTERN, maxLength: MAX_TEXT },
  (node, path, reading) => {
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
  },
);

/** At most four `*`: a pattern with more would be slow to match. */
const word = (allowed: RegExp, what: string, hint: string): Shape<string> =>
  textLike(new RegExp(`^(?!(?:[^*]*\\*){5})(?:${allowed.source})$`), `is not a valid ${what}`, hint, {
    maxLength: MAX_TEXT,
  });

const pattern = word(
  /[^\s*]+[^\s]*|\*[^\s*][^\s]*/,
  'pattern of names',
  'Write a name; * stands for any run of characters, and at least one other character must be there',
);
const option = word(
  /--?[A-Za-z0-9][\w.*-]*/,
  'option of a program',
  'Write it as it is typed: --reloader-image',
);
const group = word(
  /[a-z0-9][a-z0-9.-]*/,
  "group of Kubernetes' API",
  'Write what stands before the slash of apiVersion, and leave it out where there is no slash',
);
const kind = word(/[A-Z][A-Za-z0-9]*/, 'kind', 'Write it as objects do: Prometheus');
const field = word(/[^\s*.[\]$]+/, 'name of a field', 'Write the name alone; `in` says where it stands');

const parts: Shape<ImageParts> = fields({
  in: required(jsonPath, 'JSONPath of the mapping that holds the parts.'),
  registry: optional(field, undefined, 'Field with the host of the registry.'),
  repository: required(field, 'Field with the repository.'),
  tag: optional(field, undefined, 'Field with the tag.'),
  digest: optional(field, undefined, 'Field with the digest. Without it the digest goes behind the tag.'),
});

const GROUP = 'API group of the kind, without the version. Leave it out for `v1`.';
const KIND = 'Kind of the objects.';

/** Refuses an entry without any field, which would have no effect. */
const describedFields: Shape<KindFields> = keeping(
  fields({
    group: optional(group, '', GROUP),
    kind: required(kind, KIND),
    paths: optional(shortList(jsonPath), [], 'JSONPaths (RFC 9535) of fields that hold an image name.'),
    parts: optional(shortList(parts), [], 'Images that are written in parts, in fields of one mapping.'),
  }),
  [
    someRule(hasEntries('paths'), hasEntries('parts')),
    (read, path) => [`${path} names no field of kind ${read.kind}`, 'Give it paths or parts'],
  ],
);

/** The spec of an ImageFields: image fields outside of pod templates. */
export const imageFieldsFields = fields({
  fields: optional(shortList(describedFields), [], 'Fields of custom resources that hold images.'),
  env: optional(
    shortList(pattern),
    [],
    'Environment variables of containers that hold images, by name. `*` stands for any characters.',
  ),
  args: optional(
    shortList(option),
    [],
    'Options in `args` and `command` of containers whose value is an image.',
  ),
  annotations: optional(
    shortList(pattern),
    [],
    'Annotations of objects and pod templates that hold images, by name. `*` stands for any characters.',
  ),
  notImages: optional(
    fields({
      fields: optional(
        shortList(
          fields({
            group: optional(group, '', GROUP),
            kind: required(kind, KIND),
            paths: required(shortList(jsonPath), 'JSONPaths (RFC 9535) of fields that hold none.'),
          }),
        ),
        [],
        'Fields that only look like images.',
      ),
      env: optional(shortList(pattern), [], 'Environment variables that hold no image, by name.'),
      charts: optional(
        shortList(pattern),
        [],
        'Images that the annotation `artifacthub.io/images` of a chart names and that are not needed.',
      ),
    }),
    { fields: [], env: [], charts: [] },
    'Fields that hold no image, or one that is not needed. It overrides everything else, pod templates included.',
  ),
});
