import { digestOf } from '#bundles/digest';
import type { Json } from '#bundles/json/canonical';
import { FleetError, isFleetError } from '#bundles/errors';
import type {
  Platform,
  PlatformEdit,
  PlatformObject,
  PlatformPreview,
  PlatformProblem,
} from '#bundles/schemas/types/hub-decisions';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { identityOf } from '../../deliver/git/commit-identity.ts';
import { TOKEN_VARIABLE } from '../../deliver/git/forge/forge.ts';
import { openEdits } from '../../deliver/git/open-edits.ts';
import type { Authoring } from '../../hub/http/authoring/authoring.ts';
import { sourcesOf } from '../../load/load-platform.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';
import { withoutRepository } from '../../load/sources/run-git.ts';
import { refName } from '../../model/location.ts';
import { redactUrl } from '../../model/repository-url.ts';
import type { Configuration } from '../../settings/configuration.ts';
import { assignmentChanges } from '../check/assignment-changes.ts';
import { fileDiff } from '../file-diff.ts';
import type { SourceFile } from '../../load/sources/read-files.ts';
import type { Layer } from '../place/layer.ts';
import type { ObjectValue } from '../../model/yaml/write-object.ts';
import {
  findLayer,
  findObject,
  planChange,
  planNew,
  planText,
  type PlannedEdit,
} from '../place/plan-edit.ts';
import { type Entry, planFleetEnvironment } from '../place/plan-environment.ts';
import { readLayers } from '../place/read-layers.ts';
import { prepareEdit, type PreparedEdit, refuseMistakes } from '../prepare-edit.ts';
import { branchOf, conflictOf, saveEdit } from '../save/save-edit.ts';
import { readDocument } from '../yaml/edit-document.ts';
import {
  openForge,
  prepareSiteValues,
  readOpenValues,
  requireRepository,
  saveSiteValues,
} from '../write-site-values.ts';
import { createQueue } from './create-queue.ts';
import { isWithheld } from './withheld.ts';

export type AuthoringOptions = {
  readonly configuration: Configuration;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly clock: () => Date;
  /** Aborts when the hub stops. */
  readonly signal: AbortSignal;
};

/** Callers whose edits may wait while another is judged: each is a build of all environments, twice. */
const MAX_WAITING = 8;

