import { FleetError, formatError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { fileDiff } from '../../author/file-diff.ts';
import { planSiteValues } from '../../author/plan-site-values.ts';
import { prepareEdit, refuseMistakes } from '../../author/prepare-edit.ts';
import { type SavedEdit, saveEdit } from '../../author/save/save-edit.ts';
import { identityOf } from '../../deliver/git/commit-identity.ts';
import { noteChange } from '../../hub/changes/note-change.ts';
import type { Hub } from '../../hub/hub.ts';
import { siteValuesOf } from '../../hub/sites/issue-site.ts';
import { readSites, type SiteFacts } from '../../hub/sites/set-many-values.ts';
import type { ValueChange } from '../../hub/sites/set-values.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';
import type { Configuration } from '../../settings/configuration.ts';
import { appendToLog } from '../append-to-log.ts';
import type { Speaker } from './change-many.ts';

export type RepositoryTerms = {
  readonly configuration: Configuration;
  /** The sites or agents, as a Config selects them. */
  readonly siteSelector: Readonly<Record<string, string>>;
  /** The same change at each of them, checked. */
  readonly changes: readonly ValueChange[];
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly now: Date;
  readonly dryRun: boolean;
};

/**
 * Decides values of sites in the repository of the platform: a Config with their selector, as a commit or pull request, by the person and reason of the
 * store. The platform is validated with it before anything is written; the audit log names what was written. The sites get the values with the next build.
 * @returns the answer for --json
 * @throws FleetError USAGE for sites of several environments, and for values of the hub that would override those of the Config; the codes of prepareEdit
 *   and saveEdit
 */
export const setInRepository = async (
  hub: Hub,
  terms: RepositoryTerms,
  speaker: Speaker,
): Promise<unknown> => {
  const { configuration, siteSelector, changes, env, signal, now, dryRun } = terms;
  const [change] = changes;
  if (!change) return { dryRun };
  const { db, fleet } = hub.store;
  const known = await readSites(db, changes);
  const environment = environmentOf(known, changes);
  refuseOverridden(known, fleet, changes);
  const options = { ...platformOptions(configuration, { cwd: process.cwd(), env, signal }), env, signal };
  const { set, unset } = change;
  const prepared = await prepareEdit(options, (layers) =>
    planSiteValues(layers, { environment, siteSelector, set, unset }),
  );
  for (const one of prepared.check.problems) speaker.say(formatError(one));
  refuseMistakes(prepared);
  const { edit } = prepared;
  if (dryRun) {
    speaker.log(edit.files.map(fileDiff).join('\n').trimEnd());
    return { dryRun, subject: edit.subject, files: edit.files.map(({ path }) => path) };
  }
  const { person, reason } = hub.store.by;
  const saved = await saveEdit(edit, {
    ...options,
    forge: configuration.forge,
    connection: registryOptions({ ...configuration, env }),
    identity: identityOf(configuration),
    now,
    person: person ?? 'fleet-scheduler',
    reason: reason ?? undefined,
    pullRequest: configuration.siteValues?.write === 'pullRequest',
  });
  if (saved.outcome !== 'unchanged') {
    const about =
      change.agent === undefined
        ? Object.values(siteSelector).join(',') || 'all sites'
        : `${change.site}/${change.agent}`;
    const { commit = null, proposal = null, pullRequest = null, place, files } = saved;
    const written = { object: edit.subject, place, files, commit, proposal, pullRequest };
    await hub.store.transact((tx) =>
      noteChange(
        tx,
        { change: 'sites set in repository', about, old: null, new: written },
        hub.store.by,
        now,
      ),
    );
    for (const line of await appendToLog(hub, 'sites set', now)) speaker.say(line);
  }
  speaker.log(savedLine(edit.subject, saved));
  return { dryRun, subject: edit.subject, ...saved };
};

const savedLine = (subject: string, { outcome, place, commit, pullRequest, proposal }: SavedEdit): string => {
  switch (outcome) {
    case 'written':
      return `${subject}: written in ${place}; the sites get it with the next build`;
    case 'pushed':
      return `${subject}: ${place} pushed ${commit?.slice(0, 12) ?? ''}; the sites get it with the next build`;
    case 'proposed':
      return `${subject}: ${place} proposed by ${pullRequest ?? proposal ?? ''}; the sites get it once it is merged and built`;
    case 'unchanged':
      return `${subject}: ${place} has it already`;
  }
};

const environmentOf = ({ agents }: SiteFacts, changes: readonly ValueChange[]): string => {
  const reached = changes.flatMap(({ site, agent }) =>
    (agents.get(site) ?? []).filter(({ name }) => agent === undefined || name === agent),
  );
  const environments = [...new Set(reached.map((row) => row.environment))].toSorted();
  const [only, other] = environments;
  if (only !== undefined && other === undefined) return only;
  throw new FleetError(
    'USAGE',
    only === undefined
      ? 'no agent is enrolled there, so no environment is known'
      : `these sites have agents of several environments: ${nameSome(environments)}`,
    {
      hint: 'Write the Config yourself: fleet-scheduler add config --site-select, or decide at the hub with --here',
    },
  );
};

/** Values that people set at the hub override those of layers. @throws FleetError USAGE */
const refuseOverridden = ({ rows }: SiteFacts, fleet: string, changes: readonly ValueChange[]): void => {
  const overridden = changes.flatMap(({ site, agent, set }) => {
    const { values, agents } = siteValuesOf(rows.get(site), fleet, site);
    const own = agent === undefined ? [] : Object.keys(agents[agent] ?? {});
    return Object.keys(set)
      .filter((name) => Object.hasOwn(values, name) || own.includes(name))
      .map((name) => `${name} of ${site}`);
  });
  if (overridden.length === 0) return;
  throw new FleetError('USAGE', `the hub has values that override a Config: ${nameSome(overridden)}`, {
    hint: 'Remove them first: fleet-scheduler sites set <site> --unset <name> --here --reason "the repository decides"',
  });
};
