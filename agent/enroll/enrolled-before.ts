import { formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { fingerprint, parsePublicKey } from '#bundles/trust/key';
import { findIdentity } from '../store/identity.ts';
import type { State } from '../store/state.ts';
import { readRoot, readStatement, readTrustRow } from '../store/trust.ts';
import { findCertificate } from './certificate.ts';
import type { EnrolledOnline, OnlineWish } from './enroll-online.ts';
import { checkSame } from './take-identity.ts';

/**
 * What an enrolment at a hub came to that was finished before with the same words: a pod that starts anew asks again, and its
 * token is spent. undefined: there is something left to ask for. @throws FleetError ALREADY_ENROLLED for other words
 */
export const enrolledBefore = async (state: State, wish: OnlineWish): Promise<EnrolledOnline | undefined> => {
  const identity = findIdentity(state);
  if (!identity) return undefined;
  checkSame(identity, { ...wish, fleet: wish.fleet ?? identity.fleet });
  const root = readRoot(state);
  const site = readStatement(state, 'site', '');
  const { channel } = readTrustRow(state);
  const certificate = await findCertificate(state.directory);
  if (!root || !site || !channel || !certificate) return undefined;
  return {
    fingerprint: fingerprint(parsePublicKey(identity.key)),
    fleet: identity.fleet,
    rootVersion: root.version,
    devRoot: root.dev,
    channel: formatChannel(channel),
    siteVersion: site.version,
    certificateUntil: formatTime(certificate.to),
  };
};