/** Edits of the hub's platform, for its page. @returns undefined if no platform is configured */
export const openAuthoring = ({
  configuration,
  env,
  cwd,
  clock,
  signal,
}: AuthoringOptions): Authoring | undefined => {
  if (configuration.platform === undefined) return undefined;
  const options = { ...platformOptions(configuration, { cwd, env, signal }), env, signal };
  const queue = createQueue(MAX_WAITING);
  const layersNow = (): Promise<readonly Layer[]> => readLayers(options.platform, sourcesOf(options));

  const prepare = async (edit: PlatformEdit): Promise<PreparedEdit> => {
    let stale: { readonly layer: Layer; readonly file: string } | undefined;
    try {
      return await prepareEdit(options, (layers) => {
        const layer = findLayer(layers, edit.layer);
        const target = targetOf(layer, edit);
        if (target && typeof edit.seen === 'string' && digestOf(target.bytes) !== edit.seen) {
          stale = { layer, file: target.path };
          throw new FleetError('EDIT_CONFLICT', 'the file was changed meanwhile');
        }
        const planned = isFleetEnvironment(layer, edit)
          ? planFleetEnvironment(layers, entryOf(edit))
          : planOf(layer, edit, target !== undefined);
        for (const { path, was } of planned.files)
          if (was && isWithheld(was.toString())) throw hasSecrets(path);
        return planned;
      });
    } catch (error) {
      throw stale ? await describeConflict(stale) : error;
    }
  };

  const describeConflict = async ({
    layer: { location },
    file,
  }: {
    readonly layer: Layer;
    readonly file: string;
  }): Promise<FleetError> => {
    if (location.kind === 'directory')
      return new FleetError('EDIT_CONFLICT', 'the file was changed meanwhile', {
        at: { file },
        hint: 'Look at the file again, and make the change on top of theirs',
      });
    const git = { env: withoutRepository(env), signal };
    const branch = await branchOf(git, location.repo, location.revision);
    const { cacheDirectory } = options;
    return await conflictOf({ git, repo: location.repo, branch, cacheDirectory }, file, { file });
  };

  /** Proposed edits of a file; null if repository or forge cannot be read, since the file itself is shown in any case. */
  const proposalsOf = async ({ location }: Layer, file: string): Promise<PlatformObject['proposals']> => {
    if (location.kind === 'directory') return [];
    const git = { env: withoutRepository(env), signal };
    const { repo, revision } = location;
    try {
      await using forge = await openForge(repo, { configuration, env, signal });
      const branch = await branchOf(git, repo, revision);
      const { cacheDirectory } = options;
      const open = await openEdits({ git, repo, branch, cacheDirectory }, file, forge);
      return open.map(({ author, pullRequest = null, ...one }) => ({ ...one, person: author, pullRequest }));
    } catch (error) {
      if (!isFleetError(error)) throw error;
      return null;
    }
  };

  /** Repositories and branches that edits are proposed for. */
  const repositoriesNow = async (): Promise<
    readonly { readonly repo: string; readonly branch: string }[]
  > => {
    const git = { env: withoutRepository(env), signal };
    const found = new Map<string, { readonly repo: string; readonly branch: string }>();
    for (const { location } of await layersNow()) {
      if (location.kind === 'directory') continue;
      const branch = await branchOf(git, location.repo, location.revision);
      found.set(`${location.repo} ${branch}`, { repo: location.repo, branch });
    }
    return [...found.values()];
  };

  return {
    describePlatform: async () => {
      const layers = await layersNow();
      return describeLayers(layers, hasToken(configuration, env));
    },
    readObject: async ({ layer: name, kind, name: object }) => {
      const layer = findLayer(await layersNow(), name);
      const found = describeObject(layer, kind, object);
      return { ...found, proposals: await proposalsOf(layer, found.file) };
    },
    preview: (edit) => queue(async () => describePreview(await prepare(edit))),
    save: (edit, person) =>
      queue(async () => {
        const prepared = await prepare(edit);
        requireRepository(prepared, CONNECT);
        refuseMistakes(prepared);
        const saved = await saveEdit(prepared.edit, {
          ...options,
          forge: configuration.forge,
          connection: registryOptions({ ...configuration, env }),
          identity: identityOf(configuration),
          now: clock(),
          person,
          reason: edit.reason,
          pullRequest: edit.pullRequest !== false,
        });
        const { outcome, place, files, commit = null, proposal = null, pullRequest = null } = saved;
        if (outcome === 'written') throw new FleetError('INTERNAL', 'an edit was written into a directory');
        return { outcome, place, files, commit, proposal, pullRequest };
      }),
    openValues: async () => {
      try {
        return await readOpenValues(await layersNow(), { ...options, configuration });
      } catch (error) {
        if (!isFleetError(error) || error.code === 'ABORTED') throw error;
        return undefined;
      }
    },
    declined: async (proposal) => {
      for (const place of await repositoriesNow()) {
        await using forge = await openForge(place.repo, { configuration, env, signal });
        const pull = await forge?.find(proposal, place.branch);
        if (pull) return pull.state === 'closed' ? pull.url : undefined;
      }
      return undefined;
    },
    saveValues: (asked) =>
      queue(async () => {
        const prepared = await prepareSiteValues(options, asked);
        requireRepository(prepared, CONNECT);
        refuseMistakes(prepared);
        return await saveSiteValues(prepared, asked, { ...options, configuration });
      }),
  };
};

const CONNECT =
  'Set platform: in fleet-scheduler.yaml to the Git URL of the repository, with #<branch>, let git on the hub’s machine write there, and give FLEET_FORGE_TOKEN for pull requests';

const hasToken = ({ forge }: Configuration, env: NodeJS.ProcessEnv): boolean =>
  Boolean(env[TOKEN_VARIABLE]) || (forge === undefined && Boolean(env['GITHUB_TOKEN']));

/** The file that an edit is about, if it is there. */
const targetOf = (layer: Layer, { object, file }: PlatformEdit): SourceFile | undefined => {
  const path = object === undefined ? file : findObject(layer, ...nameOf(object))?.file;
  return layer.files.find((one) => one.path === path);
};

