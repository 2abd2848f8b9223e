import type { Place } from '#bundles/errors';
import { LABEL } from '#bundles/names';
import { hostPath, refuseAt, seconds } from '../../load/objects/host-fields.ts';
import { SITE_INPUT_ABOUT } from '../../load/objects/site-input-fields.ts';
import type { Value } from '../../model/model.ts';
import type { SiteInputAbout } from '../../model/site-input.ts';
import { freeRecord } from '../../model/yaml/free-value.ts';
import { has, keeping, oneRule } from '../../model/yaml/field-rules.ts';
import {
  count,
  fields,
  flag,
  list,
  narrowed,
  oneOf,
  optional,
  placed,
  type Reading,
  refuse,
  required,
  text,
  textLike,
} from '../../model/yaml/shape.ts';

/** A value of the site that becomes a variable of a playbook. */
export type PlaybookInputObject = SiteInputAbout & {
  readonly variable: string;
  readonly at: Place;
};

/** A playbook that the agent runs on the host itself. */
export type PlaybookObject = {
  readonly name: string;
  /** Exactly one of the two. With `source`, the whole folder of that file is packed. */
  readonly source: string | undefined;
  readonly content: string | undefined;
  /** The platform configuration is the variable `platform_config`, and its file lies beside the playbook. */
  readonly config: boolean;
  readonly variables: { readonly [key: string]: Value };
  readonly siteInputs: readonly PlaybookInputObject[];
  readonly vaultPassword: string | undefined;
  readonly become: boolean;
  readonly order: 'before-units' | 'after-units';
  readonly timeoutSeconds: number;
  readonly checkSeconds: number;
  readonly at: Place;
};

const playbookName = textLike(LABEL, 'is not a name of a playbook', 'Write a DNS label, like printer-users');

const inFolder = textLike(
  /^[^/].*\/[^/]+$/,
  'is not a file in a folder of its own',
  'Move the playbook, as to ansible/site.yml: everything in its folder travels to the host',
);

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

const variable = textLike(VARIABLE, 'is not a variable of Ansible', 'Use letters, digits and _');

const interval = narrowed(count, { maximum: 604_800 }, (value, node, path, reading) =>
  value <= 604_800 ? value : refuse(reading, node, `${path} must be at most 604800, a week`),
);

const input = fields({
  name: required(text, 'Name of the value in the site values.'),
  schema: required(freeRecord, 'JSON Schema of the value.'),
  ...SITE_INPUT_ABOUT,
  variable: required(variable, 'Variable that gets the value; the playbook or one of its roles names it.'),
});

export const playbook = keeping(
  fields({
    name: required(playbookName, 'Name of the playbook, for reports.'),
    source: optional(
      inFolder,
      undefined,
      'Playbook of the application, in a folder of its own: everything in that folder travels.',
    ),
    content: optional(text, undefined, 'The text of the playbook.'),
    config: optional(
      flag,
      false,
      'The platform configuration is the variable `platform_config`, and its file is beside the playbook.',
    ),
    variables: optional(freeRecord, {}, 'Variables of the playbook. Values are not templates.'),
    siteInputs: optional(list(placed(input)), [], 'Variables that only a site knows.'),
    vaultPassword: optional(
      hostPath,
      undefined,
      "Path under `secrets` of the file with the password of Ansible's vault.",
    ),
    become: optional(
      flag,
      true,
      'Tasks may run as another user. Without `become` they run as root; with `false` a task that asks for it fails.',
    ),
    order: optional(
      oneOf('before-units', 'after-units'),
      'before-units',
      'The playbook runs after files and secrets, `before-units` or `after-units` were started.',
    ),
    timeoutSeconds: optional(seconds, 600, 'Seconds until the playbook is killed.'),
    checkSeconds: optional(
      interval,
      3600,
      'Seconds between two looks for drift in check mode. With 0 the agent does not look.',
    ),
  }),
  [
    oneRule(has('source'), has('content')),
    ({ name }) => `either source or content says what the playbook ${name} is`,
  ],
);

type Placed<T> = { readonly value: T; readonly at: Place };

/** The playbooks as written, each validated separately. */
export const toPlaybooks = (
  written: readonly Placed<
    Omit<PlaybookObject, 'at' | 'siteInputs'> & {
      readonly siteInputs: readonly Placed<Omit<PlaybookInputObject, 'at'>>[];
    }
  >[],
  reading: Reading,
): readonly PlaybookObject[] =>
  written.map(({ value, at }) => {
    const { variables } = value;
    const wrong = Object.keys(variables).find((key) => !VARIABLE.test(key));
    if (wrong !== undefined)
      refuseAt(
        reading,
        at,
        `${JSON.stringify(wrong)} is not a variable of Ansible`,
        'Use letters, digits and _',
      );
    return { ...value, siteInputs: value.siteInputs.map((one) => ({ ...one.value, at: one.at })), at };
  });
