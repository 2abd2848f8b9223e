import { judgeSiteValues, valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import { hiddenBy } from '#bundles/formats/author-schema/hidden-values';
import { siteFields } from '#bundles/formats/bounds/site-fields';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import type { Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { didYouMean } from '#bundles/nearest-name';
import { nameSome } from '#bundles/name-some';
import { ownValue } from '#bundles/own-value';
import type { Identity } from '../../store/identity.ts';
import { idOf, isOwnEdit, type LocalValue, valueOf } from '../../store/local-values.ts';

/** Role in `editableBy` of a site input that grants its value to people at the site. */
const GRANTED = 'site';

export type LocalVerdict = {
  readonly local: LocalValue;
  /** Assignments that run with it; empty for one that is held or overridden. */
  readonly takenBy: readonly string[];
  /** It is not used: not granted or not fitting any more, or not signed by this agent. */
  readonly held?: FleetError;
  /** Assignments for which a fixed layer of the office overrides it. */
  readonly overriddenFor: readonly string[];
};

type Configs = readonly BundleConfig[];

/**
 * Judges local values by the release: each has to be signed by this agent, granted to the site, and fit the schema. One that does not is held,
 * and what the office says counts in its place; it blocks no package.
 */
export const judgeLocal = async (
  configs: Configs,
  document: SiteValues,
  identity: Identity,
  locals: readonly LocalValue[],
): Promise<readonly LocalVerdict[]> => {
  const verdicts: LocalVerdict[] = [];
  for (const local of locals) {
    const held = isOwnEdit(identity, local)
      ? await refusalOf(configs, local.edit.name, valueOf(local))
      : notSigned(local.edit.name);
    if (held) verdicts.push({ local, takenBy: [], held, overriddenFor: [] });
    else
      verdicts.push({
        local,
        ...placeOf(configs, withLocal(document, identity.agent, [local]), local, identity),
      });
  }
  return verdicts;
};

/** The document as if the agent had these values of its own: above those of site and agent, below fixed layers. */
export const withLocal = (document: SiteValues, agent: string, locals: readonly LocalValue[]): SiteValues => {
  if (locals.length === 0) return document;
  const own = Object.hasOwn(document.agents, agent) ? document.agents[agent] : {};
  const values = Object.fromEntries(locals.map((local) => [local.edit.name, valueOf(local)]));
  return { ...document, agents: { ...document.agents, [agent]: { ...own, ...values } } };
};

type Answer = NonNullable<SiteValues['local']>[string][string];

/** The answer of the office to a local value. It is about one edit: a newer edit of that name has none. */
export const answerTo = (
  { local: answers }: SiteValues,
  agent: string,
  local: LocalValue,
): Answer | undefined => {
  const { name } = local.edit;
  const answer = ownValue(ownValue(answers ?? {}, agent) ?? {}, name);
  return answer?.edit === idOf(local) ? answer : undefined;
};

/**
 * Why a person at the site may not give this value; undefined: it is granted and fits.
 * VALUE_NOT_GRANTED, SITE_VALUES, or USAGE for a name that no package asks for. No message has the value.
 */
export const refusalOf = async (
  configs: Configs,
  name: string,
  value: Json,
): Promise<FleetError | undefined> => {
  const asking = configs.filter((config) => inputOf(config, name) !== undefined);
  const [first] = asking;
  if (!first) return notAsked(configs, name);
  const role = editorOf(configs, name);
  if (role !== GRANTED) return notGranted(configs, name, role);
  if (hiddenBy(asking.map(({ siteInputs }) => siteInputs.schema))(name))
    return new FleetError(
      'VALUE_NOT_GRANTED',
      `the value ${name} may hold a secret, and a local value is shown in reports`,
      { hint: 'Ask the platform team to change it' },
    );
  for (const config of asking) {
    const { faults } = await judgeSiteValues(config.siteInputs.schema, { [name]: value }, new Set([name]));
    const fault = faults.get(name);
    if (fault)
      return new FleetError('SITE_VALUES', `the value ${name} does not fit: ${fault.why}`, {
        hint: 'Give another value; fleet-agent values shows its unit and what it may be',
      });
  }
  return undefined;
};

const notAsked = (configs: Configs, name: string): FleetError => {
  const names = grantedNames(configs);
  const granted = names.length === 0 ? 'It grants none to the site' : `It grants ${nameSome(names)}`;
  return new FleetError('VALUE_NOT_GRANTED', `no package of the release here asks for a value ${name}`, {
    hint: `${didYouMean(name, names) ?? ''}${granted}`,
  });
};

const notGranted = (configs: Configs, name: string, role: string | undefined): FleetError => {
  const names = grantedNames(configs);
  return new FleetError(
    'VALUE_NOT_GRANTED',
    `the value ${name} is not granted to the site: ${role === undefined ? 'the platform team' : `the role ${role}`} changes it`,
    {
      hint:
        names.length === 0 ? 'Ask the platform team to change it' : `The site may change ${nameSome(names)}`,
    },
  );
};

const notSigned = (name: string): FleetError =>
  new FleetError(
    'BAD_SIGNATURE',
    `the local value ${name} is not signed by this agent: its record was changed, or is of another agent`,
    { hint: `Remove it with: fleet-agent values unset ${name} --reason ...` },
  );

const placeOf = (
  configs: Configs,
  document: SiteValues,
  local: LocalValue,
  { agent }: Identity,
): Pick<LocalVerdict, 'takenBy' | 'overriddenFor'> => {
  const { name } = local.edit;
  const takers = configs.flatMap((config) => takersOf(config, name));
  const isUsed = (id: string): boolean =>
    isSameJson(valuesOfAgent(document, agent, id)[name], valueOf(local));
  return { takenBy: takers.filter(isUsed), overriddenFor: takers.filter((id) => !isUsed(id)) };
};

/** The assignments of a bundle that take the value, sorted as there. */
export const takersOf = (config: BundleConfig, name: string): readonly string[] => [
  ...new Set(
    siteFields(config, [name])
      .filter(({ input }) => input === name)
      .map(({ assignment }) => assignment),
  ),
];

/** The schema of a site input, with what its author says as annotations. */
export const inputOf = (
  { siteInputs: { schema } }: BundleConfig,
  name: string,
): Readonly<Record<string, Json>> | undefined => {
  const { properties } = schema as { readonly properties?: Readonly<Record<string, Json>> };
  const part = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isRecord(part) ? (part as Readonly<Record<string, Json>>) : undefined;
};

/** Role that may change the value besides the platform team; undefined: none. 'site' only if all bundles that ask for the value grant it. */
export const editorOf = (configs: Configs, name: string): string | undefined => {
  const roles = configs
    .map((config) => inputOf(config, name))
    .filter((input) => input !== undefined)
    .map(({ 'x-editable-by': role }) => (typeof role === 'string' ? role : undefined));
  return roles.every((role) => role === GRANTED) ? roles[0] : roles.find((role) => role !== GRANTED);
};

/** Names of all site inputs of the bundles, sorted. */
export const inputNames = (configs: Configs): readonly string[] =>
  [
    ...new Set(
      configs.flatMap(({ siteInputs: { schema } }) =>
        Object.keys((schema as { readonly properties?: object }).properties ?? {}),
      ),
    ),
  ].toSorted();

const grantedNames = (configs: Configs): readonly string[] =>
  inputNames(configs).filter((name) => editorOf(configs, name) === GRANTED);