const nameOf = (object: ObjectValue): readonly [kind: string, name: string] => {
  const { metadata } = object as { readonly metadata?: { readonly name?: unknown } | null };
  return [String(object['kind']), String(metadata?.name)];
};

/** An environment of our form is an entry of the Fleet in fleet.yaml, and no object of its own. */
const isFleetEnvironment = ({ form }: Layer, { object }: PlatformEdit): boolean =>
  form === 'fleet' && object?.['kind'] === 'Environment';

const entryOf = ({ object = {} }: PlatformEdit): Entry => {
  const { spec = {} } = object as { readonly spec?: Readonly<Record<string, Json>> };
  return { ...spec, name: nameOf(object)[1] };
};

/** @throws FleetError NAME_CLASH for something new that is there already, EDIT_CONFLICT for what is no longer there */
const planOf = (
  layer: Layer,
  { object, file = '', text = '', seen }: PlatformEdit,
  isThere: boolean,
): PlannedEdit => {
  const isNew = typeof seen !== 'string';
  const [kind, name] = object === undefined ? ['the file', file] : nameOf(object);
  if (!isNew && !isThere)
    throw new FleetError('EDIT_CONFLICT', `${kind} ${name} is no longer there`, {
      hint: 'Somebody removed or renamed it; look at the platform again',
    });
  if (object !== undefined)
    return isNew ? planNew(layer, object) : planChange(layer, { kind, name, set: [[[], object]] });
  if (isNew && isThere)
    throw new FleetError('NAME_CLASH', `${layer.name} has a file ${file} already`, {
      hint: 'Choose another path, or edit that one',
    });
  return planText(layer, file, text);
};

const hasSecrets = (file: string): FleetError =>
  new FleetError('FIELD_INVALID', 'this file has secret values, which the hub does not show', {
    at: { file },
    hint: 'Edit it in Git, or move the values to a secret set (docs/secrets.md)',
  });

const describeLayers = (layers: readonly Layer[], opensPullRequests: boolean): Platform => {
  const canSave = layers.some(({ location }) => location.kind === 'git');
  return {
    form: layers[0]?.form ?? 'fleet',
    canSave,
    advice: canSave ? null : CONNECT,
    opensPullRequests,
    layers: layers.map(({ name, environment = null, promotedFrom = null, location, objects }) => ({
      name,
      environment,
      promotedFrom,
      place:
        location.kind === 'git'
          ? `${redactUrl(location.repo)}#${refName(location.revision) ?? 'HEAD'}`
          : null,
      objects: objects.map(({ apiVersion, kind, name: object, file, at }) => ({
        apiVersion,
        kind,
        name: object,
        file,
        line: at.line ?? null,
      })),
    })),
  };
};

const describeObject = (layer: Layer, kind: string, name: string): Omit<PlatformObject, 'proposals'> => {
  const object = findObject(layer, kind, name);
  const bytes = layer.files.find(({ path }) => path === object?.file)?.bytes;
  if (!object || !bytes)
    throw new FleetError('REFERENCE_MISSING', `${layer.name} has no ${kind} ${name}`, {
      hint: 'It may have been removed meanwhile',
    });
  const text = bytes.toString();
  const hidden = isWithheld(text);
  return {
    layer: layer.name,
    file: object.file,
    text: hidden ? null : text,
    value: hidden ? null : (readDocument(text, object) ?? null),
    seen: digestOf(bytes),
  };
};

const describePreview = ({ edit, check }: PreparedEdit): PlatformPreview => ({
  subject: edit.subject,
  outcome: edit.outcome,
  files: edit.files.map((file) => ({
    file: file.path,
    text: isWithheld(file.bytes.toString()) ? null : file.bytes.toString(),
    diff: fileDiff(file),
  })),
  problems: check.problems.map(describeProblem),
  known: check.known.map(describeProblem),
  advice: check.advice.map(describeProblem),
  assignments: assignmentChanges(check.environments).map(({ why = null, ...one }) => ({ ...one, why })),
});

const describeProblem = ({ code, message, subject, at, hint }: FleetError): PlatformProblem => ({
  code,
  message: subject === undefined ? message : `${subject}: ${message}`,
  file: at?.file ?? null,
  line: at?.line ?? null,
  column: at?.column ?? null,
  hint: hint ?? null,
});
