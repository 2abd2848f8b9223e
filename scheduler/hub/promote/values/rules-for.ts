import { compareBytes } from '#bundles/digest';
import { isRecord } from '#bundles/is-record';
import { formatChannel } from '#bundles/names';
import type { ProposedValue } from '../../../model/proposed-values.ts';
import type { Hub } from '../../hub.ts';
import { channelOf } from '../../sites/agent-record.ts';
import { type KnownNeeds, type Needs, readNeeds } from '../../sites/read-needs.ts';
import type { AgentRow } from '../../store/tables.ts';
import { agentsWithValues } from '../../sites/agents-with-values.ts';
import type { ValueChange } from '../../sites/set-values.ts';
import type { ValuesReview } from '../../../settings/values-review.ts';

/** A rule that changes have to meet. `role` undefined: of all values without a rule of their own. */
export type Rule = {
  readonly role: string | undefined;
  readonly approvals: NonNullable<ValuesReview['approvals']>;
};

/**
 * The rules of the review that these changes fall under, by the `editableBy` that releases of the site's agents have now; without duplicates.
 * @param review undefined: changes need no approval
 * @param known site inputs of channels, read for other changes
 */
export const rulesFor = async (
  hub: Hub,
  review: ValuesReview | undefined,
  changes: readonly ChangedPlace[],
  known: KnownNeeds = new Map(),
): Promise<readonly Rule[]> => {
  if (!review) return [];
  const rules = new Map<string, Rule>();
  for (const { roles } of await editorsOf(hub, changes, known)) {
    for (const role of roles) {
      const approvals =
        role !== undefined && Object.hasOwn(review.roles, role) ? review.roles[role] : undefined;
      if (approvals) rules.set(`role ${role}`, { role, approvals });
      else if (review.approvals) rules.set('', { role: undefined, approvals: review.approvals });
    }
  }
  return [...rules]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([, rule]) => rule)
    .filter(({ approvals }) => approvals.required > 0);
};

type ChangedPlace = Pick<ProposedValue, 'site' | 'agent' | 'name'>;

/** The values that changes set and remove. */
export const placesOf = (changes: readonly ValueChange[]): readonly ChangedPlace[] =>
  changes.flatMap(({ site, agent = null, set, unset }) =>
    [...Object.keys(set), ...unset].map((name) => ({ site, agent, name })),
  );

/** A value that is to change, the agents that it reaches, and who may change it there. */
export type Editors = {
  readonly place: ChangedPlace;
  readonly agents: readonly AgentRow[];
  /** `editableBy` of the site inputs of this name, by the releases of these agents; undefined: an input without, or none of this name. */
  readonly roles: readonly (string | undefined)[];
};

/** The `editableBy` of values, by the newest releases of the channels that the site's agents follow. */
export const editorsOf = async (
  hub: Hub,
  changes: readonly ChangedPlace[],
  known: KnownNeeds = new Map(),
): Promise<readonly Editors[]> => {
  const found: Editors[] = [];
  for (const [site, own] of Map.groupBy(changes, (one) => one.site)) {
    const enrolled = await agentsWithValues(hub.store.db, site);
    for (const place of own) {
      const agents = enrolled.filter((one) => place.agent === null || one.name === place.agent);
      const channels = agents.map((one) => channelOf(one));
      const needs = await readNeeds(hub, channels, known);
      const roles = new Set(
        channels.map((channel) => editableBy(needs.get(formatChannel(channel))?.inputs, place.name)),
      );
      found.push({ place, agents, roles: roles.size === 0 ? [undefined] : [...roles] });
    }
  }
  return found;
};

export const editableBy = (inputs: Needs['inputs'] | undefined, name: string): string | undefined => {
  const schema = inputs && Object.hasOwn(inputs, name) ? inputs[name] : undefined;
  const role = isRecord(schema) ? schema['x-editable-by'] : undefined;
  return typeof role === 'string' ? role : undefined;
};
