import { FleetError, formatError } from '#bundles/errors';
import type { Digest } from '#bundles/digest';
import { formatCount } from '#bundles/format-count';
import { nameSome } from '#bundles/name-some';
import type { Hub } from '../../hub/hub.ts';
import {
  type AskedChange,
  checkChanges,
  decideValues,
  proposeIfReviewed,
} from '../../hub/promote/values/change-values.ts';
import type { JudgedProposal } from '../../hub/promote/values/judge-proposal.ts';
import { shortId } from '../../hub/promote/values/propose-values.ts';
import { formatValues } from '../../hub/sites/list-sites.ts';
import { type PlannedSite, planValues, previewStages } from '../../hub/sites/set-many-values.ts';
import type { PlannedRollout } from '../../hub/sites/split-by-stage.ts';
import { readHidden } from '../../hub/sites/hidden-values.ts';
import { policiesFor } from '../../hub/sites/values-policies.ts';
import { shortRollout, type StoredRollout } from '../../hub/sites/values-rollout.ts';
import { settleSites } from '../../hub/sites/layers/settle-sites.ts';
import type { ValueChange } from '../../hub/sites/set-values.ts';
import type { ValuesReview } from '../../settings/values-review.ts';
import { appendToLog } from '../append-to-log.ts';

export type ManyOptions = {
  readonly dryRun: boolean;
  readonly allowUnknown: boolean;
  readonly now: Date;
  /** Changes that need approvals are proposed, and not made; undefined: none does. */
  readonly review: ValuesReview | undefined;
  /** Name of the change in the audit log; 'sites set' without. */
  readonly change?: string;
  /** The hub decides, although changes of values are decided in the repository. */
  readonly here?: boolean;
  /** Withdraws changes that wait at these sites for the stage of a rollout. */
  readonly withdraw?: readonly string[];
};

/** Where a command prints: results, and remarks to people. */
export type Speaker = { readonly log: (line: string) => void; readonly say: (line: string) => void };

/**
 * Checks changes of many sites, prints what differs, and unless it is a dry run makes them: in one transaction, with one statement a
 * site. A value that does not fit at one site is named, with all others that do not fit, and nothing is changed anywhere.
 * @returns the answer for --json
 * @throws FleetError SITE_VALUES, SITE_MISSING, AGENT_UNKNOWN, or the error of signing or publishing
 */
export const changeMany = async (
  hub: Hub,
  asked: readonly AskedChange[],
  { dryRun, allowUnknown, now, review, change = 'sites set', withdraw, here }: ManyOptions,
  speaker: Speaker,
): Promise<unknown> => {
  const { changes, problems } = await checkChanges(hub, asked, allowUnknown);
  refuseAny(problems, speaker);
  const planned = await planValues(hub.store.db, hub.store.fleet, changes, (agents) =>
    readHidden(hub, agents),
  );
  for (const one of planned) for (const line of changeLines(one.changes)) speaker.log(line);
  const sites = new Set(changes.map(({ site }) => site)).size;
  const count = `${planned.length} of ${formatCount(sites, 'site')}`;
  if (dryRun) {
    const { rollouts } = await previewStages(hub.store, changes, await policiesFor(hub));
    for (const line of rollouts.flatMap(stageLines)) speaker.log(line);
    speaker.log(`${count} would change; nothing was changed`);
    return { dryRun, sites: planned.map(toJson) };
  }
  const terms = { review, now, allowUnknown, change, withdraw, here };
  const decided = await decideValues(hub, changes, terms);
  if (decided.kind === 'proposed')
    return { dryRun, ...(await reportProposed(hub, decided.proposal, now, speaker)) };
  const { rows, rollouts } = decided;
  // All of them: an earlier run may have ended between the database and the layout.
  const named = [...new Set(changes.map(({ site }) => site))].map((name) => ({ name }));
  const written = await settleSites(hub, named, { now, command: 'sites set' });
  if (written > rows.length)
    speaker.say(
      `also brought up to date in ${hub.layout}: ${formatCount(written - rows.length, 'statement')}`,
    );
  for (const line of await appendToLog(hub, 'sites set', now)) speaker.say(line);
  const changed = rollouts.length === 0 ? count : `${rows.length} of ${formatCount(sites, 'site')}`;
  speaker.log(
    rows.length === 0 ? `${changed} changed` : `${changed} changed; the next medium carries their statements`,
  );
  for (const { id, rollout, progress } of rollouts) speaker.log(rolloutLine(id, rollout, progress));
  const versions = new Map(rows.map(({ name, version }) => [name, version]));
  return {
    dryRun,
    sites: planned.map((one) => ({ ...toJson(one), version: versions.get(one.site) })),
    rollouts: rollouts.map(({ id, rollout: { environment } }) => ({
      rollout: shortRollout(id),
      environment,
    })),
  };
};

