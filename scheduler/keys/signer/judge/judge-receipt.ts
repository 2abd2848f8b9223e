import { FleetError } from '#bundles/errors';
import { parseTime } from '#bundles/time';
import { parseDocument } from '#bundles/json/validate';
import { checkFields } from './check-fields.ts';
import { checkNear } from '../check-time.ts';
import type { Judging, Permit } from './judging.ts';
import type { ReadStatement } from './read-payload.ts';

/**
 * Judges a receipt. It only lets an agent delete events, so form, fleet and time are checked, and their number is not limited:
 * every report gets one. @throws FleetError SCHEMA, WRONG_FLEET, SIGNER_REFUSED
 */
export const judgeReceipt = (
  { subjects, predicate }: ReadStatement,
  { root, now, chain, state }: Judging,
): Permit => {
  const what = 'the receipt';
  if (subjects.length !== 1 || subjects[0]?.name !== 'report')
    throw new FleetError('SIGNER_REFUSED', 'a receipt is about exactly one report');
  const said = parseDocument('receipt-predicate', predicate, what);
  checkFields('receipt', said, what);
  if (said.fleet !== root.fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${said.fleet}, not ${root.fleet}`);
  checkNear(parseTime(said.time), now, what);
  const permit: Permit = { what: `receipt of ${said.agent} up to ${said.to}`, limited: undefined };
  const from = state.evidence.agent(said.agent)?.channel.environment;
  // Kept where reports are judged: what was acknowledged must be shown before a promotion.
  return chain.some(({ evidence, promotedFrom }) => evidence && promotedFrom === from)
    ? { ...permit, acknowledged: { agent: said.agent, seq: said.to } }
    : permit;
};
