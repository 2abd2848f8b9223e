import { decidedValues, valueDifferences } from '#bundles/formats/author-schema/decided-values';
import { hiddenBy } from '#bundles/formats/author-schema/hidden-values';
import { namesSecretValue } from '#bundles/formats/author-schema/names-secret-value';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type ChangeState, changeState } from '#bundles/formats/statements/change-state';
import type { SiteAgent, SiteValues } from '#bundles/formats/statements/predicates';
import { parseSiteValues } from '#bundles/formats/statements/site-values';
import { ownValue } from '#bundles/own-value';
import { canonicalBytes, canonicalJson, type Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { parseDocument } from '#bundles/json/validate';
import { formatChannel } from '#bundles/names';
import { PREDICATES } from '#bundles/media-types';
import { parseTime } from '#bundles/time';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { proposedValue, readProposal } from '../../../model/proposed-values.ts';
import { checkNear } from '../check-time.ts';
import { HOUR_MS } from '#bundles/time';
import type { ValuesRule } from '../values-rule.ts';
import type { SignedValues } from '../state/open-state.ts';
import { checkComposed } from './check-composed.ts';
import { findBytes, findStatements } from './find-evidence.ts';
import type { Judging } from './judging.ts';

type Asked = {
  readonly site: string;
  readonly agents: readonly SiteAgent[];
  readonly digest: Digest;
  readonly what: string;
  readonly isFirst: boolean;
};

/**
 * Checks that somebody decided the values of a site statement, if the signer has a rule: each value that differs from those of the statement before
 * is in a change that the audit key signed, and in a document that enough people approved; values from layers are those that it composes itself. The
 * values of the statement before are signed again, and for an hour also those of the one before it, because the newest may never have been stored. A site that was signed for before its values were known is not judged.
 * @throws FleetError SIGNER_REFUSED, APPROVAL_MISSING; UNKNOWN_KEY, BAD_SIGNATURE for evidence
 */
export const checkValues = ({ site, agents, digest, what, isFirst }: Asked, judging: Judging): void => {
  const { values: rule, state, evidence, root, now } = judging;
  if (!rule) return;
  const known = state.valuesOf(site);
  if (known === undefined && !isFirst) return;
  const signed = known ? signedValues(known, now) : [];
  if (signed.includes(digest)) return;
  const empty: SiteValues = { fleet: root.fleet, site, values: {}, agents: {} };
  const started = canonicalBytes(empty, 'doubles');
  if (known === undefined && digest === digestOf(started)) return;
  const after = findBytes(evidence, digest);
  const before = known ? signed.map((one) => findBytes(evidence, one)).find((bytes) => bytes) : started;
  if (!before || !after)
    throw new FleetError('SIGNER_REFUSED', `${what} has other values, and the request shows no decision`, {
      hint: 'Set values with sites set, sites import or sites values; after a restore of an older database start the signer once without --site-values',
    });
  const documents = [parseSiteValues(before, site), parseSiteValues(after, site)] as const;
  checkDecided(...documents, { judging, what, agents });
  checkComposed(...documents, { judging, what, agents });
  if (rule.approvals > 0) checkApproved(...documents, { judging, what, rule });
};

/** Values that the statement may have without a decision. Those from before a change only for a time: they would undo it at the site. */
const signedValues = ({ digest, before, at }: SignedValues, now: Date): readonly Digest[] =>
  before !== null && Math.abs(now.getTime() - at) < HOUR_MS ? [digest, before] : [digest];

type Context = { readonly judging: Judging; readonly what: string };

/**
 * Hidden values are withheld by the releases that were shown; a hub of an earlier version withholds by name alone. Old values may be withheld that a release
 * before the newest hid, as far as this signer was shown it, and no others.
 */
const checkDecided = (
  before: SiteValues,
  after: SiteValues,
  { judging, what, agents }: Context & Pick<Asked, 'agents'>,
): void => {
  const { root, evidence, now } = judging;
  const channels = new Map(agents.map(({ channel }) => [formatChannel(channel), channel]));
  const isHidden = hiddenBy([...channels.values()].flatMap((channel) => judging.inputSchemas(channel)));
  const past = new Set([...channels.values()].flatMap((channel) => [...judging.hiddenBefore(channel)]));
  const decided = findStatements(evidence, ({ predicateType }) => predicateType === PREDICATES.change).map(
    (file) => {
      const name = `the decision about ${what}`;
      const keys = { keys: root.audit, threshold: 1 };
      const { predicate } = verifyStatement([file], keys, PREDICATES.change, name);
      const change = parseDocument('change-predicate', predicate, name);
      checkNear(parseTime(change.time), now, name);
      return change;
    },
  );
  const byRelease = decidedValues(before, after, { isHidden });
  const byName = decidedValues(before, after, { isHidden: namesSecretValue });
  const byPast = decidedValues(before, after, {
    isHidden,
    wasHidden: (name) => isHidden(name) || past.has(name),
  });
  for (const [at, { about, ...sides }] of byRelease.entries()) {
    const forms = [sides, byName[at] ?? sides];
    const olds = [...forms, byPast[at] ?? sides].map(({ old }) => changeState(old));
    const news = forms.map((one) => canonicalJson(changeState(one.new)));
    const found = decided.some(
      ({ fleet, about: whose, old, new: next }) =>
        fleet === root.fleet && whose === about && news.includes(canonicalJson(next)) && isOneOf(old, olds),
    );
    if (!found)
      throw new FleetError('SIGNER_REFUSED', `${what} has other values of ${about} than anybody decided`, {
        hint: 'Look up who uses the socket of this signer',
      });
  }
};

/** Whether each old value of a decision is as one of these has it: with or without its text. */
const isOneOf = (decided: ChangeState, wanted: readonly ChangeState[]): boolean => {
  const [first = null] = wanted;
  if (decided === null || first === null) return decided === first;
  const names = Object.keys(first).toSorted();
  if (canonicalJson(Object.keys(decided).toSorted()) !== canonicalJson(names)) return false;
  return names.every((name) =>
    wanted.some((one) => one !== null && isSameJson(ownValue(one, name), ownValue(decided, name))),
  );
};

const checkApproved = (
  before: SiteValues,
  after: SiteValues,
  { judging: { root, evidence }, what, rule }: Context & { readonly rule: ValuesRule },
): void => {
  const differences = valueDifferences(before, after);
  if (differences.length === 0) return;
  const approvers = new Map<Digest, Map<string, string>>();
  for (const file of findStatements(evidence, ({ predicateType }) => predicateType === PREDICATES.approval)) {
    const name = `the approval of ${what}`;
    const keys = { keys: root.roles.bundle.keys, threshold: 1 };
    const { predicate, signers } = verifyStatement([file], keys, PREDICATES.approval, name);
    const approval = parseDocument('approval-predicate', predicate, name);
    if (approval.about !== 'site-values' || approval.fleet !== root.fleet) continue;
    const known = approvers.get(approval.shared) ?? new Map<string, string>();
    approvers.set(approval.shared, known.set(signers[0] ?? '', approval.person));
  }
  let most = 0;
  for (const [digest, people] of approvers) {
    const bytes = findBytes(evidence, digest);
    const proposal = bytes && readProposal(bytes);
    if (!proposal || proposal.fleet !== root.fleet) continue;
    const isCovered = differences.every((one) => {
      const proposed = proposedValue(proposal, after.site, one.agent, one.name);
      return proposed !== undefined && textOf(proposed) === textOf(one);
    });
    const counted = [...people.values()].filter((person) => person !== proposal.person).length;
    if (isCovered) most = Math.max(most, counted);
  }
  if (most < rule.approvals)
    throw new FleetError(
      'APPROVAL_MISSING',
      `${what} has other values, and ${most} of ${rule.approvals} people approved them`,
      { hint: 'Propose them with sites set, and let others approve: fleet-scheduler sites values approve' },
    );
};

type Sides = { readonly old?: Json | undefined; readonly new?: Json | undefined };

/** Equal for equal values; an absent one differs from null. */
const textOf = ({ old, new: next }: Sides): string =>
  canonicalJson(
    [...(old === undefined ? [] : [{ old }]), ...(next === undefined ? [] : [{ new: next }])],
    'doubles',
  );
