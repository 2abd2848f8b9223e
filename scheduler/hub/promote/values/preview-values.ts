import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { valueDifferences } from '#bundles/formats/author-schema/decided-values';
import { judgeSiteValues, valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import { siteFields } from '#bundles/formats/bounds/site-fields';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { isSameJson } from '#bundles/json/is-same-json';
import { formatChannel } from '#bundles/names';
import { ownValue } from '#bundles/own-value';
import type { ValuesPreview } from '#bundles/schemas/types/hub-decisions';
import type { ValuesReview } from '../../../settings/values-review.ts';
import type { Hub } from '../../hub.ts';
import { channelOf } from '../../sites/agent-record.ts';
import { checkValues } from '../../sites/check-values.ts';
import { type KnownNeeds, readNeeds } from '../../sites/read-needs.ts';
import { agentsWithValues } from '../../sites/agents-with-values.ts';
import { type HiddenAt, readHidden } from '../../sites/hidden-values.ts';
import { siteValuesOf } from '../../sites/issue-site.ts';
import { planValues } from '../../sites/set-many-values.ts';
import { findSite, type ValueChange } from '../../sites/set-values.ts';
import type { AgentRow } from '../../store/tables.ts';
import { findConflicts, type SeenVersions } from './asked-values.ts';
import { showChange } from './describe-values.ts';
import { placesOf, rulesFor } from './rules-for.ts';

type ValueFault = ValuesPreview['faults'][number];

/**
 * Effect of changes, without making them: the sites and packages that they reach, and why values would be refused.
 * @param seen versions that the asker saw, for findConflicts
 */
export const previewValues = async (
  hub: Hub,
  changes: readonly ValueChange[],
  { seen, review }: { readonly seen: SeenVersions; readonly review: ValuesReview | undefined },
): Promise<ValuesPreview> => {
  const { db, fleet } = hub.store;
  const known: KnownNeeds = new Map();
  const faults: ValueFault[] = [];
  const fitting: ValueChange[] = [];
  for (const change of changes) fitting.push(...(await checkEach(hub, change, known, faults)));
  for (const { error, ...place } of await findConflicts(db, changes, seen))
    faults.push({ ...place, ...toFault(error) });
  const sites: ValuesPreview['sites'][number][] = [];
  const warnings: ValuesPreview['warnings'][number][] = [];
  let hidden: HiddenAt | undefined;
  const planned = await planValues(db, fleet, fitting, async (agents) => {
    hidden = await readHidden(hub, agents, known);
    return hidden;
  });
  for (const { site, row, after } of planned) {
    const before = siteValuesOf(row, fleet, site);
    const enrolled = await agentsWithValues(db, site);
    const needs = await readNeeds(hub, enrolled.map(channelOf), known);
    const isHidden = hidden?.(enrolled).wasHidden ?? (() => true);
    const reached = await findReached(enrolled, needs, { before, after });
    sites.push({
      site,
      version: row.version,
      changes: valueDifferences(before, after).map((one) => showChange(one, isHidden)),
      packages: reached.map(({ agent, assignment, names }) => ({ agent, assignment, names })),
    });
    warnings.push(
      ...reached.flatMap(({ agent, assignment, lost }) =>
        lost.map((one) => ({ site, agent, assignment, ...one })),
      ),
    );
  }
  const rules = await rulesFor(hub, review, placesOf(changes), known);
  return {
    sites,
    faults,
    warnings,
    review: rules.map(({ role, approvals }) => ({
      name: role === undefined ? 'approvals' : `approvals of role ${role}`,
      required: approvals.required,
    })),
  };
};

/** Checks each value of a change alone, so that each fault is named. @returns the values that fit */
const checkEach = async (
  hub: Hub,
  change: ValueChange,
  known: KnownNeeds,
  faults: ValueFault[],
): Promise<readonly ValueChange[]> => {
  const { site, agent = null } = change;
  try {
    await findSite(hub.store.db, site, change.agent);
  } catch (error) {
    faults.push({ site, agent, name: null, ...toFault(error) });
    return [];
  }
  const fitting: ValueChange[] = [{ ...change, set: {} }];
  for (const [name, value] of Object.entries(change.set)) {
    const one = { ...change, set: { [name]: value }, unset: [] };
    try {
      fitting.push({ ...one, set: await checkValues(hub, one, false, { needs: known }) });
    } catch (error) {
      faults.push({ site, agent, name, ...toFault(error) });
    }
  }
  return fitting;
};

/** Why a value is refused, for a preview. */
export const toFault = (error: unknown): Pick<ValueFault, 'code' | 'message' | 'hint'> => {
  if (!isFleetError(error)) throw error;
  const { code, message, hint } = error;
  return { code, message, ...defined({ hint }) };
};

type Reached = {
  readonly agent: string;
  readonly assignment: string;
  readonly names: readonly string[];
  readonly lost: readonly { readonly name: string; readonly message: string }[];
};

/** The packages at a site whose values differ, and values that they need and would not have. */
const findReached = async (
  enrolled: readonly AgentRow[],
  needs: KnownNeeds,
  { before, after }: { readonly before: SiteValues; readonly after: SiteValues },
): Promise<readonly Reached[]> => {
  const reached: Reached[] = [];
  for (const row of enrolled) {
    for (const config of needs.get(formatChannel(channelOf(row)))?.configs ?? []) {
      for (const { id } of config.assignments) {
        const [old, now] = [valuesOfAgent(before, row.name, id), valuesOfAgent(after, row.name, id)];
        const differing = [...new Set([...Object.keys(old), ...Object.keys(now)])]
          .filter((name) => !isSameJson(ownValue(old, name), ownValue(now, name)))
          .toSorted(compareBytes);
        const taken = new Set(
          siteFields(config, differing)
            .filter(({ assignment }) => assignment === id)
            .map(({ input }) => input),
        );
        const names = differing.filter((name) => taken.has(name));
        if (names.length === 0) continue;
        const { faults } = await judgeSiteValues(config.siteInputs.schema, now, new Set(names));
        const lost = names
          .filter((name) => !Object.hasOwn(now, name) && faults.has(name))
          .map((name) => ({ name, message: faults.get(name)?.why ?? 'it is missing' }));
        reached.push({ agent: row.name, assignment: id, names, lost });
      }
    }
  }
  return reached;
};