/** 'prod, stage pilot: plant-1, plant-2' */
const stageLines = ({ environment, plan, units, isPinned }: PlannedRollout): readonly string[] =>
  plan.stages.map(({ name }, at) => {
    const sites = new Set(units.filter(({ stage }) => stage === at).map(({ site }) => site));
    return `${environment}, stage ${name}: ${nameSome([...sites])}${isPinned ? ' (its values are pinned)' : ''}`;
  });

export const rolloutLine = (
  id: Digest,
  { environment, plan }: StoredRollout['rollout'],
  { started }: StoredRollout['progress'],
): string => {
  const [first, ...later] = plan.stages.map(({ name }) => name);
  const what = `rollout ${shortRollout(id)} of values in ${environment}`;
  if (started.length === 0) return `${what} waits: the values of ${environment} are pinned`;
  return later.length === 0
    ? `${what}: its only stage ${first} has begun`
    : `${what}: stage ${first} has begun; ${later.join(', ')} follow by its policy`;
};

/**
 * Proposes changes that the review wants approvals of. @returns the answer for --json; undefined: they may be made at once
 * @throws FleetError VALUES_CHANGED
 */
export const proposeReviewed = async (
  hub: Hub,
  changes: readonly ValueChange[],
  { review, now, allowUnknown }: Pick<ManyOptions, 'review' | 'now' | 'allowUnknown'>,
  speaker: Speaker,
): Promise<{ readonly proposal: string; readonly waits: readonly string[] } | undefined> => {
  const proposal = await proposeIfReviewed(hub, changes, { review, now, allowUnknown });
  return proposal && reportProposed(hub, proposal, now, speaker);
};

const reportProposed = async (
  hub: Hub,
  { row, conditions }: JudgedProposal,
  now: Date,
  speaker: Speaker,
): Promise<{ readonly proposal: string; readonly waits: readonly string[] }> => {
  for (const line of await appendToLog(hub, 'sites set', now)) speaker.say(line);
  const id = shortId(row.id);
  const waits = conditions.map(({ name, wanted }) => `${name}: ${wanted}`);
  speaker.log(`proposed as ${id}; it waits for ${waits.join(', ')}. Nothing was changed yet`);
  speaker.log(`Approve it with: fleet-scheduler sites values approve ${id} --key <the approver's key>`);
  return { proposal: row.id, waits };
};

const MAX_NAMED = 50;

export const refuseAny = (problems: readonly FleetError[], speaker: Speaker): void => {
  const [only] = problems;
  if (!only) return;
  if (problems.length === 1) throw only;
  for (const problem of problems.slice(0, MAX_NAMED)) speaker.say(formatError(problem));
  if (problems.length > MAX_NAMED) speaker.say(`... and ${problems.length - MAX_NAMED} more`);
  throw new FleetError(
    'SITE_VALUES',
    `${problems.length} values or sites do not fit, and no site was changed`,
    {
      hint: 'The reasons are above',
    },
  );
};

/** 'plant-7  port: 80 -> 81', a line for each site or agent. */
export const changeLines = (changes: PlannedSite['changes']): readonly string[] =>
  changes.map(({ about, old, new: now }) => {
    const [before, after] = [old ?? {}, now ?? {}];
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    const values = names.map((name) => {
      const part = (values: object): string =>
        Object.hasOwn(values, name)
          ? formatValues({ [name]: (values as Readonly<Record<string, unknown>>)[name] }).slice(
              name.length + 1,
            )
          : 'nothing';
      return `${name}: ${part(before)} -> ${part(after)}`;
    });
    return `${about}  ${values.join('  ')}`;
  });

const toJson = ({ site, row, changes }: PlannedSite) => ({
  site,
  version: row.version,
  changes: changes.map(({ about, old, new: now }) => ({ about, old, new: now })),
});
