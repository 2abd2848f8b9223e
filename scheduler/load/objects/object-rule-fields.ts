import { has, keeping, someRule } from '../../model/yaml/field-rules.ts';
import { ADOPTS } from '../../model/adopts.ts';
import {
  fields,
  flag,
  oneOf,
  optional,
  placed,
  required,
  shortList,
  textLike,
} from '../../model/yaml/shape.ts';

const kindName = textLike(
  /^(?:\*|[A-Z][A-Za-z0-9]{0,62}(?:\.[a-z0-9.-]{1,253})?)$/,
  'is not a kind',
  'Write Deployment, Deployment.apps with its group, or "*" for any, in quotes',
);
const pattern = textLike(/^[a-z0-9*.:-]{1,253}$/, 'is not a name', 'Write a name; * for any characters');
const pointer = textLike(
  /^\/[^,]{1,1023}$/,
  'is not a JSON pointer',
  'Write /spec/replicas; ~1 for a slash in a name',
);
const expression = placed(textLike(/^[^]{1,2048}$/, 'is longer than 2048 characters'));

const EFFECTS = [
  'adopt',
  'apply',
  'conflicts',
  'drift',
  'health',
  'ignore',
  'ignoreManagers',
  'timeout',
  'wait',
];

/** A rule of the platform for objects on clusters. */
export const objectRule = keeping(
  fields({
    kinds: required(
      shortList(kindName, 64, 1),
      'Kinds of the objects, with or without the group: `Deployment.apps`.',
    ),
    names: optional(
      shortList(pattern, 64, 1),
      undefined,
      'Their names; `*` matches any characters. Default: all.',
    ),
    namespaces: optional(
      shortList(pattern, 64, 1),
      undefined,
      'Their namespaces; `*` matches any characters. Default: all, and objects without a namespace.',
    ),
    adopt: optional(
      oneOf(...ADOPTS),
      undefined,
      'Which existing objects may be taken over, instead of what the cluster type or Workspace says.',
    ),
    apply: optional(
      oneOf('override', 'ifNotPresent', 'ignore'),
      undefined,
      '`ifNotPresent` leaves an object as it is once it exists; `ignore` leaves it to others.',
    ),
    conflicts: optional(
      oneOf('force', 'report'),
      undefined,
      'A field that another applier owns with another value: take it, or leave the object and report.',
    ),
    drift: optional(
      oneOf('correct', 'report', 'ignore'),
      undefined,
      'Treatment of changes that others make between releases: undo, report, or do not look for them.',
    ),
    ignore: optional(
      shortList(pointer, 64, 1),
      undefined,
      'Fields that keep their live values, as JSON pointers.',
    ),
    ignoreManagers: optional(
      shortList(textLike(/^[^,]{1,128}$/, 'is not a field manager'), 64, 1),
      undefined,
      'Field managers whose fields keep their live values.',
    ),
    timeout: optional(
      textLike(/^[1-9][0-9]{0,4}[smh]$/, 'is not a time', 'Write a number and s, m or h: 20m'),
      undefined,
      'How long an object may take to become healthy.',
    ),
    wait: optional(flag, undefined, '`false` leaves the objects out of the health check.'),
    health: optional(
      fields({
        current: required(expression, 'Holds for a healthy object.'),
        inProgress: optional(expression, undefined, 'Holds for one that is not finished; judged first.'),
        failed: optional(expression, undefined, 'Holds for one that has failed; judged second.'),
      }),
      undefined,
      'How to judge the health of the objects: CEL over their fields, in the form of the healthCheckExprs of Flux.',
    ),
  }),
  [
    someRule(...EFFECTS.map((effect) => has(effect))),
    (_, path) => [`${path} selects objects and says nothing about them`, `It can have ${EFFECTS.join(', ')}`],
  ],
);
