import { defined } from '#bundles/defined';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import { numberIn } from '#bundles/formats/author-schema/parse-value';
import { placedValues } from '#bundles/formats/author-schema/value-places';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import {
  givenDigest,
  LOCAL_VALUE,
  type LocalEdit,
  MAX_LOCAL_BYTES,
  MAX_PERSON,
  MAX_REASON,
  MAX_SHOWN_BYTES,
} from '#bundles/formats/events/local-value';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { formatTime } from '#bundles/time';
import { cutText } from '#cli/cut-text';
import { bundlesInForce } from '../../acquire/offers/bundles-in-force.ts';
import { type Basis, packagesWith } from '../../acquire/offers/desired-packages.ts';
import { inputOf, judgeLocal, refusalOf, takersOf } from '../../acquire/offers/local-values.ts';
import { orderEach } from '../../acquire/offers/order-packages.ts';
import { refsWithSecrets } from '../../acquire/offers/refs-with-secrets.ts';
import { loadKey } from '../../hub/agent-key.ts';
import type { Agent } from '../../store/agent.ts';
import { forgetFailures } from '../../store/applied/failures.ts';
import { fullName } from '../../store/identity.ts';
import { record } from '../../store/journal/boundary.ts';
import {
  deleteLocalValue,
  idOf,
  type LocalValue,
  readLocalValues,
  saveLocalValue,
  signEdit,
  valueOf,
} from '../../store/local-values.ts';
import { appendEvent, type NewEvent } from '../../store/outbox/outbox.ts';
import { readSecretSets } from '../../store/secret-sets.ts';
import { readSiteValues } from '../../store/site-values.ts';
import { readTrustRow } from '../../store/trust.ts';
import type { PackageResult } from '../package-result.ts';
import { resume } from '../perform.ts';
import { reconcile } from '../reconcile.ts';

/** `value` undefined: the local value is taken back, and what the office says counts again. */
export type LocalChange = {
  readonly name: string;
  readonly value: Json | undefined;
  readonly person: string;
  readonly reason: string;
};

export type PlannedLocal = {
  readonly name: string;
  /** In force before; undefined: none. */
  readonly old: Json | undefined;
  /** In force after, as far as nothing of the office overrides it. */
  readonly new: Json | undefined;
  /** The value of the office, under the local value. */
  readonly given: Json | undefined;
  /** Assignments that take it. */
  readonly takenBy: readonly string[];
  /** Assignments for which a fixed layer of the office overrides it. */
  readonly overriddenFor: readonly string[];
  readonly changed: boolean;
};

export type SetLocal = PlannedLocal & { readonly packages: readonly PackageResult[] };

/**
 * Judges a change of a value by a person at the site, and changes nothing.
 * @throws FleetError VALUE_NOT_GRANTED, SITE_VALUES, TOO_LARGE; USAGE before the first release, and for a value to take back that is not local
 */
export const planLocalValue = async (agent: Agent, change: LocalChange): Promise<PlannedLocal> =>
  (await judge(agent, change)).planned;

type Judged = {
  readonly planned: PlannedLocal;
  /** As the schema takes it: 'ratio=0.5' is a number where the site input takes no text. */
  readonly value: Json | undefined;
  readonly before: LocalValue | undefined;
  /** Input of packagesWith, with the other local values only. */
  readonly basis: Basis;
};

const judge = async (agent: Agent, { name, value: asked }: LocalChange): Promise<Judged> => {
  const { state, identity } = agent;
  const bundles = await bundlesInForce(agent);
  const configs = bundles.map(({ config }) => config);
  const { desiredRelease: release, siteValues: valuesDigest } = readTrustRow(state);
  if (configs.length === 0 || !release || !valuesDigest)
    throw new FleetError('USAGE', 'no release was accepted here yet, so nothing is granted to the site', {
      hint: 'Import a medium first',
    });
  const document = readSiteValues(state, valuesDigest);
  const all = readLocalValues(state);
  const before = all.find(({ edit }) => edit.name === name);
  const locals = all.filter(({ edit }) => edit.name !== name);
  const value = asked === undefined ? undefined : await fit(configs, name, asked);
  if (value === undefined && !before)
    throw new FleetError('USAGE', `there is no local value ${name} to take back`, {
      hint:
        all.length === 0
          ? 'There are no local values here'
          : `Local values here: ${all.map(({ edit }) => edit.name).join(', ')}`,
    });
  const given = officeValue(configs, document, identity.agent, name);
  const [wasUsed] = before ? await judgeLocal(configs, document, identity, [before]) : [];
  const old = before && wasUsed && !wasUsed.held ? valueOf(before) : given;
  const takers = configs.flatMap((config) => takersOf(config, name));
  const overriddenFor =
    value === undefined ? [] : takers.filter((id) => isFixed(document, identity.agent, id, name));
  const planned = {
    name,
    old,
    new: value ?? given,
    given,
    takenBy: takers.filter((id) => !overriddenFor.includes(id)),
    overriddenFor,
    changed: value === undefined || before?.edit.value !== textOf(value) || wasUsed?.held !== undefined,
  };
  return { planned, value, before, basis: { release, bundles, values: document, valuesDigest, locals } };
};

