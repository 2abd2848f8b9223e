import { sealAge } from '#bundles/trust/age/seal-age';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import type { OfferedSite } from '../../source/offer.ts';
import type { Seal } from './seal.ts';

/**
 * Returns the seal of the parts. Every agent of the sites on the medium can open them, by the recipient in its signed site statement, and
 * so can the owners of `others`.
 * @param sites their statements verified @param others `age1...`, each parsed before
 * @throws FleetError RECIPIENT_MISSING for an agent without a recipient, or without any recipient; KEY_FORMAT; TOO_MANY
 */
export const sealToSites = async (
  sites: readonly Pick<OfferedSite, 'site' | 'agents'>[],
  others: readonly string[],
): Promise<Seal> => {
  const agents = sites.flatMap(({ site, agents: ofSite }) =>
    ofSite.map(({ name, recipient }) => ({ name: `${site}/${name}`, recipient })),
  );
  refuseWithout(agents.flatMap(({ name, recipient }) => (recipient === undefined ? [name] : [])));
  const recipients = [...agents.flatMap(({ recipient }) => recipient ?? []), ...others];
  if (recipients.length > 0) return sealAge(recipients);
  throw new FleetError('RECIPIENT_MISSING', 'there is no recipient to seal this medium to', {
    subject: '--encrypt',
    hint: 'Name the sites that it is for with --site, or a recipient with --recipient age1...',
  });
};

/** An omitted agent could not read the medium. */
const refuseWithout = (names: readonly string[]): void => {
  const [first, ...more] = names;
  if (first === undefined) return;
  const who = more.length === 0 ? `${first} has` : `${nameSome(names, 5)} have`;
  throw new FleetError(
    'RECIPIENT_MISSING',
    `${who} reported no age recipient, so nothing can be sealed to ${more.length === 0 ? 'it' : 'them'}`,
    {
      subject: first,
      hint: 'Update the agent, run fleet-agent enroll there and take its request with fleet-scheduler; or fill the medium without --encrypt',
    },
  );
};
