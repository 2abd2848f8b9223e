import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { parseDocument } from '#bundles/json/validate';
import { formatTime, parseTime } from '#bundles/time';
import { checkEvidence } from '../evidence/check-evidence.ts';
import type { SignedVersion } from '../state/open-state.ts';
import { checkFields } from './check-fields.ts';
import { checkNewer } from './check-newer.ts';
import { checkNear } from '../check-time.ts';
import type { Judging, Permit } from './judging.ts';
import type { ReadStatement } from './read-payload.ts';

/**
 * Judges the next promotion to an environment of the chain that this signer was started with: of what it released in the
 * environment before, for as long as the link's soak time by its own clock, and with the evidence that the link asks for.
 * @throws FleetError NOT_PROMOTED, NOT_NEWER, SIGNER_REFUSED, SCHEMA, WRONG_FLEET
 */
export const judgePromotion = (statement: ReadStatement, judging: Judging): Permit => {
  const { root, now, state, chain } = judging;
  const said = parseDocument('promotion-predicate', statement.predicate, 'the promotion');
  const { from, to, number, shared, previous } = said;
  const what = `promotion ${number} to ${to}`;
  checkFields('promotion', said, what);
  if (said.fleet !== root.fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${said.fleet}, not ${root.fleet}`);
  const [candidate, more] = statement.subjects;
  if (candidate?.name !== 'candidate' || more !== undefined)
    throw new FleetError('SIGNER_REFUSED', `${what} is not about exactly one candidate`);
  const link = chain.find(({ environment }) => environment === to);
  if (link?.promotedFrom !== from)
    throw new FleetError('SIGNER_REFUSED', `${what} from ${from} is not a link of this signer's chain`, {
      hint: link
        ? `${to} is promoted from ${link.promotedFrom}`
        : `Start the signer with --chain ${to}=${from}, if that is intended`,
    });
  checkNear(parseTime(said.time), now, what);
  const line = `promotion:${to}`;
  const known = state.signed(line);
  const signed: SignedVersion = { version: number, payload: statement.digest, previous };
  if (checkNewer(known, signed, what) === 'again') return { what, limited: undefined };
  const [last] = known;
  if (last && number !== last.version + 1)
    throw new FleetError('SIGNER_REFUSED', `${what} jumps: the last one was ${last.version}`);
  // A promotion that was signed here and never stored is followed by one with the same predecessor.
  if (last && !known.some((one) => one.payload === previous || one.previous === previous))
    throw new FleetError('SIGNER_REFUSED', `${what} follows a promotion that this signer did not sign`, {
      hint: 'If the layout is an old copy, restore the newest one',
    });
  const since = state.releasedSince(from, shared);
  if (since === undefined)
    throw new FleetError('NOT_PROMOTED', `${what}: ${shortDigest(shared)} was not released in ${from}`, {
      subject: shared,
      hint: `Build and release it in ${from} first, without held assignments`,
    });
  const due = since + link.soakMs;
  if (now.getTime() < due)
    throw new FleetError(
      'NOT_PROMOTED',
      `${what}: ${shortDigest(shared)} was released in ${from} at ${formatTime(new Date(since))}, and its soak time ends at ${formatTime(new Date(due))}`,
      { subject: shared, hint: 'Promote again then' },
    );
  // To go back is to promote again what was judged once.
  if (!state.wasPromoted(to, shared)) checkEvidence(state.evidence, link, { shared, what, now });
  return {
    what,
    limited: undefined,
    order: { line, signed },
    promoted: { environment: to, shared },
  };
};
