import { FleetError } from '#bundles/errors';
import { defined } from '#bundles/defined';
import { nameSome } from '#bundles/name-some';
import type { ValuesChanged } from '#bundles/schemas/types/hub-decisions';
import type { ValuesReview } from '../../../settings/values-review.ts';
import type { Change } from '../../changes/note-change.ts';
import { noteWrite } from '../../changes/note-write.ts';
import type { Hub } from '../../hub.ts';
import { channelOf } from '../../sites/agent-record.ts';
import { type KnownNeeds, readNeeds } from '../../sites/read-needs.ts';
import { siteValuesOf } from '../../sites/issue-site.ts';
import { readSites, type SiteFacts } from '../../sites/set-many-values.ts';
import type { ValueChange } from '../../sites/set-values.ts';
import type { By } from '../../store/open-store.ts';
import type { AskedValues } from './asked-values.ts';
import { readHiddenIn } from '../../sites/hidden-values.ts';
import { placesOf, rulesFor } from './rules-for.ts';

/** The same values at all sites or agents that a selector selects: what one Config gives. */
export type SelectedValues = Pick<ValueChange, 'set' | 'unset'> & {
  readonly siteSelector: Readonly<Record<string, string>>;
  /** The change at each of them, checked. */
  readonly changes: readonly ValueChange[];
};

/** The commit or pull request with the values. */
export type WrittenValues = {
  /** 'Config north', or several. */
  readonly subject: string;
  /** `written`: into a directory. */
  readonly outcome: 'written' | 'pushed' | 'proposed' | 'unchanged';
  /** Repository and branch, or the directory. */
  readonly place: string;
  readonly files: readonly string[];
  readonly commit: string | undefined;
  /** Branch of the proposal. */
  readonly proposal: string | undefined;
  /** Address of the pull request. */
  readonly pullRequest: string | undefined;
};

/** Writes values of sites of an environment into the repository of the platform. */
export type ValuesWriter = (asked: {
  readonly environment: string;
  readonly values: readonly Omit<SelectedValues, 'changes'>[];
  readonly by: By;
  readonly now: Date;
}) => Promise<WrittenValues>;

/** A value of sites that an open proposal in the repository changes. */
export type OpenValue = {
  /** undefined: of all. */
  readonly environment: string | undefined;
  readonly siteSelector: Readonly<Record<string, string>>;
  readonly name: string;
  readonly person: string;
  /** ISO 8601. */
  readonly at: string;
  readonly branch: string;
  /** undefined without a forge. */
  readonly pullRequest: string | undefined;
};

export type OpenValues = () => Promise<readonly OpenValue[] | undefined>;

type RepositoryTerms = {
  readonly write: ValuesWriter;
  readonly review: ValuesReview | undefined;
  readonly now: Date;
};

/**
 * Decides values of sites in the repository of the platform, by the person and reason of the store. The audit log names what was written, with an entry
 * for each selector; the sites get the values with the next build. A hub that was killed between the push and that entry notes the write later,
 * without its commit (noteUnfinishedWrites).
 * @throws FleetError USAGE for sites of several environments, for values of the hub that would override those of a Config, for values that may be
 *   secrets, and for a commit of values that the review wants approvals of; what `write` throws
 */
export const decideInRepository = async (
  hub: Hub,
  values: readonly SelectedValues[],
  { write, review, now }: RepositoryTerms,
): Promise<WrittenValues> => {
  const { store } = hub;
  const changes = values.flatMap((one) => one.changes);
  const known = await readSites(store.db, changes);
  const environment = environmentOf(known, changes);
  refuseOverridden(known, store.fleet, changes);
  const needs = await readNeeds(hub, [...known.agents.values()].flat().map(channelOf), new Map());
  await refuseSecrets(hub, needs, changes);
  await refuseUnapproved(hub, review, { changes, needs });
  const asked = values.map(({ siteSelector, set, unset }) => ({ siteSelector, set, unset }));
  return await noteWrite(
    store,
    {
      begun: values.map((one) =>
        changeOf(one, {
          set: { ...one.set },
          unset: [...one.unset],
          commit: null,
          proposal: null,
          end: 'unknown',
        }),
      ),
      write: () => write({ environment, values: asked, by: store.by, now }),
      changesOf: (written) =>
        written.outcome === 'unchanged' ? [] : values.map((one) => changeOf(one, placeOf(written))),
    },
    now,
  );
};

const changeOf = (one: SelectedValues, after: Change['new']): Change => ({
  change: 'sites set in repository',
  about: aboutOf(one),
  old: null,
  new: after,
});

const placeOf = (written: WrittenValues): Change['new'] => {
  const { subject, commit = null, proposal = null, pullRequest = null, place, files } = written;
  return { object: subject, place, files, commit, proposal, pullRequest };
};

/** Checked changes of a request by what selects their sites: its labels, or each site that it names. */
export const toSelected = (
  { select, sites }: Pick<AskedValues, 'select' | 'sites'>,
  changes: readonly ValueChange[],
): readonly SelectedValues[] => {
  const [first] = changes;
  if (select && sites === undefined && first)
    return [{ siteSelector: select, set: first.set, unset: first.unset, changes }];
  return changes.map((change) => {
    const { site, agent, set, unset } = change;
    return { siteSelector: defined({ site, agent }), set, unset, changes: [change] };
  });
};

/** The answer of the API about values in the repository. */
export const answerWritten = ({ outcome, place, files, ...written }: WrittenValues): ValuesChanged => {
  const { commit = null, proposal = null, pullRequest = null } = written;
  const isSame = outcome === 'unchanged';
  return {
    outcome: isSame ? 'unchanged' : 'written',
    sites: [],
    rollouts: [],
    proposal: null,
    waits: [],
    ...defined({ repository: isSame ? undefined : { place, files, commit, proposal, pullRequest } }),
  };
};

const aboutOf = ({ siteSelector }: SelectedValues): string => {
  const { site, agent, ...labels } = siteSelector;
  if (site !== undefined && Object.keys(labels).length === 0)
    return agent === undefined ? site : `${site}/${agent}`;
  return Object.values(siteSelector).join(',') || 'all sites';
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

/** Refuses values that everybody with access to the repository would read. @throws FleetError USAGE */
const refuseSecrets = async (hub: Hub, needs: KnownNeeds, changes: readonly ValueChange[]): Promise<void> => {
  const isHidden = await readHiddenIn(hub, needs);
  const secrets = [...new Set(changes.flatMap(({ set }) => Object.keys(set).filter(isHidden)))];
  if (secrets.length === 0) return;
  throw new FleetError(
    'USAGE',
    `values that may be secrets are not written into a repository: ${nameSome(secrets)}`,
    {
      hint: 'Seal them in a secret set (docs/secrets.md), or decide at the hub with --here',
    },
  );
};

/** Refuses a commit of values that need approvals, since nobody approves a commit. The approvals of a pull request are those of the forge. @throws FleetError USAGE */
const refuseUnapproved = async (
  hub: Hub,
  review: ValuesReview | undefined,
  { changes, needs }: { readonly changes: readonly ValueChange[]; readonly needs: KnownNeeds },
): Promise<void> => {
  if (review?.write !== 'commit') return;
  if ((await rulesFor(hub, review, placesOf(changes), needs)).length === 0) return;
  throw new FleetError(
    'USAGE',
    'these values need approvals, and siteValues.write: commit would write them without',
    {
      hint: 'Set siteValues.write: pullRequest, so that people approve at the forge, or propose them at the hub with --here',
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
