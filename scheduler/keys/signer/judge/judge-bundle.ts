import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { parseTime } from '#bundles/time';
import { parseDocument } from '#bundles/json/validate';
import { checkFields } from './check-fields.ts';
import { checkNotAhead } from '../check-time.ts';
import type { Judging, Permit } from './judging.ts';
import type { ReadStatement } from './read-payload.ts';

/** Judges the statement of one bundle of this fleet. @throws FleetError SCHEMA, WRONG_FLEET, SIGNER_REFUSED, FROM_FUTURE */
export const judgeBundle = ({ subjects, predicate }: ReadStatement, { root, now }: Judging): Permit => {
  const [bundle, more] = subjects;
  if (bundle?.name !== 'bundle' || more !== undefined)
    throw new FleetError('SIGNER_REFUSED', 'a bundle statement is about exactly one bundle');
  const what = `the statement of bundle ${shortDigest(bundle.digest)}`;
  const said = parseDocument('bundle-predicate', predicate, what);
  checkFields('bundle', said, what);
  if (said.fleet !== root.fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${said.fleet}, not ${root.fleet}`);
  // Old statements are allowed: after a rotation they are signed again unchanged.
  checkNotAhead(parseTime(said.builtAt), now, what);
  return { what: `bundle ${bundle.digest} for ${formatChannel(said)}`, limited: 'bundle' };
};
