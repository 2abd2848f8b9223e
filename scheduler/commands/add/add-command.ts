import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { FleetError, formatError, isFleetError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { nameSome } from '#bundles/name-some';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { FleetCommand } from '#cli/fleet-command';
import { assignmentChanges } from '../../author/check/assignment-changes.ts';
import { checkEdit } from '../../author/check/check-edit.ts';
import { fileDiff } from '../../author/file-diff.ts';
import { newObject, type NewObject } from '../../author/new-object.ts';
import { chooseLayer } from '../../author/place/choose-layer.ts';
import type { Layer } from '../../author/place/layer.ts';
import { planNew, type PlannedEdit } from '../../author/place/plan-edit.ts';
import { prepareEdit, type PreparedEdit, refuseMistakes } from '../../author/prepare-edit.ts';
import { type SavedEdit, saveEdit } from '../../author/save/save-edit.ts';
import { identityOf } from '../../deliver/git/commit-identity.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { platformFlags } from '../../settings/configuration-flags.ts';
import { personOf } from '../person-flags.ts';

/** Flags of all verbs that add to a platform. */
export const addFlags = {
  ...platformFlags,
  'dry-run': Flags.boolean({
    description: 'Print the difference, and the assignments that it adds, changes and removes; write nothing',
  }),
  'pull-request': Flags.boolean({
    description:
      'For a repository: propose the commit on a branch of its own, and open a pull request where a token is given',
  }),
  forge: Flags.string({
    description: 'github, gitea, gitlab or azure, with =<address of its API>',
    env: 'FLEET_FORGE',
  }),
  committer: Flags.string({ description: "Committer of the commit, as 'Name <address>'" }),
  'sign-commits': Flags.boolean({ description: "Sign the commit with git's own settings" }),
  person: Flags.string({ description: 'Author of the commit [default: the name of this user]' }),
  reason: Flags.string({ description: 'Reason, for the text of the commit' }),
};

/** The layer of one environment, for verbs whose object may be shared or an environment's own. */
export const layerFlag = {
  environment: Flags.string({
    char: 'e',
    description:
      'Add it to the own folder or branch of this environment [default: to what environments share]',
  }),
};

export type AddFlags = {
  readonly 'dry-run': boolean;
  readonly 'pull-request': boolean;
  readonly person?: string | undefined;
  readonly reason?: string | undefined;
  readonly fleet?: string | undefined;
  readonly now?: string | undefined;
};

/** Base of the verbs that add one object: plan, validate, print, write. */
export abstract class AddCommand extends FleetCommand {
  /** Adds an object where the platform keeps its kind. */
  protected addObject(
    given: NewObject,
    flags: AddFlags & { readonly environment?: string | undefined },
  ): Promise<unknown> {
    return this.add(flags, (layers) => {
      const form = layers[0]?.form ?? 'fleet';
      const kind = given.kind === 'Config' && form === 'kalypso' ? 'ConfigMap' : given.kind;
      return planNew(chooseLayer(layers, kind, flags.environment), newObject(form, given));
    });
  }

  /** @param first the plan for an empty directory; without it such a directory is refused */
  protected async add(
    flags: AddFlags,
    plan: (layers: readonly Layer[]) => PlannedEdit,
    first?: (platform: string) => PlannedEdit | undefined,
  ): Promise<unknown> {
    const now = this.readNow(flags.now);
    const configuration = await readConfiguration(flags, process.cwd());
    const { env } = process;
    const options = {
      ...platformOptions(configuration, { cwd: process.cwd(), env, signal: this.signal }),
      env,
      signal: this.signal,
      ...defined({ fleet: flags.fleet }),
    };
    const prepared = await prepareEdit(options, plan).catch(async (error: unknown): Promise<PreparedEdit> => {
      const edit = isFleetError(error, 'PLATFORM_INVALID') ? first?.(options.platform) : undefined;
      if (edit) return { layers: [], edit, check: await checkEdit(options, edit) };
      throw isFleetError(error, 'PLATFORM_INVALID') && error.message.endsWith(' is not a platform')
        ? notPlatform(error)
        : error;
    });
    const { problems } = prepared.check;
    if (problems.length > 1) for (const one of problems) this.say(formatError(one));
    refuseMistakes(prepared);
    const saved = flags['dry-run']
      ? undefined
      : await saveEdit(prepared.edit, {
          ...options,
          forge: configuration.forge,
          connection: registryOptions({ ...configuration, env }),
          identity: identityOf(configuration),
          now,
          person: personOf(flags),
          reason: flags.reason,
          pullRequest: flags['pull-request'],
        });
    return this.#report(prepared, saved);
  }

  #report({ layers, edit, check }: PreparedEdit, saved: SavedEdit | undefined): unknown {
    const diffs = edit.files.map(fileDiff);
    if (!saved) this.logText(diffs.join('\n').trimEnd());
    for (const one of check.known) this.say(`wrong before, and still: ${formatError(one)}`);
    for (const one of check.advice) this.say(`advice: ${formatError(one)}`);
    const assignments = assignmentChanges(check.environments);
    for (const { environment, problems } of check.environments) {
      const own = assignments.filter((one) => one.environment === environment);
      const { promotedFrom } = layers.find((layer) => layer.environment === environment) ?? {};
      this.log(
        `${environment}: ${problems.length > 0 ? 'cannot be compared' : summarise(own, promotedFrom)}`,
      );
    }
    this.log(saved ? describeSaved(edit, saved) : `${edit.subject}: nothing written`);
    return {
      subject: edit.subject,
      outcome: saved?.outcome ?? 'planned',
      place: saved?.place,
      files: edit.files.map(({ path, was }) => ({ path, outcome: was ? 'configured' : 'created' })),
      commit: saved?.commit,
      proposal: saved?.proposal,
      pullRequest: saved?.pullRequest,
      assignments,
      diff: diffs.join('\n'),
      known: check.known.map((one) => this.toErrorJson(one)),
      advice: check.advice.map((one) => this.toErrorJson(one)),
    };
  }
}

