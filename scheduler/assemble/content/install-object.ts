import type { Place } from '#bundles/errors';
import { hostPath, seconds } from '../../load/objects/host-fields.ts';
import { has, keeping, someRule } from '../../model/yaml/field-rules.ts';
import { fields, flag, list, oneOf, optional, placed, required, textLike } from '../../model/yaml/shape.ts';

type Unplaced<T> = Omit<T, 'at'>;

export type InstalledDebObject = {
  readonly name: string;
  readonly adopt: boolean;
  readonly hold: boolean;
};

export type DebconfObject = {
  readonly package: string;
  readonly question: string;
  readonly type: 'boolean' | 'multiselect' | 'note' | 'password' | 'select' | 'string' | 'text';
  readonly value: string;
};

export type HookObject = {
  readonly package: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly restore: string | undefined;
  readonly timeoutSeconds: number;
};

/** Which Debian packages of `debs` are installed, and how. */
export type InstallObject = {
  /** Empty: all of `debs`. */
  readonly packages: readonly { readonly value: InstalledDebObject; readonly at: Place }[];
  /** A newer version that the host has is left as it is. */
  readonly atLeast: boolean;
  readonly conffiles: 'keep' | 'replace';
  readonly debconf: readonly DebconfObject[];
  readonly onRemoval: 'remove' | 'purge';
  readonly services: 'start' | 'leave';
  readonly hooks: readonly { readonly value: HookObject; readonly at: Place }[];
  readonly at: Place;
};

const debName = textLike(
  /^[a-z0-9][a-z0-9+.-]{1,127}$/,
  'is not a name of a Debian package',
  'Write it as its control file does, like label-printer',
);

const question = textLike(/^[!-~]+$/, 'is not a question of debconf', 'Write it like label-printer/port');

const answer = textLike(/^\P{Cc}*$/u, 'has a line break or control character', 'Write it in one line');

const debconf = fields<DebconfObject>({
  package: required(debName, 'Debian package that asks.'),
  question: required(question, 'Name of the question.'),
  type: required(
    oneOf('boolean', 'multiselect', 'note', 'password', 'select', 'string', 'text'),
    'Type of the question, as in its template.',
  ),
  value: required(answer, 'The answer. Not a secret: it is in the release as it stands here.'),
});

const installed = fields<InstalledDebObject>({
  name: required(debName, 'Name of the Debian package.'),
  adopt: optional(flag, false, 'Take it over where the administrator of the host installed it.'),
  hold: optional(flag, false, 'Put it on hold, so that nobody upgrades it by accident.'),
});

const hook = keeping(
  fields<HookObject>({
    package: required(debName, 'Debian package of `debs` whose version changes.'),
    before: optional(hostPath, undefined, 'Program of `files` that runs before an upgrade, such as a dump.'),
    after: optional(
      hostPath,
      undefined,
      'Program of `files` that runs after an installation or upgrade, such as a migration.',
    ),
    restore: optional(
      hostPath,
      undefined,
      'Program of `files` that runs after the host went back to an older version.',
    ),
    timeoutSeconds: optional(seconds, 600, 'Seconds until a program is killed, and the step fails.'),
  }),
  [
    someRule(has('before'), has('after'), has('restore')),
    (it) => [`a hook of ${it.package} has no program`, 'Name one under before, after or restore'],
  ],
);

export const install = fields<Unplaced<InstallObject>>({
  packages: optional(
    list(placed(installed)),
    [],
    'Debian packages of `debs` to install; the others are installed when one of these needs them. Default: all of `debs`.',
  ),
  atLeast: optional(
    flag,
    false,
    'A newer version that the host has, such as a security update, is left as it is; applies to all of `debs`.',
  ),
  conffiles: optional(
    oneOf('keep', 'replace'),
    'keep',
    'A conffile that was changed both on the host and in the Debian package is kept or replaced.',
  ),
  debconf: optional(list(debconf), [], 'Answers to questions that maintainer scripts ask.'),
  onRemoval: optional(
    oneOf('remove', 'purge'),
    'remove',
    'Removal of a Debian package that the release no longer has: `purge` also removes its conffiles and data.',
  ),
  services: optional(
    oneOf('start', 'leave'),
    'start',
    'Whether maintainer scripts start and stop services; with `leave` only `units` says what runs.',
  ),
  hooks: optional(list(placed(hook)), [], 'Programs that run when the version of a Debian package changes.'),
});