/** @throws FleetError VALUE_NOT_GRANTED, SITE_VALUES, TOO_LARGE */
const fit = async (configs: readonly BundleConfig[], name: string, value: Json): Promise<Json> => {
  if (Buffer.byteLength(textOf(value)) > MAX_LOCAL_BYTES)
    throw new FleetError('TOO_LARGE', `the value ${name} has more than ${MAX_LOCAL_BYTES} bytes`, {
      hint: 'Ask the platform team to set it',
    });
  const refusal = await refusalOf(configs, name, value);
  if (!refusal) return value;
  const number = numberIn(value);
  if (number !== undefined && !(await refusalOf(configs, name, number))) return number;
  throw refusal;
};

const isFixed = (document: SiteValues, agent: string, assignment: string, name: string): boolean =>
  Object.hasOwn(placedValues(document, agent, assignment).fixed, name);

/** The value that counts without a local one: that of the first assignment that takes it, else the one for all assignments, else the default. */
const officeValue = (
  configs: readonly BundleConfig[],
  document: SiteValues,
  agent: string,
  name: string,
): Json | undefined => {
  for (const config of configs) {
    const [assignment] = takersOf(config, name);
    const values = valuesOfAgent(document, agent, assignment);
    if (Object.hasOwn(values, name)) return values[name];
  }
  return configs.map((config) => inputOf(config, name)?.['default']).find((one) => one !== undefined);
};

const textOf = (value: Json): string => canonicalJson(value, 'doubles');

/**
 * Sets a value that the platform granted to the site, or takes it back, and applies what takes it. The change, its signed edit, its event and the
 * packages that are now desired are one transaction; a kill after it is made good by the next look or the same command.
 * @throws FleetError as planLocalValue; KEY_MISSING; USAGE without person or reason
 */
export const setLocalValue = async (agent: Agent, change: LocalChange): Promise<SetLocal> => {
  checkWords(change);
  await resume(agent);
  const { planned, value, before, basis } = await judge(agent, change);
  const edit = value === undefined || !planned.changed ? undefined : editOf(agent, change, value, planned);
  const local = planned.changed ? edit && (await signEdit(edit, await loadKey(agent))) : before;
  const locals = [...basis.locals, ...(local ? [local] : [])];
  const wanted = await packagesWith(agent, { ...basis, locals });
  const packages = await refsWithSecrets(agent, wanted, readSecretSets(agent.state));
  record(agent, `local value ${change.name}`, () => {
    // The person wants it tried, also where the same value failed before.
    for (const assignment of planned.takenBy) forgetFailures(agent.state, assignment);
    orderEach(agent, packages);
    if (!planned.changed) return;
    if (local) saveLocalValue(agent.state, local);
    else deleteLocalValue(agent.state, change.name);
    appendEvent(agent, eventOf(change, planned, { local, before }));
  });
  return { ...planned, packages: await reconcile(agent) };
};

const checkWords = ({ person, reason }: LocalChange): void => {
  if (reason.trim() === '' || reason.length > MAX_REASON)
    throw new FleetError('USAGE', `the reason is ${reason.trim() === '' ? 'empty' : 'too long'}`, {
      subject: '--reason',
      hint: 'Say in a few words why; the platform team reads them with the value',
    });
  if (person.trim() === '' || person.length > MAX_PERSON)
    throw new FleetError('USAGE', 'the name of the person is empty or too long', {
      subject: '--person',
      hint: 'Name the person who decided it',
    });
};

const editOf = (
  { identity, edge }: Agent,
  { name, person, reason }: LocalChange,
  value: Json,
  { old, given }: PlannedLocal,
): LocalEdit => ({
  agent: fullName(identity),
  name,
  value: textOf(value),
  ...defined({ old: shown(old), given: shown(given), givenDigest: givenDigest(given) }),
  person,
  operator: edge.operator,
  reason,
  at: formatTime(edge.now()),
  bootId: edge.bootId,
  monotonicMs: edge.monotonicMs(),
});

const shown = (value: Json | undefined): string | undefined => {
  const text = value === undefined ? undefined : textOf(value);
  return text !== undefined && Buffer.byteLength(text) <= MAX_SHOWN_BYTES ? text : undefined;
};

type Sides = { readonly local: LocalValue | undefined; readonly before: LocalValue | undefined };

const eventOf = (
  { name, person, reason }: LocalChange,
  { old, new: next }: PlannedLocal,
  { local, before }: Sides,
): NewEvent => {
  const part = (value: Json | undefined): string =>
    value === undefined ? 'nothing' : cutText(textOf(value), 256);
  const message = `${name} ${part(old)} -> ${part(next)}${local ? '' : ', no longer local'}, by ${person}: ${reason}`;
  if (local) {
    const { agent: _, at: __, bootId: ___, monotonicMs: ____, ...said } = local.edit;
    return {
      type: LOCAL_VALUE,
      message,
      detail: { action: 'set', edit: idOf(local), signature: local.signature, ...said },
    };
  }
  const edit: Digest = before ? idOf(before) : digestOf('');
  return {
    type: LOCAL_VALUE,
    message,
    detail: defined({ action: 'unset', edit, name, person, reason, old: shown(old) }),
  };
};