const WORDS = {
  created: 'added',
  configured: 'changed',
  deleted: 'removed',
  held: 'held',
  healed: 'no longer held',
} as const;

/** '2 assignments added (press/hello-web, press/hello-db), 1 changed (...), once promoted from dev' */
const summarise = (
  assignments: ReturnType<typeof assignmentChanges>,
  promotedFrom: string | undefined,
): string => {
  const parts = Object.entries(WORDS).flatMap(([outcome, word]) => {
    const names = assignments
      .filter((one) => one.outcome === outcome)
      .map(({ clusterType, assignment }) => `${clusterType}/${assignment}`);
    return names.length === 0
      ? []
      : [`${formatCount(names.length, 'assignment')} ${word} (${nameSome(names)})`];
  });
  if (parts.length === 0) return 'no assignment changes';
  return `${parts.join(', ')}${promotedFrom === undefined ? '' : `, once promoted from ${promotedFrom}`}`;
};

const describeSaved = ({ subject }: PlannedEdit, { outcome, place, files, ...done }: SavedEdit): string => {
  switch (outcome) {
    case 'written':
      return `${subject}: ${files.map((file) => `${place === '.' ? '' : `${place.replace(/\/+$/, '')}/`}${file}`).join(', ')} written`;
    case 'pushed':
      return `${subject}: ${place} pushed ${done.commit?.slice(0, 12)}`;
    case 'proposed':
      return `${subject}: ${place} proposed by ${done.pullRequest ?? done.proposal}`;
    case 'unchanged':
      return done.proposal === undefined
        ? `${subject}: ${place} has it already`
        : `${subject}: ${place} proposed already by ${done.pullRequest ?? done.proposal}`;
  }
};

const notPlatform = (error: FleetError): FleetError =>
  new FleetError('PLATFORM_INVALID', error.message, {
    subject: error.subject,
    hint: 'Begin one with fleet-scheduler add environment <name> --fleet <name>, or fleet-scheduler init',
  });

/** Labels of a repeatable flag `<label>=<value>`. @throws FleetError USAGE */
export const readLabels = (pairs: readonly string[] = [], flag: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)] as const;
      throw new FleetError('USAGE', `--${flag} ${JSON.stringify(pair.slice(0, 80))} is not <label>=<value>`, {
        hint: `Write it like --${flag} region=north`,
      });
    }),
  );
